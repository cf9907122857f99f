package cftest

import (
	"cmp"
	"maps"
	"slices"

	"github.com/smolwc/smolwc/cf"
)

// A Model is the simplest implementation of the documentation of package cf, for a
// store with one space of rows. It uses no physical keys. The zero Model is an empty
// store.
type Model struct {
	families map[string][]modelCell // sorted
	meta     map[string]string
}

type modelCell struct {
	row string
	Cell
}

func (c modelCell) compare(d modelCell) int {
	return cmp.Or(
		cmp.Compare(c.row, d.row),
		cmp.Compare(c.Qualifier, d.Qualifier),
		cmp.Compare(d.Timestamp, c.Timestamp), // newest first
	)
}

// A Change is one call of a method of [cf.Batch].
type Change struct {
	Kind         ChangeKind
	Family, Row  string
	Qualifier    string
	Timestamp    int64
	Since, Until int64 // of DeleteVersions
	Value        string
	MetaKey      string
	Rows         cf.Range // of DeleteRows
}

// A ChangeKind names a method of [cf.Batch].
type ChangeKind string

// The kinds of changes.
const (
	Put            ChangeKind = "Put"
	DeleteCell     ChangeKind = "DeleteCell"
	DeleteVersions ChangeKind = "DeleteVersions"
	DeleteRow      ChangeKind = "DeleteRow"
	DeleteRows     ChangeKind = "DeleteRows"
	PutMeta        ChangeKind = "PutMeta"
	DeleteMeta     ChangeKind = "DeleteMeta"
)

// Apply adds the change to a batch.
func (c Change) Apply(b *cf.Batch) {
	b.Row(id(c.Row))
	switch c.Kind {
	case Put:
		b.Put(c.Family, c.Qualifier, c.Timestamp, []byte(c.Value))
	case DeleteCell:
		b.DeleteCell(c.Family, c.Qualifier, c.Timestamp)
	case DeleteVersions:
		b.DeleteVersions(c.Family, c.Qualifier, c.Since, c.Until)
	case DeleteRow:
		b.DeleteRow(c.Family)
	case DeleteRows:
		b.DeleteRows(c.Family, c.Rows)
	case PutMeta:
		b.PutMeta(c.MetaKey, []byte(c.Value))
	case DeleteMeta:
		b.DeleteMeta(c.MetaKey)
	}
}

// CreateFamily is like the method of [cf.Store].
func (m *Model) CreateFamily(name string) {
	if m.families == nil {
		m.families = map[string][]modelCell{}
	}
	if _, ok := m.families[name]; !ok {
		m.families[name] = nil
	}
}

// Clone returns a copy, like a snapshot.
func (m *Model) Clone() *Model {
	c := &Model{families: map[string][]modelCell{}, meta: maps.Clone(m.meta)}
	for name, cells := range m.families {
		c.families[name] = slices.Clone(cells)
	}
	return c
}

// Apply applies a change.
func (m *Model) Apply(c Change) {
	switch c.Kind {
	case Put:
		cell := modelCell{c.Row, Cell{c.Qualifier, c.Timestamp, c.Value}}
		cells := m.families[c.Family]
		at, found := slices.BinarySearchFunc(cells, cell, modelCell.compare)
		if found {
			cells[at] = cell
		} else {
			m.families[c.Family] = slices.Insert(cells, at, cell)
		}
	case DeleteCell:
		m.remove(c.Family, func(d modelCell) bool {
			return d.row == c.Row && d.Qualifier == c.Qualifier && d.Timestamp == c.Timestamp
		})
	case DeleteVersions:
		m.remove(c.Family, func(d modelCell) bool {
			return d.row == c.Row && d.Qualifier == c.Qualifier && inTime(d.Timestamp, c.Since, c.Until)
		})
	case DeleteRow:
		m.remove(c.Family, func(d modelCell) bool { return d.row == c.Row })
	case DeleteRows:
		m.remove(c.Family, func(d modelCell) bool { return inRows(d.row, c.Rows) })
	case PutMeta:
		if m.meta == nil {
			m.meta = map[string]string{}
		}
		m.meta[c.MetaKey] = c.Value
	case DeleteMeta:
		delete(m.meta, c.MetaKey)
	}
}

