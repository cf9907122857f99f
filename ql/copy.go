package ql

import (
	"github.com/smolwc/smolwc/ql/lex"
)

var copyVerb = verb{
	name: "copy", parse: parseCopy,
	help: helpTopic{
		also: []string{"rename"}, summary: "copy a table, or rename its columns",
		syntax: "copy table A to B [columns=COL [as COL],.. | FAM:* [as FAM:*],..] [rows and conditions as in scan] [versions=N|all] [since=TS] [until=TS] [overlap]",
		text: "Copies the visible cells with their times and types, all versions unless versions= is given. If there is no table B, it\n" +
			"gets the settings, and the families with their types and rules. At hand the copy is there as a whole or not at all.\n" +
			"Over the network, and into a table with a change stream, rows are written in batches: a copy that fails leaves B with the\n" +
			"rows up to a key, which the error names, and perhaps some more. A copy into a table that is there is refused if it would\n" +
			"replace cells, or add newer versions of them, without overlap.\n" +
			"With as, a cell gets another column; A and B may be the same table. So a column is renamed by a copy and a delete, and a\n" +
			"table by a copy and a drop.",
		examples: []string{
			"copy table fleet to planes2 prefix=plane# versions=1",
			"copy table fleet to fleet columns=meta:owner as meta:proprietor",
			"copy table fleet to models columns=meta:* as info:* where meta:model exists",
		},
	},
}

// CopyTable copies the cells of a table to another one, which it creates if it does not
// exist.
type CopyTable struct {
	Node
	Table   Name // from
	To      Name
	Renamed []CopiedColumn // empty: all columns
	Rows
	Read         // without Columns
	Overlap bool // replace cells, and add newer versions of them
}

// A CopiedColumn is a column, or the columns of a family, and the name of the copy.
type CopiedColumn struct {
	Column Column
	As     *Column // nil: the same; of the same kind as Column
}

// String returns it in the language's syntax.
func (c CopiedColumn) String() string {
	if c.As == nil {
		return c.Column.String()
	}
	return c.Column.String() + " as " + c.As.String()
}

func (st *CopyTable) print(w *printer) {
	w.words("copy table", lex.QuoteName(st.Table.Text), "to", lex.QuoteName(st.To.Text))
	w.option("columns", list(st.Renamed, CopiedColumn.String))
	w.rows(st.Rows)
	w.read(st.Read)
	w.flag("overlap", st.Overlap)
}

func parseCopy(p *parser) Statement {
	if !p.acceptWord("table") {
		panic(p.unexpected("table, as in copy table fleet to planes"))
	}
	st := &CopyTable{Table: p.tableNamed()}
	if !p.acceptWord("to") {
		panic(p.unexpected("to, as in copy table %s to planes", lex.QuoteName(st.Table.Text)))
	}
	st.To = p.name("the name of the copy")
	p.options(inCopy, &target{rows: &st.Rows, read: &st.Read, renamed: &st.Renamed, overlap: &st.Overlap})
	return st
}

// renamedOption parses COL [as COL], or FAM:* [as FAM:*], with commas between.
func (p *parser) renamedOption(to *target) {
	var before []Column
	for len(before) == 0 || p.listGoesOn() {
		p.bound(len(before), maxFigures, "columns to copy; a table is copied as a whole without columns=")
		c := CopiedColumn{Column: p.listedColumn(before, false)}
		before = append(before, c.Column)
		if p.acceptWord("as") {
			as := p.listedColumn(before[:0], false)
			kind := c.Column.Kind
			if kind != ColumnExact && kind != ColumnFamily {
				panic(lex.ErrorAt(c.Column.Pos, "%s cannot have another name; name one column, as in meta:model as meta:type, or a family, as in meta:* as info:*", c.Column))
			}
			if as.Kind != kind {
				panic(lex.ErrorAt(as.Pos, "one column becomes one column, and a family a family; write %s", map[ColumnKind]string{ColumnExact: "meta:model as meta:type", ColumnFamily: "meta:* as info:*"}[kind]))
			}
			c.As = &as
		}
		*to.renamed = append(*to.renamed, c)
	}
}

var diffVerb = verb{
	name: "diff", parse: parseDiff,
	help: helpTopic{
		summary: "the cells in which two tables differ",
		syntax:  "diff A B [prefix=K | start=K end=K | keys=K,K,..] [after=K] [regex=/RE/] [columns=..] [versions=N|all] [since=TS] [until=TS] [values] [limit=N] [as FORMAT]",
		text: "Compares all versions with their times, or the newest N with versions=N. With values it compares the newest cells, whatever\n" +
			"their times. Shows the first limit= cells that differ, 100 by default, and says how many there are. The exit code of the run\n" +
			"is 4 if there are any.",
		examples: []string{"diff fleet planes2 prefix=plane#", "diff fleet planes2 columns=meta:model values"},
	},
}

// Diff compares the cells of two tables.
type Diff struct {
	Node
	Table  Name
	With   Name
	Values bool // compare the newest cells, whatever their times
	Rows
	Read // without Where; Limit is of the differences
}

func (st *Diff) print(w *printer) {
	w.words("diff", lex.QuoteName(st.Table.Text), lex.QuoteName(st.With.Text))
	w.rows(st.Rows)
	w.flag("values", st.Values)
	w.read(st.Read)
}

func parseDiff(p *parser) Statement {
	st := &Diff{Table: p.tableNamed()}
	first := p.table
	st.With = p.tableNamed()
	p.table = first
	to := &target{rows: &st.Rows, read: &st.Read, values: &st.Values}
	p.options(inDiff, to)
	if at, ok := to.seen["versions"]; ok && st.Values {
		panic(lex.ErrorAt(at, "values compares the newest cells; leave out versions="))
	}
	return st
}

var watchVerb = verb{
	name: "watch", parse: parseWatch,
	help: helpTopic{
		also: []string{"changes"}, summary: "the changes of a table, as they are made",
		syntax: "watch T [prefix=K | start=K end=K] [since=TS | token=TOKEN] [until=TS] [limit=N] [as FORMAT]",
		text: "Shows each change of the rows as a statement that makes it, from now on or from since= on, and waits for more until\n" +
			"Ctrl-C, the time until=, or limit= changed rows. The table needs a change stream: alter table T set change_stream=7d.\n" +
			"In jsonl each line is the changes of one row in one commit, with a token; token= goes on after it.",
	},
}

// Watch shows the changes of a table.
type Watch struct {
	Node
	Table Name
	Token string // go on after it; "": not given
	Rows
	Read // Since, Until, Limit and Format
}

func (st *Watch) print(w *printer) {
	w.words("watch", lex.QuoteName(st.Table.Text))
	w.rows(st.Rows)
	w.word("token", st.Token)
	w.read(st.Read)
}

func parseWatch(p *parser) Statement {
	st := &Watch{Table: p.tableName()}
	to := &target{rows: &st.Rows, read: &st.Read, token: &st.Token}
	p.options(inWatch, to)
	to.oneOf("give one of them", []string{"since"}, []string{"token"})
	return st
}
