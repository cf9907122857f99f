package exec

import (
	"context"

	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/query/read"
)

// outside has the session carry out a statement about files and backups.
func (r *Runner) outside(ctx context.Context, st ql.Statement) (Result, error) {
	var opts []read.Option
	if st, ok := st.(*ql.Export); ok {
		t, err := r.table(st.Table)
		if err != nil {
			return nil, err
		}
		for _, f := range st.Wide {
			if _, err := column(t, f.Column); err != nil {
				return nil, err
			}
		}
		read := st.Read
		if read.Versions == 0 {
			read.Versions = ql.Unlimited
		}
		if opts, err = r.readOptions(t, st.Rows, read); err != nil {
			return nil, err
		}
	}
	if _, ok := st.(*ql.Refresh); ok {
		return &Done{"refreshed"}, r.DB.Refresh(ctx)
	}
	if r.Outside == nil {
		return nil, lex.ErrorAt(st.Position(), "%s is not possible here", verbOf(st))
	}
	return r.Outside(ctx, st, opts)
}
