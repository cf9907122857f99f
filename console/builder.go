package console

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// A builder is a choice of rows as made in the form of a table. It makes a scan.
type builder struct {
	Table            schema.Table
	Prefix, From, To string // From is inclusive, To exclusive
	After            string // the key before the page; "" for the first page
	Family           string // of all columns; "": all families
	Conditions       []condition
	Any              bool // one of the conditions is enough
	Versions         int
	Since, Until     string // times as statements have them
	Reverse          bool
	Limit            int
	Show             []column // the columns; nil: those that most rows have
	shown            []string // Show as it was given
}

// A condition is one of the form: a column or key, an operator, and a value as it was typed.
type condition struct{ On, Op, Value string }

// operators compare a column with a value in a condition, as statements write them.
var operators = []string{"==", "!=", "<", "<=", ">", ">=", "in", "like", "=~", "exists", "absent"}

const (
	usualRows = 100
	mostRows  = 1000
	// mostConditions is how many conditions a form offers.
	mostConditions = 10
	mostVersions   = 1000
)

// builder reads the form of a table.
func (v *visit) builder(t schema.Table) (b *builder, err error) {
	r := v.r
	b = &builder{
		Table: t, After: r.FormValue("after"), Family: r.FormValue("family"), Any: r.FormValue("any") != "",
		Since: strings.TrimSpace(r.FormValue("since")), Until: strings.TrimSpace(r.FormValue("until")), Reverse: r.FormValue("reverse") != "",
	}
	if err := v.fields(map[string]*string{"prefix": &b.Prefix, "from": &b.From, "to": &b.To}); err != nil {
		return b, err
	}
	if b.Limit, err = number(r, "limit", usualRows, mostRows); err != nil {
		return b, err
	}
	if b.Versions, err = number(r, "versions", 1, mostVersions); err != nil {
		return b, err
	}
	if b.Prefix != "" && b.From+b.To != "" {
		return b, invalid("a page has the rows of a prefix or of a range; leave one of them empty")
	}
	on, op, value := r.Form["on"], r.Form["op"], r.Form["value"]
	if len(on) > mostConditions || len(op) != len(on) || len(value) != len(on) {
		return b, invalid("there are %d columns, %d operators and %d values; want as many of each, up to %d", len(on), len(op), len(value), mostConditions)
	}
	for i := range on {
		if strings.TrimSpace(on[i]) != "" {
			b.Conditions = append(b.Conditions, condition{strings.TrimSpace(on[i]), op[i], value[i]})
		}
	}
	for _, text := range r.Form["show"] {
		if len(b.Show) == mostColumns {
			return b, invalid("a page shows up to %d columns", mostColumns)
		}
		family, quoted, _ := strings.Cut(text, ":")
		qualifier, err := unfield("show", quoted)
		if err != nil {
			return b, err
		}
		b.Show, b.shown = append(b.Show, column{family, qualifier}), append(b.shown, text)
	}
	return b, nil
}

// columnField is a column as written in the form of a table.
func columnField(c column) string { return c.Family + ":" + field(c.Qualifier) }

// columnWord is a column as written in a statement.
func columnWord(c column) string { return lex.QuoteColumn(c.Family, c.Qualifier) }

// asWord is a text as one word of a statement: as it is if it is one, else in quotes.
func asWord(text string) string {
	if isWord(text) {
		return text
	}
	return lex.QuoteText(text)
}

// isWord reports whether a text is one word, perhaps in quotes.
func isWord(text string) bool {
	toks, err := lex.Tokens(lex.Source{Text: text}, nil)
	return err == nil && len(toks) == 2 && toks[0].Kind == lex.Word
}

