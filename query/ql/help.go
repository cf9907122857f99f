package ql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

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

// HelpPage is the page about a topic, a statement's verb or one of the words
// that help lists; "" is the list itself.
func HelpPage(topic string) (string, error) {
	if topic == "" || topic == "help" {
		return helpIndex(), nil
	}
	var names []string
	for _, t := range helpTopics {
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
	for _, t := range helpTopics {
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

// HelpTopics are the names that help takes.
func HelpTopics() []string {
	var names []string
	for _, t := range helpTopics {
		names = append(names, t.name)
	}
	return names
}

var helpTopics = []helpTopic{
	{
		name: "get", summary: "rows by their keys",
		syntax: "get T KEY [KEY...] [columns=..] [versions=N|all] [since=TS] [until=TS] [cells=N] [as FORMAT]\n    [into 'FILE' [overwrite]]",
		text:   "Each column's newest cell is shown; versions= asks for more. since is inclusive, until exclusive.",
		examples: []string{
			"get fleet plane#TF-FIR",
			"get fleet plane#TF-FIR columns=meta:miles versions=all",
			"get fleet plane#TF-FIR plane#TF-FIS columns=meta:model",
		},
	},
	{
		name: "scan", summary: "rows in key order",
		syntax: "scan T [prefix=K | start=K end=K | keys=K,K,..] [after=K] [regex=/RE/] [columns=..] [where COL OP VALUE [and ..]]\n" +
			"     [versions=N|all] [cells=N] [limit=N] [offset=N] [since=TS] [until=TS] [reverse] [keys-only] [sample=F] [page=TOKEN]\n     [stats] [as FORMAT] [into 'FILE' [overwrite]]",
		text: "start is inclusive; end and after are exclusive. With reverse, after is the key to go on below.\n" +
			"versions= are per column (1 if not said), cells= per row. limit=0 is all rows.\n" +
			"where compares the newest cell of a column: == != < <= > >=, exists, absent.\n" +
			"A row is shown when all conditions hold, whether or not their columns are asked for.\n" +
			"regex= is matched with whole keys; see help patterns. sample= takes each row by chance, 0.01 one in a hundred.\n" +
			"stats says on standard error what the scan cost. page=\"\" reads in pages, each of which gives the token of the next.\n" +
			"into writes the rows to a file in the format of its name or of as; export knows more of files.",
		examples: []string{
			"scan fleet prefix=plane# columns=meta:model,operator where meta:miles >= 50000000 limit=20",
			"scan fleet prefix=plane# keys-only reverse limit=5",
			`scan fleet start="plane#\x00" end="plane#\xff" as jsonl`,
			"scan fleet where meta:owner absent and meta:model exists",
			"scan fleet regex=/plane#TF-.*/ columns=meta:/m.*/ stats",
		},
	},
	{
		name: "count", summary: "how many rows, and cells",
		syntax: "count T [prefix=K | start=K end=K | keys=..] [after=K] [regex=/RE/] [columns=..] [where ..] [versions=N|all] [since=TS] [until=TS] [sample=F] [cells] [stats]\n" +
			"count T [prefix=K | start=K end=K] [columns=..] [cells] approx",
		text: "Counts rows with a cell that the options select; with cells, their cells too, all versions unless versions= says otherwise.\n" +
			"approx is content with an estimate where there are many, and says so.",
		examples: []string{"count fleet prefix=plane#", "count fleet cells", "count fleet approx", "count fleet where meta:miles >= 50000000"},
	},
	{
		name: "histogram", summary: "numbers of a column by size, rows by prefix",
		syntax: "histogram T COL [bins=N] [versions=N|all] [rows and conditions as in scan] [as FORMAT]\n" +
			"histogram T keys [depth=N] [separator=TEXT] [bins=N] [rows and conditions as in scan] [as FORMAT]",
		text: "Counts the numbers of a column, in at most bins= bins (20 if not said) with round bounds, from inclusive, to exclusive.\n" +
			"With keys it counts rows by how their keys begin: by depth= parts, each of which ends with separator= (# if not said),\n" +
			"or elements, where keys are tuples; without depth= by one more than prefix= has. It shows the bins= largest prefixes.\n" +
			"Both read the rows once, and hold no more than the bins. The bars are drawn for people; csv and json give the figures.",
		examples: []string{
			"histogram fleet meta:miles prefix=plane#",
			"histogram fleet meta:miles bins=5 where meta:operator == Icelandair as csv",
			"histogram fleet keys",
			"histogram fleet keys prefix=plane# depth=2 bins=10",
		},
	},
	{
		name: "sparkline", summary: "the numbers of a column over time",
		syntax: "sparkline T KEY COL [points=N] [since=TS] [until=TS] [as FORMAT]",
		text: "Draws the versions of a column in a line, the oldest first. Up to points= numbers (60 if not said) are a point each;\n" +
			"more are put together in spans of equal time, each shown by its mean. csv and json give the points.",
		examples: []string{"sparkline fleet plane#TF-FIR meta:miles", "sparkline fleet plane#TF-FIR meta:miles points=20 since=2020-01-01 as jsonl"},
	},
	{
		name: "stats", summary: "sizes and figures of the engine",
		syntax: "stats [T] [as FORMAT]",
		text: "What each family takes on disk and in memory, and for the whole database memory, cache, log, compactions and stalls.\n" +
			"Cells are counted by what files say: replaced and deleted ones are among them until compaction; count counts exactly.",
		examples: []string{"stats", "stats fleet", "stats fleet as json"},
	},
	{
		name: "put", summary: "write cells of a row",
		syntax: "put T KEY COL=VALUE[@TS] ...",
		text:   "The cells are written together or not at all. Without @TS they get the time of writing. See help values.",
		examples: []string{
			`put fleet plane#TF-FIR meta:model="Boeing 757-256" meta:operator=Icelandair meta:miles=51000000 flight:FI318="2024-01-25"@2024-01-25`,
			`put fleet "bin\x01\xffkey" meta:raw=x'0001ff' meta:on=true meta:n=7byte meta:f=1.5f32`,
		},
	},
	{
		name: "delete", summary: "delete rows, columns, versions, ranges",
		syntax: "delete T KEY [COL[@TS] | FAM:* ...] [since=TS] [until=TS]\n" +
			"delete T prefix=K | start=K end=K  [yes]",
		text: "Without columns the whole row goes. since and until bound the versions of the named columns.\n" +
			"Deleting a range asks first on a terminal and wants yes in scripts.",
		examples: []string{"delete fleet plane#TF-FIR flight:FI318", "delete fleet plane#TF-FIR meta:miles since=2020-01-01 until=2021-01-01", "delete fleet prefix=tmp# yes"},
	},
	{
		name: "add", summary: "add to a family that aggregates",
		syntax: "add T KEY COL VALUE[@TS] ...",
		text: "In a family with aggregate=sum, min or max the cell becomes the sum, the least or the greatest of what was\n" +
			"added; with hll, how many different values were added, more or less. It does not read, so it is as fast as put.\n" +
			"Without @TS it is the cell at time 0 of the column; each time has an aggregate of its own.",
		examples: []string{"add planes plane#TF-FIR total:miles 3200", "add planes plane#TF-FIR total:miles 1100@2024-01-25 total:legs 1"},
	},
	{
		name: "incr", summary: "add to a whole number",
		syntax: "incr T KEY COL [NUMBER]",
		text: "Adds NUMBER, 1 if not said, and shows the sum. A column that is not there counts as 0; a sum that\n" +
			"does not fit the column's type is an error. No other write of the row comes between reading and writing.",
		examples: []string{"incr fleet plane#TF-FIR meta:flights", "incr fleet plane#TF-FIR meta:flights -1"},
	},
	{
		name: "append", summary: "append to text or bytes",
		syntax: "append T KEY COL VALUE",
		text: "Shows the whole new value. A column that is not there becomes of the type that its family declares, or else of the type of what is appended.\n" +
			"No other write of the row comes between reading and writing.",
		examples: []string{"append fleet plane#TF-FIR meta:log \"checked; \""},
	},
	{
		name: "cas", summary: "write if a column has a value",
		syntax: "cas T KEY if COL OP VALUE | COL absent | COL exists  put COL=VALUE[@TS] ... [else put COL=VALUE[@TS] ...]",
		text: "Compares the newest cell of a column, as where does (help scan), and writes; no other write of the row\n" +
			"comes between. Says whether the condition held.",
		examples: []string{
			"cas fleet plane#TF-FIR if meta:operator == Icelandair put meta:miles=51000500",
			"cas fleet plane#TF-FIS if meta:owner absent put meta:owner=Loftleidir else put meta:asked=true",
		},
	},
	{
		name: "begin", also: []string{"batch"}, summary: "put and delete several rows as one",
		syntax: "begin\nput .. | delete ..\ncommit | abort",
		text: "What is put and deleted between begin and commit takes effect at once, or not at all; abort drops it.\n" +
			"A script that ends without commit is an error and has written nothing of its batch.\n" +
			"Reads are refused in a batch, and so are incr, append and cas: nothing is written before commit.",
		examples: []string{"begin", "put fleet plane#TF-FIS meta:model=757-223", "delete fleet plane#TF-FIX", "commit"},
	},
	{
		name: "commit", summary: "write the batch that begin opened",
		syntax: "commit", text: "See help begin.", examples: []string{"begin", "put fleet plane#TF-FIS meta:model=757-223", "commit"},
	},
	{
		name: "abort", summary: "drop the batch that begin opened",
		syntax: "abort", text: "See help begin.", examples: []string{"begin", "put fleet plane#TF-FIS meta:model=757-223", "abort"},
	},
	{
		name: "create", summary: "make a table",
		syntax:   "create table T [key_format=plain|tuple] [retention=exact|lazy] [change_stream=AGE] family F [type=TYPE] [versions=N] [ttl=AGE] [drop=either|both] [aggregate=sum|min|max|hll] [, family ...]",
		text:     "Types: bytes string bool byte i32 i64 f32 f64; any, the default, lets each cell carry its own.\nversions= keeps the newest N cells of a column, ttl= those younger than an age such as 36h, 30d, 2w;\nwith drop=both a cell goes only when both say so. key_format=tuple shows keys as tuples. With retention=lazy\nsurplus versions stay visible until gc, and reads need not count them.\nchange_stream=7d keeps the changes of the table, for 1d to 7d, for those who read them: see docs/changes.md.\naggregate= makes a family whose cells are added to: see help add.",
		examples: []string{"create table planes family meta versions=3, family flight ttl=365d, family delay type=i32, family total aggregate=sum"},
	},
	{
		name: "alter", summary: "add, change or drop a family",
		syntax:   "alter table T add family F [type=..] [versions=..] [ttl=..]\nalter table T set F [type=..] [versions=N|all] [ttl=AGE|none] [drop=either|both] [yes]\nalter table T put family F .. [yes]  (adds it, or sets it where it is there)\nalter table T drop family F [yes]\nalter table T set [key_format=plain|tuple] [retention=exact|lazy] [change_stream=AGE|none] [yes]",
		text:     "A type can change only while the family is empty. What would make cells invisible, and keep changes for a\nshorter time, says how many and asks; a script says yes at the end. yes asks nothing.",
		examples: []string{"alter table planes add family loc type=string", "alter table planes set loc ttl=30d versions=3", "alter table planes drop family loc yes"},
	},
	{
		name: "drop", summary: "drop a table with its data",
		syntax: "drop table T [yes]", examples: []string{"drop table planes yes"},
	},
	{
		name: "truncate", summary: "delete all rows of a table",
		syntax: "truncate T [yes]", examples: []string{"truncate scratch yes"},
	},
	{
		name: "tables", also: []string{"list"}, summary: "the tables there are",
		syntax: "tables [regex=/RE/]", examples: []string{"tables"},
	},
	{
		name: "describe", summary: "a table's families",
		syntax: "describe T", examples: []string{"describe fleet"},
	},
	{
		name: "import", summary: "load a CSV, JSON lines or Parquet file",
		syntax: "import T from 'FILE.csv|.jsonl|.parquet[.gz|.zst]' key='TEMPLATE' columns=FAM:QUAL=FIELD[:TYPE],.. [ts=FIELD] [na=TEXT] [bad-lines=N] [batch=N] [again] [overlap]",
		text: "The key's template takes fields in braces; {month:02} pads a number with zeros.\n" +
			"A field that is empty or equals na= makes no cell. Without =FIELD a column takes the field called like its\n" +
			"qualifier, or like the column, as export calls it.\n" +
			"More than bad-lines= bad lines (0 if not said) stop the import before anything is written.\n" +
			"Without key= and columns= the file is one that export wrote without wide=, and gives the same cells again.\n\n" +
			"Example:\n  import fleet from 'planes.csv.gz' key='plane#{tailnum}' columns=meta:model=model,meta:seats=seats:i32 na=NA",
	},
	{
		name: "export", summary: "write a table to a file",
		syntax: "export T [prefix=K | start=K end=K | keys=K,K,..] [columns=..] [where ..] [versions=N] [limit=N] [since=TS] [until=TS] ..\n" +
			"     to 'FILE.csv|.jsonl|.parquet[.gz|.zst]' [as csv|jsonl|parquet] [wide=FAM:QUAL[=FIELD[:TYPE]],..] [bytes=hex|base64] [overwrite]",
		text: "Writes what the table shows at one moment, all versions if versions= does not say. The options are those of scan.\n" +
			"Each line is a cell, of which import T from 'FILE' makes the same cell again. With wide= each line is a row,\n" +
			"with a field for each column that is named; bytes are hexadecimal in csv and base64 in jsonl if bytes= does not say.\n" +
			"'-' is the output. A file that exists is left alone without overwrite.\n\n" +
			"Example:\n  export fleet to 'fleet.jsonl.zst'\n  export fleet prefix=flight# to 'flights.parquet' wide=loc:origin,dest,delay:dep=delay:i32",
	},
	{
		name: "backup", summary: "back the database up",
		syntax: "backup [to 'DIR' | to 's3://BUCKET/PREFIX?endpoint=URL'] [keep=N] [parallel=N] [rate=SIZE]",
		text: "Reads and writes go on; the backup is one moment of all tables. Only files that no earlier backup has are sent.\n" +
			"Without to it goes where the last one went. keep= prunes all but the newest N. rate= bounds the bytes a second: 50MB.\n" +
			"Over the network the server does it: a directory is one of its machine, and access keys are those of its environment.\n\n" +
			"Example:\n  backup to '/backups/fleet' keep=7",
	},
	{
		name: "backups", summary: "list the backups",
		syntax: "backups [in 'DIR' | in 's3://..']", text: "NEW BYTES are those that no earlier backup had. Without in it looks where the last backup went.",
	},
	{
		name: "restore", summary: "make a database of a backup",
		syntax: "restore N | latest to 'DIR' [from 'DIR' | from 's3://..'] [overwrite] [parallel=N] [rate=SIZE]",
		text: "DIR becomes a database of its own, when every byte has been compared with its checksum. A database that is there\n" +
			"is replaced only with overwrite, and never the one that is open.",
	},
	{
		name: "verify", summary: "read all backups and compare them",
		syntax: "verify [in 'DIR' | in 's3://..'] [parallel=N] [rate=SIZE]", text: "Reads every byte, compares it with its checksum, and names what is damaged.",
	},
	{
		name: "checkpoint", summary: "copy the database to a directory",
		syntax: "checkpoint 'DIR'", text: "DIR becomes a database of its own, of one moment. On the same disk the files are linked, which takes hardly any time or space.",
	},
	{
		name: "refresh", summary: "see what was written meanwhile",
		syntax: "refresh", text: "Of a database that is opened read-only, reads show the moment of opening until this. Otherwise it does nothing.", examples: []string{"refresh"},
	},
	{
		name: "compact", summary: "rewrite a table's files",
		syntax: "compact T [prefix=K | start=K end=K]", text: "Gives back the space of deleted, replaced and expired cells, of a range of rows or of all.",
		examples: []string{"compact fleet", "compact fleet prefix=plane#"},
	},
	{
		name: "flush", summary: "write a table's memory to files",
		syntax: "flush T", examples: []string{"flush fleet"},
	},
	{
		name: "gc", summary: "remove what retention has dropped",
		syntax: "gc T [dry-run]",
		text: "Versions beyond the number that a family keeps are deleted, and the table is compacted, which drops expired cells and gives the space back.\n" +
			"What reads show stays the same. With dry-run nothing changes: it shows what would go. It also runs by itself.",
		examples: []string{"gc fleet dry-run", "gc fleet"},
	},
	{
		name: "explain", summary: "how a read would be carried out",
		syntax: "explain get .. | scan .. | count .. | histogram ..", text: "Shows which rows and families are read, what of a filter the engine evaluates, and what is left to do on each row.",
		examples: []string{"explain scan fleet prefix=plane# columns=meta:model where meta:miles >= 50000000"},
	},
	{
		name: "analyze", summary: "run a read and say what it cost",
		syntax: "analyze get .. | scan .. | count .. | histogram ..", text: "Runs it, shows none of its rows, and shows its plan, what it returned, what it looked at, and the time.",
		examples: []string{"analyze scan fleet prefix=plane#", "analyze count fleet where meta:miles >= 50000000"},
	},
	{
		name: "quit", also: []string{"exit"}, summary: "leave the shell (also Ctrl-D)",
		syntax: "quit",
	},
	{
		name: "values", also: []string{"literals", "types"}, summary: "how to write values and times",
		syntax: `"text" 'raw text' word       string
true false                   bool
42 -7 1_000_000 0x2A         i64
1.5 1e9 nan inf -inf         f64
42i32 42i64 255byte 1.5f32   the type that is named; also i32(42), string(42), bool(1)
x'00ff10' b64'AP8Q' bytes("\x00")  bytes
VALUE@TS                     a cell's timestamp: microseconds, 2024-01-25, 2024-01-25T10:00:00.5Z, now, now-36h`,
		text: `"..." knows \\ \" \n \r \t \0 \xNN \uNNNN; in '...' only '' means something, one quote.
Where a family declares a type, a value without one gets it, if it fits.`,
	},
	{
		name: "columns", summary: "how to write columns and keys",
		syntax: `fam:qual       one column
fam:           the column with the empty qualifier
fam:*          the whole family
fam:pre*       qualifiers that begin with pre
fam:[a..b)     qualifiers from a to before b
fam:/re/       qualifiers that match a pattern; see help patterns
fam:"a b\x00"  quotes hold what is not a letter, a digit or one of _ . / # : @ % + ~ ^ * -`,
		text: "Several stand in a comma list; a:b,c means a:b,a:c. Keys are written like qualifiers: plane#TF-FIR, \"a b\".",
	},
	{
		name: "patterns", also: []string{"regex"}, summary: "how to write regular expressions",
		syntax: `regex=/plane#TF-.*/       of row keys
columns=meta:/m.*/        of the qualifiers of a family
columns=meta:/"m(a|o).*"/ quotes hold what is not a letter, a digit or one of _ . / # : @ % + ~ ^ * -`,
		text:     "The syntax is RE2's. A pattern matches the whole key or qualifier, byte by byte; \\C is any byte, . any but a newline.",
		examples: []string{`count fleet regex=/"plane#(TF|LN)-.*"/`, "get fleet plane#TF-FIR columns=meta:/mi.*/"},
	},
}
