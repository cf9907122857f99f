package ql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/ql/lex"
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
func parseGet(p *parser) Statement {
	st := &Get{Table: p.tableName()}
	hbase := p.skipComma()
	for len(st.Keys) == 0 || !hbase && p.atKey() {
		st.Keys = append(st.Keys, p.key())
	}
	for hbase && p.atHBaseColumn() {
		p.skipComma()
		st.Columns = append(st.Columns, p.hbaseColumns()...)
	}
	p.options(inGet, &target{read: &st.Read, overwrite: &st.Overwrite})
	p.cbtVersions(&st.Read)
	return st
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
		syntax: "scan T [prefix=K | start=K end=K | keys=K,K,..] [after=K] [regex=/RE/] [columns=..] [where CONDITION]\n" +
			"     [versions=N|all] [cells=N] [limit=N] [offset=N] [since=TS] [until=TS] [reverse] [keys-only] [sample=F] [page=TOKEN]\n     [stats] [as FORMAT] [into 'FILE' [overwrite]]",
		text: "start is inclusive; end and after are exclusive. With reverse, after is the key to continue below.\n" +
			"versions= are per column (1 by default), cells= per row. limit=0 is all rows.\n" +
			"where selects rows by the newest cells of columns, whether or not these are asked for; see help where.\n" +
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

func parseScan(p *parser) Statement {
	st := &Scan{Table: p.tableName()}
	p.options(inScan, &target{rows: &st.Rows, read: &st.Read, overwrite: &st.Overwrite})
	p.cbtVersions(&st.Read)
	return st
}

var sampleVerb = verb{
	name: "sample", parse: parseSample, keyed: true,
	help: helpTopic{
		summary: "some rows at random",
		syntax: "sample T [N] [prefix=K | start=K end=K | keys=K,K,..] [after=K] [regex=/RE/] [columns=..] [where CONDITION]\n" +
			"     [versions=N|all] [cells=N] [since=TS] [until=TS] [keys-only] [as FORMAT] [into 'FILE' [overwrite]]",
		text: "Shows N rows, 10 by default, each of the rows with the same probability, in the order of their keys. The keys of all rows\n" +
			"are read for that. sample= in other statements takes a share of the rows.",
		examples: []string{"sample fleet", "sample fleet 3 prefix=plane# columns=meta:model where meta:miles exists"},
	},
}

// Sample reads some rows at random.
type Sample struct {
	Node
	Table Name
	Most  int // rows; 0: not given
	Rows
	Read
}

func (st *Sample) print(w *printer) {
	w.words("sample", lex.QuoteName(st.Table.Text))
	w.flag(strconv.Itoa(st.Most), st.Most > 0)
	w.rows(st.Rows)
	w.read(st.Read)
}

func parseSample(p *parser) Statement {
	st := &Sample{Table: p.tableName()}
	if p.atWord() {
		st.Most = p.upTo(1, maxSample)
	}
	p.options(inSample, &target{rows: &st.Rows, read: &st.Read, overwrite: &st.Overwrite, most: &st.Most})
	return st
}

// maxSample bounds the rows of a sample, whose keys are held in memory.
const maxSample = 100_000

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

func parseCount(p *parser) Statement {
	st := &Count{Table: p.tableName()}
	p.options(inCount, &target{rows: &st.Rows, read: &st.Read, cells: &st.Cells, approx: &st.Approx})
	return st
}

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

var explainVerb = verb{
	name: "explain", parse: parseExplain,
	help: helpTopic{
		summary: "how a read would be carried out",
		syntax:  "explain get .. | scan .. | count .. | histogram .. | aggregate ..", text: "Shows which rows and families are read, which part of a filter the engine evaluates, and what is left to do on each row.",
		examples: []string{"explain scan fleet prefix=plane# columns=meta:model where meta:miles >= 50000000"},
	},
}

// Explain shows how a Get, Scan, Count, Histogram or Aggregate would be executed.
type Explain struct {
	Node
	Statement Statement
}

func (st *Explain) print(w *printer) {
	w.words("explain", Print(st.Statement))
}

func parseExplain(p *parser) Statement { return &Explain{Statement: p.explained()} }

var analyzeVerb = verb{
	name: "analyze", parse: parseAnalyze,
	help: helpTopic{
		summary: "run a read and say what it cost",
		syntax:  "analyze get .. | scan .. | count .. | histogram .. | aggregate ..", text: "Runs it, shows none of its rows, and shows its plan, what it returned, what it looked at, and the time.",
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

func parseAnalyze(p *parser) Statement { return &Analyze{Statement: p.explained()} }

// explainable are the verbs of statements that can be explained.
var explainable = []string{"get", "scan", "count", "histogram", "aggregate"}

func (p *parser) explained() Statement {
	t := p.peek()
	words := "get, scan, count, histogram or aggregate"
	p.wantOneOf(ExpectVerb, explainable...)
	if p.verb == "explain" { // Parse already parsed explain select
		words = "get, scan, select, count, histogram or aggregate"
		p.wantOneOf(ExpectVerb, "select")
	}
	v, _ := findVerb(t.Keyword())
	if v.name == "analyze" && p.verb == "explain" { // as in version 0.1
		panic(lex.ErrorAt(t.Pos, "analyze is a statement of its own: leave out explain"))
	}
	if !slices.Contains(explainable, v.name) {
		panic(p.unexpected("%s, as in %s scan fleet prefix=plane#", words, p.verb))
	}
	p.next()
	p.verb, p.spelt = v.name, t.Keyword()
	p.foreign = p.foreign || v.name != p.spelt
	st := v.parse(p)
	st.node().Pos, st.node().Tuples = t.Pos, p.tuples
	return st
}

var selectVerb = verb{
	name: "select", parse: parseSelect,
	help: helpTopic{
		also: []string{"sql", "from"}, summary: "run a query in SQL",
		syntax: `select EXPR, .. [from T [where ..] [group by ..] [having ..] [order by ..] [limit N [offset N]]]
from T |> where .. |> aggregate .. group by .. |> order by ..
explain [analyze] select ..`,
		text: `The language is GoogleSQL as Bigtable has it. The columns of a table are _key and its families: maps from qualifiers to values.
A family without a declared type has BYTES; cast(fam['q'] as string) makes text. Words and quotes are those of SQL: strings
in '..' or "..", names in backquotes, comments after -- or #. A line that begins with a clause, such as where, or with |>
continues the query; ; ends it. explain shows what is read and what is done with it; explain analyze runs it, and shows rows, bytes and time.`,
		examples: []string{"select _key, meta['model'] from fleet limit 2", "select count(*) as planes from fleet where _key like 'plane#%'"},
	},
}

// Select is a query in SQL. Package sql parses it when it runs.
type Select struct {
	Node
	Text string // it begins at the statement's place
}

func (st *Select) print(w *printer) { w.words(st.Text) }

// parseSelect is not called for the text of a statement: a query uses other words than
// the language.
func parseSelect(p *parser) Statement {
	panic(p.unexpected("a query of its own, as in select * from fleet"))
}

func parseQuery(src lex.Source) Statement {
	text := strings.ReplaceAll(strings.ReplaceAll(src.Text, "\\\r\n", " \r\n"), "\\\n", " \n") // continued lines
	st := &Select{Text: text}
	st.Pos = src.Pos
	return st
}

// expectQuery says what may follow at the end of a query.
func (env Env) expectQuery(src lex.Source, offset int) Expected {
	before, table := lex.QueryWords(src.Text)
	begin := len(src.Text)
	for begin > 0 && lex.IsQueryWord(src.Text[begin-1]) {
		begin--
	}
	prefix := src.Text[begin:]
	if family, at, quote, qualifier, ok := lex.OpenMapKey(src.Text); ok {
		if _, table := lex.QueryWords(src.Text[:at]); table != "" || env.Table == "" {
			env.Table = table
		}
		return Expected{Begin: offset + at, Quote: quote, Wants: []Expectation{{Kind: ExpectQualifier, Table: env.Table, Family: family, Prefix: qualifier, MapKey: true}}}
	}
	exp := Expected{Begin: offset + begin}
	if lex.OpenText(src.Text) {
		return exp
	}
	if table == "" {
		table = env.Table
	}
	switch before {
	case "":
		exp.Wants = []Expectation{{Kind: ExpectVerb, Prefix: prefix, Candidates: Verbs()}}
	case "from":
		exp.Wants = []Expectation{{Kind: ExpectTable, Prefix: prefix}}
	default:
		exp.Wants = []Expectation{
			{Kind: ExpectKeyword, Prefix: prefix, Candidates: lex.QueryKeywords},
			{Kind: ExpectFamily, Prefix: prefix, Table: table},
		}
	}
	return exp
}
