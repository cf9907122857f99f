package exec

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func (r *Runner) incr(ctx context.Context, st *ql.Incr) (Result, error) {
	return r.modify(ctx, st.Table, st.Key, st.Column, func(_ schema.Family, m *write.ReadModifyWrite) error {
		m.Increment(st.Column.Family, st.Column.Qualifier, st.By)
		return nil
	})
}

func (r *Runner) append(ctx context.Context, st *ql.Append) (Result, error) {
	return r.modify(ctx, st.Table, st.Key, st.Column, func(f schema.Family, m *write.ReadModifyWrite) error {
		b, err := appendedBytes(f, st.Value)
		if st.Value.Type != cells.TypeBytes {
			m.AppendString(st.Column.Family, st.Column.Qualifier, string(b))
		} else {
			m.AppendValue(st.Column.Family, st.Column.Qualifier, b)
		}
		return err
	})
}

func (r *Runner) modify(ctx context.Context, table ql.Name, key string, c ql.Column, change func(schema.Family, *write.ReadModifyWrite) error) (Result, error) {
	t, err := r.table(table)
	if err != nil {
		return nil, err
	}
	f, err := column(t, c)
	if err != nil {
		return nil, err
	}
	m := write.NewReadModifyWrite()
	if err := change(f, m); err != nil {
		return nil, err
	}
	row, err := r.Database().Table(t.Name).ApplyReadModifyWrite(ctx, key, m)
	if err != nil {
		return nil, failure(c.Pos, err)
	}
	cell, _ := row.Cell(c.Family, c.Qualifier)
	return &Modified{Table: t, Row: row, Cell: cell}, nil
}

// appendedBytes are the bytes of a literal: its text as written, or its bytes.
func appendedBytes(f schema.Family, l lex.Literal) ([]byte, error) {
	var v cells.Value
	var err error
	switch {
	case l.Type != cells.TypeAny:
		v, err = l.Value()
	case f.Type == cells.TypeBytes:
		v = cells.Bytes([]byte(l.Text))
	default:
		v, err = l.ValueAs(cells.TypeString)
	}
	if err != nil {
		return nil, err
	}
	if text, ok := v.AsString(); ok {
		return []byte(text), nil
	}
	b, ok := v.AsBytes()
	switch {
	case !ok:
		return nil, lex.ErrorAt(l.Pos, "append takes text or bytes, and %s is %s", lex.Clip(l.String()), v.Type())
	case f.Type == cells.TypeString:
		return nil, lex.ErrorAt(l.Pos, "value %s is bytes, but the column is declared string", lex.Clip(l.String()))
	}
	return b, nil
}

func (r *Runner) checkAndPut(ctx context.Context, st *ql.CheckAndPut) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	predicate, err := r.condition(t, &st.If)
	if err != nil {
		return nil, err
	}
	then, err := r.mutation(t, st.Then)
	if err != nil {
		return nil, err
	}
	var otherwise *write.Mutation
	if len(st.Else) > 0 {
		if otherwise, err = r.mutation(t, st.Else); err != nil {
			return nil, err
		}
	}
	matched, err := r.Database().Table(t.Name).CheckAndMutate(ctx, st.Key, predicate, then, otherwise)
	return &Matched{matched}, err
}

func (r *Runner) add(ctx context.Context, st *ql.Add) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	m := write.NewMutation()
	for _, a := range st.Cells {
		if err := r.addTo(m, t, a); err != nil {
			return nil, err
		}
	}
	return r.apply(ctx, t.Name, st.Key, m, "added to "+humanize.Count(len(st.Cells), "cell"))
}

func (r *Runner) addTo(m *write.Mutation, t schema.Table, a ql.Assignment) error {
	f, err := column(t, a.Column)
	if err != nil {
		return err
	}
	if f.Aggregate == schema.NoAggregate {
		return lex.ErrorAt(a.Column.Pos, "family %s has no aggregate, so nothing can be added to it; incr adds to a number in any family", f.Name)
	}
	declared := cells.TypeI64
	if f.Aggregate == schema.AggregateHLL { // takes any value
		declared = cells.TypeAny
	}
	v, err := a.Value.ValueAs(declared)
	if err != nil {
		return err
	}
	ts, err := r.resolve(a.At, 0)
	m.AddAt(f.Name, a.Column.Qualifier, ts, v)
	return err
}

