package catalog

import (
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/schema"
)

// Apply is the catalog after a plan, without change streams. Tables that the plan
// deletes are kept until the given time.
func (c *Catalog) Apply(plan schema.Plan, now, until cells.Timestamp) (*Catalog, error) {
	if err := c.checkPlan(plan); err != nil {
		return nil, err
	}
	plan, deleted, back, err := c.undelete(plan, now, until)
	if err != nil {
		return nil, err
	}
	next, err := plan.Apply(c.Schema)
	if err != nil {
		return nil, fault.Of(fault.FailedPrecondition, err)
	}
	if err := next.Validate(); err != nil {
		return nil, fault.Of(fault.InvalidArgument, err)
	}
	return build(next, nil, c.stores(next, back), deleted), nil
}

// checkPlan finds names in a plan that do not exist, or exist already.
func (c *Catalog) checkPlan(plan schema.Plan) error {
	added := map[string]bool{} // tables that the plan itself creates
	for _, ch := range plan.Changes {
		if ch.Kind == schema.PurgeTable {
			continue
		}
		if ch.Kind == schema.CreateTable || ch.Kind == schema.UndeleteTable {
			if _, ok := c.Tables[ch.Table]; ok {
				return fault.Errorf(fault.AlreadyExists, "table %q exists already", ch.Table)
			}
			added[ch.Table] = true
			continue
		}
		if added[ch.Table] {
			continue
		}
		t, err := c.Table(ch.Table)
		if err != nil {
			return err
		}
		if err := t.checkChangeOf(ch); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) checkChangeOf(ch schema.Change) error {
	switch ch.Kind {
	case schema.DropTable, schema.DeleteTable, schema.SetEnforcement, schema.SetKeyFormat, schema.SetChangeStream:
		return nil
	}
	_, err := t.Family(ch.Family)
	if ch.Kind == schema.AddFamily {
		if err == nil {
			return fault.Errorf(fault.AlreadyExists, "family %q exists already in table %s", ch.Family, t.Name)
		}
		return nil
	}
	return err
}

// HasFamily reports whether a family of the store belongs to a table or a deleted
// table.
func (c *Catalog) HasFamily(store string) bool {
	for t := range c.all() {
		if slices.ContainsFunc(t.Families, func(f *Family) bool { return f.Store == store }) {
			return true
		}
	}
	return false
}

// Missing are the families of the store that are in a and not in b, sorted.
// Families of deleted tables count.
func Missing(a, b *Catalog) []string {
	in := map[string]bool{}
	for t := range b.all() {
		for _, f := range t.Families {
			in[f.Store] = true
		}
	}
	var names []string
	for t := range a.all() {
		for _, f := range t.Families {
			if !in[f.Store] {
				names = append(names, f.Store)
			}
		}
	}
	slices.Sort(names)
	return names
}
