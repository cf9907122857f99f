package ql

import (
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/ql/lex"
)

var importVerb = verb{
	name: "import", parse: parseImport,
	help: helpTopic{
		summary: "load a CSV, JSON lines or Parquet file",
		syntax:  "import T from 'FILE.csv|.jsonl|.parquet[.gz|.zst]' key='TEMPLATE' columns=FAM:QUAL=FIELD[:TYPE],.. [ts=FIELD] [na=TEXT] [bad-lines=N] [batch=N] [again] [overlap]",
		text: "The key's template takes fields in braces; {month:02} pads a number with zeros.\n" +
			"A field that is empty or equals na= makes no cell. Without =FIELD a column takes the field\n" +
			"whose name is its qualifier, or else the column, as export writes it.\n" +
			"More than bad-lines= bad lines (0 by default) stop the import before anything is written.\n" +
			"Without key= and columns= the file is one that export wrote without wide=, and gives the same cells again.\n\n" +
			"Example:\n  import fleet from 'planes.csv.gz' key='plane#{tailnum}' columns=meta:model=model,meta:seats=seats:i32 na=NA",
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
	BadLines  int    // the number of bad lines that are skipped
	Batch     int    // rows in one write; 0: not given
	Again     bool   // load a large file even if it was imported before
	Overlap   bool   // load a large file even if some of its cells exist
}

// A Mapping is FAM:QUAL=FIELD[:TYPE].
type Mapping struct {
	Column Column
	Field  string
	Type   cells.Type // TypeAny: the family's type, else string
}

func (st *Import) print(w *printer) {
	w.words("import", lex.QuoteName(st.Table.Text), "from", lex.QuoteText(st.Path))
	if st.Key != "" {
		w.option("key", lex.QuoteText(st.Key))
	}
	w.option("columns", list(st.Columns, func(m Mapping) string {
		s := m.Column.String() + "=" + quoteField(m.Field)
		if m.Type != cells.TypeAny {
			s += ":" + m.Type.String()
		}
		return s
	}))
	w.word("ts", st.Timestamp)
	w.word("na", st.NA)
	w.number("bad-lines", st.BadLines)
	w.number("batch", st.Batch)
	w.flag("again", st.Again)
	w.flag("overlap", st.Overlap)
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
func parseImport(p *parser) (Statement, error) {
	st := &Import{}
	var err error
	if st.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	if !p.acceptWord("from") {
		return nil, p.unexpected("from, as in import %s from 'file.csv'", lex.QuoteName(st.Table.Text))
	}
	p.wantKind(ExpectFile)
	if st.Path, err = p.text("a file, as in 'flights.csv.gz'"); err != nil {
		return nil, err
	}
	to := &target{load: st}
	if err := p.options(inImport, to); err != nil {
		return nil, err
	}
	_, hasKey := to.seen["key"]
	_, hasColumns := to.seen["columns"]
	if hasKey != hasColumns { // a file made by export needs neither
		missing := map[bool]string{true: "columns", false: "key"}[hasKey]
		return nil, lex.ErrorAt(p.peek().Pos, "import needs %s=, as in key='plane#{tailnum}' columns=meta:model=model", missing)
	}
	return st, nil
}

// templateOption parses the template of row keys.
func (p *parser) templateOption(to *target) (err error) {
	t := p.peek()
	if to.load.Key, err = p.text("a template, as in 'plane#{tailnum}'"); err == nil && to.load.Key == "" {
		err = lex.ErrorAt(t.Pos, "the key's template is empty")
	}
	return err
}

// mappingsOption parses FAM:QUAL=FIELD[:TYPE],... A mapping without a family takes the
// family of the preceding mapping. A mapping without a field takes the field that has
// the name of its qualifier or of its column.
func (p *parser) mappingsOption(to *target) error {
	for {
		m, err := p.mapping(to.load.Columns)
		if err != nil {
			return err
		}
		to.load.Columns = append(to.load.Columns, m)
		if !p.accept(",") {
			return nil
		}
	}
}

func (p *parser) mapping(before []Mapping) (m Mapping, err error) {
	p.wantColumn("")
	t := p.peek()
	if _, _, hasFamily := cutColumn(t); t.Kind == lex.Word && !hasFamily && len(before) > 0 {
		p.next()
		m.Column, err = qualified(t.Pos, before[len(before)-1].Column.Family, t.Parts)
	} else {
		m.Column, err = p.exactColumn()
	}
	if err == nil && m.Column.Kind != ColumnExact {
		err = lex.ErrorAt(t.Pos, "%s means several columns; name one here", lex.QuoteText(lex.Clip(t.Text)))
	}
	if err != nil {
		return m, err
	}
	if m.Field = m.Column.Qualifier; !p.accept("=") {
		return m, nil
	}
	p.wantText(ExpectText, "the name of a field")
	field := p.peek()
	if field.Kind != lex.Word {
		return m, p.unexpected("the name of a field")
	}
	p.next()
	m.Field, m.Type, err = fieldType(field)
	if err != nil && lex.Join(field.Parts) == m.Column.Family+":"+m.Column.Qualifier { // the name that export gives the field
		m.Field, m.Type, err = lex.Join(field.Parts), cells.TypeAny, nil
	}
	return m, err
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
