package querytest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

// A model is the data model in the most naive form: a list of cells. Cells that
// retention hides are removed at once.
type model struct {
	now   cells.Timestamp
	rules map[string]*schema.Rule // by family
	cells map[cellID]cells.Value
	told  func(event) // each change of the cells; nil: nobody listens
}

// An event is a cell that was set, a delete, a cell that a rule dropped, or a family that
// was dropped with all that is known of it.
type event struct {
	set, dropped *cellID
	value        cells.Value // of set
	deleted      func(cellID) bool
	family       string
}

func (m *model) tell(e event) {
	if m.told != nil {
		m.told(e)
	}
}

func (m *model) set(id cellID, v cells.Value) {
	m.cells[id] = v
	m.tell(event{set: &id, value: v})
}

type cellID struct {
	row, family, qualifier string
	ts                     cells.Timestamp
}

func compareIDs(a, b cellID) int {
	return cmp.Or(strings.Compare(a.row, b.row), strings.Compare(a.family, b.family),
		strings.Compare(a.qualifier, b.qualifier), cmp.Compare(b.ts, a.ts))
}

func (m *model) delete(doomed func(cellID) bool) {
	m.tell(event{deleted: doomed})
	maps.DeleteFunc(m.cells, func(id cellID, _ cells.Value) bool { return doomed(id) })
}

// sorted are the cells in order, after retention.
func (m *model) sorted() []cellID {
	ids := slices.SortedFunc(maps.Keys(m.cells), compareIDs)
	kept := ids[:0]
	rank := 0
	for i, id := range ids {
		if rank++; i == 0 || !sameColumn(ids[i-1], id) {
			rank = 1
		}
		if m.drops(id, rank) {
			delete(m.cells, id)
			m.tell(event{dropped: &id})
			continue
		}
		kept = append(kept, id)
	}
	return kept
}

func sameColumn(a, b cellID) bool {
	return a.row == b.row && a.family == b.family && a.qualifier == b.qualifier
}

func (m *model) drops(id cellID, rank int) bool {
	return dropsByTree(m.rules[id.family], rank, m.now-id.ts)
}

// dropsByTree evaluates the rule as it is written, not as it is compiled.
func dropsByTree(r *schema.Rule, rank int, age cells.Timestamp) bool {
	drops := func(sub *schema.Rule) bool { return dropsByTree(sub, rank, age) }
	switch {
	case r == nil:
		return false
	case r.MaxVersions > 0:
		return rank > r.MaxVersions
	case r.MaxAge > 0:
		return age > cells.Timestamp(r.MaxAge.Microseconds())
	case len(r.Any) > 0:
		return slices.ContainsFunc(r.Any, drops)
	}
	return !slices.ContainsFunc(r.All, func(sub *schema.Rule) bool { return !drops(sub) })
}
