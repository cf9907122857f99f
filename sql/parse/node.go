package parse

// A node is an expression.
type Node struct {
	Op   Operator
	Pos  int
	Text string // of a name, a literal, a comparison, the operand of IS; the type of a cast
	Kind TokenKind
	Args []*Node
	// names of the fields of a struct, empty for a field without a name.
	Names []string
	// Distinct is DISTINCT before the arguments of an aggregate function.
	Distinct bool
	// IgnoreNulls and RespectNulls are IGNORE NULLS and RESPECT NULLS after the arguments of
	// an aggregate function, Order what follows ORDER BY there, and Limit what follows LIMIT.
	// The expressions of Order are the last of Args.
	IgnoreNulls, RespectNulls bool
	Order                     []Order
	Limit                     *Node
	// Query is that of OpQuery, OpInQuery and OpExists.
	Query *Block
}

type Operator uint8

const (
	OpLiteral Operator = iota
	OpNull
	OpBool
	OpParam
	OpName
	OpIndex
	OpField
	OpFields // expression.*
	OpCall
	OpCast
	OpSafeCast
	OpArray
	OpStruct
	OpNegate
	OpCompare
	OpIs
	OpIn      // an expression, and those that it may equal
	OpBetween // an expression and its bounds
	OpInArray
	OpSame // IS NOT DISTINCT FROM
	OpLike
	OpNot
	OpAnd
	OpOr
	OpBinary // Text is the sign
	OpComplement
	OpSwitch   // an expression, and then as OpCase, with what it may equal as conditions
	OpCase     // pairs of condition and value, and the value of ELSE or NULL
	OpStar     // of COUNT(*)
	OpInterval // Text is the part
	OpLambda   // Names are its arguments' names, Args its value
	OpQuery    // the value of a query in brackets, or after ARRAY, which is Text then
	OpInQuery  // IN with a query
	OpExists
	OpSample // of TABLESAMPLE: a percentage, and the number of REPEATABLE if there is one
)
