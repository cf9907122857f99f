package ql

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// A verb is the word that begins a statement. Its declaration is in the same file as
// the statement's type, parser and printer; package exec runs the statement.
type verb struct {
	name    string
	parse   func(*parser) Statement
	keyed   bool // a row key or a column follows the table; while a table is in use, it may come first
	paths   bool // its words may be paths
	foreign []spelling
	help    helpTopic // its name is the verb
}

// A spelling is a word that begins the statement in cbt, HBase or SQL.
type spelling struct {
	word  string
	parse func(*parser) Statement
}

// verbs are in the order of the help. byWord finds them by any spelling.
var (
	verbs  []verb
	byWord = map[string]verb{}
)

func init() {
	verbs = []verb{
		getVerb, scanVerb, sampleVerb, selectVerb, countVerb, aggregateVerb, histogramVerb, sparklineVerb, whyVerb, statsVerb, callsVerb, hotVerb,
		putVerb, deleteVerb, addVerb, incrVerb, appendVerb, casVerb,
		beginVerb, commitVerb, abortVerb, createVerb, alterVerb, dropVerb,
		undeleteVerb, deletedVerb, purgeVerb, truncateVerb, copyVerb, diffVerb, watchVerb, tablesVerb, viewsVerb, describeVerb, directoriesVerb, lsVerb, mkdirVerb, mvVerb, rmVerb,
		queuesVerb, peekVerb, deadVerb, itemVerb, requeueVerb, cancelVerb, drainVerb, pauseVerb, resumeVerb, schedulesVerb,
		importVerb, exportVerb, backupVerb, backupsVerb, restoreVerb, verifyVerb, checkpointVerb, refreshVerb, compactVerb,
		flushVerb, gcVerb, explainVerb, analyzeVerb, quitVerb, helpVerb,
	}
	for _, v := range verbs {
		byWord[v.name] = v
		for _, s := range v.foreign {
			byWord[s.word] = verb{name: v.name, parse: s.parse}
		}
	}
}

// findVerb returns the verb for a word in lower case.
func findVerb(word string) (verb, bool) {
	v, ok := byWord[word]
	return v, ok
}

// NewReader returns a reader of the script r: see [lex.NewReader].
func NewReader(r io.Reader) *lex.Reader {
	return lex.NewReader(r, isVerb)
}

// NewTypedReader returns a reader of text that was typed at a terminal: see
// [lex.TypedReader].
func NewTypedReader(text string) *lex.Reader { return lex.TypedReader(text, isVerb) }

func isVerb(word string) bool {
	_, ok := findVerb(word)
	return ok || word == "cbt"
}

// Verbs are the words that begin a statement in smolwc's own spelling, sorted.
func Verbs() []string {
	var names []string
	for _, v := range verbs {
		names = append(names, v.name)
	}
	slices.Sort(names)
	return names
}

// A helpTopic is one page of help. Lines of Examples are statements; a test
// runs them in order against the tables of the examples.
type helpTopic struct {
	name     string
	also     []string
	summary  string
	syntax   string
	text     string
	examples []string
}

// HelpPage returns the page for a topic: a statement's verb or another word that help
// lists. "" is the list itself.
func HelpPage(topic string) (string, error) {
	if topic == "" || topic == "help" {
		return helpIndex(), nil
	}
	var names []string
	for _, t := range helpTopics() {
		if t.name == topic || slices.Contains(t.also, topic) {
			return t.page(), nil
		}
		names = append(names, t.name)
	}
	if v, ok := findVerb(topic); ok && v.name != topic {
		return HelpPage(v.name)
	}
	return "", errors.New("there is no help about " + lex.QuoteText(lex.Clip(topic)) + schema.DidYouMean(topic, names))
}

func helpIndex() string {
	var b strings.Builder
	for _, t := range helpTopics() {
		fmt.Fprintf(&b, "  %-11s %s\n", t.name, t.summary)
	}
	b.WriteString("help TOPIC shows one in full, with examples; .help lists the commands of the session.\n")
	return b.String()
}

func (t helpTopic) page() string {
	var b strings.Builder
	b.WriteString(t.syntax + "\n")
	if t.text != "" {
		b.WriteString("\n" + t.text + "\n")
	}
	if len(t.examples) > 0 {
		b.WriteString("\nExamples:\n")
	}
	for _, e := range t.examples {
		b.WriteString("  " + e + "\n")
	}
	return b.String()
}

// helpTopics are the pages, statements first.
func helpTopics() []helpTopic {
	var topics []helpTopic
	for _, v := range verbs {
		if v.help.summary != "" {
			v.help.name = v.name
			topics = append(topics, v.help)
		}
	}
	return append(topics, generalTopics...)
}

// HelpTopics are the names that help accepts.
func HelpTopics() []string {
	var names []string
	for _, t := range helpTopics() {
		names = append(names, t.name)
	}
	return names
}

