package ql

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/ql/lex"
)

var compactVerb = verb{
	name: "compact", parse: parseCompact,
	foreign: []spelling{{"major_compact", parseCompact}},
	help: helpTopic{
		summary: "rewrite a table's files",
		syntax:  "compact T [prefix=K | start=K end=K]", text: "Gives back the space of deleted, replaced and expired cells, of a range of rows or of all.",
		examples: []string{"compact fleet", "compact fleet prefix=plane#"},
	},
}

// Compact rewrites a table's files.
type Compact struct {
	Node
	Table Name
	Rows  // Prefix, or Start and End; zero: all
}

func (st *Compact) print(w *printer) {
	w.words("compact", lex.QuoteName(st.Table.Text))
	w.rows(st.Rows)
}

func parseCompact(p *parser) Statement {
	st := &Compact{Table: p.tableName()}
	p.options(inCompact, &target{rows: &st.Rows})
	return st
}

var flushVerb = verb{
	name: "flush", parse: parseFlush,
	help: helpTopic{
		summary: "write a table's memory to files",
		syntax:  "flush T", examples: []string{"flush fleet"},
	},
}

// Flush writes a table's memtables to files.
type Flush struct {
	Node
	Table Name
}

func (st *Flush) print(w *printer) {
	w.words("flush", lex.QuoteName(st.Table.Text))
}

func parseFlush(p *parser) Statement { return &Flush{Table: p.tableName()} }

var gcVerb = verb{
	name: "gc", parse: parseGC,
	help: helpTopic{
		summary: "remove cells that retention has dropped",
		syntax:  "gc T [dry-run]",
		text: "Versions beyond the number that a family keeps are deleted, and the table is compacted, which drops expired cells and gives the space back.\n" +
			"Reads show the same before and after. With dry-run nothing changes: it shows what would be removed. gc also runs by itself.",
		examples: []string{"gc fleet dry-run", "gc fleet"},
	},
}

// GC removes the cells that a table's retention drops, or measures them with DryRun.
type GC struct {
	Node
	Table  Name
	DryRun bool
}

func (st *GC) print(w *printer) {
	w.words("gc", lex.QuoteName(st.Table.Text))
	w.flag("dry-run", st.DryRun)
}

func parseGC(p *parser) Statement {
	st := &GC{Table: Name{p.env.Table, p.start}}
	if next := p.peek().Keyword(); p.env.Table == "" || next != "dry-run" {
		st.Table = p.tableName()
	}
	st.DryRun = p.acceptWord("dry-run")
	return st
}

var refreshVerb = verb{
	name: "refresh", parse: parseRefresh,
	help: helpTopic{
		summary: "see what was written meanwhile",
		syntax:  "refresh", text: "A database that is open read-only shows the moment of opening until it is refreshed. For others this does nothing.", examples: []string{"refresh"},
	},
}

// Refresh brings a database that is open read-only up to date.
type Refresh struct{ Node }

func (st *Refresh) print(w *printer) {
	w.words("refresh")
}

func parseRefresh(*parser) Statement { return &Refresh{} }

var statsVerb = verb{
	name: "stats", parse: parseStats,
	foreign: []spelling{{"status", parseStatus}},
	help: helpTopic{
		summary: "sizes and figures of the engine",
		syntax:  "stats [T] [as FORMAT]",
		text: "Shows how much disk and memory each family takes, and for the whole database memory, cache, log, compactions and stalls.\n" +
			"Cells are those that files list, with replaced and deleted ones until compaction; count counts exactly.",
		examples: []string{"stats", "stats fleet", "stats fleet as json"},
	},
}

// Stats shows the engine's statistics of a table, or of the database.
type Stats struct {
	Node
	Table  Name   // its Text is "" for the database
	Format string // one of Formats; "": not given
}

func (st *Stats) print(w *printer) {
	w.words("stats")
	w.flag(lex.QuoteName(st.Table.Text), st.Table.Text != "")
	w.as(st.Format)
}

func parseStats(p *parser) Statement {
	st := &Stats{}
	p.wantKind(ExpectTable)
	if p.atWord() {
		st.Table = p.tableNamed()
	}
	st.Format = p.as()
	return st
}

var callsVerb = verb{
	name: "calls", parse: func(p *parser) Statement { return &Calls{Format: p.as()} },
	help: helpTopic{
		summary: "the calls of a server: those under way, and the slowest",
		syntax:  "calls [as FORMAT]",
		text: "Shows the calls under way, the oldest first, and then, with their codes, the slowest that have ended in the last hour or\n" +
			"two. rows and cells are those read until now, written the rows written. A token that may administer all tables sees\n" +
			"all calls, another one its own. It needs a server, with --addr. cancel call ID ends a call.\n\n" +
			"Example:\n  calls as json",
	},
}

// Calls shows the calls of a server.
type Calls struct {
	Node
	Format string // one of Formats; "": not given
}

func (st *Calls) print(w *printer) {
	w.words("calls")
	w.as(st.Format)
}

// CancelCall cancels a call of a server. It is a form of cancel.
type CancelCall struct {
	Node
	ID uint64
}

func (st *CancelCall) print(w *printer) { w.words("cancel", "call", strconv.FormatUint(st.ID, 10)) }

