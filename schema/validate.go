package schema

import (
	"fmt"
	"math"
	"time"

	"github.com/smolwc/smolwc/cells"
)

// Validate returns an [*Errors] with every fault of s, or nil. A nil schema is empty.
func (s *Schema) Validate() error {
	var fs faults
	if s == nil {
		return nil
	}
	first := map[string]int{}
	for i := range s.Tables {
		t := &s.Tables[i]
		path := elementPath("tables", i, t.Name)
		if j, seen := first[t.Name]; seen && t.Name != "" {
			fs.add(path, "this table is declared already, as tables[%d]", j)
		} else {
			first[t.Name] = i
		}
		t.validate(&fs, path)
	}
	return fs.err()
}

// Validate returns an [*Errors] with every fault of this one table, or nil.
func (t *Table) Validate() error {
	var fs faults
	if t == nil {
		fs.add("table", "there is no table")
		return fs.err()
	}
	t.validate(&fs, "table("+t.Name+")")
	return fs.err()
}

// Validate returns an [*Errors] with every fault of this one family, or nil.
func (f *Family) Validate() error {
	var fs faults
	if f == nil {
		fs.add("family", "there is no family")
		return fs.err()
	}
	f.validate(&fs, "family("+f.Name+")")
	return fs.err()
}

func (t *Table) validate(fs *faults, path string) {
	if err := CheckTableName(t.Name); err != nil {
		fs.add(path+".name", "%v", err)
	}
	if !t.Retention.valid() {
		fs.add(path+".retention", "%v is not a retention", t.Retention)
	}
	if !t.KeyFormat.valid() {
		fs.add(path+".key_format", "%v is not a key format", t.KeyFormat)
	}
	if t.ChangeStream != 0 {
		addError(fs, path+".change_stream", CheckChangeStream(t.ChangeStream))
	}
	first := map[string]int{}
	for i := range t.Families {
		f := &t.Families[i]
		fpath := path + "." + elementPath("families", i, f.Name)
		if j, seen := first[f.Name]; seen && f.Name != "" {
			fs.add(fpath, "this family is declared already, as families[%d] of the table", j)
		} else {
			first[f.Name] = i
		}
		f.validate(fs, fpath)
	}
}

func (f *Family) validate(fs *faults, path string) {
	if err := CheckFamilyName(f.Name); err != nil {
		fs.add(path+".name", "%v", err)
	}
	if f.Type != cells.TypeAny && !f.Type.Valid() {
		fs.add(path+".type", "%v is not a type", f.Type)
	}
	switch {
	case !f.Aggregate.valid():
		fs.add(path+".aggregate", "%v is not an aggregate", f.Aggregate)
	case f.Aggregate != NoAggregate && f.Type != cells.TypeAny && f.Type != cells.TypeI64:
		fs.add(path+".type", "what a family with aggregate %v reads as is i64, not %v; leave the type out", f.Aggregate, f.Type)
	}
	if f.GC != nil {
		f.GC.validateRoot(fs, path)
	}
	f.Tuning.validate(fs, path+".tuning")
}

// validateRoot checks the tree and, when its nodes are right, its size.
func (r *Rule) validateRoot(fs *faults, path string) {
	rulePath := path
	if r.kinds() != 1 || r.Any != nil || r.All != nil {
		rulePath += ".gc"
	}
	before := len(*fs)
	if r.size().nodes > maxRuleNodes {
		fs.add(rulePath, "the tree has more than %d nodes, or contains itself; at most %d rules are allowed, %d deep", maxRuleNodes, MaxRuleLeaves, MaxRuleDepth)
		return
	}
	r.validate(fs, rulePath, 1)
	if len(*fs) > before {
		return
	}
	if n := r.leaves(); n > MaxRuleLeaves {
		fs.add(rulePath, "the tree has %d rules; at most %d are allowed", n, MaxRuleLeaves)
	} else if n := len(r.Limits()); n > MaxLimits {
		fs.add(rulePath, "the tree compiles to %d limits; at most %d are allowed", n, MaxLimits)
	}
}

func (r *Rule) validate(fs *faults, path string, depth int) {
	switch {
	case depth > MaxRuleDepth:
		fs.add(path, "rules are nested more than %d deep", MaxRuleDepth)
	case r == nil || r.kinds() == 0:
		fs.add(path, "this rule is empty; want one of %s", oneRule)
	case r.kinds() > 1:
		fs.add(path, "this rule has more than one condition; want just one of %s", oneRule)
	case r.MaxVersions != 0:
		addError(fs, path+".max_versions", checkVersions(r.MaxVersions))
	case r.MaxAge != 0:
		addError(fs, path+".max_age", checkAge(r.MaxAge))
	case len(r.Any) > 0:
		validateRules(fs, path+".any", r.Any, depth)
	default:
		validateRules(fs, path+".all", r.All, depth)
	}
}

const oneRule = "max_versions (1 or more), max_age (longer than 0), any: [...], all: [...]"

func validateRules(fs *faults, path string, rules []*Rule, depth int) {
	for i, r := range rules {
		r.validate(fs, elementPath(path, i, ""), depth+1)
	}
}

func checkVersions(n int) error {
	if n < 1 || n > math.MaxInt32 {
		return fmt.Errorf("%d versions cannot be kept; want 1 to %d", n, math.MaxInt32)
	}
	return nil
}

func checkAge(d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("%v is not longer than 0", d)
	}
	if d%time.Microsecond != 0 {
		return fmt.Errorf("%v is not whole microseconds, the unit of timestamps", d)
	}
	return nil
}

// leaves is the number of max_versions and max_age in a valid tree.
func (r *Rule) leaves() int {
	n := 0
	for _, sub := range r.Any {
		n += sub.leaves()
	}
	for _, sub := range r.All {
		n += sub.leaves()
	}
	return max(n, 1)
}

func addError(fs *faults, path string, err error) {
	if err != nil {
		fs.add(path, "%v", err)
	}
}

// elementPath is the path of the i-th element of a list, with its name if that is
// printable.
func elementPath(list string, i int, name string) string {
	path := fmt.Sprintf("%s[%d]", list, i)
	if checkName(name) == nil {
		path += "(" + name + ")"
	}
	return path
}
