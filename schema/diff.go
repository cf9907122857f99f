package schema

import (
	"cmp"
	"slices"
)

// Diff is the plan that changes existing into declared. Either may be nil, which
// is an empty schema. Both must be valid. The plan drops tables and families that
// are no longer declared; see [Plan.WithoutDrops].
//
// Whether a type or an aggregate may change depends on whether the family contains
// data. The caller that carries out the plan checks that.
func Diff(existing, declared *Schema) Plan {
	if existing == nil {
		existing = &Schema{}
	}
	if declared == nil {
		declared = &Schema{}
	}
	var p Plan
	for i := range declared.Tables {
		now := &declared.Tables[i]
		if was, ok := existing.Table(now.Name); ok {
			p.diffTable(was, now)
		} else {
			p.add(Change{Kind: CreateTable, Table: now.Name, Families: cloneFamilies(now.Families), NewRetention: now.Retention, NewKeyFormat: now.KeyFormat, NewChangeStream: now.ChangeStream})
		}
	}
	for _, was := range existing.Tables {
		if _, ok := declared.Table(was.Name); !ok {
			p.add(Change{Kind: DropTable, Table: was.Name, Families: cloneFamilies(was.Families)})
		}
	}
	p.sort()
	return p
}

// diffTable adds the changes that turn was into now; the two have one name.
func (p *Plan) diffTable(was, now *Table) {
	if was.Retention != now.Retention {
		p.add(Change{Kind: SetEnforcement, Table: now.Name, OldRetention: was.Retention, NewRetention: now.Retention})
	}
	if was.KeyFormat != now.KeyFormat {
		p.add(Change{Kind: SetKeyFormat, Table: now.Name, OldKeyFormat: was.KeyFormat, NewKeyFormat: now.KeyFormat})
	}
	if was.ChangeStream != now.ChangeStream {
		p.add(Change{Kind: SetChangeStream, Table: now.Name, OldChangeStream: was.ChangeStream, NewChangeStream: now.ChangeStream})
	}
	for i := range now.Families {
		f := &now.Families[i]
		old, ok := was.Family(f.Name)
		if !ok {
			p.add(Change{Kind: AddFamily, Table: now.Name, Family: f.Name, New: f.clone()})
			continue
		}
		p.diffFamily(now.Name, old, f)
	}
	for _, f := range was.Families {
		if _, ok := now.Family(f.Name); !ok {
			p.add(Change{Kind: DropFamily, Table: now.Name, Family: f.Name, Old: f.clone()})
		}
	}
}

func (p *Plan) diffFamily(table string, was, now *Family) {
	c := Change{Table: table, Family: now.Name, Old: was.clone(), New: now.clone()}
	if was.Type != now.Type {
		c.Kind = SetType
		p.add(c)
	}
	if was.Aggregate != now.Aggregate {
		c.Kind = SetAggregate
		p.add(c)
	}
	if !was.GC.Equal(now.GC) {
		c.Kind = SetRetention
		p.add(c)
	}
	if was.Tuning != now.Tuning {
		c.Kind = SetTuning
		p.add(c)
	}
}

func (p *Plan) add(c Change) { p.Changes = append(p.Changes, c) }

// sort orders the plan by table, with drops after everything else; within a table
// changes keep the order of its families.
func (p *Plan) sort() {
	slices.SortStableFunc(p.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Table, b.Table))
	})
}

func rank(c Change) int {
	if c.Destructive() {
		return 1
	}
	return 0
}
