package ql

import (
	"strconv"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/ql/dialect"
	"github.com/smolwc/smolwc/query/ql/lex"
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
func parseIncr(p *parser) (Statement, error) {
	st := &Incr{By: 1}
	hbase, err := p.cell(&st.Table, &st.Key, &st.Column)
	p.wantText(ExpectNumber, "the number to add")
	if err != nil || p.atEnd() {
		return st, err
	}
	if hbase {
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
	st.By, err = p.delta(hbase)
	return st, err
}

// delta parses the whole number that incr adds; HBase's syntax may quote it.
func (p *parser) delta(hbase bool) (int64, error) {
	lit, err := p.plainLiteral("the number to add")
	if err != nil {
		return 0, err
	}
	lit.Loose = hbase
	v, err := lit.ValueAs(wholeType(lit))
	if err != nil {
		return 0, err
	}
	n, ok := v.Int()
	if !ok {
		return 0, lex.ErrorAt(lit.Pos, "incr adds a whole number, and %s is %s", lex.Clip(lit.String()), v.Type())
	}
	return n, nil
}

// wholeType returns the type for parsing a literal where a whole number is needed.
func wholeType(l lex.Literal) cells.Type {
	if l.Type == cells.TypeAny && (!l.Quoted || l.Loose) {
		return cells.TypeI64
	}
	return cells.TypeAny
}

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
func parseAppend(p *parser) (Statement, error) {
	st := &Append{}
	hbase, err := p.cell(&st.Table, &st.Key, &st.Column)
	if err != nil {
		return nil, err
	}
	if hbase {
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
	if st.Value, err = p.plainLiteral("the text or bytes to append"); err == nil && hbase {
		st.Value, err = dialect.HBaseText(st.Value)
	}
	return st, err
}

// cell parses T KEY COL; in HBase's syntax commas separate them.
func (p *parser) cell(table *Name, key *string, c *Column) (hbase bool, err error) {
	if *table, err = p.tableName(); err != nil {
		return false, err
	}
	hbase = p.skipComma()
	if *key, err = p.key(); err != nil {
		return hbase, err
	}
	if hbase {
		if err = p.expect(","); err != nil {
			return hbase, err
		}
	}
	*c, err = p.exactColumn()
	return hbase, err
}

// plainLiteral parses a value without a time.
func (p *parser) plainLiteral(what string) (lex.Literal, error) {
	p.wantKind(ExpectValue)
	if p.peek().Kind != lex.Word {
		return lex.Literal{}, p.unexpected("%s", what)
	}
	lit, at, err := p.literal()
	if err == nil && at != nil {
		err = lex.ErrorAt(at.Pos, "%s has no timestamp: it is written at the database's clock", p.verb)
	}
	return lit, err
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
func parseAdd(p *parser) (Statement, error) {
	st := &Add{}
	var err error
	if st.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	if st.Key, err = p.key(); err != nil {
		return nil, err
	}
	p.skipIgnored()
	for len(st.Cells) == 0 || p.moreColumns() {
		var a Assignment
		if a.Column, err = p.exactColumn(); err != nil {
			return nil, err
		}
		p.accept("=")
		if a.Value, a.At, err = p.literal(); err != nil {
			return nil, err
		}
		if a.At == nil && p.spelt == "addtocell" {
			a.At = &lex.Time{Pos: a.Value.Pos, Now: true}
		}
		st.Cells = append(st.Cells, a)
	}
	return st, nil
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
func parseCas(p *parser) (Statement, error) {
	st := &CheckAndPut{}
	var err error
	if st.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	if st.Key, err = p.key(); err != nil {
		return nil, err
	}
	if !p.acceptWord("if") {
		return nil, p.unexpected("if and a condition, as in if meta:miles == 5")
	}
	if st.If, err = p.condition(); err != nil {
		return nil, err
	}
	if p.peek().Keyword() == "and" {
		return nil, lex.ErrorAt(p.peek().Pos, "cas looks at one column; it takes one condition")
	}
	if st.Then, err = p.branch(); err != nil || !p.acceptWord("else") {
		return st, err
	}
	st.Else, err = p.branch()
	return st, err
}

// branch parses put COL=LIT[@TS] ..., up to else or the end.
func (p *parser) branch() (list []Assignment, err error) {
	if !p.acceptWord("put") {
		return nil, p.unexpected("put and cells to write, as in put meta:miles=6")
	}
	for len(list) == 0 || p.moreColumns() && p.peek().Keyword() != "else" {
		a, err := p.assignment()
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}
