package console

import (
	"cmp"
	"net/http"
	"net/url"

	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// table is the table of a page.
func (v *visit) table() (schema.Table, error) {
	if err := v.Refresh(v.r.Context()); err != nil {
		return schema.Table{}, err
	}
	name := v.r.PathValue("table")
	t, ok := v.LookupTable(name)
	if !ok {
		return t, notFound("there is no table %s%s; it may have been dropped, and the page Create a table brings such tables back", lex.QuoteName(name), schema.DidYouMean(name, v.tableNames()))
	}
	return t, nil
}

func (v *visit) tableNames() (names []string) {
	for _, t := range v.Schema().Tables {
		names = append(names, t.Name)
	}
	return names
}

// address is the address of a page of a table. Names and values alternate; those without
// a value are left out.
func address(table, page string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	at := "/tables/" + url.PathEscape(table)
	if page != "" {
		at += "/" + page
	}
	if len(q) > 0 {
		at += "?" + q.Encode()
	}
	return at
}

// columnAddress is the address of a page about a column. A qualifier may be empty.
func columnAddress(table, page, key, family, qualifier string, pairs ...string) string {
	return address(table, page, append([]string{"key", key, "family", family}, pairs...)...) + "&" + url.Values{"qualifier": {qualifier}}.Encode()
}

// number is a number of the address, within bounds; the usual one with an error.
func number(r *http.Request, name string, usual, most int) (int, error) {
	text := r.FormValue(name)
	if text == "" {
		return usual, nil
	}
	n, err := parseCount(text)
	if err != nil || n < 1 || n > most {
		return usual, invalid("%s is %s; want a number from 1 to %d", name, lex.QuoteText(text), most)
	}
	return cmp.Or(n, usual), nil
}
