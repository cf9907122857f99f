package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
)

// RunScript runs statements and session commands from r until one fails. It writes the
// failure to Err as name:line:col: message and returns it; the effects of earlier
// statements stay. With KeepGoing the script continues, and the final error is
// ErrFailed. If the script begins a batch and does not end it, that is an error, and
// nothing of the batch is written. name may be empty.
func (s *Session) RunScript(ctx context.Context, name string, r io.Reader) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	begun := s.runner.Batches()
	s.reads = s.reads || name == Stdin
	err := s.runAll(ctx, name, r)
	if s.runner.Batches() > begun { // a batch that the caller began is not ended here
		if open := s.runner.DropBatch(); open != nil && err == nil {
			s.report(name, open)
			err = open
		}
	}
	return err
}

// runAll is RunScript without the check for an open batch at the end.
func (s *Session) runAll(ctx context.Context, name string, r io.Reader) error {
	reader := ql.NewReader(r)
	failed := false
	for !s.left {
		src, err := reader.Next()
		if err == io.EOF {
			break
		}
		broken := err != nil // the rest of the script cannot be read
		if err == nil {
			err = s.exec(ctx, src)
		}
		if err == nil {
			continue
		}
		s.report(name, err)
		s.runner.SpoilBatch(err)
		if broken || !s.goesOn(err) {
			return err
		}
		failed = true
	}
	if err := s.out.flush(); err != nil {
		return err
	}
	if failed {
		return ErrFailed
	}
	return nil
}

// RunStatement runs the statements in text. Messages give them no name. A later call
// may commit a batch that they begin; [Session.Close] returns an error if a batch is
// open.
func (s *Session) RunStatement(ctx context.Context, text string) error {
	return s.RunNamed(ctx, "", text)
}

// RunNamed is RunStatement with a name that precedes the place in messages.
func (s *Session) RunNamed(ctx context.Context, name, text string) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	if s.opt.Pages {
		defer context.AfterFunc(ctx, func() {
			if errors.Is(context.Cause(ctx), ErrTerminated) { // after Ctrl-C people read on
				s.pager.Hangup()
			}
		})()
		return s.page(ctx, func(ctx context.Context) error { return s.runAll(ctx, name, strings.NewReader(text)) })
	}
	return s.runAll(ctx, name, strings.NewReader(text))
}

// page runs statements and shows their output as one page. Quitting the pager cancels
// them.
func (s *Session) page(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		defer close(stopped)
		s.pager.Stop()
	})
	defer func() {
		if !forget() {
			<-stopped // it must not stop the next page
		}
	}()
	s.pager.Begin(func() { cancel(errPagerQuit) })
	err := run(ctx)
	if pageErr := s.pager.End(ctx.Err() != nil); err == nil {
		err = pageErr
	}
	return err
}

func (s *Session) goesOn(err error) bool {
	return !s.bail && !errors.Is(err, ErrOutputClosed) && !errors.Is(err, context.Canceled)
}

func (s *Session) exec(ctx context.Context, src lex.Source) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.echo {
		if err := s.say("%s", src.Text); err != nil {
			return writeError(err)
		}
	}
	if src.Session {
		return s.command(ctx, src)
	}
	st, err := s.env().Parse(src)
	if err != nil {
		return err
	}
	s.hint(st)
	if s.opt.Stats {
		wantStats(st)
	}
	err = s.run(ctx, st)
	if endErr := s.endOnce(); err == nil {
		err = endErr
	}
	return at(src.Pos, err)
}

// wantStats makes a read report its cost, as if the statement had stats.
func wantStats(st ql.Statement) {
	switch st := st.(type) {
	case *ql.Get:
		st.Stats = true
	case *ql.Scan:
		st.Stats = true
	case *ql.Count:
		st.Stats = !st.Approx
	}
}

func (s *Session) env() ql.Env {
	return ql.Env{Table: s.table, Zone: s.runner.Zone, IsTable: func(name string) bool {
		_, ok := s.runner.Database().Schema().Table(name)
		return ok
	}}
}

// hint shows the native spelling the first time a foreign one is used.
func (s *Session) hint(st ql.Statement) {
	if _, quits := st.(*ql.Quit); st.Borrowed() && s.opt.Interactive && !s.hinted && !quits {
		s.hinted = true
		s.note("-- in smolwc's own words: %s", s.runner.Native(st))
	}
}

func (s *Session) run(ctx context.Context, st ql.Statement) error {
	start := time.Now()
	s.imported, s.runner.Limit = 0, s.rowLimit()
	if err := s.prepare(ctx, st); err != nil {
		return err
	}
	res, err := s.runner.Run(ctx, st)
	rows := s.imported
	if counted, ok := res.(*exec.Counted); ok {
		rows = int(counted.Rows)
	}
	if err == nil {
		rows, err = s.print(ctx, res)
	}
	took := time.Since(start)
	if flushErr := s.out.flush(); err == nil {
		err = flushErr
	}
	if err != nil && ctx.Err() != nil {
		if context.Cause(ctx) == errPagerQuit {
			return ErrOutputClosed
		}
		if pageErr := s.pager.End(true); pageErr != nil {
			return pageErr
		}
		progress := humanize.Plural(rows, "row") + ", "
		if rows == 0 && !countsRows(st) {
			progress = ""
		}
		fmt.Fprintf(s.opt.Err, "%s after %s%s\n", ended(ctx.Err()), progress, humanize.Elapsed(took))
		return fmt.Errorf("%w: %w", ctx.Err(), errReported)
	}
	if err == nil && s.opt.Timing {
		fmt.Fprintf(s.opt.Err, "-- %s\n", humanize.Elapsed(took))
	}
	return err
}

// prepare prepares the session's first database for a statement.
func (s *Session) prepare(ctx context.Context, st ql.Statement) error {
	if s.opt.Prepare == nil || s.opened != nil || exec.Reads(st) {
		return nil
	}
	if err := s.opt.Prepare(ctx); err != nil {
		return err
	}
	s.opt.Prepare = nil
	return nil
}

func countsRows(st ql.Statement) bool {
	switch st.(type) {
	case *ql.Get, *ql.Scan, *ql.Sample, *ql.Select, *ql.Count, *ql.Import, *ql.Watch:
		return true
	}
	return false
}
