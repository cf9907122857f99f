package shell

import (
	"fmt"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
)

// printDifferences prints the cells in which two tables differ: for people a table with
// a column for each of the two, in json and jsonl objects, and in csv and tsv a line for
// each cell of a table.
func (s *Session) printDifferences(d *exec.Differences) error {
	defer s.as(d.Format)()
	var err error
	switch {
	case s.format == "quiet":
	case s.format == "json" || s.format == "jsonl":
		err = s.printObjects(differenceObjects(d))
	case forPeople(s.format):
		err = s.printDifferencesTable(d)
	default:
		l := &exec.Listing{Columns: []string{"table", "key", "column", "timestamp", "type", "value"}}
		for _, diff := range d.Cells {
			for i, c := range diff.In {
				if c != nil {
					l.Lines = append(l.Lines, []any{d.Tables[i].Name, diff.Key, c.Family + ":" + c.Qualifier, int64(c.Timestamp), c.Value.Type().String(), c.Value})
				}
			}
		}
		err = s.printFields(l.Columns, l.Lines)
	}
	if err != nil || d.Count == 0 {
		return err
	}
	if !forPeople(s.format) {
		s.note("-- %s", differencesFound(d))
	}
	return ErrDifferent
}

func (s *Session) printDifferencesTable(d *exec.Differences) error {
	timed := false // the tables have cells at different times
	for _, diff := range d.Cells {
		timed = timed || diff.In[0] != nil && diff.In[1] != nil && diff.In[0].Timestamp != diff.In[1].Timestamp
	}
	lines := [][]string{{"ROW", "COLUMN", "TIMESTAMP", d.Tables[0].Name, d.Tables[1].Name}}
	if timed { // each value carries its own
		lines[0] = []string{"ROW", "COLUMN", d.Tables[0].Name, d.Tables[1].Name}
	}
	for _, diff := range d.Cells {
		line := []string{ql.QuoteRowKey(d.Tables[0], diff.Key), lex.QuoteColumn(diff.Family, diff.Qualifier)}
		if !timed {
			for _, c := range diff.In {
				if c != nil {
					line = append(line, lex.FormatTimestamp(c.Timestamp, s.runner.Zone))
					break
				}
			}
		}
		for _, c := range diff.In {
			text := ""
			if c != nil {
				if text = lex.QuoteValue(c.Value); timed {
					text += "@" + lex.FormatTimestamp(c.Timestamp, s.runner.Zone)
				}
			}
			line = append(line, text)
		}
		lines = append(lines, line)
	}
	if len(d.Cells) > 0 {
		if err := s.printLines(lines); err != nil {
			return err
		}
	}
	return s.say("(%s)", differencesFound(d))
}

func differencesFound(d *exec.Differences) string {
	if d.Count == 0 {
		return "no difference"
	}
	text := fmt.Sprintf("%s in %s", humanize.Plural(d.Count, "difference"), humanize.Plural(d.Rows, "row"))
	if n := d.Count - int64(len(d.Cells)); n > 0 {
		text += fmt.Sprintf("; %s not shown, limit=0 shows all", humanize.Thousands(n))
	}
	return text
}

// differenceObjects have the key, the column, and in "in" the cell of each table with
// such a cell, as in the rows of a scan.
func differenceObjects(d *exec.Differences) (objects []object) {
	for _, diff := range d.Cells {
		o := object(appendText([]byte{'{'}, "key", diff.Key))
		o = append(o, ',')
		o = appendText(o, "c", diff.Family+":"+diff.Qualifier)
		for i, name := range []string{"first", "second"} {
			if c := diff.In[i]; c != nil {
				o.add(name, cellObject(*c))
			}
		}
		objects = append(objects, o)
	}
	return objects
}

// cellObject is a cell without its column.
func cellObject(c cells.Cell) (o object) {
	o.add("t", c.Value.Type().String())
	o = appendValue(append(o, ','), c.Value)
	o.add("ts", int64(c.Timestamp))
	return o
}
