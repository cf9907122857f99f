package shell

import (
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/schema"
)

func (s *Session) printTables(tables []schema.Table) error {
	if strings.HasPrefix(s.format, "json") {
		return s.printTablesJSON(tables)
	}
	lines := [][]string{{"TABLE", "FAMILIES"}}
	for _, t := range tables {
		var names []string
		for _, f := range t.Families {
			names = append(names, f.Name)
		}
		lines = append(lines, []string{t.Name, strings.Join(names, " ")})
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
	if t.KeyFormat == schema.PlainKeys {
		return nil
	}
	return s.say("keys are tuples")
}

// keeps describes in words what a retention rule keeps.
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

func (s *Session) printTablesJSON(tables []schema.Table) error {
	var objects [][]byte
	for _, t := range tables {
		object, err := encodeJSON(tableObject(t))
		if err != nil {
			return err
		}
		objects = append(objects, object)
	}
	return s.printObjects(objects)
}

type tableJSON struct {
	Table        string       `json:"table"`
	KeyFormat    string       `json:"key_format,omitempty"`
	ChangeStream string       `json:"change_stream,omitempty"`
	Families     []familyJSON `json:"families"`
}

type familyJSON struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Aggregate string `json:"aggregate,omitempty"`
	GC        string `json:"gc,omitempty"`
	Tuning    string `json:"tuning,omitempty"`
}

func tableObject(t schema.Table) tableJSON {
	object := tableJSON{Table: t.Name, Families: []familyJSON{}}
	if t.KeyFormat != schema.PlainKeys {
		object.KeyFormat = t.KeyFormat.String()
	}
	if t.ChangeStream != 0 {
		object.ChangeStream = schema.FormatChangeStream(t.ChangeStream)
	}
	for _, f := range t.Families {
		family := familyJSON{Name: f.Name, Type: f.Type.String()}
		if f.Aggregate != schema.NoAggregate {
			family.Aggregate = f.Aggregate.String()
		}
		if f.GC != nil {
			family.GC = f.GC.String()
		}
		if f.Tuning != (schema.Tuning{}) {
			family.Tuning = f.Tuning.String()
		}
		object.Families = append(object.Families, family)
	}
	return object
}
