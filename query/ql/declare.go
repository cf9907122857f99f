package ql

import (
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

// CreateStatement is the statements that make a table like t, one a line, each
// with its newline. A retention rule that create table cannot express becomes
// a comment.
func CreateStatement(t schema.Table) string {
	st := &CreateTable{Table: Name{Text: t.Name}}
	if t.KeyFormat != schema.PlainKeys {
		st.KeyFormat = &t.KeyFormat
	}
	if t.Retention != schema.Exact {
		st.Retention = &t.Retention
	}
	if t.ChangeStream != 0 {
		st.Changes = &t.ChangeStream
	}
	comments := ""
	for _, f := range t.Families {
		declared := Family{Name: Name{Text: f.Name}}
		if f.Type != cells.TypeAny {
			declared.Type = &f.Type
		}
		if f.Aggregate != schema.NoAggregate {
			declared.Aggregate = &f.Aggregate
		}
		versions, age, both, simple := SimpleRule(f.GC)
		if !simple {
			comments += "-- family " + f.Name + " also has the rule " + f.GC.String() + "\n"
		}
		if f.Tuning != (schema.Tuning{}) {
			comments += "-- family " + f.Name + " is tuned: " + f.Tuning.String() + "\n"
		}
		if versions > 0 {
			declared.Versions = &versions
		}
		if age > 0 {
			declared.TTL = &age
		}
		if both {
			declared.Both = &both
		}
		st.Families = append(st.Families, declared)
	}
	return Print(st) + "\n" + comments
}

// SimpleRule is the rule as versions=, ttl= and drop=both express it, 0 being no
// bound; simple is false when they cannot.
func SimpleRule(r *schema.Rule) (versions int, age time.Duration, both, simple bool) {
	if r == nil {
		return 0, 0, false, true
	}
	leaves := []*schema.Rule{r}
	switch {
	case len(r.Any) == 2:
		leaves = r.Any
	case len(r.All) == 2:
		leaves, both = r.All, true
	}
	for _, leaf := range leaves {
		switch {
		case leaf.MaxVersions > 0 && versions == 0:
			versions = leaf.MaxVersions
		case leaf.MaxAge > 0 && age == 0:
			age = leaf.MaxAge
		default:
			return 0, 0, false, false
		}
	}
	return versions, age, both, true
}
