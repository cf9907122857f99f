package shell

import (
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/schema"
)

// printTables has a column for the kinds of views only where there are any.
func (s *Session) printTables(list *exec.TableList) error {
	if strings.HasPrefix(s.format, "json") {
		var objects []object
		for _, t := range list.Tables {
			objects = append(objects, tableObject(t))
		}
		for _, v := range list.Views {
			var o object
			o.add("view", v.Name)
			o.add("kind", v.Kind())
			o.add("query", v.Query)
			objects = append(objects, o)
		}
		return s.printObjects(objects)
	}
	lines := [][]string{{"TABLE", "FAMILIES", "KIND"}}
	for _, t := range list.Tables {
		var names []string
		for _, f := range t.Families {
			names = append(names, f.Name)
		}
		lines = append(lines, []string{t.Name, strings.Join(names, " "), "table"})
	}
	for _, v := range list.Views {
		lines = append(lines, []string{v.Name, "", v.Kind() + " view"})
	}
	if len(list.Views) == 0 {
		for i := range lines {
			lines[i] = lines[i][:2]
		}
	}
	return s.printLines(lines)
}

func (s *Session) printDescription(t schema.Table) error {
	if strings.HasPrefix(s.format, "json") {
		return s.printObject(tableObject(t))
	}
	lines := [][]string{{"FAMILY", "TYPE", "KEEPS"}}
	for _, f := range t.Families {
		typ := f.Type.String()
		if f.Aggregate != schema.NoAggregate {
			typ = f.Aggregate.String()
		}
		lines = append(lines, []string{f.Name, typ, keeps(f.GC)})
	}
	if err := s.printLines(lines); err != nil || !forPeople(s.format) {
		return err
	}
	for _, f := range t.Families {
		if f.Tuning == (schema.Tuning{}) {
			continue
		}
		if err := s.say("%s is tuned: %v", f.Name, f.Tuning); err != nil {
			return err
		}
	}
	if t.ChangeStream != 0 {
		if err := s.say("changes are kept for %s", schema.FormatChangeStream(t.ChangeStream)); err != nil {
			return err
		}
	}
	if t.Retention == schema.Lazy {
		if err := s.say("retention is lazy: surplus versions are visible until they are removed"); err != nil {
			return err
		}
	}
	if t.KeyFormat == schema.PlainKeys {
		return nil
	}
	return s.say("keys are tuples")
}

func keeps(r *schema.Rule) string {
	switch {
	case r == nil:
		return "everything"
	case r.MaxVersions == 1:
		return "the newest version"
	case r.MaxVersions > 0:
		return fmt.Sprintf("the newest %d versions", r.MaxVersions)
	case r.MaxAge > 0:
		return schema.FormatAge(r.MaxAge)
	}
	return "all but " + r.String()
}

func tableObject(t schema.Table) (o object) {
	o.add("table", t.Name)
	if t.KeyFormat != schema.PlainKeys {
		o.add("key_format", t.KeyFormat.String())
	}
	if t.Retention == schema.Lazy {
		o.add("retention", t.Retention.String())
	}
	if t.ChangeStream != 0 {
		o.add("change_stream", schema.FormatChangeStream(t.ChangeStream))
	}
	var families []object
	for _, f := range t.Families {
		var family object
		family.add("name", f.Name)
		family.add("type", f.Type.String())
		if f.Aggregate != schema.NoAggregate {
			family.add("aggregate", f.Aggregate.String())
		}
		if f.GC != nil {
			family.add("gc", f.GC.String())
		}
		family.addSet("tuning", f.Tuning.String())
		families = append(families, family)
	}
	o.add("families", families)
	return o
}
