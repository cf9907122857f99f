package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/smolwc/smolwc/client/remote"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/shell"
)

// resultRows is how many rows a result shows.
const resultRows = 200

// withoutComments is a statement without the lines of comments before it, which would hide
// that it is a query in SQL.
func withoutComments(text string) string {
	for {
		line, rest, more := strings.Cut(text, "\n")
		line = strings.TrimSpace(line)
		if !more || line != "" && !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "#") {
			return text
		}
		text = rest
	}
}

// An unanswered is the error of a statement that waits for the person's word.
type unanswered struct{ question string }

func (u *unanswered) Error() string { return u.question }

func isUnanswered(err error) (*unanswered, bool) { return errors.AsType[*unanswered](err) }

// start parses a statement and runs it.
func (v *visit) start(text string, rows int) (exec.Result, error) {
	if err := v.Refresh(v.r.Context()); err != nil {
		return nil, err
	}
	st, err := v.env().Parse(lex.Source{Text: text, Pos: lex.Pos{Line: 1, Col: 1}})
	if err != nil {
		return nil, err
	}
	if _, ok := st.(*ql.Begin); ok {
		return nil, errors.New("a batch of several statements needs the shell: smolwc --addr")
	}
	if err := bounded(st); err != nil {
		return nil, err
	}
	sure := v.r.FormValue("sure") != ""
	runner := v.runner(rows)
	if deletion, ok := st.(*ql.Delete); ok && !sure {
		question, err := v.deletes(deletion)
		if err != nil || question != "" {
			return nil, errors.Join(err, ask(question))
		}
	}
	ctx := v.r.Context()
	if _, ok := st.(*ql.Analyze); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, analyzeTime)
		defer cancel()
	}
	return runner.Run(ctx, st)
}

// env is what the parser knows of the database.
func (v *visit) env() ql.Env {
	return ql.Env{IsTable: func(name string) bool { _, ok := v.LookupTable(name); return ok }}
}

// runner runs statements, up to a number of rows. It asks before one drops data.
func (v *visit) runner(rows int) *exec.Runner {
	sure := v.r.FormValue("sure") != ""
	return &exec.Runner{Remote: remote.Database{Client: v.Client}, Limit: rows, Confirm: func(question string) (bool, error) {
		if !sure {
			return false, &unanswered{question}
		}
		return true, nil
	}}
}

// bounded refuses statements whose results have no end, or are kept in memory as a whole
// and may be large.
func bounded(st ql.Statement) error {
	switch st := st.(type) {
	case *ql.Diff:
		if st.Limit < 0 || st.Limit > resultRows {
			return invalid("a page has up to %d differences; give a smaller limit=, or run the diff in the shell: smolwc --addr", resultRows)
		}
	case *ql.Import:
		return invalid("the page Import a file imports one")
	case *ql.Export:
		return invalid("the buttons CSV, JSON lines and Parquet download the rows of a scan or of a query")
	case *ql.Backup, *ql.Backups, *ql.Verify:
		return invalid("the page Backups makes backups, lists and verifies them")
	case *ql.Restore, *ql.Checkpoint:
		return invalid("a page makes no database; smolwc restore and smolwc checkpoint do, at a terminal")
	case *ql.Watch:
		if st.Limit <= 0 && st.Until == nil {
			return invalid("give the watch limit= or until=; a page shows changes when they have all come")
		}
	}
	return nil
}

// analyzeTime is how long an analyze may take: the server sets it no time.
const analyzeTime = time.Minute

func ask(question string) error {
	if question == "" {
		return nil
	}
	return &unanswered{question}
}

// deletes describes the cells that a deletion would take; "" if there are none.
func (v *visit) deletes(st *ql.Delete) (string, error) {
	opts := []read.Option{read.Key(st.Key), read.CellsPerRow(resultRows + 1)}
	for _, d := range st.Columns {
		switch c := d.Column; c.Kind {
		case ql.ColumnExact:
			opts = append(opts, read.Column(c.Family, c.Qualifier))
		default:
			opts = append(opts, read.Family(c.Family))
		}
	}
	n := 0
	for row, err := range v.Table(st.Table.Text).ReadRows(v.r.Context(), opts...) {
		if err != nil {
			return "", err
		}
		n = row.Len()
	}
	switch {
	case n == 0:
		return "", nil
	case n > resultRows:
		return fmt.Sprintf("this deletes from over %d cells of row %s; delete them?", resultRows, nameText(st.Key)), nil
	}
	return fmt.Sprintf("this deletes from %d cells of row %s; delete them?", n, nameText(st.Key)), nil
}

// isExplain reports whether a query only shows its plan.
func isExplain(text string) bool {
	words := strings.Fields(text)
	return len(words) > 0 && strings.EqualFold(words[0], "explain")
}

// printed prints a result as the shell does. That tables differ is a result here.
func printed(out io.Writer, res exec.Result, format string) error {
	session := shell.New(shell.Options{Out: out, Format: format})
	err := session.Print(res)
	if errors.Is(err, shell.ErrDifferent) {
		err = nil
	}
	return errors.Join(err, session.Close())
}
