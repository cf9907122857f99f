package bigtable

import (
	"time"
)

// Options say what [Copy] copies, and how fast. The zero value copies everything.
type Options struct {
	// Tables are the ids of the tables to copy; none means all.
	Tables []string
	// Prefix begins the keys of the rows to copy.
	Prefix string
	// Sample is the share of the rows to copy, as in 0.01: those whose keys have the
	// smallest hashes, so the same in every table and every run. 0 and 1 are all.
	Sample float64
	// Masks replace values. Of the masks that match a column the first one counts.
	Masks []Mask
	// MaskKey is the key of the masks, of at least 16 bytes. With nil they have
	// a random key, which is never stored, and such a copy cannot be continued.
	MaskKey []byte
	// Rate is how many bytes are read in a second, on average; 0 is no limit.
	Rate int64
	// Verify reads source and target again after the copy and compares them. If the
	// target is the whole copy already, it only compares.
	Verify bool
	// Follow then applies the source's changes, until the context ends. Each table must have
	// a change stream. The target stays unfinished, so the next Copy goes on; one without
	// Follow ends it.
	Follow bool
	// Parallel is how many ranges of rows are read at once; 0 is 4. Each needs the memory
	// of a message and of a cell, and a few MiB.
	Parallel int
	// Progress is told how far the copy is; it may be nil. It is called by one goroutine
	// at a time.
	Progress func(Progress)

	flushAt, noteAt int // bytes, and cells, of a batch; bytes between two notes of progress
	attempts        int // at a call without any progress
	pause           time.Duration
	heartbeat       time.Duration // of change streams, and between two notes of them
}

// A Count is the size of what was copied or compared.
type Count struct {
	Rows, Cells int64
	Bytes       int64 // of row keys, qualifiers and values in the target
}

func (n *Count) add(m Count) {
	n.Rows += m.Rows
	n.Cells += m.Cells
	n.Bytes += m.Bytes
}

// Progress is how far a copy is.
type Progress struct {
	Count
	// Changed is how many changed rows were copied again, and Through is a time by the
	// source's clock: all changes before are in the target. It is zero until Copy follows.
	Changed int64
	Through time.Time
	// Fault is why a call to the source failed that is made again; nil since there was
	// progress.
	Fault error
}

// A Report is the result of a [Copy].
type Report struct {
	Tables []TableReport
	// Resumed says that the target was the unfinished target of this copy, and Found that
	// it was the whole copy and was only compared.
	Resumed, Found bool
	// Unmet are the masks that replaced no value: perhaps their columns are called otherwise,
	// and were copied as they are.
	Unmet []Mask
	// Verified says that source and target were compared.
	Verified bool
	// Differences are the first rows that differ, at most ten, and Different is how many
	// do. While the source is written, these are rows that have changed since.
	Differences []Difference
	Different   int64
}

// A TableReport is what was copied of a table and, after a comparison, what the two sides
// have: the source with masks, and both without what retention drops.
type TableReport struct {
	Table          string
	Copied         Count
	Source, Target Sum
}

// A Sum is the size of rows and the sum of the XXH64 hashes of their cells.
type Sum struct {
	Count
	Checksum uint64
}

// A Difference is a row that source and target do not have alike.
type Difference struct {
	Table, Row string
	What       string // that differs, as in "is only in the source"
}

const (
	defaultParallel = 4
	defaultFlushAt  = 1 << 20
	defaultNoteAt   = 32 << 20
	defaultAttempts = 8
	defaultPause    = 100 * time.Millisecond
	defaultBeat     = time.Second
	changesAtMost   = 10_000 // of a batch
	minKey          = 16
)
