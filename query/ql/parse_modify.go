package ql

import (
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/ql/lex"
)

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

// delta takes the whole number that incr adds; HBase may have it in quotes.
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

// wholeType is the type to read the literal as where a whole number is wanted.
func wholeType(l lex.Literal) cells.Type {
	if l.Type == cells.TypeAny && (!l.Quoted || l.Loose) {
		return cells.TypeI64
	}
	return cells.TypeAny
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
		st.Value, err = hbaseText(st.Value)
	}
	return st, err
}

// cell parses T KEY COL, which HBase writes with commas between.
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

// plainLiteral takes a value without a time.
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

// parseAdd parses add T KEY COL LIT[@TS] ..., and addtocell T KEY COL=LIT[@TS] of cbt,
// which adds to the cell of the present moment when it names no time.
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

func parseBegin(*parser) (Statement, error)  { return &Begin{}, nil }
func parseCommit(*parser) (Statement, error) { return &Commit{}, nil }
func parseAbort(*parser) (Statement, error)  { return &Abort{}, nil }
