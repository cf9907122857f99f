package console

import (
	"cmp"
	"strings"

	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A schemaPage is the schema of a table, or the form of a new one.
type schemaPage struct {
	schema.Table                      // without a name for a new table
	Dropped      []query.DeletedTable // that can come back, of all tables
	Typed        []familyFields       // of a form that failed, or empty ones
	Tuples       bool
	Wanted       string // the name typed for a new table
	Statement    string // of a change; "" for none
	Question     string // that the person must answer first
	Failure      string
	Done         string
}

// familyFields are the fields of a family in a form.
type familyFields struct{ Name, Type, MaxVersions, MaxAge string }

// newFamilies is how many families the form of a new table has.
const newFamilies = 3

// typed returns n families of the form as they were typed, empty ones for a page that answers none.
func (v *visit) typed(n int) []familyFields {
	all := make([]familyFields, n)
	for i := range all {
		for name, to := range map[string]*string{"family": &all[i].Name, "type": &all[i].Type, "max_versions": &all[i].MaxVersions, "max_age": &all[i].MaxAge} {
			if fields := v.r.PostForm[name]; i < len(fields) {
				*to = fields[i]
			}
		}
	}
	return all
}

// describe is the page of a table's schema.
func describe(v *visit) error {
	t, err := v.table()
	if err != nil {
		return err
	}
	return v.show("schema", "Schema of "+t.Name, schemaPage{Table: t, Typed: v.typed(1)})
}

// showSchema is the page that makes tables and brings them back.
func showSchema(v *visit) error {
	if err := v.Refresh(v.r.Context()); err != nil {
		return err
	}
	p := schemaPage{Typed: v.typed(newFamilies)}
	p.Dropped, _ = v.DeletedTables(v.r.Context()) // those that the token may see
	return v.show("schema", "Create a table", p)
}

// changeSchema runs the statement of a form of the page of a schema, and shows the page
// again. It asks what the shell asks.
func changeSchema(v *visit) error {
	if err := v.Refresh(v.r.Context()); err != nil {
		return err
	}
	name := strings.TrimSpace(v.r.FormValue("table"))
	p := schemaPage{}
	text, err := v.r.FormValue("q"), error(nil)
	if text == "" {
		text, err = v.schemaStatement(name)
	}
	if p.Statement = text; err == nil {
		var res *result
		if res, err = v.run(text); err == nil {
			p.Question, p.Done = res.Question, cmp.Or(strings.TrimSpace(res.Text), "done")
		}
	}
	if err != nil {
		p.Failure = err.Error()
	}
	if err := v.Refresh(v.r.Context()); err != nil {
		return err
	}
	switch act := v.r.FormValue("act"); {
	case act == "create" && p.Failure != "": // also that there is such a table
		p.Wanted, p.Tuples, p.Typed = name, v.r.FormValue("tuples") != "", v.typed(newFamilies)
	case p.Failure != "" && (act == "add" || act == "set"):
		p.Table, _ = v.LookupTable(name)
		p.Typed = v.typed(1)
	default:
		p.Table, _ = v.LookupTable(name)
		p.Typed = make([]familyFields, newFamilies)
	}
	p.Dropped, _ = v.DeletedTables(v.r.Context()) // those that the token may see
	return v.show("schema", cmp.Or(p.Name, "Create a table"), p)
}

// schemaStatement is the statement of a form.
func (v *visit) schemaStatement(name string) (string, error) {
	table := " table " + lex.QuoteName(name)
	if name == "" {
		return "", invalid("give the table a name")
	}
	family := lex.QuoteName(strings.TrimSpace(v.r.FormValue("family")))
	switch act := v.r.FormValue("act"); act {
	case "create":
		text := "create" + table
		if v.r.FormValue("tuples") != "" {
			text += " key_format=tuple"
		}
		n := 0
		for i, name := range v.r.Form["family"] {
			if strings.TrimSpace(name) == "" {
				continue
			}
			if n++; n > 1 {
				text += ","
			}
			options, err := v.familyOptions(i)
			if err != nil {
				return "", err
			}
			text += " family " + lex.QuoteName(strings.TrimSpace(name)) + options
		}
		if n == 0 {
			return "", invalid("give the table a family")
		}
		return text, nil
	case "add", "set":
		options, err := v.familyOptions(0)
		return "alter" + table + " " + act + " family " + family + options, err
	case "drop-family":
		return "alter" + table + " drop family " + family, nil
	case "stream":
		keep := strings.TrimSpace(v.r.FormValue("keep"))
		if !isWord(keep) {
			return "", invalid("the changes are kept for %s; want an age from 1d to 7d, or none", lex.QuoteText(keep))
		}
		return "alter" + table + " set change_stream=" + keep, nil
	case "drop":
		return "drop" + table, nil
	case "undelete":
		return "undelete" + table, nil
	default:
		return "", invalid("there is no change %s", lex.QuoteText(act))
	}
}

// familyOptions are the options of a family in a form.
func (v *visit) familyOptions(i int) (text string, err error) {
	for _, field := range []struct{ option, label string }{{"type", "type"}, {"max_versions", "number of versions"}, {"max_age", "age"}} {
		o, all := field.option, v.r.Form[field.option]
		if i >= len(all) || strings.TrimSpace(all[i]) == "" {
			continue
		}
		value := strings.TrimSpace(all[i])
		if !isWord(value) {
			return "", invalid("the %s is %s; want one word, as in 3 or 30d", field.label, lex.QuoteText(value))
		}
		text += " " + o + "=" + value
	}
	return text, nil
}
