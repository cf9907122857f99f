package ql

import (
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// Print returns the statement's canonical text: smolwc's own spelling, on one
// line, without control characters. Parsing it gives the same statement.
func Print(st Statement) string {
	if IsNil(st) {
		return ""
	}
	w := &printer{of: st}
	switch st := st.(type) {
	case *Get:
		w.words("get", lex.QuoteName(st.Table.Text))
		for _, k := range st.Keys {
			w.words(w.quoteKey(k))
		}
		w.read(st.Read)
	case *Scan:
		w.words("scan", lex.QuoteName(st.Table.Text))
		w.rows(st.Rows)
		w.read(st.Read)
	case *Count:
		w.words("count", lex.QuoteName(st.Table.Text))
		w.rows(st.Rows)
		w.flag("cells", st.Cells)
		w.flag("approx", st.Approx)
		w.read(st.Read)
	case *Put:
		w.put(st)
	case *Incr:
		w.words("incr", lex.QuoteName(st.Table.Text), w.quoteKey(st.Key), st.Column.String())
		w.flag(strconv.FormatInt(st.By, 10), st.By != 1)
	case *Append:
		w.words("append", lex.QuoteName(st.Table.Text), w.quoteKey(st.Key), st.Column.String(), st.Value.String())
	case *Add:
		w.words("add", lex.QuoteName(st.Table.Text), w.quoteKey(st.Key))
		w.assignments(st.Cells)
	case *CheckAndPut:
		w.checkAndPut(st)
	case *Histogram:
		w.histogram(st)
	case *Sparkline:
		w.words("sparkline", lex.QuoteName(st.Table.Text), w.quoteKey(st.Key), st.Column.String())
		w.number("points", st.Points)
		w.read(st.Read)
	case *Stats:
		w.words("stats")
		w.flag(lex.QuoteName(st.Table.Text), st.Table.Text != "")
		if st.Format != "" {
			w.words("as", st.Format)
		}
	case *Explain:
		w.words("explain", Print(st.Statement))
	case *Analyze:
		w.words("analyze", Print(st.Statement))
	case *Begin:
		w.words("begin")
	case *Commit:
		w.words("commit")
	case *Abort:
		w.words("abort")
	case *Delete:
		w.delete(st)
	case *DeleteRange:
		w.words("delete", lex.QuoteName(st.Table.Text))
		w.rows(st.Rows)
		w.flag("yes", st.Yes)
	case *Import:
		w.importFile(st)
	case *Help:
		w.words("help")
		w.flag(st.Topic, st.Topic != "")
	case *Quit:
		w.words("quit")
	default:
		if !w.moved(st) {
			w.schema(st)
		}
	}
	return strings.Join(w.out, " ")
}

// A printer collects words.
type printer struct {
	of  Statement
	out []string
}

func (w *printer) quoteKey(key string) string { return QuoteKeyOf(w.of, key) }

// QuoteKeyOf is a row key as the statement writes keys: as a tuple or as text.
func QuoteKeyOf(st Statement, key string) string {
	if !IsNil(st) && st.node().Tuples {
		if text, ok := TupleText(key); ok {
			return text
		}
	}
	return lex.QuoteKey(key)
}

func (w *printer) words(words ...string) { w.out = append(w.out, words...) }

func (w *printer) flag(name string, on bool) {
	if on {
		w.words(name)
	}
}

// option writes name=value unless the value is empty.
func (w *printer) option(name, value string) {
	if value != "" {
		w.words(name + "=" + value)
	}
}

func (w *printer) key(name, key string) {
	if key != "" {
		w.option(name, w.quoteKey(key))
	}
}

func (w *printer) word(name, text string) {
	if text != "" {
		w.option(name, lex.QuoteKey(text))
	}
}

func (w *printer) number(name string, n int) {
	if n != 0 {
		w.option(name, strconv.Itoa(n))
	}
}

func (w *printer) time(name string, t *lex.Time) {
	if t != nil {
		w.option(name, t.String())
	}
}

func (w *printer) rows(r Rows) {
	switch text, _ := TupleText(r.Prefix); {
	case r.TuplePrefix:
		w.option("prefix", orWord(text, text == "", "()"))
	case r.Prefix != "": // not as a tuple, which would mean other rows
		w.option("prefix", lex.QuoteKey(r.Prefix))
	}
	w.key("start", r.Start)
	w.key("end", r.End)
	w.key("after", r.After)
	w.option("keys", list(r.Keys, w.quoteKey))
}

func (w *printer) read(r Read) {
	if r.Regex != nil {
		w.option("regex", lex.QuoteText(r.Regex.Expr))
	}
	w.option("columns", list(r.Columns, Column.String))
	for i, c := range r.Where {
		w.words([]string{"where", "and"}[min(i, 1)])
		w.words(c.String())
	}
	switch r.Versions {
	case Unlimited:
		w.option("versions", "all")
	default:
		w.number("versions", r.Versions)
	}
	w.number("cells", r.CellsPerRow)
	switch r.Limit {
	case Unlimited:
		w.option("limit", "0")
	default:
		w.number("limit", r.Limit)
	}
	w.number("offset", r.Offset)
	w.time("since", r.Since)
	w.time("until", r.Until)
	w.flag("reverse", r.Reverse)
	w.flag("keys-only", r.KeysOnly)
	if r.Sample != 0 {
		w.option("sample", strconv.FormatFloat(r.Sample, 'g', -1, 64))
	}
	if r.Page != nil {
		w.option("page", lex.QuoteKey(*r.Page))
	}
	w.flag("stats", r.Stats)
	if r.Format != "" {
		w.words("as", r.Format)
	}
	if r.Into != "" {
		w.words("into", lex.QuoteText(r.Into))
		w.flag("overwrite", r.Overwrite)
	}
}

func (w *printer) histogram(st *Histogram) {
	w.words("histogram", lex.QuoteName(st.Table.Text))
	if st.Column.Family == "" {
		w.words("keys")
	} else {
		w.words(st.Column.String())
	}
	w.number("bins", st.Bins)
	w.number("depth", st.Depth)
	w.word("separator", st.Separator)
	w.rows(st.Rows)
	w.read(st.Read)
}

// String is the condition as it is written.
func (c Condition) String() string {
	text := c.Column.String() + " " + c.Op
	if c.Op != "exists" && c.Op != "absent" {
		text += " " + c.Value.String()
	}
	return text
}

func (w *printer) put(st *Put) {
	w.words("put", lex.QuoteName(st.Table.Text), w.quoteKey(st.Key))
	w.assignments(st.Cells)
}

func (w *printer) assignments(list []Assignment) {
	for _, a := range list {
		w.words(a.Column.String() + "=" + a.Value.String() + at(a.At))
	}
}

func (w *printer) checkAndPut(st *CheckAndPut) {
	w.words("cas", lex.QuoteName(st.Table.Text), w.quoteKey(st.Key), "if")
	w.words(st.If.String())
	w.words("put")
	w.assignments(st.Then)
	if len(st.Else) > 0 {
		w.words("else put")
		w.assignments(st.Else)
	}
}

func (w *printer) delete(st *Delete) {
	w.words("delete", lex.QuoteName(st.Table.Text), w.quoteKey(st.Key))
	for _, d := range st.Columns {
		w.words(d.Column.String() + at(d.At))
	}
	w.time("since", st.Since)
	w.time("until", st.Until)
}

func at(t *lex.Time) string {
	if t == nil {
		return ""
	}
	return "@" + t.String()
}

func (w *printer) importFile(st *Import) {
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

// quoteField keeps a colon in a field's name from beginning its type.
func quoteField(s string) string {
	if strings.Contains(s, ":") {
		return lex.QuoteText(s)
	}
	return lex.QuoteKey(s)
}

// schema prints the statements about tables and families.
func (w *printer) schema(st Statement) {
	switch st := st.(type) {
	case *CreateTable:
		w.words("create table", lex.QuoteName(st.Table.Text))
		w.tableOptions(st.TableOptions)
		w.flag(listWith(", ", st.Families, func(f Family) string { return "family " + f.String() }), len(st.Families) > 0)
	case *SetTable:
		w.words("alter table", lex.QuoteName(st.Table.Text), "set")
		w.tableOptions(st.TableOptions)
		w.flag("yes", st.Yes)
	case *AddFamily:
		w.words("alter table", lex.QuoteName(st.Table.Text), "add family", st.Family.String())
	case *SetFamily:
		w.words("alter table", lex.QuoteName(st.Table.Text), orWord("set", st.Add, "put"), "family", st.Family.String())
		w.flag("yes", st.Yes)
	case *DropFamily:
		w.words("alter table", lex.QuoteName(st.Table.Text), "drop family", lex.QuoteName(st.Family.Text))
		w.flag("yes", st.Yes)
	case *DropTable:
		w.words("drop table", lex.QuoteName(st.Table.Text))
		w.flag("yes", st.Yes)
	case *Truncate:
		w.words("truncate", lex.QuoteName(st.Table.Text))
		w.flag("yes", st.Yes)
	case *Tables:
		w.words("tables")
		if st.Regex != nil {
			w.option("regex", lex.QuoteText(st.Regex.Expr))
		}
	case *Describe:
		w.words("describe", lex.QuoteName(st.Table.Text))
	case *Compact:
		w.words("compact", lex.QuoteName(st.Table.Text))
		w.rows(st.Rows)
	case *Flush:
		w.words("flush", lex.QuoteName(st.Table.Text))
	case *GC:
		w.words("gc", lex.QuoteName(st.Table.Text))
		w.flag("dry-run", st.DryRun)
	}
}

func (w *printer) tableOptions(o TableOptions) {
	if o.KeyFormat != nil {
		w.option("key_format", o.KeyFormat.String())
	}
	if o.Retention != nil {
		w.option("retention", o.Retention.String())
	}
	if o.Changes != nil {
		w.option("change_stream", schema.FormatChangeStream(*o.Changes))
	}
}

// String is the family as create table takes it.
func (f Family) String() string {
	w := &printer{}
	w.words(lex.QuoteName(f.Name.Text))
	if f.Type != nil {
		w.option("type", f.Type.String())
	}
	if f.Aggregate != nil {
		w.option("aggregate", f.Aggregate.String())
	}
	if f.Versions != nil {
		w.option("versions", orWord(strconv.Itoa(*f.Versions), *f.Versions == 0, "all"))
	}
	if f.TTL != nil {
		w.option("ttl", orWord(schema.FormatAge(*f.TTL), *f.TTL == 0, "none"))
	}
	if f.Both != nil {
		w.option("drop", orWord("either", *f.Both, "both"))
	}
	return strings.Join(w.out, " ")
}

func orWord(s string, instead bool, word string) string {
	if instead {
		return word
	}
	return s
}

// list joins what show makes of the items with commas.
func list[T any](items []T, show func(T) string) string { return listWith(",", items, show) }

func listWith[T any](comma string, items []T, show func(T) string) string {
	shown := make([]string, len(items))
	for i, it := range items {
		shown[i] = show(it)
	}
	return strings.Join(shown, comma)
}