// text is a condition as statements have it.
func (c condition) text() (string, error) {
	if !isWord(c.On) {
		return "", invalid("%s is not a column; want family:qualifier, or key", lex.QuoteText(c.On))
	}
	value := strings.TrimSpace(c.Value)
	switch {
	case !slices.Contains(operators, c.Op):
		return "", invalid("there is no operator %s; want one of %s", lex.QuoteText(c.Op), strings.Join(operators, ", "))
	case c.Op == "exists" || c.Op == "absent":
		return c.On + " " + c.Op, nil
	case c.Op == "in":
		var words []string
		for one := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(value, "("), ")"), ",") {
			words = append(words, asWord(strings.TrimSpace(one)))
		}
		return c.On + " in (" + strings.Join(words, ", ") + ")", nil
	case c.Op == "=~":
		return c.On + " =~ /" + strings.ReplaceAll(value, "/", `\/`) + "/", nil
	}
	return c.On + " " + c.Op + " " + asWord(value), nil
}

// scan is the statement of the form.
func (b *builder) scan(env ql.Env) (*ql.Scan, error) {
	text := "scan " + lex.QuoteName(b.Table.Name)
	for i, c := range b.Conditions {
		one, err := c.text()
		if err != nil {
			return nil, err
		}
		switch {
		case i == 0:
			text += " where "
		case b.Any:
			text += " or "
		default:
			text += " and "
		}
		text += one
	}
	for _, bound := range []struct{ name, text string }{{"since", b.Since}, {"until", b.Until}} {
		if bound.text == "" {
			continue
		}
		if !isWord(bound.text) {
			return nil, invalid("%s is %s; want a time such as now-1h or 2026-01-31", bound.name, lex.QuoteText(bound.text))
		}
		text += " " + bound.name + "=" + bound.text
	}
	st, err := env.Parse(lex.Source{Text: text, Pos: lex.Pos{Line: 1, Col: 1}})
	if err != nil {
		return nil, err
	}
	scan, ok := st.(*ql.Scan)
	if !ok || scan.Into != "" {
		return nil, invalid("the form makes %s, which is no scan", lex.QuoteText(text))
	}
	scan.Prefix, scan.Start, scan.End, scan.Reverse, scan.Limit = b.Prefix, b.From, b.To, b.Reverse, b.Limit
	scan.Tuples = b.Table.KeyFormat == schema.TupleKeys
	if b.Versions > 1 {
		scan.Versions = b.Versions
	}
	switch {
	case b.Show != nil:
		for _, c := range b.Show {
			scan.Columns = append(scan.Columns, ql.Column{Family: c.Family, Qualifier: c.Qualifier})
		}
	case b.Family != "":
		scan.Columns = []ql.Column{{Family: b.Family, Kind: ql.ColumnFamily}}
	}
	return scan, nil
}

// deletionOf is the statement that deletes all rows of a scan; "" for a scan of the whole table,
// and of some versions only.
func deletionOf(st *ql.Scan) string {
	switch {
	case st.Since != nil || st.Until != nil:
	case len(st.Where) > 0:
		return ql.Print(&ql.DeleteWhere{Node: st.Node, Table: st.Table, Selection: ql.Selection{Rows: st.Rows, Read: ql.Read{Where: st.Where}}})
	case st.Prefix != "" || st.Start != "" || st.End != "":
		return ql.Print(&ql.DeleteRange{Node: st.Node, Table: st.Table, Rows: st.Rows})
	}
	return ""
}

// address is the address of a page with the same choice, after a key.
func (b *builder) address(after string) string {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("prefix", field(b.Prefix))
	set("from", field(b.From))
	set("to", field(b.To))
	set("family", b.Family)
	set("since", b.Since)
	set("until", b.Until)
	set("after", after)
	for name, on := range map[string]bool{"reverse": b.Reverse, "any": b.Any} {
		if on {
			q.Set(name, "1")
		}
	}
	if b.Limit != usualRows {
		q.Set("limit", strconv.Itoa(b.Limit))
	}
	if b.Versions > 1 {
		q.Set("versions", strconv.Itoa(b.Versions))
	}
	for _, c := range b.Conditions {
		q.Add("on", c.On)
		q.Add("op", c.Op)
		q.Add("value", c.Value)
	}
	q["show"] = b.shown
	at := "/tables/" + url.PathEscape(b.Table.Name)
	if text := q.Encode(); text != "" {
		at += "?" + text
	}
	return at
}

