package catalog

import (
	"slices"

	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/schema"
)

// Apply is the catalog after a plan, without change streams.
func (c *Catalog) Apply(plan schema.Plan) (*Catalog, error) {
	if err := c.checkPlan(plan); err != nil {
		return nil, err
	}
	next, err := plan.Apply(c.Schema)
	if err != nil {
		return nil, fault.Of(fault.FailedPrecondition, err)
	}
	if err := next.Validate(); err != nil {
		return nil, fault.Of(fault.InvalidArgument, err)
	}
	return New(next, nil), nil
}

// checkPlan finds names in a plan that do not exist, or exist already.
func (c *Catalog) checkPlan(plan schema.Plan) error {
	added := map[string]bool{} // tables that the plan itself creates
	for _, ch := range plan.Changes {
		if ch.Kind == schema.CreateTable {
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
	if ch.Kind == schema.DropTable || ch.Kind == schema.SetEnforcement || ch.Kind == schema.SetKeyFormat || ch.Kind == schema.SetChangeStream {
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

// Missing are the families of the store that a has and b lacks, sorted.
func Missing(a, b *Catalog) []string {
	in := map[string]bool{}
	for _, t := range b.Tables {
		for _, f := range t.Families {
			in[f.Store] = true
		}
	}
	var names []string
	for _, t := range a.Tables {
		for _, f := range t.Families {
			if !in[f.Store] {
				names = append(names, f.Store)
			}
		}
	}
	slices.Sort(names)
	return names
}
