package sql

// A node is an expression.
type node struct {
	op   operator
	pos  int
	text string // of a name, a literal, a comparison, the operand of IS; the type of a cast
	kind tokenKind
	args []*node
	// names are those of the fields of a struct, empty for a field without a
	// name.
	names []string
}

type operator uint8

const (
	opLiteral operator = iota
	opNull
	opBool
	opParam
	opName
	opIndex
	opField
	opCall
	opCast
	opSafeCast
	opArray
	opStruct
	opNegate
	opCompare
	opIs
	opInArray
	opLike
	opNot
	opAnd
	opOr
)
