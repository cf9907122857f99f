package schema

import (
	"os"

	"go.yaml.in/yaml/v3"
)

// settings are the top-level keys of config.yaml other than tables. This package
// ignores them: a schema may be in the same file.
var settings = []string{"data_dir", "durability", "memory", "background_rate", "log_level"}

// Load reads the file at path as [Parse] does. The faults of an [*Errors] name
// the file; an error of the file system is returned as it is.
func Load(path string) (*Schema, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := Parse(b)
	if e, ok := err.(*Errors); ok {
		e.File = path
	}
	return s, err
}

// Parse reads a schema from YAML, one document with a list of tables:
//
//	tables:
//	  - name: fleet
//	    families:
//	      - name: meta
//	        max_versions: 1
//	      - name: delay
//	        type: i32
//	        max_age: 2w
//	      - name: landings
//	        aggregate: sum
//	      - name: notes
//	        gc: {any: [{max_versions: 3}, {all: [{max_versions: 1}, {max_age: 30d}]}]}
//
// max_versions and max_age together drop a cell as soon as either does. A table may
// have retention: lazy, see [Lazy], key_format: tuple, see [KeyFormat], and
// change_stream: 7d, see [Table]. The settings of config.yaml may be in the same
// document and are ignored.
//
// Reading is strict. The error is an [*Errors] that lists every fault with its line:
// unknown and repeated keys, values of the wrong kind, and all faults that
// [Schema.Validate] finds. Anchors and aliases are not supported.
func Parse(text []byte) (*Schema, error) {
	root, err := ParseYAML(text)
	if err != nil {
		return nil, err
	}
	d := &decoder{lines: map[string]int{}, unread: map[string]bool{}}
	s := d.schema(root)
	d.check(s)
	if err := d.faults.err(); err != nil {
		return nil, err
	}
	s.sort()
	return s, nil
}

func (d *decoder) schema(root *yaml.Node) *Schema {
	s := &Schema{}
	top := d.mapping(root, "", append([]string{"tables"}, settings...))
	n, ok := top["tables"]
	if !ok && top != nil {
		d.fault(root, "", "there is no list of tables; want tables: [...]")
		return s
	}
	for i, n := range d.list(n, "tables") {
		s.Tables = append(s.Tables, d.table(n, elementPath("tables", i, nameIn(n))))
	}
	return s
}

func (d *decoder) table(n *yaml.Node, path string) Table {
	keys := d.mapping(n, path, []string{"name", "families", "retention", "key_format", "change_stream"})
	t := Table{
		Name:         d.text(keys["name"], path+".name"),
		Retention:    named(d, keys["retention"], path+".retention", ParseEnforcement),
		KeyFormat:    named(d, keys["key_format"], path+".key_format", ParseKeyFormat),
		ChangeStream: named(d, keys["change_stream"], path+".change_stream", ParseChangeStream),
	}
	families, ok := keys["families"]
	if !ok && keys != nil {
		d.fault(n, path+".families", "the list of families is missing; want families: [...]")
		return t
	}
	for i, n := range d.list(families, path+".families") {
		fpath := path + "." + elementPath("families", i, nameIn(n))
		t.Families = append(t.Families, d.family(n, fpath))
	}
	return t
}

func (d *decoder) family(n *yaml.Node, path string) Family {
	keys := d.mapping(n, path, []string{"name", "type", "aggregate", "max_versions", "max_age", "gc", "tuning"})
	return Family{
		Name:      d.text(keys["name"], path+".name"),
		Type:      named(d, keys["type"], path+".type", parseType),
		Aggregate: named(d, keys["aggregate"], path+".aggregate", ParseAggregate),
		GC:        d.familyRule(keys, path),
		Tuning:    d.tuning(keys["tuning"], path+".tuning"),
	}
}

// familyRule joins the ways to write the rule of a family.
func (d *decoder) familyRule(keys map[string]*yaml.Node, path string) *Rule {
	leaves := d.leaves(keys, path)
	gc, ok := keys["gc"]
	switch {
	case ok && len(leaves) > 0:
		d.fault(gc, path+".gc", "gc cannot stand beside max_versions or max_age; put them into gc")
		return nil
	case ok:
		return d.rule(gc, path+".gc", 1)
	case len(leaves) == 0:
		return nil
	case len(leaves) == 1:
		return leaves[0]
	}
	return Any(leaves...)
}

func (d *decoder) rule(n *yaml.Node, path string, depth int) *Rule {
	if depth > MaxRuleDepth {
		d.fault(n, path, "rules are nested more than %d deep", MaxRuleDepth)
		return placeholder()
	}
	keys := d.mapping(n, path, []string{"max_versions", "max_age", "any", "all"})
	rules := d.leaves(keys, path)
	if n, ok := keys["any"]; ok {
		rules = append(rules, Any(d.rules(n, path+".any", depth+1)...))
	}
	if n, ok := keys["all"]; ok {
		rules = append(rules, All(d.rules(n, path+".all", depth+1)...))
	}
	switch {
	case keys == nil:
		return placeholder()
	case len(rules) == 0:
		return &Rule{} // a fault that Validate finds
	case len(rules) > 1:
		d.fault(n, path, "this rule has more than one condition; join them with any: [...] or all: [...]")
		return placeholder()
	}
	return rules[0]
}

func (d *decoder) rules(n *yaml.Node, path string, depth int) []*Rule {
	var rules []*Rule
	for i, n := range d.list(n, path) {
		rules = append(rules, d.rule(n, elementPath(path, i, ""), depth))
	}
	if n.Kind == yaml.SequenceNode && len(rules) == 0 {
		d.fault(n, path, "this list of rules is empty")
	}
	if len(rules) == 0 {
		rules = append(rules, placeholder())
	}
	return rules
}

func (d *decoder) leaves(keys map[string]*yaml.Node, path string) []*Rule {
	var rules []*Rule
	if n, ok := keys["max_versions"]; ok {
		rules = append(rules, d.maxVersions(n, path+".max_versions"))
	}
	if n, ok := keys["max_age"]; ok {
		rules = append(rules, d.maxAge(n, path+".max_age"))
	}
	return rules
}

// placeholder stands for a rule that could not be read, so that Validate does not
// report it again.
func placeholder() *Rule { return MaxVersions(1) }
