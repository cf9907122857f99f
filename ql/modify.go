package ql

import (
	"slices"

	"strconv"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql/dialect"
	"github.com/smolwc/smolwc/ql/lex"
)

var incrVerb = verb{
	name: "incr", parse: parseIncr, keyed: true,
	help: helpTopic{
		summary: "add to a whole number",
		syntax:  "incr T KEY COL [NUMBER]",
		text: "Adds NUMBER, 1 by default, and shows the sum. A missing column counts as 0; a sum that\n" +
			"does not fit the column's type is an error. No other write of the row comes between reading and writing.",
		examples: []string{"incr fleet plane#TF-FIR meta:flights", "incr fleet plane#TF-FIR meta:flights -1"},
	},
}

// Incr adds to a whole number.
type Incr struct {
	Node
	Table  Name
	Key    string
	Column Column
	By     int64
}

func (st *Incr) print(w *printer) {
	w.words("incr", lex.QuoteName(st.Table.Text), w.quoteKey(st.Key), st.Column.String())
	w.flag(strconv.FormatInt(st.By, 10), st.By != 1)
}

// parseIncr parses incr T KEY COL [LIT], and HBase's incr 't', 'key', 'cf:a', 1.
func parseIncr(p *parser) Statement {
	st := &Incr{By: 1}
	hbase := p.cell(&st.Table, &st.Key, &st.Column)
	if p.atEnd() {
		return st
	}
	if hbase {
		p.expect(",")
	}
	st.By = p.delta(hbase)
	return st
}

// delta parses the whole number that incr adds; HBase's syntax may quote it.
func (p *parser) delta(hbase bool) int64 {
	lit := p.untimed("the number to add", p.verb+noTime)
	typ := cells.TypeAny
	if lit.Loose = hbase; lit.Type == cells.TypeAny && (!lit.Quoted || hbase) {
		typ = cells.TypeI64
	}
	v := must(lit.ValueAs(typ))
	n, ok := v.Int()
	if !ok {
		panic(lex.ErrorAt(lit.Pos, "incr adds a whole number, and %s is %s", lex.Clip(lit.String()), v.Type()))
	}
	return n
}

const noTime = " has no timestamp: it is written at the database's clock"

var appendVerb = verb{
	name: "append", parse: parseAppend, keyed: true,
	help: helpTopic{
		summary: "append to text or bytes",
		syntax:  "append T KEY COL VALUE",
		text: "Shows the whole new value. A missing column gets the type that its family declares, or else the type of the appended value.\n" +
			"No other write of the row comes between reading and writing.",
		examples: []string{"append fleet plane#TF-FIR meta:log \"checked; \""},
	},
}

// Append appends to text or bytes.
type Append struct {
	Node
	Table  Name
	Key    string
	Column Column
	Value  lex.Literal
}

func (st *Append) print(w *printer) {
	w.words("append", lex.QuoteName(st.Table.Text), w.quoteKey(st.Key), st.Column.String(), st.Value.String())
}

// parseAppend parses append T KEY COL LIT, and HBase's append 't', 'key', 'cf:a', 'text'.
func parseAppend(p *parser) Statement {
	st := &Append{}
	hbase := p.cell(&st.Table, &st.Key, &st.Column)
	if hbase {
		p.expect(",")
	}
	if st.Value = p.untimed("the text or bytes to append", p.verb+noTime); hbase {
		st.Value = must(dialect.HBaseText(st.Value))
	}
	return st
}

// cell parses T KEY COL; in HBase's syntax commas separate them.
func (p *parser) cell(table *Name, key *string, c *Column) (hbase bool) {
	*table = p.tableName()
	hbase = p.skipComma()
	*key = p.key()
	if hbase {
		p.expect(",")
	}
	*c = p.exactColumn()
	return hbase
}

var addVerb = verb{
	name: "add", parse: parseAdd, keyed: true,
	foreign: []spelling{{"addtocell", parseAdd}},
	help: helpTopic{
		summary: "add to a family that aggregates",
		syntax:  "add T KEY COL VALUE[@TS] ...",
		text: "In a family with aggregate=sum, min or max the cell becomes the sum, the least or the greatest of the\n" +
			"added values; with hll, about how many different values were added. It does not read, so it is as fast as put.\n" +
			"Without @TS it adds to the cell at time 0 of the column; each time has an aggregate of its own.",
		examples: []string{"add planes plane#TF-FIR total:miles 3200", "add planes plane#TF-FIR total:miles 1100@2024-01-25 total:legs 1"},
	},
}

// Add adds to cells of one row in families that aggregate.
type Add struct {
	Node
	Table Name
	Key   string
	Cells []Assignment // without a time: timestamp 0
}

func (st *Add) print(w *printer) {
	w.words("add", lex.QuoteName(st.Table.Text), w.quoteKey(st.Key))
	w.assignments(st.Cells)
}

