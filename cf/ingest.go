package cf

import "context"

// An Ingestion loads more cells than an atomic batch can hold. Sorted runs of cells are
// written beside the data, and become visible together. The caller closes it.
//
// Several goroutines may write runs, one goroutine each run. The other methods belong
// to one goroutine, which calls Commit after all runs have been closed.
type Ingestion interface {
	// TempDir is a directory for the caller's temporary files, "" for a store without a
	// directory. Commit and Close remove it with all its files; after a crash, the next
	// open of the store does.
	TempDir() string
	// Run begins a run of cells of a family. Runs of one family must not overlap: all
	// keys of one run come before all keys of another.
	Run(ctx context.Context, family string) (Run, error)
	// Merge merges several operands of one cell into one. An operand is a [MergeKind]
	// and a value. ok is false when they have no kind in common.
	Merge(operands [][]byte) (merged []byte, ok bool)
	// Commit makes the cells of all runs visible. A cell replaces an existing cell; an
	// operand is merged into it. Snapshots taken before Commit begins do not see the
	// cells, and snapshots taken after it returns do. No snapshot sees a part of them,
	// also after a crash during Commit. Transactions that read one of these rows, in a
	// family with new cells, conflict with the Commit.
	//
	// fn runs first, while no other Commit runs. It may put catalog entries, which
	// become visible with the cells. If it returns an error, nothing becomes visible,
	// and Commit returns the error as it is.
	Commit(ctx context.Context, rows Range, fn func(Snapshot, *Batch) error) (Position, error)
	// Close ends the ingestion. Without a Commit it leaves nothing behind.
	Close() error
}

// A Run is an ascending run of cells of one family.
type Run interface {
	// Write adds cells. Their keys ascend, also from one call to the next, and no key
	// comes twice.
	Write(ctx context.Context, c CellGroups) error
	// Close ends the run.
	Close() error
}

// CellGroups are cells in the order of their keys, in a form that C can read. A group
// is cells of one row; the i-th group begins at At[i] in Data. Lengths and counts are
// 32-bit integers in the machine's byte order. A group is
//
//	the length of the row prefix, the number of cells, the row prefix,
//
// then for each cell
//
//	the length of the rest of its key, that of its value, the rest, the value,
//
// The upper bit of a value's length marks an operand to merge, which begins with its
// [MergeKind]. Several groups in a row may belong to one row.
type CellGroups struct {
	Data []byte
	At   []uint32
}

// OperandBit marks the length of a value that is an operand.
const OperandBit = 1 << 31
