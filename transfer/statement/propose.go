package statement

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/transfer"
)

// proposedFamily is the family of a table that a proposal creates.
const proposedFamily = "c"

// Proposed returns an import with the key, the columns and the form of the file that a
// proposal contains, and the statement that creates a table for it.
func Proposed(st *ql.Import, p *transfer.Proposal) (*ql.Import, *ql.CreateTable) {
	full := *st
	full.Key, full.Columns, full.NA = p.Key, nil, p.NA
	family := cmp.Or(p.Family, proposedFamily)
	for _, m := range p.Columns {
		c := ql.Mapping{Column: ql.Column{Family: family, Qualifier: braces.Replace(m.Qualifier)}, Field: m.Field, Type: m.Type}
		if m.All {
			c.Column = ql.Column{Family: family, Kind: ql.ColumnFamily}
		}
		full.Columns = append(full.Columns, c)
	}
	full.Written = seen(st.Written, p.Dialect)
	return &full, &ql.CreateTable{Table: st.Table, Families: []ql.Family{{Name: ql.Name{Text: family}}}}
}

// braces writes those of a name as the template of a column does.
var braces = strings.NewReplacer("{", "{{", "}", "}}")

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

// LeftOut says what a proposal leaves out of a file; "": nothing.
func LeftOut(p *transfer.Proposal) string {
	var parts []string
	if len(p.Nested) > 0 {
		parts = append(parts, fmt.Sprintf("left out, since their values are objects or lists: %s; a part is named by its path, as in c:part='$.%s.part'", lex.Escape(strings.Join(p.Nested, ", ")), lex.Escape(p.Nested[0])))
	}
	if len(p.Missing) > 0 {
		parts = append(parts, fmt.Sprintf("na=%s leaves %s out of these texts, too: %s", p.NA, p.NA, lex.Escape(strings.Join(p.Missing, ", "))))
	}
	return strings.Join(parts, "; ")
}
