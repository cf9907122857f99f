package plan

import (
	"cmp"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/compare"
	"github.com/smolwc/smolwc/query/read"
)

// require leaves conditions to the scan, which then yields only rows that
// satisfy them.
func (s *FamilyScan) require(conditions []read.Condition) {
	s.Required = true
	where := make([]cf.RowCondition, len(conditions))
	for i := range conditions {
		where[i] = inStore(&conditions[i])
	}
	slices.SortStableFunc(where, func(a, b cf.RowCondition) int { return cmp.Compare(a.Qualifier, b.Qualifier) })
	s.Scan.Filter.Where = where
}

// needsCell reports whether only rows that have one of the columns satisfy the
// conditions. If it is false, a scan of these columns may miss a row that
// satisfies them.
func needsCell(conditions []read.Condition) bool {
	return slices.ContainsFunc(conditions, func(c read.Condition) bool { return c.Kind != read.IsAbsent })
}

// inStore is the condition in terms of the bytes of values.
func inStore(c *read.Condition) cf.RowCondition {
	in := cf.RowCondition{Qualifier: c.Qualifier}
	switch c.Kind {
	case read.IsPresent:
		in.Values = []cf.Range{{}}
	case read.Compares:
		if in.Values = compare.Ranges(c.Op, c.Value); len(in.Values) == 0 {
			in.Values = []cf.Range{{Start: "\xff", End: "\xff"}} // no value is in this range
		}
	}
	return in
}
