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
	Statement    string               // of a change; "" for none
	Question     string               // that the person must answer first
	Failure      string
	Done         string
}

// describe is the page of a table's schema.
func describe(v *visit) error {
	t, err := v.table()
	if err != nil {
		return err
	}
	return v.show("schema", "Schema of "+t.Name, schemaPage{Table: t})
}

// showSchema is the page that makes tables and brings them back.
func showSchema(v *visit) error {
	if err := v.Refresh(v.r.Context()); err != nil {
		return err
	}
	p := schemaPage{}
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
	p.Table, _ = v.LookupTable(name)
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
	for _, o := range []string{"type", "max_versions", "max_age"} {
		all := v.r.Form[o]
		if i >= len(all) || strings.TrimSpace(all[i]) == "" {
			continue
		}
		value := strings.TrimSpace(all[i])
		if !isWord(value) {
			return "", invalid("%s is %s; want one word", o, lex.QuoteText(value))
		}
		text += " " + o + "=" + value
	}
	return text, nil
}
