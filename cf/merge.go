package cf

// A MergeKind says what becomes of the values merged into one cell. Its number
// is the first byte of what an engine keeps of a merge until it carries it out;
// docs/format.md shows the values that each kind takes and makes.
type MergeKind byte

// The kinds of merges. Each gives the same result in any order and grouping.
const (
	MergeSum      MergeKind = 1 // of integers; exact beyond 64 bits
	MergeMin      MergeKind = 2 // the least integer
	MergeMax      MergeKind = 3 // the greatest integer
	MergeDistinct MergeKind = 4 // a sketch of a set of hashes: the union
)

// Merge puts a value into a cell together with what is merged into it already,
// without reading it. What cannot be merged is not refused here: it makes the
// cell's value one with the tag 00, which is none, and which holds everything
// that went into it.
func (b *Batch) Merge(family, qualifier string, ts int64, kind MergeKind, value []byte) {
	key := b.mark(AppendVersion(AppendQualifier(append(b.arena, b.row...), qualifier), ts))
	b.add(OpMerge, family, key, b.mark(append(append(b.arena, byte(kind)), value...)))
}