// parseAdd parses add T KEY COL LIT[@TS] ..., and addtocell T KEY COL=LIT[@TS] of cbt.
// Without a time, addtocell adds to the cell at the current time.
func parseAdd(p *parser) Statement {
	st := &Add{Table: p.tableName(), Key: p.key()}
	p.skipIgnored()
	for len(st.Cells) == 0 || p.moreColumns() {
		a := Assignment{Column: p.exactColumn()}
		p.accept("=")
		a.Value, a.At = p.literal()
		if a.At == nil && p.spelt == "addtocell" {
			a.At = &lex.Time{Pos: a.Value.Pos, Now: true}
		}
		st.Cells = append(st.Cells, a)
	}
	return st
}

var casVerb = verb{
	name: "cas", parse: parseCas, keyed: true,
	help: helpTopic{
		summary: "write if a column has a value",
		syntax:  "cas T KEY if COL OP VALUE | COL absent | COL exists  put COL=VALUE[@TS] ... [else put COL=VALUE[@TS] ...]",
		text: "Compares the newest cell of a column, as where does (help scan), and writes; no other write of the row\n" +
			"comes between. Says whether the condition held.",
		examples: []string{
			"cas fleet plane#TF-FIR if meta:operator == Icelandair put meta:miles=51000500",
			"cas fleet plane#TF-FIS if meta:owner absent put meta:owner=Loftleidir else put meta:asked=true",
		},
	},
}

// CheckAndPut writes cells of a row if a condition holds, and other cells if it does
// not.
type CheckAndPut struct {
	Node
	Table Name
	Key   string
	If    Condition
	Then  []Assignment
	Else  []Assignment // empty: nothing
}

func (st *CheckAndPut) print(w *printer) {
	w.words("cas", lex.QuoteName(st.Table.Text), w.quoteKey(st.Key), "if")
	w.words(st.If.String())
	w.words("put")
	w.assignments(st.Then)
	if len(st.Else) > 0 {
		w.words("else put")
		w.assignments(st.Else)
	}
}

// parseCas parses cas T KEY if COL OP LIT|absent|exists put COL=LIT ...
// [else put COL=LIT ...].
func parseCas(p *parser) Statement {
	st := &CheckAndPut{Table: p.tableName(), Key: p.key()}
	if !p.acceptWord("if") {
		panic(p.unexpected("if and a condition, as in if meta:miles == 5"))
	}
	st.If = p.condition()
	if w := p.peek().Keyword(); w == "and" || w == "or" {
		panic(lex.ErrorAt(p.peek().Pos, "cas looks at one column; it takes one condition"))
	}
	if st.Then = p.branch(); p.acceptWord("else") {
		st.Else = p.branch()
	}
	return st
}

// branch parses put COL=LIT[@TS] ..., up to else or the end.
func (p *parser) branch() (list []Assignment) {
	if !p.acceptWord("put") {
		panic(p.unexpected("put and cells to write, as in put meta:miles=6"))
	}
	for len(list) == 0 || p.moreColumns() && p.peek().Keyword() != "else" {
		list = append(list, p.assignment())
	}
	return list
}

// A Selection is the rows that a statement changes.
type Selection struct {
	Rows
	Read        // Where and Regex
	DryRun bool // only count the rows
	Yes    bool // do not ask
}

func (w *printer) selection(s *Selection) {
	w.read(s.Read)
	w.rows(s.Rows)
	w.flag("dry-run", s.DryRun)
	w.flag("yes", s.Yes)
}

// PutWhere writes cells to each row that is selected.
type PutWhere struct {
	Node
	Table Name
	Cells []Assignment
	Selection
}

func (st *PutWhere) print(w *printer) {
	w.words("put", lex.QuoteName(st.Table.Text))
	w.assignments(st.Cells)
	w.selection(&st.Selection)
}

// DeleteWhere deletes each row that is selected, or columns of it.
type DeleteWhere struct {
	Node
	Table   Name
	Columns []DeleteColumn // empty: the row
	Selection
}

func (st *DeleteWhere) print(w *printer) {
	w.words("delete", lex.QuoteName(st.Table.Text))
	for _, d := range st.Columns {
		w.words(d.Column.String())
	}
	w.selection(&st.Selection)
}

func (p *parser) putWhere(table Name) Statement {
	st := &PutWhere{Table: table}
	for len(st.Cells) == 0 || isColumn(p.peek()) {
		st.Cells = append(st.Cells, p.assignment())
	}
	p.selection(&st.Selection)
	return st
}

func (p *parser) deleteWhere(table Name) Statement {
	st := &DeleteWhere{Table: table}
	for isColumn(p.peek()) && !p.isMark(1, "=") {
		d := p.deleteColumn()
		if d.At != nil {
			panic(lex.ErrorAt(d.At.Pos, "where deletes columns with all their versions; leave out the time"))
		}
		st.Columns = append(st.Columns, d)
	}
	p.selection(&st.Selection)
	return st
}

func (p *parser) selection(s *Selection) {
	to := &target{rows: &s.Rows, read: &s.Read, yes: &s.Yes, dryRun: &s.DryRun}
	p.options(inChange, to)
	if _, ok := to.seen["where"]; !ok {
		panic(lex.ErrorAt(p.start, "%s needs the key of a row, or where and a condition on its rows", p.verb))
	}
}

// hasWord reports whether the rest of the statement contains a bare word.
func (p *parser) hasWord(word string) bool {
	return slices.ContainsFunc(p.toks[p.i:], func(t lex.Token) bool { return t.Keyword() == word })
}
