package ql

import (
	"slices"

	"github.com/smolwc/smolwc/query/ql/lex"
)

var getVerb = verb{
	name: "get", parse: parseGet, keyed: true,
	foreign: []spelling{{"lookup", parseGet}, {"get_counter", parseGet}},
	help: helpTopic{
		summary: "rows by their keys",
		syntax:  "get T KEY [KEY...] [columns=..] [versions=N|all] [since=TS] [until=TS] [cells=N] [as FORMAT]\n    [into 'FILE' [overwrite]]",
		text:    "Each column's newest cell is shown; versions= asks for more, cells= bounds the cells of a row. since is inclusive, until exclusive.",
		examples: []string{
			"get fleet plane#TF-FIR",
			"get fleet plane#TF-FIR columns=meta:miles versions=all",
			"get fleet plane#TF-FIR plane#TF-FIS columns=meta:model",
		},
	},
}

// Get reads rows by their keys.
type Get struct {
	Node
	Table Name
	Keys  []string
	Read
}

func (st *Get) print(w *printer) {
	w.words("get", lex.QuoteName(st.Table.Text))
	for _, k := range st.Keys {
		w.words(w.quoteKey(k))
	}
	w.read(st.Read)
}

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
	err = p.options(inGet, &target{read: &st.Read, overwrite: &st.Overwrite})
	p.cbtVersions(&st.Read)
	return st, err
}

// atKey reports whether another row key follows, rather than an option.
func (p *parser) atKey() bool {
	p.wantKind(ExpectKey)
	return p.atWord() || p.atMark("(") && !p.peek().Glued // i32(5) is a value
}

// atWord reports whether a word follows that does not begin an option.
func (p *parser) atWord() bool {
	t := p.peek()
	return t.Kind == lex.Word && !p.atOption(0) && !lex.IsReserved(t.Keyword())
}

var scanVerb = verb{
	name: "scan", parse: parseScan,
	foreign: []spelling{{"read", parseScan}},
	help: helpTopic{
		summary: "rows in key order",
		syntax: "scan T [prefix=K | start=K end=K | keys=K,K,..] [after=K] [regex=/RE/] [columns=..] [where COL OP VALUE [and ..]]\n" +
			"     [versions=N|all] [cells=N] [limit=N] [offset=N] [since=TS] [until=TS] [reverse] [keys-only] [sample=F] [page=TOKEN]\n     [stats] [as FORMAT] [into 'FILE' [overwrite]]",
		text: "start is inclusive; end and after are exclusive. With reverse, after is the key to continue below.\n" +
			"versions= are per column (1 by default), cells= per row. limit=0 is all rows.\n" +
			"where compares the newest cell of a column: == != < <= > >=, exists, absent.\n" +
			"A row is shown when all conditions hold, whether or not their columns are asked for.\n" +
			"regex= is matched with whole keys; see help patterns. sample= takes rows at random: 0.01 is about one in a hundred.\n" +
			"stats says on standard error what the scan cost. page=\"\" reads in pages; each page gives the token of the next.\n" +
			"into writes the rows to a file; as, or else the file's name, gives the format. export has more formats.",
		examples: []string{
			"scan fleet prefix=plane# columns=meta:model,operator where meta:miles >= 50000000 limit=20",
			"scan fleet prefix=plane# keys-only reverse limit=5",
			`scan fleet start="plane#\x00" end="plane#\xff" as jsonl`,
			"scan fleet where meta:owner absent and meta:model exists",
			"scan fleet regex=/plane#TF-.*/ columns=meta:/m.*/ stats",
		},
	},
}

// Scan reads rows in key order.
type Scan struct {
	Node
	Table Name
	Rows
	Read
}

func (st *Scan) print(w *printer) {
	w.words("scan", lex.QuoteName(st.Table.Text))
	w.rows(st.Rows)
	w.read(st.Read)
}

func parseScan(p *parser) (Statement, error) {
	st := &Scan{}
	var err error
	if st.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	err = p.options(inScan, &target{rows: &st.Rows, read: &st.Read, overwrite: &st.Overwrite})
	p.cbtVersions(&st.Read)
	return st, err
}

var countVerb = verb{
	name: "count", parse: parseCount,
	help: helpTopic{
		summary: "how many rows, and cells",
		syntax: "count T [prefix=K | start=K end=K | keys=..] [after=K] [regex=/RE/] [columns=..] [where ..] [versions=N|all] [since=TS] [until=TS] [sample=F] [cells] [stats]\n" +
			"count T [prefix=K | start=K end=K] [columns=..] [cells] approx",
		text: "Counts the rows that have a cell that the options select. With cells, counts these cells too, in all versions unless versions= is given.\n" +
			"approx gives an estimate when there are many rows, and says so.",
		examples: []string{"count fleet prefix=plane#", "count fleet cells", "count fleet approx", "count fleet where meta:miles >= 50000000"},
	},
}

// Count counts rows, and cells if Cells is set.
type Count struct {
	Node
	Table  Name
	Cells  bool
	Approx bool // an estimate is enough
	Rows
	Read
}

func (st *Count) print(w *printer) {
	w.words("count", lex.QuoteName(st.Table.Text))
	w.rows(st.Rows)
	w.flag("cells", st.Cells)
	w.flag("approx", st.Approx)
	w.read(st.Read)
}

func parseCount(p *parser) (Statement, error) {
	st := &Count{}
	var err error
	if st.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	return st, p.options(inCount, &target{rows: &st.Rows, read: &st.Read, cells: &st.Cells, approx: &st.Approx})
}

var explainVerb = verb{
	name: "explain", parse: parseExplain,
	help: helpTopic{
		summary: "how a read would be carried out",
		syntax:  "explain get .. | scan .. | count .. | histogram ..", text: "Shows which rows and families are read, which part of a filter the engine evaluates, and what is left to do on each row.",
		examples: []string{"explain scan fleet prefix=plane# columns=meta:model where meta:miles >= 50000000"},
	},
}

// Explain shows how a Get, Scan, Count or Histogram would be executed.
type Explain struct {
	Node
	Statement Statement
}

func (st *Explain) print(w *printer) {
	w.words("explain", Print(st.Statement))
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

var analyzeVerb = verb{
	name: "analyze", parse: parseAnalyze,
	help: helpTopic{
		summary: "run a read and say what it cost",
		syntax:  "analyze get .. | scan .. | count .. | histogram ..", text: "Runs it, shows none of its rows, and shows its plan, what it returned, what it looked at, and the time.",
		examples: []string{"analyze scan fleet prefix=plane#", "analyze count fleet where meta:miles >= 50000000"},
	},
}

// Analyze executes a read, shows no rows, and reports the cost.
type Analyze struct {
	Node
	Statement Statement
}

func (st *Analyze) print(w *printer) {
	w.words("analyze", Print(st.Statement))
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
	if !slices.Contains(explainable, v.name) {
		return nil, p.unexpected("get, scan, count or histogram, as in %s scan fleet prefix=plane#", p.verb)
	}
	p.next()
	p.verb, p.spelt = v.name, t.Keyword()
	p.foreign = p.foreign || v.name != p.spelt
	st, err := v.parse(p)
	if err != nil {
		return nil, err
	}
	st.node().Pos, st.node().Tuples = t.Pos, p.tuples
	return st, nil
}
