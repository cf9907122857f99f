package ql

import (
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql/lex"
)

var importVerb = verb{
	name: "import", parse: parseImport,
	help: helpTopic{
		summary: "load a CSV, TSV, JSON lines or Parquet file",
		syntax: "import T from 'FILE.csv|.tsv|.jsonl|.parquet[.gz|.zst]' [as csv|tsv|jsonl|parquet] [key='TEMPLATE' columns=FAM:*|FAM:QUAL=FIELD[:TYPE],..] [ts=FIELD|TEMPLATE] [na=TEXT] [keep-empty]\n" +
			"     [sep=TEXT] [quote=CHAR|none] [header|no-header] [skip=N] [comment=TEXT|none] [decimal=','] [ragged] [encoding=latin-1|..]\n" +
			"     [bad-lines=N] [bad='FILE'] [batch=N] [again] [overlap] [dry-run]",
		text: "Without key= and columns= a file is taken that names them: what export and scan .. as jsonl write, or a CSV file with\n" +
			"the fields key or row, and meta:model or, into a table of one family, model. For other files it proposes a statement, and\n" +
			"at a terminal asks whether to run it. columns=FAM:* takes all fields that nothing else uses, under their names.\n" +
			"How a CSV file is written is seen in its beginning, and noted: the separator (, ; | or tab, rarely a space, : or #), the quote, whether the first\n" +
			"line has names, lines before it, comments with #, decimal commas. sep=, quote=, header and so on say it.\n" +
			"'flights-*.csv' are several files, imported together.\n" +
			"The key's template takes fields in braces; {month:02} pads a number with zeros. {url:reversed} is an address with its\n" +
			"host reversed: org.example.docs/install of https://docs.example.org/install. ts='{year}-{month:02}-{day:02}' makes times.\n" +
			"Without =FIELD a column takes the field whose name is its qualifier, or else the column, as export writes it.\n" +
			"Without :TYPE, in a family without a type, CSV gives text, also of digits: write :i64 or :f64 to compute with it. JSON\n" +
			"lines give numbers, booleans and text as they are.\n" +
			"A field that is empty or equals na= makes no cell; with keep-empty an empty one makes a cell of the empty text.\n" +
			"TSV is as scan .. as tsv writes it: no quotes, and the escapes \\t \\n \\r \\\\ \\xNN \\uNNNN.\n" +
			"More than bad-lines= bad lines (0 by default) stop the import before anything is written. bad= is a new file that keeps\n" +
			"the bad lines that are left out, any number of them without bad-lines=.\n" +
			"'-' is the standard input, with as csv, as tsv or as jsonl. dry-run writes nothing, and shows the columns with the types of their\n" +
			"values and the types that fit, which lose nothing, or without key= and columns= the fields of the file,\n" +
			"for which there need be no table T.\n" +
			"A field may be named by its place: '#2' is the second one of a CSV, TSV or Parquet file.\n" +
			"In JSON lines a field may be a path: '$.to.airport', '$.legs[0]'. FAM:*='$.path' makes a column of each member of an\n" +
			"object, '$' being the whole line. Elements of a list, '$.legs[*].miles', become versions, at the times ts='$.legs[*].at'.\n" +
			"A qualifier may be made of fields, as the key is: anchor:'{from}'=text. With link:'{$.links[*].href}'='$.links[*].text' each\n" +
			"element of a list is a column.\n\n" +
			"Example:\n  import fleet from 'planes.csv.gz' key='plane#{tailnum}' columns=meta:model=model,meta:seats=seats:i32 na=NA\n" +
			"  import fleet from 'export-*.csv' key='{id}' columns=meta:* bad='bad.csv'\n  import fleet from 'trips.jsonl' key='trip#{$.plane.tail}' columns=loc:dest='$.to.airport',meta:*='$.tags'",
	},
}

// Import loads a file into a table.
type Import struct {
	Node
	Table     Name
	Path      string
	Key       string // a template: plane#{tailnum}
	Columns   []Mapping
	Timestamp string // field; "": the database's clock
	NA        string // a field with this text makes no cell
	KeepEmpty bool   // an empty field makes a cell
	BadLines  int    // the number of bad lines that are skipped
	Batch     int    // rows in one write; 0: not given
	Again     bool   // load a large file even if it was imported before
	Overlap   bool   // load a large file even if some of its cells exist
	As        string // one of ImportFormats; "": chosen by the file's name
	DryRun    bool   // write nothing
	Bad       string // a file for the bad lines; "": they are not kept
	Written   Written
}

