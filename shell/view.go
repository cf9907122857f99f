package shell

import (
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
)

// A rowPrinter writes the rows of one statement in one format.
type rowPrinter interface {
	// row prints the next row; it may hold back a few rows.
	row(*query.Row) error
	// end is called after the last row, unless there was an error.
	end() error
}

// A view is the part of a statement that its row printer needs.
type view struct {
	out     *output
	stream  *exec.RowStream
	width   int // 0: no bound
	palette palette
	zone    *time.Location // of times; nil: UTC
	patient bool
}

func (v *view) declared(family string) cells.Type {
	if f, ok := v.stream.Table.Family(family); ok {
		return f.Type
	}
	return cells.TypeAny
}

// value returns a cell's value as a word of the language.
func (v *view) value(c cells.Cell) string { return lex.QuoteValueAs(c.Value, v.declared(c.Family)) }

// key returns a row key as a word of the language, or as a tuple if the table's keys
// are tuples.
func (v *view) key(key string) string { return ql.QuoteRowKey(v.stream.Table, key) }

// exactColumns returns the columns that the statement names, if it names each column
// exactly and asks for one version.
func (v *view) exactColumns() []ql.Column {
	if v.stream.Versioned() || v.stream.KeysOnly {
		return nil
	}
	return v.stream.ExactColumns()
}
