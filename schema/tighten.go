package schema

// A Tightening is a family that a plan changes so that visible or kept cells
// could be hidden or dropped.
type Tightening struct {
	Table, Family string
	// Before are the limits in force; After are the limits once the plan is applied.
	// The cells that After drops and Before does not drop are lost.
	Before, After []Limit
}

// Tightenings are the families that the plan tightens, in the order of the tables and
// families of the existing schema. They do not include dropped families, see
// [Change.Destructive]. A plan that does not fit the schema gives nil: [Plan.Apply]
// returns its error.
//
// In a table with lazy retention surplus versions stay visible for a while. A
// stricter rule is a tightening there too, because the collection removes the
// cells that it drops; so is the change from lazy to exact if a rule counts
// versions.
func (p Plan) Tightenings(existing *Schema) (ts []Tightening) {
	next, err := p.Apply(existing)
	if err != nil || existing == nil {
		return nil
	}
	for i := range existing.Tables {
		was := &existing.Tables[i]
		now, ok := next.Table(was.Name)
		if !ok {
			continue
		}
		for _, f := range was.Families {
			to, ok := now.Family(f.Name)
			if !ok {
				continue
			}
			t := Tightening{was.Name, f.Name, f.GC.Limits(), to.GC.Limits()}
			if now.Retention == Exact {
				t.Before = was.Retention.Limits(f.GC)
			}
			if !Covers(t.Before, t.After) {
				ts = append(ts, t)
			}
		}
	}
	return ts
}

// Split divides the plan into the changes that only add or relax, and those that could
// hide or drop cells of a database with the existing schema: drops, stricter retention,
// and change streams that are kept for a shorter time. Both results keep the order of
// the plan. The first part can be applied by itself, and the second after it.
func (p Plan) Split(existing *Schema) (adds, takes Plan) {
	strict := make([]bool, len(p.Changes))
	for i, c := range p.Changes {
		strict[i] = c.Destructive() || c.shortens(existing) || c.Kind != SetEnforcement && c.tightens(existing)
		if !strict[i] && c.Kind != SetEnforcement {
			adds.add(c)
		}
	}
	relaxed, err := adds.Apply(existing)
	if err != nil {
		relaxed = existing
	}
	adds = Plan{}
	for i, c := range p.Changes {
		// The effect of an enforcement depends on the rules that are relaxed with
		// it.
		if strict[i] || c.Kind == SetEnforcement && c.tightens(relaxed.only(existing)) {
			takes.add(c)
		} else {
			adds.add(c)
		}
	}
	return adds, takes
}

func (c Change) tightens(existing *Schema) bool {
	return len(Plan{[]Change{c}}.Tightenings(existing)) > 0
}

// shortens reports whether c makes a table keep its change stream for a shorter time.
func (c Change) shortens(existing *Schema) bool {
	if c.Kind != SetChangeStream || existing == nil {
		return false
	}
	t, ok := existing.Table(c.Table)
	return ok && c.NewChangeStream < t.ChangeStream
}

// only is s without the tables and families that o lacks: these are new and have no
// cells.
func (s *Schema) only(o *Schema) *Schema {
	if s == nil || o == nil {
		return nil
	}
	both := &Schema{}
	for _, t := range s.Tables {
		was, ok := o.Table(t.Name)
		if !ok {
			continue
		}
		old := t
		old.Families = nil
		for _, f := range t.Families {
			if _, ok := was.Family(f.Name); ok {
				old.Families = append(old.Families, f)
			}
		}
		both.Tables = append(both.Tables, old)
	}
	return both
}
