package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/transfer"
)

// proposedFamily is the family of a table that a proposal creates.
const proposedFamily = "c"

// proposeImport shows the import that a file without key= and columns= looks made for. At a
// terminal it asks whether to run it; elsewhere the statement is the error.
func (s *Session) proposeImport(ctx context.Context, st *ql.Import, form *transfer.FormError) (exec.Result, error) {
	p := form.Proposal
	if p == nil || len(p.Names) == 0 {
		return nil, form
	}
	full, create := ProposedImport(st, p)
	text := ql.Print(full)
	if form.Table != nil {
		text = ql.Print(create) + "; " + text
	}
	unsure := ""
	if !p.Unique {
		unsure = "; no field tells all lines apart, so write a key that does"
	}
	if s.runner.Confirm == nil || st.Path == "-" {
		return nil, fmt.Errorf("%w%s; type: %s", form, unsure, text)
	}
	if form.Table != nil {
		s.note("%v", form.Table)
	}
	for _, line := range p.Summary()[:min(len(p.Names), 12)] {
		s.note("  %s", lex.Escape(line))
	}
	if more := len(p.Names) - 12; more > 0 {
		s.note("  and %s", plural(more, "more field"))
	}
	s.note("%s", text)
	yes, err := s.runner.Confirm("run this" + unsure + "?")
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

// ProposedImport returns an import with the key, the columns and the form of the file that a
// proposal contains, and the statement that creates a table for it.
func ProposedImport(st *ql.Import, p *transfer.Proposal) (*ql.Import, *ql.CreateTable) {
	if st == nil || p == nil {
		return nil, nil
	}
	full := *st
	full.Key, full.Columns = p.Key, nil
	family := cmp.Or(p.Family, proposedFamily)
	for _, m := range p.Columns {
		c := ql.Mapping{Column: ql.Column{Family: family, Qualifier: m.Qualifier}, Field: m.Field, Type: m.Type}
		if m.All {
			c.Column = ql.Column{Family: family, Kind: ql.ColumnFamily}
		}
		full.Columns = append(full.Columns, c)
	}
	full.Written = seen(st.Written, p.Dialect)
	return &full, &ql.CreateTable{Table: st.Table, Families: []ql.Family{{Name: ql.Name{Text: family}}}}
}

// dialect is a file's form by a statement.
func dialect(w ql.Written) transfer.Dialect {
	return transfer.Dialect{Separator: w.Separator, Quote: w.Quote, Header: w.Header, Skip: w.Skip, Comment: w.Comment, Decimal: w.Decimal, Ragged: w.Ragged}
}

// seen adds a file's form to the statement's, as far as it is not plain CSV.
func seen(w ql.Written, d transfer.Dialect) ql.Written {
	add := func(to *string, value, plain string) {
		if *to == "" && value != plain {
			*to = value
		}
	}
	add(&w.Separator, d.Separator, ",")
	add(&w.Quote, d.Quote, `"`)
	add(&w.Comment, d.Comment, transfer.None)
	add(&w.Header, d.Header, transfer.Yes)
	add(&w.Decimal, d.Decimal, ".")
	if w.Skip == 0 && d.Skip > 0 {
		w.Skip = d.Skip
	}
	w.Ragged = w.Ragged || d.Ragged
	return w
}

// writtenNote says what an import saw of how its file is written; "": nothing new.
func writtenNote(st *ql.Import, d transfer.Dialect) string {
	all := seen(st.Written, d)
	if tabs := st.As == "tsv" || strings.HasSuffix(strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(st.Path, ".gz"), ".zst")), ".tsv"); tabs && st.Written.Separator == "" {
		all.Separator, all.Quote = "", ""
	}
	text := all.String()
	if text == st.Written.String() {
		return ""
	}
	return st.Path + " was read with " + text
}
