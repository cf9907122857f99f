package ql

import (
	"github.com/smolwc/smolwc/query/ql/dialect"
	"github.com/smolwc/smolwc/query/ql/lex"
)

var putVerb = verb{
	name: "put", parse: parsePut, keyed: true,
	foreign: []spelling{{"set", parsePut}},
	help: helpTopic{
		summary: "write cells of a row",
		syntax:  "put T KEY COL=VALUE[@TS] ...",
		text:    "The cells are written together or not at all. Without @TS they get the time of writing. See help values.",
		examples: []string{
			`put fleet plane#TF-FIR meta:model="Boeing 757-256" meta:operator=Icelandair meta:miles=51000000 flight:FI318="2024-01-25"@2024-01-25`,
			`put fleet "bin\x01\xffkey" meta:raw=x'0001ff' meta:on=true meta:n=7byte meta:f=1.5f32`,
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

// parsePut parses put T KEY COL=LIT[@TS] ..., and HBase's
// put 't', 'key', 'cf:a', 'value' [, ts].
func parsePut(p *parser) (Statement, error) {
	st := &Put{}
	var err error
	if st.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	hbase := p.skipComma()
	if st.Key, err = p.key(); err != nil {
		return nil, err
	}
	if hbase {
		return st, p.hbasePut(st)
	}
	p.skipIgnored()
	for len(st.Cells) == 0 || p.moreColumns() {
		a, err := p.assignment()
		if err != nil {
			return nil, err
		}
		st.Cells = append(st.Cells, a)
	}
	return st, nil
}

// moreColumns reports whether another column may follow in the statement.
func (p *parser) moreColumns() bool {
	p.wantColumn("")
	return !p.atEnd()
}

func (p *parser) assignment() (a Assignment, err error) {
	p.wantColumn("")
	if p.atEnd() {
		return a, p.unexpected("a column and its value, as in meta:model=\"Boeing 757\"")
	}
	if a.Column, err = p.exactColumn(); err != nil {
		return a, err
	}
	if err = p.expect("="); err != nil {
		return a, err
	}
	a.Value, a.At, err = p.literal()
	if p.spelt == "set" {
		a.Value = dialect.AsText(a.Value)
	}
	return a, err
}

// hbasePut parses the rest of an HBase put. All its values are text. If the family
// declares a number type, they are converted to it.
func (p *parser) hbasePut(st *Put) error {
	var a Assignment
	if err := p.expect(","); err != nil {
		return err
	}
	var err error
	if a.Column, err = p.exactColumn(); err != nil {
		return err
	}
	if err := p.expect(","); err != nil {
		return err
	}
	if a.Value, a.At, err = p.literal(); err != nil {
		return err
	}
	if a.Value, err = dialect.HBaseText(a.Value); err != nil {
		return err
	}
	if p.skipComma() {
		if a.At, err = p.millis(); err != nil {
			return err
		}
	}
	st.Cells = []Assignment{a}
	return nil
}

var deleteVerb = verb{
	name: "delete", parse: parseDelete, keyed: true,
	foreign: []spelling{{"deleteall", parseDelete}, {"deleterow", parseDeleteRow}, {"deletecolumn", parseDeleteColumn}},
	help: helpTopic{
		summary: "delete rows, columns, versions, ranges",
		syntax: "delete T KEY [COL[@TS] | FAM:* ...] [since=TS] [until=TS]\n" +
			"delete T prefix=K | start=K end=K  [yes]",
		text: "Without columns the whole row goes. since and until bound the versions of the named columns.\n" +
			"Deleting a range asks first on a terminal and needs yes in scripts.",
		examples: []string{"delete fleet plane#TF-FIR flight:FI318", "delete fleet plane#TF-FIR meta:miles since=2020-01-01 until=2021-01-01", "delete fleet prefix=tmp# yes"},
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

// parseDelete parses delete T KEY [COL[@TS]|fam:* ...] [since=] [until=] and
// delete T prefix=K | start=K end=K [yes].
func parseDelete(p *parser) (Statement, error) {
	table, err := p.tableName()
	if err != nil {
		return nil, err
	}
	hbase := p.skipComma()
	p.wantOptions(inDelete, nil)
	switch {
	case p.atOption(0), p.atMark("{"):
		return p.deleteRange(table)
	case hbase:
		return p.hbaseDelete(table)
	}
	st := &Delete{Table: table}
	if st.Key, err = p.key(); err != nil {
		return nil, err
	}
	for p.atDeleteColumn() {
		c, err := p.deleteColumn()
		if err != nil {
			return nil, err
		}
		st.Columns = append(st.Columns, c)
	}
	return st, p.deleteBounds(st)
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
func (p *parser) deleteBounds(st *Delete) error {
	var read Read
	to := &target{rows: &Rows{}, read: &read, yes: new(bool)}
	if err := p.options(inDelete, to); err != nil {
		return err
	}
	if read.Since != nil || read.Until != nil {
		st.Since, st.Until = read.Since, read.Until
	}
	for name, at := range to.seen {
		if name != "since" && name != "until" {
			return lex.ErrorAt(at, "%s does not go with a key; delete a key, or a range of keys", name)
		}
	}
	if st.Since == nil && st.Until == nil {
		return nil
	}
	for _, c := range st.Columns {
		if c.At != nil || c.Column.Kind != ColumnExact {
			return lex.ErrorAt(c.Column.Pos, "since and until delete versions of single columns; this is not one")
		}
	}
	if len(st.Columns) == 0 {
		return lex.ErrorAt(p.start, "since and until delete versions of columns; name the columns")
	}
	return nil
}

func (p *parser) deleteColumn() (d DeleteColumn, err error) {
	p.wantColumn("")
	t := p.peek()
	if t.Kind != lex.Word {
		return d, p.unexpected("a column, as in meta:model or meta:*")
	}
	p.next()
	at := t.Pos
	if t.Parts, d.At, err = lex.CutTime(t); err != nil {
		return d, err
	}
	if len(t.Parts) == 0 {
		return d, lex.ErrorAt(at, "expected a column before @")
	}
	if d.Column, err = columnOf(t); err != nil {
		return d, err
	}
	if d.Column.Kind == ColumnPrefix || d.At != nil && d.Column.Kind != ColumnExact {
		return d, lex.ErrorAt(t.Pos, "%s cannot be deleted at once; name one column, or a family as in meta:*", lex.QuoteText(lex.Clip(t.Text)))
	}
	return d, nil
}

func (p *parser) deleteRange(table Name) (Statement, error) {
	st := &DeleteRange{Table: table}
	var read Read
	to := &target{rows: &st.Rows, read: &read, yes: &st.Yes}
	if err := p.options(inDelete, to); err != nil {
		return nil, err
	}
	for _, name := range []string{"since", "until"} {
		if at, ok := to.seen[name]; ok {
			return nil, lex.ErrorAt(at, "%s does not go with a range; a range is deleted with all its versions", name)
		}
	}
	if st.Prefix == "" && !st.TuplePrefix && st.Start == "" && st.End == "" {
		return nil, lex.ErrorAt(p.start, "the range is the whole table; truncate does that")
	}
	return st, nil
}

// parseDeleteRow parses deleterow T KEY of cbt.
func parseDeleteRow(p *parser) (Statement, error) {
	st := &Delete{}
	var err error
	if st.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	st.Key, err = p.key()
	return st, err
}

// parseDeleteColumn parses deletecolumn T KEY FAMILY QUALIFIER of cbt, and
// deletecolumn T KEY FAM:QUAL.
func parseDeleteColumn(p *parser) (Statement, error) {
	st, err := parseDeleteRow(p)
	if err != nil {
		return nil, err
	}
	del := st.(*Delete)
	first := p.peek()
	if second := p.peekAt(1); first.Kind == lex.Word && second.Kind == lex.Word && !isColumn(first) {
		family, err := p.name("the family's name")
		p.next()
		del.Columns = []DeleteColumn{{Column: Column{Pos: first.Pos, Family: family.Text, Qualifier: lex.Join(second.Parts)}}}
		return del, err
	}
	d, err := p.deleteColumn()
	if err == nil && d.Column.Kind != ColumnExact {
		err = lex.ErrorAt(first.Pos, "%s means several columns; name one here, or delete them with delete", lex.QuoteText(lex.Clip(first.Text)))
	}
	del.Columns = []DeleteColumn{d}
	return del, err
}
