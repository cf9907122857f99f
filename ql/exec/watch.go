package exec

import (
	"context"
	"fmt"
	"iter"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// Watched are the changes of a table. They are read while the caller ranges over All.
type Watched struct {
	Table  schema.Table
	Format string // the format that the statement asks for; "" if it names no format

	of      *ql.Watch
	changes iter.Seq2[*query.ChangeAt, error]
}

// All reads the changes, until as many have come as the statement asks for, or the context
// ends; the caller may range over it once. An error is the last element. It is an
// *[lex.Error].
func (w *Watched) All() iter.Seq2[*query.ChangeAt, error] {
	return func(yield func(*query.ChangeAt, error) bool) {
		if w == nil || w.changes == nil {
			return
		}
		n := 0
		for c, err := range w.changes {
			if err != nil {
				yield(nil, failure(w.of.Position(), err))
				return
			}
			if n++; !yield(c, nil) || n == w.of.Limit {
				return
			}
		}
	}
}

func (r *Runner) watch(ctx context.Context, st *ql.Watch) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	if t.ChangeStream == 0 {
		msg := fmt.Sprintf("table %s has no change stream; alter table %s set change_stream=7d gives it one", t.Name, lex.QuoteName(t.Name))
		return nil, &lex.Error{Pos: st.Table.Pos, Msg: msg, Err: query.ErrNoChangeStream}
	}
	want := query.ChangesRequest{Token: st.Token}
	if want.Since, want.Until, err = r.timeRange(st.Since, st.Until); err != nil {
		return nil, err
	}
	if st.Since != nil {
		want.Since = max(want.Since, 1)
	}
	if st.Until != nil && (!st.Until.Now || st.Until.Offset != 0) { // now includes the last commit
		want.Until--
	}
	if someRows(st.Rows) {
		rows := rowSet(st.Rows)
		if rows.Err != nil || len(rows.Ranges) == 0 {
			return nil, lex.ErrorAt(st.Position(), "watch takes a prefix, or a start and an end")
		}
		want.Rows = rows.Ranges[0]
		for _, other := range rows.Ranges[1:] { // a tuple, beside those that begin with it
			want.Rows.Start = min(want.Rows.Start, other.Start)
		}
	}
	return &Watched{Table: t, Format: st.Format, of: st, changes: r.Database().Table(t.Name).Changes(ctx, want)}, nil
}

// localTable is a table of the database of this process.
type localTable struct {
	*query.Table
	db *query.DB
}

func (t localTable) Changes(ctx context.Context, want query.ChangesRequest) iter.Seq2[*query.ChangeAt, error] {
	opts := []query.ChangesOption{query.ChangesIn(want.Rows)}
	switch {
	case want.Token != "":
		opts = append(opts, query.ChangesAfter(want.Token))
	case want.Since > 0:
		opts = append(opts, query.ChangesSince(want.Since.Time()))
	}
	if want.Until > 0 {
		opts = append(opts, query.ChangesUntil(want.Until.Time()))
	}
	return func(yield func(*query.ChangeAt, error) bool) {
		for c, err := range t.Table.Changes(ctx, opts...) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&query.ChangeAt{RowChange: c, After: c.Token()}, nil) {
				return
			}
		}
	}
}
