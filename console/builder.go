package console

import (
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
		Limit: usualRows, Versions: 1, Since: strings.TrimSpace(r.FormValue("since")), Until: strings.TrimSpace(r.FormValue("until")), Reverse: r.FormValue("reverse") != "",
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
