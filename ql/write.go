package ql

import (
	"github.com/smolwc/smolwc/ql/dialect"
	"github.com/smolwc/smolwc/ql/lex"
)

var putVerb = verb{
	name: "put", parse: parsePut, keyed: true,
	foreign: []spelling{{"set", parsePut}},
	help: helpTopic{
		summary: "write cells of a row",
		syntax: "put T KEY COL=VALUE[@TS] ...\n" +
			"put T COL=VALUE[@TS] ... where CONDITION [prefix=K | start=K end=K | keys=K,..] [after=K] [regex=/RE/] [dry-run] [yes]",
		text: "The cells are written together or not at all. Without @TS they get the time of writing. See help values.\n" +
			"Without a key they are written to each row that the options select. It counts the rows and asks first on a terminal,\n" +
			"and needs yes in scripts; dry-run only counts.",
		examples: []string{
			`put fleet plane#TF-FIR meta:model="Boeing 757-256" meta:operator=Icelandair meta:miles=51000000 flight:FI318="2024-01-25"@2024-01-25`,
			`put fleet "bin\x01\xffkey" meta:raw=x'0001ff' meta:on=true meta:n=7byte meta:f=1.5f32`,
			"put fleet meta:owner=unknown where meta:owner absent prefix=plane# dry-run",
		},
	},
}

// Put writes cells of one row.
type Put struct {
	Node
	Table Name
	Key   string
	Cells []Assignment
}

func (st *Put) print(w *printer) {
	w.words("put", lex.QuoteName(st.Table.Text), w.quoteKey(st.Key))
	w.assignments(st.Cells)
}

// parsePut parses put T KEY COL=LIT[@TS] ..., put T COL=LIT[@TS] ... where ..., and
// HBase's put 't', 'key', 'cf:a', 'value' [, ts].
func parsePut(p *parser) Statement {
	st := &Put{Table: p.tableName()}
	hbase := p.skipComma()
	if !hbase && p.isMark(1, "=") {
		return p.putWhere(st.Table)
	}
	st.Key = p.key()
	if hbase {
		st.Cells = []Assignment{p.hbaseAssignment()}
		return st
	}
	p.skipIgnored()
	for len(st.Cells) == 0 || p.moreColumns() {
		st.Cells = append(st.Cells, p.assignment())
	}
	return st
}

func (p *parser) moreColumns() bool {
	p.wantColumn("")
	return !p.atEnd()
}

func (p *parser) assignment() (a Assignment) {
	p.wantColumn("")
	if p.atEnd() {
		panic(p.unexpected("a column and its value, as in meta:model=\"Boeing 757\""))
	}
	a.Column = p.exactColumn()
	p.expect("=")
	a.Value, a.At = p.literal()
	if p.spelt == "set" {
		a.Value = dialect.AsText(a.Value)
	}
	return a
}

// hbaseAssignment parses the rest of an HBase put. All its values are text. If the
// family declares a number type, they are converted to it.
func (p *parser) hbaseAssignment() (a Assignment) {
	p.expect(",")
	a.Column = p.exactColumn()
	p.expect(",")
	a.Value, a.At = p.literal()
	a.Value = must(dialect.HBaseText(a.Value))
	if p.skipComma() {
		a.At = p.millis()
	}
	return a
}

var deleteVerb = verb{
	name: "delete", parse: parseDelete, keyed: true,
	foreign: []spelling{{"deleteall", parseDelete}, {"deleterow", parseDeleteRow}, {"deletecolumn", parseDeleteColumn}},
	help: helpTopic{
		summary: "delete rows, columns, versions, ranges",
		syntax: "delete T KEY [COL[@TS] | FAM:* ...] [since=TS] [until=TS]\n" +
			"delete T prefix=K | start=K end=K  [yes]\n" +
			"delete T [COL | FAM:* ...] where CONDITION [prefix=K | start=K end=K | keys=K,..] [after=K] [regex=/RE/] [dry-run] [yes]",
		text: "Without columns the whole row goes. since and until bound the versions of the named columns.\n" +
			"Deleting a range asks first on a terminal and needs yes in scripts, and so does deleting by a condition, which counts the\n" +
			"rows; dry-run only counts.",
		examples: []string{"delete fleet where meta:model absent prefix=plane# dry-run", "delete fleet plane#TF-FIR flight:FI318", "delete fleet plane#TF-FIR meta:miles since=2020-01-01 until=2021-01-01", "delete fleet prefix=tmp# yes"},
	},
}

