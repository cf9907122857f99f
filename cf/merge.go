package cf

// A MergeKind says how values are merged into one cell. Its number is the first byte of
// an operand that an engine keeps until it merges; docs/format.md shows the values of
// each kind.
type MergeKind byte

// The kinds of merges. Each gives the same result in any order and grouping.
const (
	MergeSum      MergeKind = 1 // of integers; exact beyond 64 bits
	MergeMin      MergeKind = 2 // the least integer
	MergeMax      MergeKind = 3 // the greatest integer
	MergeDistinct MergeKind = 4 // a sketch of a set of hashes: the union
)

// Merge merges a value into a cell without reading the cell. Merge does not refuse a
// value that cannot be merged: the cell's value then gets the tag 00, which no valid
// value uses, and holds everything that went into it.
func (b *Batch) Merge(family, qualifier string, ts int64, kind MergeKind, value []byte) {
	key := b.mark(AppendVersion(AppendQualifier(append(b.arena, b.row...), qualifier), ts))
	b.add(OpMerge, family, key, b.mark(append(append(b.arena, byte(kind)), value...)))
}
