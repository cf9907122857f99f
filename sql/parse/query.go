// Package parse reads the text of a query into stages and expressions. It knows no
// table and no types: names and functions are looked up later.
package parse

import "strings"

// A Query is a parsed query: where its rows come from, and the stages that they pass.
// A SELECT is a stage; pipe syntax adds more. Goroutines may share it.
type Query struct {
	Source
	From    From
	Stages  []*Stage
	Explain bool
}

// From is the source of the rows: a table, arrays, both, or nothing.
type From struct {
	Table   string // empty: one row without columns
	Pos     int
	Alias   string // the table's name in expressions
	Options []Option
	Unpack  *Unpack
	Unnests []Unnest
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
	Left   bool   // a row without elements stays
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
	Kind     StageKind
	Pos      int
	Columns  []Column
	Distinct bool
	Where    *Node
	Grouped  bool
	Group    []Column
	Having   *Node
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

// An Option is an option of a table.
type Option struct {
	Name  string
	Pos   int
	Value *Node
}

// Parse reads a query.
func Parse(text string) (*Query, error) {
	src := Source{text: text}
	if len(text) > maxBytes {
		return nil, src.Errorf(0, "the query has %d bytes; it may have up to %d", len(text), maxBytes)
	}
	tokens, err := tokenize(src)
	if err != nil {
		return nil, err
	}
	p := parser{Source: src, tokens: tokens}
	return p.query()
}

// Inline is a query in which the query of a view stands in the place of its name.
func Inline(outer, view *Query, name string) *Query {
	q := &Query{Source: outer.Source, From: view.From, Explain: outer.Explain}
	for _, s := range view.Stages {
		of := *s
		of.View = name
		q.Stages = append(q.Stages, &of)
	}
	q.Stages = append(q.Stages, &Stage{Kind: AsStage, Pos: outer.From.Pos, Columns: []Column{{Name: outer.From.Alias, Pos: outer.From.Pos}}})
	for i := range outer.From.Unnests {
		q.Stages = append(q.Stages, &Stage{Kind: UnnestStage, Pos: outer.From.Unnests[i].Pos, Unnest: &outer.From.Unnests[i]})
	}
	q.Stages = append(q.Stages, outer.Stages...)
	return q
}

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
