package ql

import (
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/ql/lex"
)

var exportVerb = verb{
	name: "export", parse: parseExport,
	help: helpTopic{
		summary: "write a table to a file",
		syntax: "export T [prefix=K | start=K end=K | keys=K,K,..] [columns=..] [where ..] [versions=N] [limit=N] [since=TS] [until=TS] ..\n" +
			"     to 'FILE.csv|.jsonl|.parquet[.gz|.zst]' [as csv|jsonl|parquet] [wide=FAM:QUAL[=FIELD[:TYPE]],..] [bytes=hex|base64] [overwrite]",
		text: "Writes what the table shows at one moment, all versions unless versions= is given. The options are those of scan.\n" +
			"Each line is a cell, and import T from 'FILE' makes the same cell again. With wide= each line is a row,\n" +
			"with a field for each column that is named; bytes are hexadecimal in csv and base64 in jsonl by default.\n" +
			"'-' is the output. A file that exists is left alone without overwrite.\n\n" +
			"Example:\n  export fleet to 'fleet.jsonl.zst'\n  export fleet prefix=flight# to 'flights.parquet' wide=loc:origin,dest,delay:dep=delay:i32",
	},
}

// A Field is a column in the wide form of an export.
type Field struct {
	Column Column
	Name   string     // "": family:qualifier
	Type   cells.Type // TypeAny: the family's type, else the type of the first cell
}

// String returns the field in the language's syntax.
func (f Field) String() string {
	s := f.Column.String()
	if f.Name != "" || f.Type != cells.TypeAny {
		s += "=" + quoteField(f.Name)
	}
	if f.Type != cells.TypeAny {
		s += ":" + f.Type.String()
	}
	return s
}

// Export writes what a table shows to a file. The session reads and writes files and
// backups: see exec.Runner.Outside.
type Export struct {
	Node
	Table Name
	Rows
	Read              // without a format; without Versions, all versions
	To        string  // a file, or - for the session's output
	As        string  // one of ExportFormats; "": chosen by the file's name
	Wide      []Field // empty: one line for each cell
	Bytes     string  // one of BytesForms; "": not given
	Overwrite bool
}

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
	w.option("wide", list(st.Wide, Field.String))
	w.option("bytes", st.Bytes)
	w.flag("overwrite", st.Overwrite)
}

// parseExport parses export T [scan options] to 'file' [as FORMAT] [wide=..] [bytes=..] [overwrite].
func parseExport(p *parser) (Statement, error) {
	st := &Export{}
	var err error
	if st.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	return st, p.optionsWithTo(inExport, &target{
		rows: &st.Rows, read: &st.Read, to: &st.To, as: &st.As, wide: &st.Wide, bytes: &st.Bytes, overwrite: &st.Overwrite,
	})
}

// optionsWithTo parses the options of a statement that requires to.
func (p *parser) optionsWithTo(in optionSet, to *target) error {
	if err := p.options(in, to); err != nil {
		return err
	}
	if _, ok := to.seen["to"]; !ok {
		return p.unexpected("to")
	}
	return nil
}

// wideOption parses columns in the syntax of import, except that the field's name may
// be omitted. A comma always continues the list, because a qualifier may have the name
// of an option.
func (p *parser) wideOption(to *target) error {
	var list []Mapping
	for {
		start := p.i
		m, err := p.mapping(list)
		if err != nil {
			return err
		}
		list = append(list, m)
		f := Field{Column: m.Column, Type: m.Type}
		for _, t := range p.toks[start:p.i] {
			if t.Kind == lex.Mark && t.Text == "=" {
				f.Name = m.Field
			}
		}
		*to.wide = append(*to.wide, f)
		if !p.accept(",") {
			return nil
		}
	}
}