// Written says how a CSV file is written, as far as that is not to be seen in it.
type Written struct {
	Separator string // "": seen
	Quote     string // or none; "": seen
	Header    string // yes, or no; "": seen
	Skip      int    // lines before the header; 0: seen, -1: no line
	Comment   string // begins lines to pass over, or none; "": seen
	Decimal   string // , or .
	Encoding  string // one of ImportEncodings; "": UTF-8, or by the file's mark
	Ragged    bool   // lines may have fewer fields
}

// String returns it in the language's syntax.
func (f Written) String() string {
	w := &printer{}
	f.print(w)
	return strings.Join(w.out, " ")
}

func (f Written) print(w *printer) {
	text := func(name, value string) {
		if value != "" {
			w.option(name, lex.QuoteText(value))
		}
	}
	text("sep", f.Separator)
	text("quote", f.Quote)
	w.flag("header", f.Header == "yes")
	w.flag("no-header", f.Header == "no")
	if f.Skip < 0 {
		w.option("skip", "0")
	}
	w.number("skip", max(f.Skip, 0))
	text("comment", f.Comment)
	text("decimal", f.Decimal)
	w.word("encoding", f.Encoding)
	w.flag("ragged", f.Ragged)
}

// ImportEncodings are the names that encoding= takes.
var ImportEncodings = []string{"utf-8", "utf-16le", "utf-16be", "latin-1", "windows-1252"}

