package shell

import (
	"context"
	"fmt"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/query/read"
)

// outside runs the statements about files and backups. Progress bars and summaries go
// to Err.
func (s *Session) outside(ctx context.Context, st ql.Statement, opts []read.Option) (exec.Result, error) {
	if err := s.expand(st); err != nil {
		return nil, err
	}
	switch st := st.(type) {
	case *ql.Import:
		return s.importFile(ctx, st)
	case *ql.Export:
		return s.exportFile(ctx, st, opts)
	case *ql.Backup:
		return s.backup(ctx, st)
	case *ql.Backups:
		return s.backups(ctx, st)
	case *ql.Restore:
		return s.restore(ctx, st)
	case *ql.RestoreTable:
		return s.restoreTable(ctx, st)
	case *ql.Verify:
		return s.verify(ctx, st)
	case *ql.Checkpoint:
		err := s.operator().Checkpoint(ctx, st.Dir)
		return &exec.Done{Message: "copied the database to " + st.Dir}, copied(err, "checkpoint", st.Dir)
	}
	return nil, fmt.Errorf("no way to run %T", st)
}
