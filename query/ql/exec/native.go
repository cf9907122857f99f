package exec

import (
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/ql"
)

// Native returns the statement in smolwc's own syntax. A value that HBase's syntax
// quotes is printed without quotes where its column's type would refuse a quoted value.
func (r *Runner) Native(st ql.Statement) string {
	if ql.IsNil(st) {
		return ""
	}
	if alter, ok := st.(*ql.SetFamily); ok && alter.Add {
		table, known := r.Database().LookupTable(alter.Table.Text)
		if _, there := table.Family(alter.Family.Name.Text); known && !there {
			return ql.Print(&ql.AddFamily{Table: alter.Table, Family: added(alter)})
		}
	}
	put, isPut := st.(*ql.Put)
	if !isPut {
		return ql.Print(st)
	}
	native := *put
	native.Cells = slices.Clone(put.Cells)
	table, _ := r.Database().LookupTable(put.Table.Text)
	for i := range native.Cells {
		a := &native.Cells[i]
		family, ok := table.Family(a.Column.Family)
		if ok && a.Value.Loose && (family.Type.Numeric() || family.Type == cells.TypeBool) {
			a.Value.Quoted = false
		}
	}
	return ql.Print(&native)
}

// added returns the family that the statement adds if it does not exist.
func added(st *ql.SetFamily) ql.Family {
	if st.Foreign {
		return st.Family.OfHBase()
	}
	return st.Family
}