// Delete deletes one row, or columns or cells of it.
type Delete struct {
	Node
	Table   Name
	Key     string
	Columns []DeleteColumn // empty: the row
	Since   *lex.Time      // inclusive; Since and Until bound the versions
	Until   *lex.Time      // exclusive
}

func (st *Delete) print(w *printer) {
	w.words("delete", lex.QuoteName(st.Table.Text), w.quoteKey(st.Key))
	for _, d := range st.Columns {
		w.words(d.Column.String() + at(d.At))
	}
	w.time("since", st.Since)
	w.time("until", st.Until)
}

// DeleteRange deletes all rows of a prefix or a range of keys.
type DeleteRange struct {
	Node
	Table Name
	Rows       // Prefix, or Start and End
	Yes   bool // do not ask
}

func (st *DeleteRange) print(w *printer) {
	w.words("delete", lex.QuoteName(st.Table.Text))
	w.rows(st.Rows)
	w.flag("yes", st.Yes)
}

// parseDelete parses delete T KEY [COL[@TS]|fam:* ...] [since=] [until=],
// delete T prefix=K | start=K end=K [yes] and delete T [COL ...] where ...
func parseDelete(p *parser) Statement {
	if p.peek().Keyword() == "from" && p.peekAt(1).Kind == lex.Word {
		panic(lex.ErrorAt(p.peek().Pos, "expected a table, not \"from\"; delete T KEY deletes a row, delete T where CONDITION all rows that satisfy it"))
	}
	table := p.tableName()
	hbase := p.skipComma()
	p.wantOptions(inDelete, nil)
	switch {
	case !hbase && p.hasWord("where"):
		return p.deleteWhere(table)
	case p.atOption(0), p.atMark("{"):
		return p.deleteRange(table)
	case hbase:
		return p.hbaseDelete(table)
	}
	st := &Delete{Table: table}
	st.Key = p.key()
	for p.atDeleteColumn() {
		st.Columns = append(st.Columns, p.deleteColumn())
	}
	p.deleteBounds(st)
	return st
}

// atDeleteColumn reports whether another column follows, rather than an option.
func (p *parser) atDeleteColumn() bool {
	p.wantColumn("")
	return p.atWord()
}

// isColumn reports whether the token looks like a column.
func isColumn(t lex.Token) bool {
	_, _, ok := cutColumn(t)
	return t.Kind == lex.Word && ok
}

// deleteBounds parses since= and until=, which require columns.
func (p *parser) deleteBounds(st *Delete) {
	var read Read
	to := &target{rows: &Rows{}, read: &read, yes: new(bool)}
	p.options(inDelete, to)
	st.Since, st.Until = read.Since, read.Until
	for name, at := range to.seen {
		if name != "since" && name != "until" {
			panic(lex.ErrorAt(at, "%s does not go with a key; delete a key, or a range of keys", name))
		}
	}
	if st.Since == nil && st.Until == nil {
		return
	}
	for _, c := range st.Columns {
		if c.At != nil || c.Column.Kind != ColumnExact {
			panic(lex.ErrorAt(c.Column.Pos, "since and until delete versions of single columns; this is not one"))
		}
	}
	if len(st.Columns) == 0 {
		panic(lex.ErrorAt(p.start, "since and until delete versions of columns; name the columns"))
	}
}

func (p *parser) deleteColumn() (d DeleteColumn) {
	p.wantColumn("")
	t := p.peek()
	if t.Kind != lex.Word {
		panic(p.unexpected("a column, as in meta:model or meta:*"))
	}
	p.next()
	parts, ts, err := lex.CutTime(t)
	if t.Parts, d.At = must(parts, err), ts.In(p.env.Zone); len(parts) == 0 {
		panic(lex.ErrorAt(t.Pos, "expected a column before @"))
	}
	d.Column = columnOf(t)
	if d.Column.Kind == ColumnPrefix || d.At != nil && d.Column.Kind != ColumnExact {
		panic(lex.ErrorAt(t.Pos, "%s cannot be deleted at once; name one column, or a family as in meta:*", lex.QuoteText(lex.Clip(t.Text))))
	}
	return d
}

