package ql

import (
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// Print returns the statement's canonical text: smolwc's own spelling, on one
// line, without control characters. Parsing it gives the same statement.
func Print(st Statement) string {
	if IsNil(st) {
		return ""
	}
	w := &printer{of: st}
	st.print(w)
	return strings.Join(w.out, " ")
}

// A printer collects words.
type printer struct {
	of  Statement
	out []string
}

func (w *printer) quoteKey(key string) string { return QuoteKeyOf(w.of, key) }

// QuoteKeyOf writes a row key as the statement writes keys: as a tuple or as text.
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

// AsTuples returns the options that select the rows, with keys as tuples where they are
// some.
func (r Rows) AsTuples() string {
	w := &printer{of: &Scan{Node: Node{Tuples: true}}}
	w.rows(r)
	return strings.Join(w.out, " ")
}

func (w *printer) rows(r Rows) {
	switch text, _ := TupleText(r.Prefix); {
	case r.TuplePrefix:
		w.option("prefix", orWord(text, text == "", "()"))
	case r.Prefix != "": // not as a tuple, which would select other rows
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
	if len(r.Where) > 0 {
		w.words("where", r.Conditions())
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

func (w *printer) assignments(list []Assignment) {
	for _, a := range list {
		w.words(a.Column.String() + "=" + a.Value.String() + at(a.At))
	}
}

func at(t *lex.Time) string {
	if t == nil {
		return ""
	}
	return "@" + t.String()
}

func orWord(s string, instead bool, word string) string {
	if instead {
		return word
	}
	return s
}

// list writes the items with show and joins them with commas.
func list[T any](items []T, show func(T) string) string { return listWith(",", items, show) }

func listWith[T any](comma string, items []T, show func(T) string) string {
	shown := make([]string, len(items))
	for i, it := range items {
		shown[i] = show(it)
	}
	return strings.Join(shown, comma)
}

// CreateStatement returns the statements that make a table like t, one per line, each
// with a newline. A retention rule that create table cannot express becomes a comment.
func CreateStatement(t schema.Table) string {
	st := &CreateTable{Table: Name{Text: t.Name}}
	st.KeyFormat, st.Retention, st.Changes = given(t.KeyFormat), given(t.Retention), given(t.ChangeStream)
	comments := ""
	for _, f := range t.Families {
		versions, age, both, simple := SimpleRule(f.GC)
		if !simple {
			comments += "-- family " + f.Name + " also has the rule " + f.GC.String() + "\n"
		}
		if f.Tuning != (schema.Tuning{}) {
			comments += "-- family " + f.Name + " is tuned: " + f.Tuning.String() + "\n"
		}
		st.Families = append(st.Families, Family{
			Name: Name{Text: f.Name}, Type: given(f.Type), Aggregate: given(f.Aggregate),
			Versions: given(versions), TTL: given(age), Both: given(both),
		})
	}
	return Print(st) + "\n" + comments
}

// given returns a setting of a statement: nil if it is the default.
func given[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// SimpleRule returns the rule as max_versions=, max_age= and drop=both; 0 is no bound. simple
// is false if these options cannot express the rule.
func SimpleRule(r *schema.Rule) (versions int, age time.Duration, both, simple bool) {
	if r == nil {
		return 0, 0, false, true
	}
	leaves := []*schema.Rule{r}
	switch {
	case len(r.Any) == 2:
		leaves = r.Any
	case len(r.All) == 2:
		leaves, both = r.All, true
	}
	for _, leaf := range leaves {
		switch {
		case leaf.MaxVersions > 0 && versions == 0:
			versions = leaf.MaxVersions
		case leaf.MaxAge > 0 && age == 0:
			age = leaf.MaxAge
		default:
			return 0, 0, false, false
		}
	}
	return versions, age, both, true
}
