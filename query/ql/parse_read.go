package ql

import (
	"github.com/smolwc/smolwc/query/ql/lex"
)

import ()

// parseGet parses get T KEY [KEY...] [options], and HBase's
// get 't', 'key' [, 'cf:a', ...] [, {options}].
func parseGet(p *parser) (Statement, error) {
	st := &Get{}
	var err error
	if st.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	hbase := p.skipComma()
	for hbase && len(st.Keys) == 0 || !hbase && p.atKey() || len(st.Keys) == 0 {
		key, err := p.key()
		if err != nil {
			return nil, err
		}
		st.Keys = append(st.Keys, key)
	}
	for hbase && p.atHBaseColumn() {
		p.skipComma()
		list, err := p.hbaseColumns()
		if err != nil {
			return nil, err
		}
		st.Columns = append(st.Columns, list...)
	}
	err = p.options(inGet, &target{read: &st.Read})
	p.cbtVersions(&st.Read)
	return st, err
}

// atKey reports whether another row key follows, and not an option.
func (p *parser) atKey() bool {
	p.wantKind(ExpectKey)
	return p.atWord() || p.atMark("(") && !p.peek().Glued // i32(5) is a value
}

// atWord reports whether a word follows that begins no option.
func (p *parser) atWord() bool {
	t := p.peek()
	return t.Kind == lex.Word && !p.atOption(0) && !lex.Reserved[t.Keyword()]
}

// atHBaseColumn reports whether a comma and a column, or a list of them, follow.
func (p *parser) atHBaseColumn() bool {
	return p.atMark(",") && (p.peekAt(1).Kind == lex.Word && !p.atOption(1) || p.isMark(1, "["))
}

// hbaseColumns takes 'cf:a', or ['cf:a', 'cf:b'].
func (p *parser) hbaseColumns() ([]Column, error) {
	if p.atMark("[") {
		return p.columnList()
	}
	c, err := p.listedColumn(nil, true)
	return []Column{c}, err
}

// cbtVersions has read and lookup show all versions unless they say how many, as
// cbt does.
func (p *parser) cbtVersions(read *Read) {
	if p.isCbtRead() && read.Versions == 0 && !read.KeysOnly {
		read.Versions = Unlimited
	}
}

func (p *parser) isCbtRead() bool { return p.spelt == "lookup" || p.spelt == "read" }

func parseScan(p *parser) (Statement, error) {
	st := &Scan{}
	var err error
	if st.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	err = p.options(inScan, &target{rows: &st.Rows, read: &st.Read})
	p.cbtVersions(&st.Read)
	return st, err
}

func parseCount(p *parser) (Statement, error) {
	st := &Count{}
	var err error
	if st.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	return st, p.options(inCount, &target{rows: &st.Rows, read: &st.Read, cells: &st.Cells, approx: &st.Approx})
}

// parseExplain parses explain get|scan|count ..., and SQL's explain analyze.
func parseExplain(p *parser) (Statement, error) {
	if p.acceptWord("analyze") {
		p.foreign = true
		return parseAnalyze(p)
	}
	st, err := p.explained()
	return &Explain{Statement: st}, err
}

func parseAnalyze(p *parser) (Statement, error) {
	st, err := p.explained()
	return &Analyze{Statement: st}, err
}

// explainable are the verbs of statements that can be explained.
var explainable = []string{"get", "scan", "count", "histogram"}

// explained parses the statement that is explained.
func (p *parser) explained() (Statement, error) {
	t := p.peek()
	p.wantOneOf(ExpectVerb, explainable...)
	v, _ := findVerb(t.Keyword())
	switch v.name {
	case "get", "scan", "count", "histogram":
	default:
		return nil, p.unexpected("get, scan, count or histogram, as in %s scan fleet prefix=plane#", p.verb)
	}
	p.next()
	p.verb, p.spelt = v.name, t.Keyword()
	p.foreign = p.foreign || v.foreign
	st, err := v.parse(p)
	if err != nil {
		return nil, err
	}
	st.node().Pos, st.node().Tuples = t.Pos, p.tuples
	return st, nil
}