// separatorWords are names of separators that are hard to type.
var separatorWords = map[string]string{"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}

func (p *parser) separatorOption(to *target) {
	text := p.filled("what stands between fields, as ';' or tab", "the separator")
	if named, ok := separatorWords[strings.ToLower(text)]; ok {
		text = named
	}
	to.load.Written.Separator = text
}

func (p *parser) skipOption(to *target) {
	if to.load.Written.Skip = p.number("how many lines stand before the header", 0); to.load.Written.Skip == 0 {
		to.load.Written.Skip = -1
	}
}

// headerOption sets a flag, which another flag contradicts.
func (p *parser) headerOption(to *target, is, isNot string) {
	at := p.peek().Pos
	if !p.flag() {
		is, isNot = isNot, is
	}
	if to.load.Written.Header == isNot {
		panic(lex.ErrorAt(at, "header and no-header contradict each other"))
	}
	to.load.Written.Header = is
}

// A Mapping is FAM:QUAL=FIELD[:TYPE], FAM:*=PATH[:TYPE]: a column of each member of an
// object, or FAM:*: a column of each field that nothing else uses.
type Mapping struct {
	Column Column
	Field  string
	Type   cells.Type // TypeAny: the family's type, else string
}

// String returns the mapping in the language's syntax.
func (m Mapping) String() string {
	if m.Column.Kind == ColumnFamily && m.Field == "" {
		return m.Column.String()
	}
	s := m.Column.String() + "=" + quoteField(m.Field)
	if m.Type != cells.TypeAny {
		s += ":" + m.Type.String()
	}
	return s
}

func (st *Import) print(w *printer) {
	w.words("import", lex.QuoteName(st.Table.Text), "from", lex.QuoteText(st.Path))
	if st.As != "" {
		w.words("as", st.As)
	}
	if st.Key != "" {
		w.option("key", lex.QuoteText(st.Key))
	}
	w.option("columns", list(st.Columns, Mapping.String))
	w.word("ts", st.Timestamp)
	w.word("na", st.NA)
	w.flag("keep-empty", st.KeepEmpty)
	st.Written.print(w)
	w.number("bad-lines", st.BadLines)
	if st.Bad != "" {
		w.option("bad", lex.QuoteText(st.Bad))
	}
	w.number("batch", st.Batch)
	w.flag("again", st.Again)
	w.flag("overlap", st.Overlap)
	w.flag("dry-run", st.DryRun)
}

// quoteField writes a field's name; it quotes a name with a colon, which would begin a
// type.
func quoteField(s string) string {
	if strings.Contains(s, ":") {
		return lex.QuoteText(s)
	}
	return lex.QuoteKey(s)
}

// parseImport parses import T from 'file' key='..' columns=.. [ts=] [na=]
// [bad-lines=] [batch=] [again] [overlap].
func parseImport(p *parser) Statement {
	st := &Import{Table: p.tableName()}
	if !p.acceptWord("from") {
		panic(p.unexpected("from, as in import %s from 'file.csv'", lex.QuoteName(st.Table.Text)))
	}
	st.Path = p.file("a file, as in 'flights.csv.gz'")
	to := &target{load: st, as: &st.As, dryRun: &st.DryRun}
	p.options(inImport, to)
	_, hasKey := to.seen["key"]
	_, hasColumns := to.seen["columns"]
	if hasKey != hasColumns { // a file made by export needs neither
		missing := map[bool]string{true: "columns", false: "key"}[hasKey]
		panic(lex.ErrorAt(p.peek().Pos, "import needs %s=, as in key='plane#{tailnum}' columns=meta:model=model", missing))
	}
	return st
}

// mappingsOption parses FAM:QUAL=FIELD[:TYPE],...
func (p *parser) mappingsOption(to *target) {
	for first := true; first || p.accept(","); first = false {
		p.bound(len(to.load.Columns), maxMappings, "columns to import")
		m, _ := p.mapping(to.load.Columns, true)
		to.load.Columns = append(to.load.Columns, m)
	}
}

// mapping parses one mapping of a list. Without a family it takes that of the preceding
// mapping. Without a field, named is false and the field is named by the qualifier.
// families allows FAM:*.
func (p *parser) mapping(before []Mapping, families bool) (m Mapping, named bool) {
	p.wantColumn("")
	t := p.peek()
	if _, _, hasFamily := cutColumn(t); t.Kind == lex.Word && !hasFamily && len(before) > 0 {
		p.next()
		m.Column = qualified(t.Pos, before[len(before)-1].Column.Family, t.Parts)
	} else if families && t.Kind == lex.Word && hasFamily && columnOf(t).Kind == ColumnFamily {
		p.next()
		m.Column = columnOf(t)
	} else {
		m.Column = p.exactColumn()
	}
	if next := p.peek(); families && p.atMark("{") && next.Glued {
		panic(lex.ErrorAt(next.Pos, "quote a qualifier that fields make, as in %s:'{href}'", lex.QuoteName(m.Column.Family)))
	}
	if m.Column.Kind != ColumnExact && m.Column.Kind != ColumnFamily {
		panic(lex.ErrorAt(t.Pos, "%s means several columns; name one here", lex.QuoteText(lex.Clip(t.Text))))
	}
	if m.Field = m.Column.Qualifier; !p.accept("=") {
		if field, typ, err := fieldType(t); families && err == nil && typ != cells.TypeAny && strings.Contains(m.Column.Qualifier, ":") {
			name := strings.TrimPrefix(field, m.Column.Family+":")
			panic(lex.ErrorAt(t.Pos, "a type stands after the field, as in %s=%s:%s", lex.QuoteColumn(m.Column.Family, name), quoteField(name), typ))
		}
		return m, false
	}
	field := p.peek()
	if field.Kind != lex.Word {
		panic(p.unexpected("the name of a field"))
	}
	p.next()
	var err error
	m.Field, m.Type, err = fieldType(field)
	if err != nil && lex.Join(field.Parts) == m.Column.Family+":"+m.Column.Qualifier { // the name that export gives the field
		return Mapping{Column: m.Column, Field: lex.Join(field.Parts)}, true
	}
	return must(m, err), true
}

// fieldType splits FIELD:TYPE at the last bare colon.
func fieldType(t lex.Token) (field string, typ cells.Type, err error) {
	last := t.Parts[len(t.Parts)-1]
	n := strings.LastIndexByte(last.Text, ':')
	if last.Quote != lex.Bare || n < 0 {
		return lex.Join(t.Parts), cells.TypeAny, nil
	}
	if typ, err = cells.ParseType(strings.ToLower(last.Text[n+1:])); err != nil {
		return "", typ, lex.ErrorAt(last.Pos.Plus(n+1), "%s; quote the field's name if the colon belongs to it", err)
	}
	return lex.Join(t.Parts[:len(t.Parts)-1]) + last.Text[:n], typ, nil
}

var exportVerb = verb{
	name: "export", parse: parseExport,
	help: helpTopic{
		summary: "write a table to a file",
		syntax: "export T [prefix=K | start=K end=K | keys=K,K,..] [columns=..] [where ..] [versions=N] [limit=N] [since=TS] [until=TS] ..\n" +
			"     to 'FILE.csv|.jsonl[.gz|.zst]|.parquet|.avro' [as csv|jsonl|parquet] [wide=FAM:QUAL[=FIELD[:TYPE]],..|*] [bytes=hex|base64] [overwrite]",
		text: "Writes what the table shows at one moment, all versions unless versions= is given. The options are those of scan.\n" +
			"Each line is a cell, and import T from 'FILE' makes the same cell again. With wide= each line is a row,\n" +
			"with a field for each column that is named; bytes are hexadecimal in csv and base64 in jsonl by default.\n" +
			"wide=* makes an object of each row, with a member for each of its columns, in jsonl.\n" +
			"'-' is the output. A file that exists is left alone without overwrite.\n\n" +
			"Example:\n  export fleet to 'fleet.jsonl.zst'\n  export fleet prefix=plane# wide=* to 'planes.jsonl'\n  export fleet prefix=flight# to 'flights.parquet' wide=loc:origin,dest,delay:dep=delay:i32",
	},
}

// Export writes the visible cells of a table to a file. The session reads and writes files and
// backups: see exec.Runner.Outside.
type Export struct {
	Node
	Table Name
	Rows
	Read                // without a format; without Versions, all versions
	To        string    // a file, or - for the session's output
	As        string    // one of ExportFormats; "": chosen by the file's name
	Wide      []Mapping // empty: one line for each cell; without a Field, the column names it
	AllWide   bool      // one line for each row, with all its columns; Wide is then empty
	Bytes     string    // one of BytesForms; "": not given
	Overwrite bool
}

// ImportFormats are the names that `as` takes in an import.
var ImportFormats = []string{"csv", "tsv", "jsonl", "parquet"}

// ExportFormats are the names that `as` takes in an export.
var ExportFormats = []string{"csv", "jsonl", "parquet"}

// BytesForms are the names that `bytes` takes in an export.
var BytesForms = []string{"hex", "base64"}

func (st *Export) print(w *printer) {
	w.words("export", lex.QuoteName(st.Table.Text))
	w.rows(st.Rows)
	w.read(st.Read)
	w.words("to", lex.QuoteText(st.To))
	if st.As != "" {
		w.words("as", st.As)
	}
	w.option("wide", list(st.Wide, func(m Mapping) string {
		if m.Field == "" && m.Type == cells.TypeAny {
			return m.Column.String()
		}
		return m.String()
	}))
	if st.AllWide {
		w.option("wide", "*")
	}
	w.option("bytes", st.Bytes)
	w.flag("overwrite", st.Overwrite)
}

func parseExport(p *parser) Statement {
	st := &Export{Table: p.tableName()}
	p.optionsWithTo(inExport, &target{
		rows: &st.Rows, read: &st.Read, to: &st.To, as: &st.As, wide: &st.Wide, allWide: &st.AllWide, bytes: &st.Bytes, overwrite: &st.Overwrite,
	})
	return st
}

// optionsWithTo parses the options of a statement that requires to.
func (p *parser) optionsWithTo(in optionSet, to *target) {
	p.options(in, to)
	if _, ok := to.seen["to"]; !ok {
		panic(p.unexpected("to"))
	}
}

// wideOption parses columns in the syntax of import, except that the field's name may
// be omitted. A comma always continues the list, because a qualifier may have the name
// of an option.
func (p *parser) wideOption(to *target) {
	if t := p.peek(); t.Kind == lex.Word && t.BareText() == "*" {
		p.next()
		*to.allWide = true
		return
	}
	for first := true; first || p.accept(","); first = false {
		p.bound(len(*to.wide), maxMappings, "columns in wide=")
		m, named := p.mapping(*to.wide, false)
		if !named {
			m.Field = ""
		}
		*to.wide = append(*to.wide, m)
	}
}
