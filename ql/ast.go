// Package ql is the statement language of the shell: [Parse] makes a typed statement
// of a text, and [Print] makes the canonical text of a statement. [NewReader] cuts a
// script of any length into statements.
//
// The words of the language, and how names, keys and values are quoted, are in
// ql/lex. A statement is run by ql/exec.
package ql

import (
	"reflect"

	"github.com/smolwc/smolwc/ql/lex"
)

// A Statement is one parsed statement: a pointer to one of the types below.
type Statement interface {
	// Position is where the statement begins.
	Position() lex.Pos
	// Borrowed reports whether it was written with a spelling of cbt or HBase;
	// [Print] gives the native one.
	Borrowed() bool
	node() *Node
	print(w *printer)
}

// A Node holds the fields that all statements have.
type Node struct {
	Pos     lex.Pos
	Foreign bool
	// Tuples says that keys were written as tuples; Print writes them as tuples too.
	Tuples bool
}

func (n *Node) Position() lex.Pos {
	if n == nil {
		return lex.Pos{}
	}
	return n.Pos
}
func (n *Node) Borrowed() bool { return n != nil && n.Foreign }
func (n *Node) node() *Node    { return n }

// IsNil reports whether st is nil or a nil pointer to a statement type.
func IsNil(st Statement) bool {
	v := reflect.ValueOf(st)
	return st == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// A Name is the name of a table or family and its place in the text. If the statement
// omits the table and means the table in use, Pos is the statement's.
type Name struct {
	Text string
	Pos  lex.Pos
}

// Rows says which rows a scan visits; the zero Rows is all of them. At most
// one of Prefix, Start with End, and Keys is given.
type Rows struct {
	Prefix string
	// TuplePrefix says that Prefix is a packed tuple, perhaps the empty one: the
	// rows are those whose keys are tuples that begin with its elements.
	TuplePrefix bool

	Start string // inclusive
	End   string // exclusive; "" is no bound
	After string // exclusive, in addition to the other bounds; "" is no bound
	Keys  []string
}

// Unlimited is the Limit of limit=0 and the Versions of versions=all.
const Unlimited = -1

// Read says what a read takes from the visited rows and how the result is shown.
type Read struct {
	Columns     []Column // empty: all
	Regex       *Pattern // of row keys; nil: any
	Sample      float64  // the share of rows that is read, above 0 and below 1; 0: not given
	Where       []Condition
	Versions    int       // of each column, newest first; 0: not given
	CellsPerRow int       // 0: no bound
	Limit       int       // rows; 0: not given
	Page        *string   // the previous page's token; "": the first page; nil: no pages
	Offset      int       // rows skipped first
	Since       *lex.Time // inclusive; nil: no bound
	Until       *lex.Time // exclusive; nil: no bound
	Reverse     bool
	KeysOnly    bool
	Stats       bool   // say what the read cost
	Format      string // one of Formats; "": not given
	Into        string // the file for the rows; "": the session's output
	Overwrite   bool   // replace the file if it exists
}

// A Pattern is a regular expression in RE2's syntax. It matches bytes, and it must
// match the whole text.
type Pattern struct {
	Pos  lex.Pos
	Expr string
}

// A ColumnKind says which columns of a family a Column selects.
type ColumnKind uint8

const (
	ColumnExact  ColumnKind = iota // fam:qual
	ColumnFamily                   // fam:*
	ColumnPrefix                   // fam:pre*
	ColumnRange                    // fam:[a..b)
	ColumnRegex                    // fam:/re/
)

// A Column names one or several columns of a family.
type Column struct {
	Pos       lex.Pos
	Family    string
	Kind      ColumnKind
	Qualifier string // the qualifier, the prefix or the regular expression
	Start     string // inclusive
	End       string // exclusive; "" is no bound
}

// An Assignment is COL=LIT[@TS].
type Assignment struct {
	Column Column
	Value  lex.Literal
	At     *lex.Time // nil: the database's clock
}

// A DeleteColumn is a column, a family, or one version of a column.
type DeleteColumn struct {
	Column Column
	At     *lex.Time // nil: all versions
}
