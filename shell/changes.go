package shell

import (
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// printChanges prints changes as they come, and returns their number: for people each as
// the statements that make it, with its time; in jsonl, and in json too, an object for
// the changes of a commit in one row; in csv and tsv a line for each of them. It does not
// use the pager, which would wait for a screenful.
func (s *Session) printChanges(w *exec.Watched) (n int, err error) {
	defer s.as(w.Format)()
	if err := s.pager.End(false); err != nil {
		return 0, err
	}
	p := &changesPrinter{Session: s, changeWords: changeWords{w.Table, s.runner.Zone}, of: w}
	print := p.people
	switch {
	case s.format == "quiet":
		print = func(*query.ChangeAt) error { return nil }
	case s.format == "json" || s.format == "jsonl":
		print = p.object
	case !forPeople(s.format):
		print = p.fields
	}
	return n, printEach(s, w.All(), p, func(c *query.ChangeAt) error {
		n++
		return print(c)
	})
}

type changesPrinter struct {
	*Session
	changeWords
	of    *exec.Watched
	begun bool
}

// A changeWords puts changes of a table's rows into the words of the language.
type changeWords struct {
	table schema.Table
	zone  *time.Location
}

// ChangeStatements are the statements that make the changes of a row, as watch prints them
// for people. Times are in UTC.
func ChangeStatements(t schema.Table, key string, changes []write.Change) []string {
	return changeWords{t, time.UTC}.statements(key, changes)
}

// ChangeLine is the changes of a row as an object in JSON, as watch prints them, with the
// table's name, the position and another field in front. An empty text adds no field.
func ChangeLine(position uint64, table, key, other string, changes []write.Change) []byte {
	var o object
	o.add("position", position)
	o.addSet("table", table)
	o.addSet("other", other)
	if len(changes) > 0 {
		o = appendText(append(o, ','), "key", key)
		o.add("changes", changeObjects(changes))
	}
	return append(o, '}', '\n')
}

func (p *changesPrinter) end() error { return nil }

func (p *changesPrinter) people(c *query.ChangeAt) error {
	palette := p.palette(p.out.terminal)
	for _, statement := range p.statements(c.Key, c.Changes) {
		note := ""
		if c.Collected {
			note = palette.dim(" -- by retention")
		}
		if err := p.say("%s  %s%s", palette.dim(lex.FormatTimestamp(c.Time, p.runner.Zone)), statement, note); err != nil {
			return err
		}
	}
	return nil
}

// statements are the statements of the language that make the changes. Cells that are set
// one after the other are one put.
func (p changeWords) statements(key string, changes []write.Change) (all []string) {
	of := " " + lex.QuoteName(p.table.Name) + " " + ql.QuoteRowKey(p.table, key) + " "
	putting := false
	for i := range changes {
		change := &changes[i]
		verb, what := p.statement(change)
		puts := change.Kind == write.SetChange
		if puts && putting {
			all[len(all)-1] += " " + what
		} else {
			all = append(all, strings.TrimRight(verb+of+what, " "))
		}
		putting = puts
	}
	return all
}

// statement is the verb and the end of the statement for a change.
func (p changeWords) statement(c *write.Change) (verb, what string) {
	column := lex.QuoteColumn(c.Family, c.Qualifier)
	switch c.Kind {
	case write.SetChange:
		return "put", column + "=" + p.value(c) + p.atTime(c)
	case write.AddChange:
		return "add", column + " " + p.value(c) + p.atTime(c)
	case write.MergeChange:
		return "-- merge", column + p.atTime(c)
	case write.DeleteFamilyChange:
		return "delete", lex.QuoteColumn(c.Family, "") + "*"
	case write.DeleteRowChange:
		return "delete", ""
	}
	switch {
	case c.Since == 0 && c.Until == 0:
		return "delete", column
	case c.Until == c.Since+1:
		return "delete", column + p.atTime(c)
	}
	if c.Since > 0 {
		column += " since=" + lex.FormatTimestamp(c.Since, p.zone)
	}
	if c.Until > 0 {
		column += " until=" + lex.FormatTimestamp(c.Until, p.zone)
	}
	return "delete", column
}

func (p changeWords) atTime(c *write.Change) string {
	return "@" + lex.FormatTimestamp(c.Since, p.zone)
}

func (p changeWords) value(c *write.Change) string {
	declared := cells.TypeAny
	if f, ok := p.table.Family(c.Family); ok {
		declared = f.Type
	}
	return lex.QuoteValueAs(c.Value, declared)
}

// changeNames are the names of changes for machines.
var changeNames = map[write.ChangeKind]string{
	write.SetChange: "set", write.DeleteVersionsChange: "delete", write.DeleteFamilyChange: "delete-family",
	write.DeleteRowChange: "delete-row", write.AddChange: "add", write.MergeChange: "merge",
}

func (p *changesPrinter) object(c *query.ChangeAt) error {
	o := object(appendText([]byte{'{'}, "key", c.Key))
	o.add("time", int64(c.Time))
	o.addSet("collected", c.Collected)
	o.add("changes", changeObjects(c.Changes))
	o.add("token", c.After)
	return p.printObject(o)
}

func changeObjects(changes []write.Change) (list []object) {
	for i := range changes {
		list = append(list, changeObject(&changes[i]))
	}
	return list
}

// changeObject writes the value of a set like the cells of a scan. The bounds of a delete
// are there only if they are bounds.
func changeObject(c *write.Change) (o object) {
	o.add("op", changeNames[c.Kind])
	switch c.Kind {
	case write.DeleteFamilyChange:
		o.add("family", c.Family)
		return o
	case write.DeleteRowChange:
		return o
	}
	o = appendText(append(o, ','), "c", c.Family+":"+c.Qualifier)
	if c.Kind == write.DeleteVersionsChange {
		o.addSet("since", int64(c.Since))
		o.addSet("until", int64(c.Until))
		return o
	}
	o.add("t", c.Value.Type().String())
	o = appendValue(append(o, ','), c.Value)
	o.add("ts", int64(c.Since))
	return o
}

func (p *changesPrinter) fields(c *query.ChangeAt) error {
	if !p.begun {
		p.begun = true
		if err := p.printRecord("time", "key", "op", "column", "since", "until", "type", "value"); err != nil {
			return err
		}
	}
	for i := range c.Changes {
		change := &c.Changes[i]
		line := []any{int64(c.Time), c.Key, changeNames[change.Kind], nil, nil, nil, nil, nil}
		switch change.Kind {
		case write.DeleteRowChange:
		case write.DeleteFamilyChange:
			line[3] = change.Family + ":*"
		case write.DeleteVersionsChange:
			line[3] = change.Family + ":" + change.Qualifier
			if change.Since > 0 {
				line[4] = int64(change.Since)
			}
			if change.Until > 0 {
				line[5] = int64(change.Until)
			}
		default:
			line[3], line[4] = change.Family+":"+change.Qualifier, int64(change.Since)
			line[6], line[7] = change.Value.Type().String(), change.Value
		}
		fields := make([]field, len(line))
		for i, v := range line {
			fields[i] = field{exactText(v), v != nil}
		}
		if _, err := p.out.WriteString(p.record()(fields, p.out.terminal)); err != nil {
			return err
		}
	}
	return nil
}
