package bulk

import "github.com/smolwc/smolwc/cf"

// GroupsOf are the cells of a block of an unfiltered scan, as a [cf.Run] takes them.
// Merged cells are values. The groups do not refer to the block's memory.
func GroupsOf(b *cf.Block) cf.CellGroups {
	w := groupWriter{most: maxGroup, data: make([]byte, 0, len(b.Data)+len(b.Cells)*(cellHeader+cf.VersionLen+4))}
	var rest []byte
	for i := range b.Rows {
		r := &b.Rows[i]
		w.row = cf.AppendRowPrefix(w.row[:0], b.RowKey(r))
		for j := range b.RowCells(r) {
			c := &b.Cells[int(r.First)+j]
			rest = cf.AppendVersion(cf.AppendQualifier(rest[:0], b.Qualifier(c)), c.Timestamp)
			w.add(groupCell{rest: rest, value: b.Value(c)})
		}
		w.end()
	}
	return cf.CellGroups{Data: w.data, At: w.at}
}
