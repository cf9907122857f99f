package schema_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

// Every fault of a schema made in Go is listed, with its path.
func TestValidateListsEveryFault(t *testing.T) {
	long := strings.Repeat("x", schema.MaxNameLen+1)
	s := &schema.Schema{Tables: []schema.Table{
		{Name: "fleet", Families: []schema.Family{
			{Name: "meta", GC: schema.MaxVersions(-1)},
			{Name: ":hidden", Type: 99},
			{Name: "meta", GC: schema.MaxAge(-day)},
			{Name: "gc", GC: schema.Any(nil, &schema.Rule{MaxVersions: 1, MaxAge: day}, schema.All(schema.MaxVersions(-2)))},
			{Name: "none", GC: schema.All()},
		}},
		{Name: "fleet"},
		{},
		{Name: long},
	}}
	want := []string{
		"tables[0](fleet).families[0](meta).max_versions: -1 versions cannot be kept; want 1 to 2147483647",
		`tables[0](fleet).families[1].name: the name ":hidden" is not [A-Za-z0-9_.-]+: ':' is not allowed at byte 0`,
		"tables[0](fleet).families[1].type: type(99) is not a type",
		"tables[0](fleet).families[2](meta): this family is declared already, as families[0] of the table",
		"tables[0](fleet).families[2](meta).max_age: -24h0m0s is not longer than 0",
		"tables[0](fleet).families[3](gc).gc.any[0]: this rule is empty; want one of max_versions (1 or more), max_age (longer than 0), any: [...], all: [...]",
		"tables[0](fleet).families[3](gc).gc.any[1]: this rule has more than one condition; want just one of max_versions (1 or more), max_age (longer than 0), any: [...], all: [...]",
		"tables[0](fleet).families[3](gc).gc.any[2].all[0].max_versions: -2 versions cannot be kept; want 1 to 2147483647",
		"tables[0](fleet).families[4](none).gc: this rule is empty; want one of max_versions (1 or more), max_age (longer than 0), any: [...], all: [...]",
		"tables[1](fleet): this table is declared already, as tables[0]",
		"tables[2].name: the name is missing",
		`tables[3].name: the name "xxxxxxxxxxxxxxxx"… has 65 bytes; at most 64 are allowed`,
	}
	e, ok := s.Validate().(*schema.Errors)
	if !ok {
		t.Fatalf("got %T, want *Errors", s.Validate())
	}
	for i, f := range e.Faults {
		if i >= len(want) || f.String() != want[i] {
			t.Errorf("fault %d: %v", i, f)
		}
	}
	if len(e.Faults) != len(want) {
		t.Errorf("got %d faults, want %d", len(e.Faults), len(want))
	}
}