// DropRange is like the method of [cf.Store].
func (m *Model) DropRange(families []string, rows cf.Range) {
	for _, name := range families {
		m.remove(name, func(d modelCell) bool { return inRows(d.row, rows) })
	}
}

func (m *Model) remove(family string, gone func(modelCell) bool) {
	m.families[family] = slices.DeleteFunc(m.families[family], gone)
}

// Meta returns a copy of the catalog.
func (m *Model) Meta() map[string]string { return maps.Clone(m.meta) }

// Scan returns all rows of a scan.
func (m *Model) Scan(s cf.Scan) Rows {
	var found Rows
	cells := m.families[s.Family]
	for from := 0; from < len(cells); {
		to := from + 1
		for to < len(cells) && cells[to].row == cells[from].row {
			to++
		}
		wanted := (s.Sample == 0 || cf.RowHash(cells[from].row) < s.Sample) && slices.ContainsFunc(s.Rows, func(r cf.Range) bool { return inRows(cells[from].row, r) })
		passed, any := filterRow(cells[from:to], s.Filter)
		if wanted && any {
			found = append(found, Row{cells[from].row, passed})
		}
		from = to
	}
	if s.Reverse {
		slices.Reverse(found)
	}
	if s.Limit > 0 {
		found = found[:min(s.Limit, len(found))]
	}
	for i := range found {
		switch {
		case s.Filter.KeysOnly:
			found[i].Cells = nil
		case s.Filter.CountOnly:
			found[i].Cells = make([]Cell, len(found[i].Cells))
		}
	}
	return found
}

// filterRow returns the cells of a row that pass a filter. any reports whether a cell
// passes all but the filter's Values.
func filterRow(cells []modelCell, f cf.Filter) (passed []Cell, any bool) {
	newest := map[string]string{} // values
	rank := map[string]int{}      // of the columns' cells, hidden or not
	versions := map[string]int{}  // of the columns' cells that pass
	for _, c := range cells {
		rank[c.Qualifier]++
		if hidden(rank[c.Qualifier], c.Timestamp, f.Retention) || !inTime(c.Timestamp, f.Since, f.Until) {
			continue
		}
		if !wantedQualifier(c.Qualifier, f.Qualifiers) {
			any = any || f.EveryRow
			continue
		}
		if f.Versions > 0 && versions[c.Qualifier] == f.Versions {
			continue
		}
		if versions[c.Qualifier] == 0 && f.ColumnsPerRow > 0 && len(versions) == f.ColumnsPerRow {
			break
		}
		if f.CellsPerRow > 0 && len(passed) == f.CellsPerRow {
			break
		}
		if versions[c.Qualifier]++; versions[c.Qualifier] == 1 {
			newest[c.Qualifier] = c.Value
		}
		any = true
		if len(f.Values) > 0 && !slices.ContainsFunc(f.Values, func(r cf.Range) bool { return r.Contains(string(c.Value)) }) {
			continue
		}
		if f.StripValues {
			c.Value = ""
		}
		passed = append(passed, c.Cell)
	}
	for _, w := range f.Where {
		if value, ok := newest[w.Qualifier]; !w.Holds([]byte(value), ok) {
			return nil, false
		}
	}
	return passed, any
}

func hidden(rank int, ts int64, rules []cf.Retention) bool {
	return slices.ContainsFunc(rules, func(r cf.Retention) bool { return rank > r.Versions && ts <= r.UpTo })
}

func wantedQualifier(q string, ranges []cf.Range) bool {
	if len(ranges) == 0 {
		return true
	}
	return slices.ContainsFunc(ranges, func(r cf.Range) bool { return r.Contains(q) })
}

func inTime(ts, since, until int64) bool { return ts >= since && (until == 0 || ts < until) }

func inRows(row string, r cf.Range) bool { return row >= r.Start && (r.End == "" || row < r.End) }
