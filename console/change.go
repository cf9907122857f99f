package console

import (
	"cmp"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
)

// A changePage shows the result of a change of a cell, made in the cell's form. It stands
// beside the rows that the person looks at.
type changePage struct {
	Table, Key, Family, Qualifier string
	Statement, Was                string
	Question                      string // that the person must answer first
	Failure                       string
	Done                          string
	Undo, UndoWas                 string // the statement that makes the cell as it was; "" for a change that cannot be undone
}

// runChange runs the statement of the form of a cell.
func runChange(v *visit) error {
	t, err := v.table()
	if err != nil {
		return err
	}
	p := changePage{Table: t.Name, Statement: v.r.FormValue("q"), Was: v.r.FormValue("was")}
	p.Done, err = p.run(v)
	if asked, ok := isUnanswered(err); ok {
		p.Question = asked.question
	} else if err != nil {
		p.Failure, p.Undo = err.Error(), ""
	}
	return v.show("change", "Change", p)
}

// run runs the statement and says what it did. Before a put it keeps what the cell is.
func (p *changePage) run(v *visit) (done string, err error) {
	st, err := ql.Parse(p.Statement)
	if err != nil {
		return "", err
	}
	switch st := st.(type) {
	case *ql.Put:
		if st.Table.Text != p.Table || len(st.Cells) != 1 {
			return "", invalid("the form of a cell puts one cell of table %s", lex.QuoteName(p.Table))
		}
		p.Key, p.Family, p.Qualifier = st.Key, st.Cells[0].Column.Family, st.Cells[0].Column.Qualifier
		if err := p.still(v); err != nil {
			return "", err
		}
		if st.Cells[0].At == nil {
			if err := p.undoes(v, st); err != nil {
				return "", err
			}
		}
	case *ql.Delete:
		if st.Table.Text != p.Table || len(st.Columns) != 1 || st.Columns[0].Column.Kind != ql.ColumnExact {
			return "", invalid("the form of a cell deletes one column of table %s", lex.QuoteName(p.Table))
		}
		p.Key, p.Family, p.Qualifier = st.Key, st.Columns[0].Column.Family, st.Columns[0].Column.Qualifier
		if err := p.still(v); err != nil {
			return "", err
		}
	default:
		return "", invalid("the form of a cell makes no statement like %s", lex.QuoteText(lex.Clip(p.Statement)))
	}
	res, err := v.run(p.Statement)
	switch {
	case err != nil:
		return "", err
	case res.Question != "":
		return "", ask(res.Question)
	}
	return cmp.Or(strings.TrimSpace(res.Text), "done"), nil
}

// undoes makes the statement that gives the cell its value of now again.
func (p *changePage) undoes(v *visit, st *ql.Put) error {
	t, _ := v.LookupTable(p.Table)
	now, there, err := v.newest(t, p.Key, p.Family, p.Qualifier)
	if err != nil || length(now) > longValue {
		return err
	}
	place := " " + lex.QuoteName(p.Table) + " " + lex.QuoteKey(p.Key) + " " + lex.QuoteColumn(p.Family, p.Qualifier)
	if p.Undo = "delete" + place; there {
		p.Undo = "put" + place + "=" + lex.QuoteValue(now)
	}
	declared := cells.TypeAny
	if f, ok := t.Family(p.Family); ok {
		declared = f.Type
	}
	if value, err := st.Cells[0].Value.ValueAs(declared); err == nil {
		p.UndoWas = stateOf(value, true)
	}
	return nil
}

// still checks a cell against what it was when the statement was made: it asks if somebody
// else has written another value since, and refuses if the cell got another type or is gone.
func (p *changePage) still(v *visit) error {
	if p.Was == "" || v.Refresh(v.r.Context()) != nil {
		return nil // as the statement will say
	}
	t, ok := v.LookupTable(p.Table)
	if !ok {
		return nil
	}
	now, there, err := v.newest(t, p.Key, p.Family, p.Qualifier)
	if err != nil {
		return err
	}
	was, value, _ := strings.Cut(p.Was, " ")
	is := stateOf(now, there)
	switch kind, nowValue, _ := strings.Cut(is, " "); {
	case !there && was != noCell:
		return invalid("the cell has changed meanwhile: it was %s, and is not there now. Nothing was written; fill in the form again", was)
	case kind != was:
		return invalid("the cell has changed meanwhile: it is %s now. Nothing was written; fill in the form again", described(now))
	case value != "" && value != nowValue:
		p.Was = is
		return ask("The cell has changed meanwhile: it is " + described(now) + " now. Change it all the same?")
	}
	return nil
}