func TestRuleTreesAreBounded(t *testing.T) {
	deep := schema.MaxVersions(1)
	for range schema.MaxRuleDepth - 1 {
		deep = schema.Any(deep)
	}
	var many, steps []*schema.Rule
	for i := range schema.MaxRuleLeaves {
		many = append(many, schema.MaxVersions(i+1))
	}
	for i := range schema.MaxLimits {
		steps = append(steps, schema.All(schema.MaxVersions(i+1), schema.MaxAge(day*time.Duration(schema.MaxLimits-i))))
	}
	for _, c := range []struct {
		name string
		rule *schema.Rule
		want string
	}{
		{"deepest", deep, ""},
		{"too deep", schema.Any(deep), "nested more than 16 deep"},
		{"most leaves", schema.Any(many...), ""},
		{"too many leaves", schema.Any(append(many, schema.MaxAge(day))...), "the tree has 257 rules; at most 256 are allowed"},
		{"most limits", schema.Any(steps...), ""},
		{"too many limits", schema.Any(append(steps, schema.MaxAge(200*day))...), "the tree compiles to 65 limits; at most 64 are allowed"},
	} {
		s := schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f", GC: c.rule}}}}}
		err := s.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// A rule that contains itself, or shares its parts until it has more paths than
// can be walked, is a fault and not the end of the process; and nothing that takes
// a rule walks it for ever.
func TestARuleThatContainsItselfIsAFault(t *testing.T) {
	self := &schema.Rule{}
	self.Any = []*schema.Rule{self}
	pair, other := &schema.Rule{}, &schema.Rule{}
	pair.All, other.Any = []*schema.Rule{schema.MaxVersions(1), other}, []*schema.Rule{pair}
	wide := &schema.Rule{}
	for range 100 {
		wide.All = append(wide.All, wide)
	}
	laughs := schema.MaxVersions(1)
	for range schema.MaxRuleDepth - 1 {
		laughs = schema.Any(laughs, laughs, laughs, laughs, laughs, laughs, laughs, laughs, laughs)
	}
	deep := schema.MaxVersions(1)
	for range 1_000_000 {
		deep = schema.All(deep)
	}
	for name, rule := range map[string]*schema.Rule{"self": self, "pair": pair, "wide": wide, "laughs": laughs, "deep": deep} {
		s := &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f", GC: rule}}}}}
		e, ok := errors.AsType[*schema.Errors](s.Validate())
		if !ok || len(e.Faults) > 100 || !strings.Contains(e.Error(), "16 deep") {
			t.Errorf("%s: Validate: %v", name, e)
		}
		if _, err := s.Tables[0].MarshalCatalog(); err == nil {
			t.Errorf("%s: it has a catalog entry", name)
		}
		if limits := rule.Limits(); limits != nil {
			t.Errorf("%s: limits %v", name, limits)
		}
		if text := rule.String(); len(text) > 100 {
			t.Errorf("%s: it is written as %.100s…", name, text)
		}
		if s.Clone().Validate() == nil {
			t.Errorf("%s: the copy is valid", name)
		}
		if rule.Equal(schema.MaxVersions(1)) || !rule.Equal(rule) {
			t.Errorf("%s: it equals another rule, or not itself", name)
		}
		was := &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}
		plan := schema.Diff(was, s)
		if adds, takes := plan.Split(was); len(adds.Changes)+len(takes.Changes) != 1 || plan.String() == "" {
			t.Errorf("%s: the plan is %v", name, plan)
		}
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, c := range []struct {
		name          string
		table, family bool
	}{
		{"a", true, true}, {"_", true, true}, {"0", true, true}, {"Fleet_2.old-1", true, true}, {long, true, true},
		{".", false, true}, {"-a", false, true},
		{"", false, false}, {"a b", false, false}, {"a\x00", false, false}, {"é", false, false}, {long + "x", false, false},
		{"a:b", false, false},
		{"p/i/t", true, false}, {"example.com:p/i/t", true, false}, {long + "/" + long + "/" + long, true, false},
		{"a/b", false, false}, {"p/i/t/x", false, false}, {"p//t", false, false}, {"/i/t", false, false}, {"p/i/", false, false},
		{"p/i:j/t", false, false}, {"p/i/-t", false, false}, {":p/i/t", false, false}, {"p/" + long + "x/t", false, false},
	} {
		if err := schema.CheckTableName(c.name); (err == nil) != c.table {
			t.Errorf("table %q: %v", c.name, err)
		}
		if err := schema.CheckFamilyName(c.name); (err == nil) != c.family {
			t.Errorf("family %q: %v", c.name, err)
		}
	}
}

func TestCloneIsDeep(t *testing.T) {
	s := mustParse(t, fleetYAML)
	c := s.Clone()
	meta, _ := c.Tables[0].Family("meta")
	meta.GC.MaxVersions, meta.Type = 9, cells.TypeBool
	c.Tables[0].Families[2].GC.Any[1].All[0].MaxVersions = 9
	if got := outline(s); strings.Contains(got, "9") || strings.Contains(got, "bool") {
		t.Errorf("a change of the clone shows in\n%s", got)
	}
	if (*schema.Schema)(nil).Clone() != nil {
		t.Error("a clone of nil is not nil")
	}
	if s.Equal(c) || !s.Equal(mustParse(t, fleetYAML)) {
		t.Error("Equal is wrong")
	}
}

func TestNearest(t *testing.T) {
	names := []string{"name", "type", "max_versions", "max_age", "gc", "i32", "i64", "f32"}
	for name, want := range map[string]string{
		"max_version": "max_versions", "max_verisons": "max_versions", "maxage": "max_age", "Type": "type",
		"tpye": "type", "i23": "i32", "f64": "i64", "nmae": "name", "name": "name",
		"x": "", "": "", "retention": "", "gx": "gc", "decimal": "",
	} {
		if got, ok := schema.Nearest(name, names); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", name, got, ok, want)
		}
	}
}