// callID returns the number in `cancel call 17`, the rest of a statement. The ids of queue
// items are no numbers, even in a zone named call.
func (p *parser) callID() (uint64, bool) {
	if p.peek().Keyword() != "call" {
		return 0, false
	}
	id, err := strconv.ParseUint(p.peekAt(1).Text, 10, 64)
	return id, err == nil
}

var hotVerb = verb{
	name: "hot", parse: parseHotKeys,
	help: helpTopic{
		summary: "hot keys: the rows that are read and written most",
		syntax:  "hot keys [T] [since=TS] [until=TS] [limit=N] [as FORMAT]",
		text: "Shows the hottest rows of a table, or of all tables, in the last day or since a time in the last 14 days. The counts are\n" +
			"estimates from samples that a server takes, and that it forgets when it stops. It needs a server, with --addr.\n" +
			"limit is 20 if it is not given, and at most 1000.\n\n" +
			"Example:\n  hot keys fleet since=now-1h limit=10",
	},
}

// HotKeys shows the rows of a server that are read and written most.
type HotKeys struct {
	Node
	Table Name // its Text is "" for all tables
	Read       // Since, Until, Limit and Format
}

func (st *HotKeys) print(w *printer) {
	w.words("hot", "keys")
	w.flag(lex.QuoteName(st.Table.Text), st.Table.Text != "")
	w.read(st.Read)
}

func parseHotKeys(p *parser) Statement {
	if !p.acceptWord("keys") {
		panic(p.unexpected("keys, as in hot keys fleet"))
	}
	st := &HotKeys{}
	p.wantKind(ExpectTable)
	if p.atWord() && !p.atOption(0) {
		st.Table = p.tableNamed()
	}
	p.options(inHotKeys, &target{read: &st.Read})
	return st
}

// as parses as FORMAT. It returns "" if no format is given.
func (p *parser) as() string {
	if p.acceptWord("as") {
		return p.oneWord("a format", Formats...)
	}
	return ""
}

func (w *printer) as(format string) { w.flag("as "+format, format != "") }

var viewsVerb = verb{
	name: "views", parse: func(*parser) Statement { return &Views{} },
	help: helpTopic{
		summary: "the views there are, and how to make them",
		syntax:  "views",
		text: "create view V as SELECT … gives a query a name; create materialized view V as SELECT … also keeps its rows, as the\n" +
			"tables change: a view with GROUP BY has a row for each group, and one with ORDER BY is a second index. The rest of\n" +
			"the line is SQL, not of this language: docs/sql.md has what it may be. drop view V and drop materialized view V\n" +
			"drop one, and describe V shows its query. SQL reads views by their names.\n\n" +
			"Example:\n  create materialized view by_model as SELECT meta['model'] AS model, _key AS plane FROM fleet WHERE meta['model'] IS NOT NULL ORDER BY model, plane",
	},
}

// Views lists the views.
type Views struct{ Node }

func (st *Views) print(w *printer) { w.words("views") }

// CreateView gives a query of SQL a name.
type CreateView struct {
	Node
	View         Name
	Materialized bool
	Query        string // SQL, as written
}

func (st *CreateView) print(w *printer) {
	w.words("create")
	w.flag("materialized", st.Materialized)
	w.words("view", lex.QuoteName(st.View.Text), "as", st.Query)
}

// DropView drops a view.
type DropView struct {
	Node
	View         Name
	Materialized bool
}

func (st *DropView) print(w *printer) {
	w.words("drop")
	w.flag("materialized", st.Materialized)
	w.words("view", lex.QuoteName(st.View.Text))
}

// createView matches a statement that ends in SQL, with other tokens than this language.
var createView = regexp.MustCompile(`(?is)^\s*create\s+(materialized\s+)?view\s+([^\s"'` + "`" + `]+|"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|` + "`[^`]*`" + `)\s+as\s+(\S.*)$`)

// parseCreateView is nil if the text is another statement.
func parseCreateView(src lex.Source) (Statement, error) {
	at := createView.FindStringSubmatchIndex(src.Text)
	if at == nil {
		return nil, nil
	}
	name, err := viewName(src.Text[at[4]:at[5]], src.Pos.Plus(at[4]))
	if err != nil {
		return nil, err
	}
	st := &CreateView{Materialized: at[2] >= 0, Query: strings.Join(strings.FieldsFunc(src.Text[at[6]:at[7]], func(r rune) bool { return r == '\n' || r == '\r' }), " ")}
	st.View, st.Pos = name, src.Pos
	return st, nil
}

// viewName reads the name of a view as any other name, or in the quotes of SQL.
func viewName(text string, at lex.Pos) (Name, error) {
	if strings.HasPrefix(text, "`") {
		return Name{Text: strings.Trim(text, "`"), Pos: at}, nil
	}
	toks, err := lex.Tokens(lex.Source{Text: text, Pos: at}, nil)
	if err != nil {
		return Name{}, err
	}
	return Name{Text: toks[0].Plain(), Pos: at}, nil
}

// dropView parses drop view after its verb.
func (p *parser) dropView() Statement {
	st := &DropView{Materialized: p.peek().Keyword() == "materialized" && p.peekAt(1).Keyword() == "view"}
	if st.Materialized {
		p.next()
	}
	if p.peek().Keyword() != "view" || p.peekAt(1).Kind != lex.Word {
		return nil
	}
	p.next()
	st.View = p.name("the view's name")
	return st
}
