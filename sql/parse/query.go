// Package parse reads the text of a query into stages and expressions. It knows no
// table and no types: names and functions are looked up later.
package parse

import (
	"cmp"
	"strings"
)

// A Query is a parsed query. Goroutines may share it.
type Query struct {
	Source
	Block
	Explain bool
	Analyze bool // after EXPLAIN: it runs
	// Beyond is the first part of the query that Bigtable does not have; nil: it has them all.
	Beyond *Beyond
	// Incomplete lets it read a materialized view whose table was not yet read to its end.
	Incomplete bool
	view       bool // it is the query of a logical view
}

// A Block is a query, or one within another: where its rows come from, and the stages that
// they pass. A SELECT is a stage; pipe syntax adds more.
type Block struct {
	From   From
	Stages []*Stage
}

// From is the source of the rows: a table, a query, arrays, several of them, or nothing.
type From struct {
	Table   string // empty, with Of and Set nil: one row without columns
	Pos     int
	Alias   string // the table's name in expressions
	Options []Option
	Of      *Block // a query in the place of a table
	View    string // the logical view that Of is of
	With    bool   // Of is a query that WITH names
	Sealed  bool   // it sees no names of a query around; Flat sets it
	Set     *Set
	Unpack  *Unpack
	Unnests []Unnest
	Joins   []Join
}

// A Set is the rows of several queries.
type Set struct {
	Pos    int
	Kind   SetKind
	Blocks []*Block
}

// A SetKind is UNION ALL or its like.
type SetKind uint8

const (
	UnionAll SetKind = iota
	UnionDistinct
	ExceptDistinct
	IntersectDistinct
)

func (k SetKind) String() string {
	return [...]string{"UNION ALL", "UNION DISTINCT", "EXCEPT DISTINCT", "INTERSECT DISTINCT"}[k]
}

// A Join joins the rows before it with those of another source, which has no joins itself.
type Join struct {
	Pos     int
	Kind    JoinKind
	With    From
	On      *Node // nil: every pair
	Using   []Name
	Unnests []Unnest // after it
}

// A Name is a name and its place.
type Name struct {
	Text string
	Pos  int
}

// A JoinKind says which rows without a partner stay.
type JoinKind uint8

const (
	InnerJoin JoinKind = 0
	LeftJoin  JoinKind = 1
	RightJoin JoinKind = 2
	FullJoin           = LeftJoin | RightJoin
)

func (k JoinKind) String() string {
	return [...]string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"}[k]
}

// A Beyond is a part of a query that Bigtable does not have.
type Beyond struct {
	What string // such as JOIN
	Pos  int
}

// An Unpack makes a row of each timestamp in the histories of a query's rows.
type Unpack struct {
	Pos     int
	Unnests []Unnest
	Stages  []*Stage
	Alias   string
}

// An Unnest makes a row of each element of an array, for each row before it.
type Unnest struct {
	Pos    int
	Array  *Node
	Alias  string
	Offset string // the name of the element's number; empty: no such column
}

// A StageKind is a step of a query.
type StageKind uint8

const (
	SelectStage    StageKind = iota // SELECT, with all its clauses
	WhereStage                      // WHERE
	ExtendStage                     // adds columns
	SetStage                        // replaces columns
	DropStage                       // removes columns
	RenameStage                     // renames columns
	AsStage                         // names the rows
	AggregateStage                  // AGGREGATE … GROUP BY …
	OrderStage                      // ORDER BY
	LimitStage                      // LIMIT and OFFSET
	DistinctStage                   // removes repeated rows
	UnnestStage                     // CROSS JOIN UNNEST
)

// A Stage is one step. Its kind decides which fields are set.
type Stage struct {
	View     string // the logical view that it is of
	Sealed   bool   // it is of a view or of WITH, and sees no names of a query around
	Kind     StageKind
	Pos      int
	Columns  []Column
	Distinct bool
	Where    *Node
	Grouped  bool
	Group    []Column
	// Sets are the grouping sets, by the numbers of keys in Group; nil: one of all keys. With
	// GroupAll the keys are those columns that have no aggregate function.
	Sets     [][]int
	GroupAll bool
	Having   *Node
	Qualify  *Node
	windows  []namedWindow
	Order    []Order
	Limit    *Node // nil: all
	Offset   *Node // nil: no rows are passed over
	Unnest   *Unnest
}

// A Column is a column of a result; without an expression it is *.
type Column struct {
	Name    string
	Expr    *Node
	Pos     int
	Except  []string
	Replace []Column
}

// An Order is a part of ORDER BY.
type Order struct {
	Expr      *Node
	Desc      bool
	NullsLast bool
}

// A windowSpec is a window as it is written.
type windowSpec struct {
	base      *Name // of the named window that it extends
	partition []*Node
	order     []Order
	frame     *Frame
}

// An unnamed is a call whose window has a name that is not looked up yet.
type unnamed struct {
	over *Node
	spec windowSpec
}

// A namedWindow is a window of WINDOW.
type namedWindow struct {
	name string
	spec windowSpec
}

// An Option is an option of a table.
type Option struct {
	Name  string
	Pos   int
	Value *Node
}

// Flat is the block in which the stages of a query in the place of its table stand before its
// own, so that they are the stages of one plan.
func (b *Block) Flat() *Block {
	for b.From.Of != nil && len(b.From.Joins) == 0 {
		from := b.From
		of := from.Of.Flat()
		flat := &Block{From: of.From}
		flat.From.Sealed = flat.From.Sealed || from.Closed()
		for _, s := range of.Stages {
			inner := *s
			inner.View = cmp.Or(inner.View, from.View)
			inner.Sealed = inner.Sealed || from.Closed()
			flat.Stages = append(flat.Stages, &inner)
		}
		flat.Stages = append(flat.Stages, &Stage{Kind: AsStage, Pos: from.Pos, Columns: []Column{{Name: from.Alias, Pos: from.Pos}}})
		for i := range from.Unnests {
			flat.Stages = append(flat.Stages, &Stage{Kind: UnnestStage, Pos: from.Unnests[i].Pos, Unnest: &from.Unnests[i]})
		}
		flat.Stages = append(flat.Stages, b.Stages...)
		b = flat
	}
	return b
}

// Closed reports whether the query in the place of the table sees no names of a query around it.
func (f *From) Closed() bool { return f.View != "" || f.With }

// RowKey is the name of the column of row keys.
const RowKey = "_key"

// NameOf is the name of a column without a given name.
func NameOf(n *Node) string {
	if n.Op == OpName || n.Op == OpField {
		return n.Text
	}
	return ""
}

// Same reports whether two names are one: case does not matter.
func Same(a, b string) bool { return strings.EqualFold(a, b) }
