package exec

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/views"
)

// Queried is the result of a query in SQL. The query runs while the caller ranges over
// All.
type Queried struct {
	// Columns are the columns of the result. Columns without a name come from
	// expressions.
	Columns []sql.Column

	from *ql.Select
	rows iter.Seq2[[]any, error]
}

// Name is the name of a column by its number, from 0: f0_ and so on for an expression without
// one, as BigQuery names it.
func (q *Queried) Name(column int) string {
	if q != nil && 0 <= column && column < len(q.Columns) && q.Columns[column].Name != "" {
		return q.Columns[column].Name
	}
	return fmt.Sprintf("f%d_", column)
}

// All reads the rows; the caller may range over it once. The values are as in package
// sql/value. An error is the last element. It is an *[lex.Error].
func (q *Queried) All() iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		if q == nil || q.rows == nil {
			return
		}
		for row, err := range q.rows {
			if err != nil {
				yield(nil, faultOf(q.from, err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

func (r *Runner) query(ctx context.Context, st *ql.Select) (Result, error) {
	var res *sql.Result
	var err error
	if r.Remote != nil {
		res, err = r.Remote.Query(ctx, st.Text)
	} else {
		res, err = views.Of(r.DB).Query(ctx, st.Text)
	}
	if err != nil {
		return nil, faultOf(st, err)
	}
	return &Queried{Columns: res.Columns, from: st, rows: res.Rows}, nil
}

// faultOf gives an error of a query its place in the script.
func faultOf(st *ql.Select, err error) error {
	fault, ok := errors.AsType[*sql.Error](err)
	if !ok {
		return failure(st.Pos, err)
	}
	at := st.Pos
	if fault.Line > 0 {
		at = placeIn(st, fault.Line, fault.Column)
	}
	return &lex.Error{Pos: at, Msg: lex.Escape(fault.Message), Err: &query.Error{Op: "query", Kind: query.KindInvalidArgument, Err: fault}}
}

// placeIn is the place of a line and a column of the query, which counts characters.
func placeIn(st *ql.Select, line, column int) lex.Pos {
	lines := strings.Split(st.Text, "\n")
	text := lines[min(line, len(lines))-1]
	runes := []rune(text)
	col := len(string(runes[:min(column-1, len(runes))])) + 1
	if line == 1 {
		return st.Pos.Plus(col - 1)
	}
	return lex.Pos{Line: st.Pos.Line + line - 1, Col: col}
}
