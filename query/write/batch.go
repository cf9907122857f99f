package write

// A Batch is a list of mutations of rows, of any tables, that take effect together or
// not at all. It belongs to one goroutine while it is built. A nil Batch stays empty,
// and applying it is an error.
type Batch struct {
	entries  []Entry
	deferred bool
}

// An Entry is one mutation of a [Batch].
type Entry struct {
	Table, Key string
	Mutation   *Mutation
}

// NewBatch is an empty batch.
func NewBatch() *Batch { return new(Batch) }

// fewEntries is the capacity of a new batch, in mutations.
const fewEntries = 16

// Add appends a mutation of a row and returns the batch. The mutation must not change until
// the batch is applied.
func (b *Batch) Add(table, key string, m *Mutation) *Batch {
	if b.entries == nil {
		b.entries = make([]Entry, 0, fewEntries)
	}
	b.entries = append(b.entries, Entry{table, key, m})
	return b
}

// Len is the number of mutations.
func (b *Batch) Len() int { return len(b.Entries()) }

// Entries are the mutations in their order. They belong to the batch: do not change
// them.
func (b *Batch) Entries() []Entry {
	if b == nil {
		return nil
	}
	return b.entries
}

// Defer lets the batch wait until the database writes something else, and go to the disk
// with that, so that it costs no sync of its own. Applying it then returns at once, and
// reads see its changes some time later, at the latest when a MiB waits or the database is
// closed. Nothing promises that it is written: it is lost if the process is killed, or if
// the write that it goes with fails. Nothing promises its order with other writes either:
// it may be written after a newer write of the same cells, or after a delete, and undo it.
// So defer only cells that nothing else writes or deletes meanwhile. Its mutations must not
// change afterwards, even after it is applied. Each may have up to 64 KiB, and only sets
// cells at given timestamps, in tables without a change stream. A server's client does not
// let it wait.
func (b *Batch) Defer() *Batch {
	b.deferred = true
	return b
}

// Deferred reports whether the batch may wait.
func (b *Batch) Deferred() bool { return b != nil && b.deferred }
