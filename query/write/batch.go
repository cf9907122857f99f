package write

// A Batch is a list of mutations of rows, of any tables, that take effect together or
// not at all. It belongs to one goroutine while it is built. A nil Batch stays empty,
// and applying it is an error.
type Batch struct{ entries []Entry }

// An Entry is one mutation of a [Batch].
type Entry struct {
	Table, Key string
	Mutation   *Mutation
}

// NewBatch is an empty batch.
func NewBatch() *Batch { return new(Batch) }

// fewEntries is how many mutations a new batch has room for.
const fewEntries = 16

// Add appends a mutation of a row and returns the batch. The mutation must not change
// until the batch has been applied.
func (b *Batch) Add(table, key string, m *Mutation) *Batch {
	if b == nil {
		return nil
	}
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
