package cf

// GroupsOf are the cells of a block of an unfiltered scan, as a [Run] takes them:
// what was merged is a value. They refer to no memory of the block.
func GroupsOf(b *Block) CellGroups {
	w := groupWriter{most: maxGroup, data: make([]byte, 0, len(b.Data)+len(b.Cells)*(cellHeader+versionLen+4))}
	var rest []byte
	for i := range b.Rows {
		r := &b.Rows[i]
		w.row = AppendRowPrefix(w.row[:0], b.RowKey(r))
		for j := range b.RowCells(r) {
			c := &b.Cells[int(r.First)+j]
			rest = AppendVersion(AppendQualifier(rest[:0], b.Qualifier(c)), c.Timestamp)
			w.add(groupCell{rest: rest, value: b.Value(c)})
		}
		w.end()
	}
	return CellGroups{Data: w.data, At: w.at}
}