// generalTopics are the pages that are not about a statement.
var generalTopics = []helpTopic{
	{
		name: "values", also: []string{"literals", "types"}, summary: "how to write values and times",
		syntax: `"text" 'raw text' word       string
true false                   bool
42 -7 1_000_000 0x2A         i64
1.5 1e9 nan inf -inf         f64
42i32 42i64 255byte 1.5f32   the type that is named; also i32(42), string(42), bool(1)
x'00ff10' b64'AP8Q' bytes("\x00")  bytes
VALUE@TS                     a cell's timestamp: microseconds, 2024-01-25, 2024-01-25T10:00:00.5Z, now, now-36h`,
		text: `"..." has the escapes \\ \" \n \r \t \0 \xNN \uNNNN; in '...' the only escape is '', one quote.
If a family declares a type, a value without a type gets it if it fits.`,
	},
	{
		name: "columns", summary: "how to write columns and keys",
		syntax: `fam:qual       one column
fam:           the column with the empty qualifier
fam:*          the whole family
fam:pre*       qualifiers that begin with pre
fam:[a..b)     qualifiers from a to before b
fam:/re/       qualifiers that match a pattern; see help patterns
fam:"a b\x00"  quote characters other than letters, digits and _ . / # : @ % + ~ ^ * -`,
		text: "Commas separate several; a:b,c means a:b,a:c. Keys are written like qualifiers: plane#TF-FIR, \"a b\".",
	},
	{
		name: "keys", also: []string{"tuples"}, summary: "how to write row keys, and ranges of them",
		syntax: `plane#TF-FIR   a bare word; quote other characters: "a b", "bin\x00"
("N223AG", 7)  a tuple, whose encoding sorts like its elements
prefix=K       the keys that begin with K, or with the elements of a tuple
start=K end=K  from start, inclusive, to end, exclusive; either may be left out
after=K        the keys after K, or with reverse those before it
keys=K,K       these rows
regex=/RE/     the keys that match a pattern as a whole`,
		text:     "where has conditions on keys and on their parts, which end at #: key like '%#FI318', key-part(2) == TF-FIR.",
		examples: []string{"scan fleet start=plane#L end=plane#U keys-only", "count fleet prefix=plane# after=plane#LN-RVK where key-part(2) != TF-FIR"},
	},
	{
		name: "formats", also: []string{"format", "output"}, summary: "how results are printed",
		syntax: `table     a grid, or a line for each cell    line      a key and its cells, as put takes them
markdown  a table in Markdown                cbt       as Bigtable's cbt prints
jsonl     an object in each line             json      the same in one array
csv, tsv  fields for the columns that are named, else a line for each cell
quiet     nothing`,
		text: "as FORMAT ends a statement, .mode sets the format of the session, --format that of the run. The default is table on\n" +
			"a terminal and jsonl elsewhere. json and jsonl lose nothing; export writes Parquet and compressed files.",
		examples: []string{"scan fleet prefix=plane# columns=meta:model as csv"},
	},
	{
		name: "where", also: []string{"conditions"}, summary: "how to write conditions on rows",
		syntax: `COL == VALUE               also != < <= > >=; a bare fam:qual on the right is a column too
COL in (VALUE, ..)         COL between A and B, both inclusive
COL like '%text_'          % is any text, _ one character
COL =~ /pattern/           see help patterns
COL exists                 COL absent
COL.ts > 2024-01-25        the time of the cell; COL.ts > COL.ts compares two
key like 'plane#%'         the row key, with the same comparisons; also key-part(2)
not C, C and D, C or D     and binds more strongly than or; brackets group`,
		text: "A condition is about the newest cell of a column, whether or not the column is asked for. Without the cell it is neither\n" +
			"true nor false: only exists and absent find the rows without a column. Parts of a key are the elements of a tuple, or the\n" +
			"texts between the characters #.",
		examples: []string{
			"scan fleet where meta:operator in (Icelandair, Loftleidir) and (meta:miles > 50000000 or meta:owner absent)",
			"count fleet where key like 'plane#%' and meta:miles.ts >= now-7d",
		},
	},
	{
		name: "patterns", also: []string{"regex"}, summary: "how to write regular expressions",
		syntax: `regex=/plane#(TF|LN)-.*/  of row keys
where COL =~ /(?i)boeing.*/  of values; key =~ of row keys
columns=meta:/m.*/        of the qualifiers of a family
columns=meta:/"m(a|o).*"/ quote characters other than letters, digits and _ . / # : @ % + ~ ^ * - here,
                          and elsewhere a pattern with quotes in it: regex=/"a'b"/`,
		text:     "The syntax is RE2's. A pattern matches the whole key, qualifier or value, byte by byte: .*text.* finds text within. \\C is\nany byte, . any but a newline, (?i) ignores the case of a to z, (?s) makes . any byte.",
		examples: []string{`count fleet regex=/plane#(TF|LN)-.*/`, "count fleet where meta:model =~ /(?i).*boeing.*/", "get fleet plane#TF-FIR columns=meta:/mi.*/"},
	},
}

var quitVerb = verb{
	name: "quit", parse: parseQuit,
	foreign: []spelling{{"exit", parseQuit}},
	help: helpTopic{
		also: []string{"exit"}, summary: "leave the shell (also Ctrl-D)",
		syntax: "quit",
	},
}

// Quit ends the session.
type Quit struct{ Node }

func (st *Quit) print(w *printer) {
	w.words("quit")
}

func parseQuit(*parser) Statement { return &Quit{} }

var helpVerb = verb{name: "help", parse: parseHelp}

// Help explains the language or one topic of it.
type Help struct {
	Node
	Topic string
}

func (st *Help) print(w *printer) {
	w.words("help")
	w.flag(st.Topic, st.Topic != "")
}

// parseHelp reads the topic from the first word; `help create table` means create.
func parseHelp(p *parser) Statement {
	st := &Help{}
	p.wantOneOf(ExpectTopic, HelpTopics()...)
	if t := p.peek(); t.Kind == lex.Word {
		st.Topic = t.Keyword()
		p.next()
		for !p.atEnd() {
			p.next()
		}
	}
	return st
}
