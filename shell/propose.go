package shell

import (
	"context"
	"errors"
	"fmt"

	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/transfer"
	"github.com/smolwc/smolwc/transfer/statement"
)

// proposeImport shows the import that a file without key= and columns= looks made for. At a
// terminal it asks whether to run it; elsewhere the statement is the error.
func (s *Session) proposeImport(ctx context.Context, st *ql.Import, form *transfer.FormError) (exec.Result, error) {
	p := form.Proposal
	if p == nil || len(p.Names) == 0 {
		return nil, form
	}
	full, create := statement.Proposed(st, p)
	text := ql.Print(full)
	if form.Table != nil {
		text = ql.Print(create) + "; " + text
	}
	if s.runner.Confirm == nil || st.Path == "-" {
		err := fmt.Errorf("%w; type%s: %s", form, unsure(p), text)
		if left := statement.LeftOut(p); left != "" {
			err = fmt.Errorf("%w; %s", err, left)
		}
		return nil, err
	}
	if form.Table != nil {
		s.note("%v", form.Table)
	}
	for _, line := range p.Summary()[:min(len(p.Names), 12)] {
		s.note("  %s", lex.Escape(line))
	}
	if more := len(p.Names) - 12; more > 0 {
		s.note("  and %s", humanize.Plural(more, "more field"))
	}
	if !p.Unique {
		return nil, fmt.Errorf("nothing was imported; type%s: %s", unsure(p), text)
	}
	if left := statement.LeftOut(p); left != "" {
		s.note("%s", left)
	}
	s.note("%s", text)
	yes, err := s.runner.Confirm("run this?")
	if err != nil {
		return nil, err
	}
	if !yes {
		return nil, errors.New("nothing was imported; the statement can be typed with another key or other columns")
	}
	if form.Table != nil {
		if _, err := s.runner.Run(ctx, create); err != nil {
			return nil, err
		}
	}
	return s.importFile(ctx, full)
}

// unsure says how a proposal has to change before it can run.
func unsure(p *transfer.Proposal) string {
	if p.Unique {
		return ""
	}
	return " this with another key=, or with bad-lines= for repeated lines, since some lines have the same values in all fields that can make a key"
}