// A copied is the choice of rows in another language.
type copied struct{ Name, Text string }

// copies are the forms of a scan for the shell, and as far as they can be said so in SQL and
// in Go.
func copies(st *ql.Scan) []copied {
	all := []copied{{"Shell", ql.Print(st)}}
	if text := asSQL(st); text != "" {
		all = append(all, copied{"SQL", text})
	}
	return append(all, copied{"Go", asGo(st)})
}

// asSQL is the query with the same rows; "" where SQL would mean something else: it knows no
// types of cells, and no regular expressions of statements.
func asSQL(st *ql.Scan) string {
	if len(st.Where) > 0 || st.Since != nil || st.Until != nil || st.Versions > 1 || st.Reverse {
		return ""
	}
	columns := []string{"_key"}
	for _, c := range st.Columns {
		if c.Kind == ql.ColumnFamily {
			columns = append(columns, "`"+c.Family+"`")
		} else {
			columns = append(columns, "`"+c.Family+"`["+sqlText(c.Qualifier)+"] as "+sqlName(c))
		}
	}
	if len(st.Columns) == 0 {
		columns = []string{"*"}
	}
	text := "select " + strings.Join(columns, ", ") + " from `" + st.Table.Text + "`"
	var terms []string
	if st.Prefix != "" {
		terms = append(terms, "starts_with(_key, "+sqlText(st.Prefix)+")")
	}
	if st.Start != "" {
		terms = append(terms, "_key >= "+sqlText(st.Start))
	}
	if st.End != "" {
		terms = append(terms, "_key < "+sqlText(st.End))
	}
	if len(terms) > 0 {
		text += " where " + strings.Join(terms, " and ")
	}
	return text + fmt.Sprintf(" order by _key limit %d", st.Limit)
}

// sqlText is a text as bytes in SQL.
func sqlText(text string) string {
	var b strings.Builder
	b.WriteString("b'")
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '\'' || c == '\\' {
			fmt.Fprintf(&b, `\x%02x`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String() + "'"
}

// sqlName is the name of a column of a result.
func sqlName(c ql.Column) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, c.Family+"_"+c.Qualifier)
	return "`" + name + "`"
}

// asGo is the call of [client.Table.ReadRows], or of the table of a database, that reads the
// same. Conditions are given as comments: their values have the types of the cells.
func asGo(st *ql.Scan) string {
	var opts []string
	add := func(format string, args ...any) { opts = append(opts, fmt.Sprintf(format, args...)) }
	if st.Prefix != "" {
		add("read.Prefix(%q)", st.Prefix)
	}
	if st.Start+st.End != "" {
		add("read.Range(%q, %q)", st.Start, st.End)
	}
	for _, c := range st.Columns {
		if c.Kind == ql.ColumnFamily {
			add("read.Family(%q)", c.Family)
		} else {
			add("read.Column(%q, %q)", c.Family, c.Qualifier)
		}
	}
	add("read.Versions(%d)", max(1, st.Versions))
	if st.Reverse {
		add("read.Reverse()")
	}
	add("read.Limit(%d)", st.Limit)
	text := fmt.Sprintf("for row, err := range db.Table(%q).ReadRows(ctx,\n\t%s,\n) {\n\tif err != nil {\n\t\treturn err\n\t}\n\t…\n}", st.Table.Text, strings.Join(opts, ",\n\t"))
	if len(st.Where) > 0 || st.Since != nil || st.Until != nil {
		text = "// Also give the conditions, as read.Where and read.TimeRange, of\n// " + printable(ql.Print(st)) + "\n" + text
	}
	return text
}
