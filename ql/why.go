package ql

import "github.com/smolwc/smolwc/ql/lex"

var whyVerb = verb{
	name: "why", parse: parseWhy, keyed: true,
	help: helpTopic{
		summary: "why a cell or a row is not shown",
		syntax:  "why T KEY [COL,..] [as FORMAT]\nwhy T KEY where CONDITION [as FORMAT]",
		text: "Shows each version of the row, or of columns: whether it is visible, or which rule of the family hides it. If the table has a\n" +
			"change stream, also the versions that were deleted, replaced or removed, and the commits that wrote and ended them.\n" +
			"With where it shows which parts of a condition are true of the row, which are false, and which have no cell.",
		examples: []string{"why fleet plane#TF-FIR meta:miles", "why fleet plane#TF-FIR where meta:miles > 50000000 and meta:owner exists"},
	},
}

// Why explains why versions of a row are visible or not, or which parts of a condition hold
// for it.
type Why struct {
	Node
	Table   Name
	Key     string
	Columns []Column
	Read    // Where and Format
}

func (st *Why) print(w *printer) {
	w.words("why", lex.QuoteName(st.Table.Text), w.quoteKey(st.Key))
	w.flag(list(st.Columns, Column.String), len(st.Columns) > 0)
	w.read(st.Read)
}

func parseWhy(p *parser) Statement {
	st := &Why{Table: p.tableName(), Key: p.key()}
	p.wantColumn("")
	if p.atWord() {
		if st.Columns = p.columnList(); st.Columns[0].Kind == ColumnRegex {
			panic(lex.ErrorAt(st.Columns[0].Pos, "why takes no pattern of columns; name them, or leave them out"))
		}
		p.options(inWhy, &target{read: &st.Read})
		return st
	}
	p.options(inWhy|inWhyNot, &target{read: &st.Read})
	return st
}