func (p *parser) deleteRange(table Name) Statement {
	st := &DeleteRange{Table: table}
	var read Read
	to := &target{rows: &st.Rows, read: &read, yes: &st.Yes}
	p.options(inDelete, to)
	for _, name := range []string{"since", "until"} {
		if at, ok := to.seen[name]; ok {
			panic(lex.ErrorAt(at, "%s does not go with a range; a range is deleted with all its versions", name))
		}
	}
	if st.Prefix == "" && !st.TuplePrefix && st.Start == "" && st.End == "" {
		panic(lex.ErrorAt(p.start, "the range is the whole table; truncate does that"))
	}
	return st
}

// parseDeleteRow parses deleterow T KEY of cbt.
func parseDeleteRow(p *parser) Statement { return p.deleteRow() }

func (p *parser) deleteRow() *Delete { return &Delete{Table: p.tableName(), Key: p.key()} }

// parseDeleteColumn parses deletecolumn T KEY FAMILY QUALIFIER of cbt, and
// deletecolumn T KEY FAM:QUAL.
func parseDeleteColumn(p *parser) Statement {
	st := p.deleteRow()
	first, second := p.peek(), p.peekAt(1)
	if first.Kind == lex.Word && second.Kind == lex.Word && !isColumn(first) {
		family := p.name("the family's name")
		p.next()
		st.Columns = []DeleteColumn{{Column: Column{Pos: first.Pos, Family: family.Text, Qualifier: lex.Join(second.Parts)}}}
		return st
	}
	d := p.deleteColumn()
	if d.Column.Kind != ColumnExact {
		panic(lex.ErrorAt(first.Pos, "%s means several columns; name one here, or delete them with delete", lex.QuoteText(lex.Clip(first.Text))))
	}
	st.Columns = []DeleteColumn{d}
	return st
}

var beginVerb = verb{
	name: "begin", parse: parseBegin,
	help: helpTopic{
		also: []string{"batch"}, summary: "put and delete several rows as one",
		syntax: "begin\nput .. | delete ..\ncommit | abort",
		text: "All puts and deletes between begin and commit take effect at once, or not at all; abort drops them.\n" +
			"A script that ends without commit is an error and has written nothing of its batch.\n" +
			"Reads are refused in a batch, and so are incr, append and cas: nothing is written before commit.",
		examples: []string{"begin", "put fleet plane#TF-FIS meta:model=757-223", "delete fleet plane#TF-FIX", "commit"},
	},
}

// Begin opens a batch: puts and deletes up to Commit take effect together.
type Begin struct{ Node }

func (st *Begin) print(w *printer) {
	w.words("begin")
}

func parseBegin(*parser) Statement { return &Begin{} }

var commitVerb = verb{
	name: "commit", parse: parseCommit,
	help: helpTopic{
		summary: "write the batch that begin opened",
		syntax:  "commit", text: "See help begin.", examples: []string{"begin", "put fleet plane#TF-FIS meta:model=757-223", "commit"},
	},
}

// Commit writes the batch.
type Commit struct{ Node }

func (st *Commit) print(w *printer) {
	w.words("commit")
}

func parseCommit(*parser) Statement { return &Commit{} }

var abortVerb = verb{
	name: "abort", parse: parseAbort,
	foreign: []spelling{{"rollback", parseAbort}},
	help: helpTopic{
		summary: "drop the batch that begin opened",
		syntax:  "abort", text: "See help begin.", examples: []string{"begin", "put fleet plane#TF-FIS meta:model=757-223", "abort"},
	},
}

// Abort drops the batch.
type Abort struct{ Node }

func (st *Abort) print(w *printer) {
	w.words("abort")
}

func parseAbort(*parser) Statement { return &Abort{} }
