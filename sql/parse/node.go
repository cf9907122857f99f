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
	// Windowed says that the call is that of OpOver, whose window is Over.
	Windowed bool
	Over     *Window
	// Query is that of OpQuery, OpInQuery and OpExists.
	Query *Block
}

type Operator uint8

const (
	OpLiteral Operator = iota
	OpNull
	OpBool
	OpViewParam // Text is the name; of VIEW_PARAMETERS in the query of a logical view
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
	OpOver     // a window function: its call, and then its window
	OpQuery    // the value of a query in brackets, or after ARRAY, which is Text then
	OpInQuery  // IN with a query
	OpExists
	OpSample // of TABLESAMPLE: a percentage, and the number of REPEATABLE if there is one
)

// A Window is the window of a function: the rows that it sees. Args of the node of OpOver are
// the call, as many expressions of PARTITION BY as Partition says, and those of ORDER BY, whose
// directions are its Order.
type Window struct {
	Partition int
	Frame     *Frame // nil: the default
}

// A Frame is the rows around each row that a function sees.
type Frame struct {
	Pos        int
	Rows       bool // ROWS; else RANGE
	Start, End Bound
}

// A Bound is the start or the end of a frame.
type Bound struct {
	Kind BoundKind
	Pos  int
	By   *Node // of Preceding and Following: a literal or a parameter
}

// A BoundKind is where a frame starts or ends, in the order of the rows.
type BoundKind uint8

const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// String is the bound, the same for bounds that are written alike.
func (b Bound) String() string {
	text := [...]string{"UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING"}[b.Kind]
	if b.By == nil {
		return text
	}
	if b.By.Op == OpParam {
		return "@" + b.By.Text + " " + text
	}
	return b.By.Text + " " + text
}

// String is the frame, the same for frames that are written alike.
func (f *Frame) String() string {
	if f == nil {
		return ""
	}
	unit := "RANGE"
	if f.Rows {
		unit = "ROWS"
	}
	return unit + " BETWEEN " + f.Start.String() + " AND " + f.End.String()
}
