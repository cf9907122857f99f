package catalog_test

import (
	"slices"
	"testing"

	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/schema"
)

func table(name string, families ...string) schema.Table {
	t := schema.Table{Name: name}
	for _, f := range families {
		t.Families = append(t.Families, schema.Family{Name: f})
	}
	return t
}

// A change of the schema makes a new catalog. Unchanged tables keep their identity, so
// that a transaction on them has no conflict.
func TestAPlanMakesAnotherCatalog(t *testing.T) {
	old := catalog.New(&schema.Schema{Tables: []schema.Table{table("a", "f", "g"), table("b", "f")}}, nil)
	plan := schema.Plan{Changes: []schema.Change{
		{Kind: schema.DropFamily, Table: "a", Family: "g"},
		{Kind: schema.AddFamily, Table: "a", Family: "h", New: schema.Family{Name: "h"}},
	}}
	next, err := old.Apply(plan, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if gone, more := catalog.Missing(old, next), catalog.Missing(next, old); !slices.Equal(gone, []string{"a/g"}) || !slices.Equal(more, []string{"a/h"}) {
		t.Errorf("the store loses %q and gets %q", gone, more)
	}
	next.Follow(old, plan.Touches)
	if next.Tables["a"] == old.Tables["a"] || next.Tables["b"] != old.Tables["b"] {
		t.Error("the touched table is the same, or the other one is not")
	}
	if _, err := old.Tables["a"].Family("g"); err != nil {
		t.Errorf("the old catalog changed: %v", err)
	}
}

// A plan that needs a missing name, or adds an existing one, is refused as a whole.
func TestAPlanIsRefused(t *testing.T) {
	c := catalog.New(&schema.Schema{Tables: []schema.Table{table("a", "f")}}, nil)
	for what, is := range map[string]struct {
		change schema.Change
		kind   fault.Kind
	}{
		"a table that exists":         {schema.Change{Kind: schema.CreateTable, Table: "a"}, fault.AlreadyExists},
		"a table that does not exist": {schema.Change{Kind: schema.DropTable, Table: "b"}, fault.NotFound},
		"a family that exists":        {schema.Change{Kind: schema.AddFamily, Table: "a", Family: "f", New: schema.Family{Name: "f"}}, fault.AlreadyExists},
		"a family that does not":      {schema.Change{Kind: schema.DropFamily, Table: "a", Family: "g"}, fault.NotFound},
	} {
		if _, err := c.Apply(schema.Plan{Changes: []schema.Change{is.change}}, 0, 0); fault.KindOf(err) != is.kind {
			t.Errorf("%s: %v", what, err)
		}
	}
}
