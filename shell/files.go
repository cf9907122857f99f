package shell

import (
	"context"
	"errors"
	"io"
	"syscall"

	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/transfer"
	"github.com/smolwc/smolwc/transfer/statement"
)

// expand replaces ~ at the beginning of the paths of a statement, as far as they are of
// this machine.
func (s *Session) expand(st ql.Statement) error {
	var paths []*string
	switch st := st.(type) {
	case *ql.Import:
		paths = []*string{&st.Path, &st.Bad}
	case *ql.Export:
		paths = []*string{&st.To}
	case *ql.Backup:
		paths = s.ofOperator(&st.To)
	case *ql.Backups:
		paths = s.ofOperator(&st.In)
	case *ql.Verify:
		paths = s.ofOperator(&st.In)
	case *ql.Checkpoint:
		paths = s.ofOperator(&st.Dir)
	case *ql.Restore:
		paths = []*string{&st.From, &st.To}
	case *ql.RestoreTable:
		paths = s.ofOperator(&st.From)
	}
	for _, path := range paths {
		var err error
		if *path, err = osfile.Home(*path); err != nil {
			return err
		}
	}
	return nil
}

// ofOperator returns a path if this process resolves it, and not a server.
func (s *Session) ofOperator(path *string) []*string {
	if s.opt.Remote != nil {
		return nil
	}
	return []*string{path}
}

// progress returns the writer for progress bars; nil: no bars.
func (s *Session) progress() io.Writer {
	if s.opt.ErrTerminal && !s.opt.Quiet {
		return s.opt.Err
	}
	return nil
}

func (s *Session) exportFile(ctx context.Context, st *ql.Export, opts []read.Option) (exec.Result, error) {
	spec := statement.Export(st)
	spec.Options, spec.Progress = opts, s.progress()
	if st.To == "-" {
		spec.Out = s.out
	}
	res, err := s.export(ctx, st.Table.Text, spec)
	if spec.Out != nil && errors.Is(err, syscall.EPIPE) {
		err = ErrOutputClosed
	}
	if err != nil {
		return nil, err
	}
	s.note("%s", statement.Exported(&res))
	return &exec.Done{}, nil
}

func (s *Session) export(ctx context.Context, table string, spec transfer.ExportSpec) (transfer.ExportResult, error) {
	if s.opt.Remote == nil {
		return transfer.Export(ctx, s.db, table, spec)
	}
	t, _ := s.opt.Remote.LookupTable(table)
	return transfer.ExportFrom(ctx, s.opt.Remote.Table(table), t, spec)
}

// load reads a file into a table.
func (s *Session) load(ctx context.Context, table string, spec transfer.Spec) (transfer.Result, error) {
	if s.opt.Remote == nil {
		return transfer.Import(ctx, s.db, table, spec)
	}
	t, _ := s.opt.Remote.LookupTable(table)
	return transfer.ImportInto(ctx, s.opt.Remote.Table(table), t, spec)
}

// importFile runs an import statement. Bad lines, the progress bar and the summary go
// to Err.
func (s *Session) importFile(ctx context.Context, st *ql.Import) (exec.Result, error) {
	if s.opt.ReadOnly && !st.DryRun { // before it proposes anything
		return nil, query.ErrReadOnly
	}
	spec := statement.Import(st)
	spec.Warn, spec.Progress = s.opt.Err, s.progress()
	if st.Path == "-" {
		if s.reads || s.opt.Interactive {
			return nil, errors.New("the statements come from the standard input; to import from it, give them with -c or -f")
		}
		spec.Path, spec.In = Stdin, s.opt.In
	}
	res, err := s.load(ctx, st.Table.Text, spec)
	if form := (*transfer.FormError)(nil); errors.As(err, &form) {
		return s.proposeImport(ctx, st, form)
	}
	if err != nil {
		s.imported = int(res.Rows)
		return nil, err
	}
	for _, note := range statement.Notes(st, &res) {
		s.note("%s", note)
	}
	if st.DryRun {
		return statement.DryRun(st, &res), nil
	}
	return &exec.Done{}, nil
}
