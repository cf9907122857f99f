package exec

import (
	"context"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// outside passes a statement about files or backups to Runner.Outside.
func outside[S ql.Statement](r *Runner, ctx context.Context, st S) (Result, error) {
	return r.outside(ctx, st, nil)
}

func (r *Runner) outside(ctx context.Context, st ql.Statement, opts []read.Option) (Result, error) {
	if r.Outside == nil {
		return nil, lex.ErrorAt(st.Position(), "%s is not possible here", verbOf(st))
	}
	return r.Outside(ctx, st, opts)
}

func (r *Runner) restoreTable(ctx context.Context, st *ql.RestoreTable) (Result, error) {
	to := st.As
	if to.Text == "" {
		to = st.Table
	}
	if err := schema.CheckTableName(to.Text); err != nil {
		return nil, lex.ErrorAt(to.Pos, "table: %s", err)
	}
	if _, there := r.Database().LookupTable(to.Text); there {
		other := *st
		other.As.Text = to.Text + "_restored"
		return nil, lex.ErrorAt(to.Pos, "table %s is there, and is left alone; restore the table under another name, as in %s, or drop the table first", to.Text, ql.Print(&other))
	}
	return r.outside(ctx, st, nil)
}

func (r *Runner) export(ctx context.Context, st *ql.Export) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	for _, f := range st.Wide {
		if _, err := column(t, f.Column); err != nil {
			return nil, err
		}
	}
	want := st.Read
	if want.Versions == 0 {
		want.Versions = ql.Unlimited
	}
	opts, err := r.readOptions(t, st.Rows, want)
	if err != nil {
		return nil, err
	}
	return r.outside(ctx, st, opts)
}

func (r *Runner) importFile(ctx context.Context, st *ql.Import) (Result, error) {
	if st.Key == "" && len(st.Columns) == 0 { // it shows the file's fields, from which the table may be declared
		return r.outside(ctx, st, nil)
	}
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	for _, m := range st.Columns {
		if _, err := column(t, m.Column); err != nil {
			return nil, err
		}
	}
	return r.outside(ctx, st, nil)
}
