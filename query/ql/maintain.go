package ql

import "github.com/smolwc/smolwc/query/ql/lex"

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

// parseCompact parses compact T [prefix=K | start=K end=K].
func parseCompact(p *parser) (Statement, error) {
	st := &Compact{}
	var err error
	if st.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	return st, p.options(inCompact, &target{rows: &st.Rows})
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

func parseFlush(p *parser) (Statement, error) {
	name, err := p.tableName()
	return &Flush{Table: name}, err
}

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

// parseGC parses gc T [dry-run].
func parseGC(p *parser) (Statement, error) {
	st := &GC{Table: Name{p.env.Table, p.start}}
	if next := p.peek().Keyword(); p.env.Table == "" || next != "dry-run" {
		var err error
		if st.Table, err = p.tableName(); err != nil {
			return nil, err
		}
	}
	st.DryRun = p.acceptWord("dry-run")
	return st, nil
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

func parseRefresh(*parser) (Statement, error) { return &Refresh{}, nil }

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
	if st.Format != "" {
		w.words("as", st.Format)
	}
}

// parseStats parses stats [T] [as FORMAT].
func parseStats(p *parser) (Statement, error) {
	st := &Stats{}
	p.wantKind(ExpectTable)
	if p.atWord() {
		var err error
		if st.Table, err = p.tableNamed(); err != nil {
			return nil, err
		}
	}
	if !p.acceptWord("as") {
		return st, nil
	}
	var err error
	st.Format, err = p.oneWord("a format", Formats...)
	return st, err
}
