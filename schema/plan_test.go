package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

func TestPlan(t *testing.T) {
	var existing, declared *schema.Schema
	datadriven.RunTest(t, "testdata/plan.txt", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "existing":
			existing = mustParse(t, d.Input)
		case "declared":
			declared = mustParse(t, d.Input)
		case "plan":
			return shown(schema.Diff(existing, declared))
		case "no-drops":
			return shown(schema.Diff(existing, declared).WithoutDrops())
		case "apply":
			s, err := schema.Diff(existing, declared).Apply(existing)
			if err != nil {
				return err.Error()
			}
			return outline(s)
		default:
			t.Fatalf("unknown command %s", d.Cmd)
		}
		return ""
	})
}

func shown(p schema.Plan) string {
	if p.Empty() {
		return "nothing to do"
	}
	return p.String()
}

func mustParse(t testing.TB, text string) *schema.Schema {
	s, err := schema.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPlanLeadsToWhatIsDeclared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		existing, declared := anySchema().Draw(t, "existing"), anySchema().Draw(t, "declared")
		before := existing.Clone()
		got, err := schema.Diff(existing, declared).Apply(existing)
		if err != nil {
			t.Fatal(err)
		}
		if !same(got, declared) {
			t.Fatalf("got\n%s\nwant\n%s", outline(got), outline(declared))
		}
		if !same(existing, before) {
			t.Fatalf("Apply changed the existing schema to\n%s", outline(existing))
		}
		if !schema.Diff(got, declared).Empty() {
			t.Fatal("a second plan is not empty")
		}
	})
}

func TestPlanWithoutDropsKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		existing, declared := anySchema().Draw(t, "existing"), anySchema().Draw(t, "declared")
		got, err := schema.Diff(existing, declared).WithoutDrops().Apply(existing)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.Validate(); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*schema.Schema{existing, declared} {
			for _, family := range familyNames(s) {
				if !strings.Contains(strings.Join(familyNames(got), " ")+" ", family+" ") {
					t.Fatalf("%s is gone from\n%s", family, outline(got))
				}
			}
		}
		if rest := schema.Diff(got, declared); !rest.WithoutDrops().Empty() {
			t.Fatalf("more than drops is left to do:\n%v", rest)
		}
	})
}

// same compares two schemas without the help of Diff.
func same(a, b *schema.Schema) bool {
	if len(a.Tables) != len(b.Tables) {
		return false
	}
	for _, t := range a.Tables {
		u, ok := b.Table(t.Name)
		if !ok || t.Retention != u.Retention || t.KeyFormat != u.KeyFormat || len(t.Families) != len(u.Families) {
			return false
		}
		for _, f := range t.Families {
			if g, ok := u.Family(f.Name); !ok || f.String() != g.String() {
				return false
			}
		}
	}
	return true
}

func familyNames(s *schema.Schema) (names []string) {
	for _, t := range s.Tables {
		for _, f := range t.Families {
			names = append(names, t.Name+"/"+f.Name)
		}
	}
	return names
}

// A plan made for another schema is refused, with the change that does not fit.
func TestApplyRefusesWhatDoesNotFit(t *testing.T) {
	existing := mustParse(t, "tables: [{name: fleet, families: [{name: meta}]}]")
	for want, c := range map[string]schema.Change{
		`cannot apply "+ table fleet (no families)": table fleet exists already`: {Kind: schema.CreateTable, Table: "fleet"},
		`cannot apply "- table planes (no families) (drops its data)": there is no table planes`: {
			Kind: schema.DropTable, Table: "planes"},
		`cannot apply "+ family fleet/meta": table fleet has a family meta already`: {
			Kind: schema.AddFamily, Table: "fleet", Family: "meta", New: schema.Family{Name: "meta"}},
		`cannot apply "~ family fleet/loc type any -> i32": table fleet has no family loc`: {
			Kind: schema.SetType, Table: "fleet", Family: "loc", New: schema.Family{Name: "loc", Type: cells.TypeI32}},
		`cannot apply "no change": no change is not a kind of change`: {Table: "fleet", Family: "meta"},
	} {
		s, err := schema.Plan{Changes: []schema.Change{c}}.Apply(existing)
		if err == nil || err.Error() != want || s != nil {
			t.Errorf("got %v, %v\nwant %s", s, err, want)
		}
	}
}

func TestDestructive(t *testing.T) {
	for kind := schema.CreateTable; kind <= schema.DropTable; kind++ {
		c := schema.Change{Kind: kind}
		want := strings.HasPrefix(fmt.Sprint(kind), "drop")
		if got := c.Destructive(); got != want {
			t.Errorf("%v: Destructive is %v", kind, got)
		}
		if got := (schema.Plan{Changes: []schema.Change{c}}).Drops(); got != want {
			t.Errorf("%v: Drops is %v", kind, got)
		}
	}
}

// TestATableHasAtMostMaxFamilies: a table of an earlier version may have more; only a
// change that adds families is refused.
func TestATableHasAtMostMaxFamilies(t *testing.T) {
	families := func(n int) (all []schema.Family) {
		for i := range n {
			all = append(all, schema.Family{Name: fmt.Sprint("f", i)})
		}
		return all
	}
	apply := func(n int, c schema.Change) error {
		c.Table = "t"
		_, err := schema.Plan{Changes: []schema.Change{c}}.Apply(&schema.Schema{Tables: []schema.Table{{Name: "t", Families: families(n)}}})
		return err
	}
	add := schema.Change{Kind: schema.AddFamily, Family: "more", New: schema.Family{Name: "more"}}
	drop := schema.Change{Kind: schema.DropFamily, Family: "f0"}
	for _, test := range []struct {
		have   int
		change schema.Change
		ok     bool
	}{
		{schema.MaxFamilies - 1, add, true}, {schema.MaxFamilies, add, false}, {schema.MaxFamilies + 7, add, false},
		{schema.MaxFamilies + 7, drop, true},
	} {
		if err := apply(test.have, test.change); (err == nil) != test.ok {
			t.Errorf("%s with %d families: %v", test.change, test.have, err)
		}
	}
	for n, ok := range map[int]bool{schema.MaxFamilies: true, schema.MaxFamilies + 1: false} {
		create := schema.Plan{Changes: []schema.Change{{Kind: schema.CreateTable, Table: "t", Families: families(n)}}}
		if _, err := create.Apply(nil); (err == nil) != ok {
			t.Errorf("create with %d families: %v", n, err)
		}
	}
}
