package shell

import (
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
)

// A linePrinter prints a row as its key and, below it, one line for each cell, in the
// syntax of put: meta:miles=51000000@2024-01-25T00:00:00Z.
type linePrinter struct {
	*view
	rows int
}

func (p *linePrinter) row(r *query.Row) error {
	if p.rows++; p.rows > 1 {
		p.out.WriteString("\n")
	}
	_, err := p.out.WriteString(p.palette.key(p.key(r.Key())) + "\n")
	for c := range r.Cells() {
		_, err = fmt.Fprintf(p.out, "  %s=%s%s\n", p.palette.column(lex.QuoteColumn(c.Family, c.Qualifier)), p.value(c), p.palette.dim("@"+lex.FormatTimestamp(c.Timestamp, p.zone)))
	}
	return err
}

func (p *linePrinter) end() error { return nil }

// A cbtPrinter prints rows as the cbt tool does, with values as words of the
// language.
type cbtPrinter struct{ *view }

func (p *cbtPrinter) row(r *query.Row) error {
	fmt.Fprintf(p.out, "%s\n%s\n", strings.Repeat("-", 40), p.palette.key(p.key(r.Key())))
	var err error
	for c := range r.Cells() {
		at := c.Timestamp.Time().Format("2006/01/02-15:04:05.000000")
		column := lex.QuoteColumn(c.Family, c.Qualifier)
		_, err = fmt.Fprintf(p.out, "  %s %s\n    %s\n", padMarked(column, p.palette.column(column), 40, false), p.palette.dim("@ "+at), p.value(c))
	}
	return err
}

func (p *cbtPrinter) end() error { return nil }