func (r *Runner) putWhere(ctx context.Context, st *ql.PutWhere) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	m, err := r.mutation(t, st.Cells)
	if err != nil {
		return nil, err
	}
	return r.change(ctx, st, t, &st.Selection, m, "put "+humanize.Count(len(st.Cells), "cell"))
}

func (r *Runner) deleteWhere(ctx context.Context, st *ql.DeleteWhere) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	m, err := r.deletion(t, &ql.Delete{Columns: st.Columns})
	if err != nil {
		return nil, err
	}
	what := "delete"
	if len(st.Columns) > 0 {
		what += " " + humanize.Count(len(st.Columns), "column")
	}
	return r.change(ctx, st, t, &st.Selection, m, what)
}

// change applies a mutation to each row that is selected.
func (r *Runner) change(ctx context.Context, st ql.Statement, t schema.Table, of *ql.Selection, m *write.Mutation, what string) (Result, error) {
	opts, err := r.readOptions(t, of.Rows, of.Read)
	if err != nil {
		return nil, err
	}
	if !of.DryRun {
		if err := r.writable(); err != nil {
			return nil, err
		}
	}
	opts = append(opts, read.KeysOnly())
	table := r.Database().Table(t.Name)
	n, err := table.Count(ctx, opts...)
	if err != nil {
		return nil, err
	}
	doing := what + inRows(what, n.Rows, t.Name)
	switch {
	case of.DryRun:
		return &Done{"would " + doing}, nil
	case n.Rows == 0:
		return &Done{"no row of " + t.Name + " is as asked; nothing was changed"}, nil
	}
	if err := r.ask(st, of.Yes, doing+"?", "this would "+doing, "nothing was changed"); err != nil {
		return nil, err
	}
	done, last, err := table.ApplyWhere(ctx, m, opts...)
	if err != nil {
		if last = cmp.Or(last, of.After); last == "" {
			return nil, fmt.Errorf("%w (%s changed until then)", err, humanize.Count(done, "row"))
		}
		return nil, fmt.Errorf("%w (%s changed until then; after=%s goes on)", err, humanize.Count(done, "row"), ql.QuoteKeyOf(st, last))
	}
	return &Done{past(what) + inRows(what, done, t.Name)}, nil
}

// changedAtOnce is how many rows are changed in one transaction.
const changedAtOnce = 500

// ApplyWhere changes the rows in transactions.
func (t localTable) ApplyWhere(ctx context.Context, m *write.Mutation, opts ...read.Option) (changed int64, last string, err error) {
	for {
		n, err := t.changeSome(ctx, &last, opts, m)
		if changed += int64(n); err != nil || n < changedAtOnce {
			return changed, last, err
		}
	}
}

// changeSome changes the next rows after the key last, and sets it.
func (t localTable) changeSome(ctx context.Context, last *string, opts []read.Option, m *write.Mutation) (n int, err error) {
	from, at := slices.Clip(opts), *last
	if at != "" {
		from = append(from, read.StartAfter(at))
	}
	err = t.db.Update(ctx, func(tx *query.Tx) error {
		n = 0
		for row, err := range tx.ReadRows(ctx, t.Name(), append(slices.Clip(from), read.Limit(changedAtOnce))...) {
			if err != nil {
				return err
			}
			if err := tx.Apply(ctx, t.Name(), row.Key(), m); err != nil {
				return err
			}
			n++
			at = row.Key()
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	*last = at
	return n, nil
}

// inRows says in how many rows something is done; rows are deleted themselves.
func inRows(what string, n int64, table string) string {
	text := humanize.Count(n, "row") + " of " + table
	switch {
	case what == "delete":
		return " " + text
	case n == 1:
		return " in " + text
	}
	return " in each of " + text
}

// past is the verb in the past tense.
func past(what string) string {
	if rest, ok := strings.CutPrefix(what, "delete"); ok {
		return "deleted" + rest
	}
	return what
}
