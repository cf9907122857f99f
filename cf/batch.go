package cf

import "bytes"

// A Batch collects changes that are committed together, in the order in which they were
// added: a later change wins over an earlier one. The zero Batch is ready to use. It
// belongs to one goroutine.
//
// Changes of cells apply to the row that [Batch.Row] named last.
type Batch struct {
	ops   []Op
	rows  []RowID
	arena []byte
	tails []string // the rests of large values, see PutTail
	large int      // bytes of tails
	row   []byte   // the current row's prefix
	notes int
	sync  bool

	sharing sharing
}

// An OpKind is the kind of an [Op].
type OpKind uint8

// The kinds of operations of a batch.
const (
	OpPut         OpKind = iota // set Key to Value
	OpDelete                    // remove Key
	OpDeleteRange               // remove the keys from Key to Value, exclusive
	OpPutMeta                   // set the catalog entry Key to Value
	OpDeleteMeta                // remove the catalog entry Key
	OpMerge                     // merge Value, a [MergeKind] and a value, into Key
	OpNote                      // Value is a note; see [Batch.Note]
)

// An Op is one change, as an engine reads it from a batch.
type Op struct {
	Kind       OpKind
	Family     string
	key, value span
	tail       uint32 // the value goes on in this one of the batch's tails, counted from 1
}

type span struct{ from, to uint32 }

// Row names the row that the following changes of cells apply to.
func (b *Batch) Row(id RowID) {
	b.rows = append(b.rows, id)
	b.row = AppendRowPrefix(b.row[:0], id.Row)
}

// Put sets a cell's value, given in its encoded form.
func (b *Batch) Put(family, qualifier string, ts int64, value []byte) {
	key := b.mark(AppendVersion(AppendQualifier(append(b.arena, b.row...), qualifier), ts))
	b.add(OpPut, family, key, b.mark(append(b.arena, value...)))
}

// PutFunc is Put with a value that appendValue appends to its argument.
func (b *Batch) PutFunc(family, qualifier string, ts int64, appendValue func([]byte) []byte) {
	key := b.mark(AppendVersion(AppendQualifier(append(b.arena, b.row...), qualifier), ts))
	b.add(OpPut, family, key, b.mark(appendValue(b.arena)))
}

// LargeValue is the size from which [Batch.PutTail] is cheaper than Put, in bytes.
const LargeValue = 64 << 10

// PutTail is Put with a value that is head followed by tail. The batch keeps tail and does
// not copy it, until [Batch.Reset].
func (b *Batch) PutTail(family, qualifier string, ts int64, head []byte, tail string) {
	b.PutFunc(family, qualifier, ts, func(dst []byte) []byte { return append(dst, head...) })
	b.tails = append(b.tails, tail)
	b.large += len(tail)
	b.ops[len(b.ops)-1].tail = uint32(len(b.tails))
}

// DeleteCell removes one version of a column.
func (b *Batch) DeleteCell(family, qualifier string, ts int64) {
	key := b.mark(AppendVersion(AppendQualifier(append(b.arena, b.row...), qualifier), ts))
	b.add(OpDelete, family, key, span{})
}

// DeleteVersions removes all versions of a column from since, inclusive, to until,
// exclusive; an until of 0 is no bound.
func (b *Batch) DeleteVersions(family, qualifier string, since, until int64) {
	col := AppendQualifier(append([]byte(nil), b.row...), qualifier)
	from := append(b.arena, col...)
	if until != 0 { // newest first: the range starts at until-1
		from = AppendVersion(from, until-1)
	}
	key := b.mark(from)
	to := append(b.arena, col...)
	if since > 0 {
		to = AppendVersion(to, since-1)
	} else {
		to = append(to, tagVersion+1)
	}
	b.deleteRange(family, key, b.mark(to))
}

// DeleteRow removes all of the row's cells from a family, at a cost that does not
// depend on their number.
func (b *Batch) DeleteRow(family string) {
	key := b.mark(append(b.arena, b.row...))
	b.deleteRange(family, key, b.mark(append(append(b.arena, b.row...), tagBytes+1)))
}

// DeleteRows removes the cells of a range of rows from a family, at a cost that does
// not depend on their number. It names no row, so it locks none of the range's rows.
func (b *Batch) DeleteRows(family string, rows Range) {
	start, end := rows.Bounds()
	key := b.mark(append(b.arena, start...))
	b.deleteRange(family, key, b.mark(append(b.arena, end...)))
}

// Sync makes the store sync the batch and all earlier ones to the disk before the write
// returns, even if the store does not sync other batches.
func (b *Batch) Sync() { b.sync = true }

// Synced reports whether the batch asks for Sync.
func (b *Batch) Synced() bool { return b.sync }

// PutMeta sets a catalog entry.
func (b *Batch) PutMeta(key string, value []byte) {
	k := b.mark(append(b.arena, key...))
	b.add(OpPutMeta, "", k, b.mark(append(b.arena, value...)))
}

// DeleteMeta removes a catalog entry.
func (b *Batch) DeleteMeta(key string) {
	b.add(OpDeleteMeta, "", b.mark(append(b.arena, key...)), span{})
}

// Append adds the changes of another batch.
func (b *Batch) Append(other *Batch) {
	shift := uint32(len(b.arena))
	b.arena = append(b.arena, other.arena...)
	b.rows = append(b.rows, other.rows...)
	b.notes += other.notes
	b.sync = b.sync || other.sync
	b.sharing.raises = b.sharing.raises || other.sharing.raises
	if version, ok := other.DemandsCatalog(); ok {
		b.UnderCatalog(version)
	}
	tails := uint32(len(b.tails))
	b.tails = append(b.tails, other.tails...)
	b.large += other.large
	for _, op := range other.ops {
		op.key = op.key.moved(shift)
		op.value = op.value.moved(shift)
		if op.tail > 0 {
			op.tail += tails
		}
		b.ops = append(b.ops, op)
	}
}

func (s span) moved(by uint32) span { return span{s.from + by, s.to + by} }

// Ops are the batch's operations in order.
func (b *Batch) Ops() []Op { return b.ops }

// Key is an operation's key. The bytes belong to the batch.
func (b *Batch) Key(op *Op) []byte { return b.arena[op.key.from:op.key.to] }

// Value is an operation's value. The bytes belong to the batch, or are a copy if the value
// is written with a tail. [Batch.Parts] makes no copy.
func (b *Batch) Value(op *Op) []byte {
	head, tail := b.Parts(op)
	if tail == "" {
		return head
	}
	return append(append(make([]byte, 0, len(head)+len(tail)), head...), tail...)
}

// Parts are the two parts of an operation's value. The tail is "" unless PutTail gave one.
func (b *Batch) Parts(op *Op) (head []byte, tail string) {
	if op.tail > 0 {
		tail = b.tails[op.tail-1]
	}
	return b.arena[op.value.from:op.value.to], tail
}

// Rows are the rows that the batch names, in order, with repetitions.
func (b *Batch) Rows() []RowID { return b.rows }

// Size is the number of bytes of the batch's keys and values.
func (b *Batch) Size() int { return len(b.arena) + b.large }

// Logged adds a change as [Follower.Ops] gave it. It names no row.
func (b *Batch) Logged(op *LoggedOp) {
	kind, key := op.Kind, b.mark(append(b.arena, op.Key...))
	switch {
	case op.Family == "" && kind == OpPut:
		kind = OpPutMeta
	case op.Family == "":
		kind = OpDeleteMeta
	}
	b.add(kind, op.Family, key, b.mark(append(b.arena, op.Value...)))
}

// Copied is the number of bytes that the batch copied: Size without the tails.
func (b *Batch) Copied() int { return len(b.arena) }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	clear(b.ops)
	clear(b.rows)
	clear(b.tails)
	b.ops, b.rows, b.arena, b.row, b.notes, b.sync = b.ops[:0], b.rows[:0], b.arena[:0], b.row[:0], 0, false
	b.tails, b.large = b.tails[:0], 0
	b.sharing = sharing{}
}

// mark makes grown the new arena: it is the old arena with bytes appended. It returns
// the place of the appended bytes.
func (b *Batch) mark(grown []byte) span {
	s := span{uint32(len(b.arena)), uint32(len(grown))}
	b.arena = grown
	return s
}

// deleteRange adds the removal of a range of keys unless the range is empty: an engine
// may treat a range that ends before it begins as corruption.
func (b *Batch) deleteRange(family string, from, to span) {
	op := Op{Kind: OpDeleteRange, Family: family, key: from, value: to}
	if bytes.Compare(b.Key(&op), b.Value(&op)) < 0 {
		b.ops = append(b.ops, op)
	}
}

func (b *Batch) add(kind OpKind, family string, key, value span) {
	b.ops = append(b.ops, Op{Kind: kind, Family: family, key: key, value: value})
}
