package cf

import "context"

// An Ingestion is a load of many cells on its way into a store, past what an
// atomic batch can hold: sorted runs of cells are written beside what there is,
// and become visible together. It must be closed.
//
// Runs may be written by several goroutines, one each; the other methods belong
// to one, after all runs have been closed.
type Ingestion interface {
	// TempDir is a directory for what the caller keeps out of memory until
	// Commit or Close, which remove it with all that is in it; so does the
	// store when it is opened after a crash. "" when there is none.
	TempDir() string
	// Run begins a run of cells of a family. Runs of one family must not
	// overlap: all keys of one come before all of another.
	Run(ctx context.Context, family string) (Run, error)
	// Merge is the operand that stands for several of one cell: each a
	// [MergeKind] and a value. ok is false when they have none in common.
	Merge(operands [][]byte) (merged []byte, ok bool)
	// Commit makes the cells of all runs visible, over what there is: a cell
	// that is there is replaced, an operand merged into it. Snapshots taken
	// before Commit begins do not see them, those taken after it has returned
	// do, and none sees some without the others; nor does a store that is
	// opened after a crash, however far Commit had come. rows, of a space,
	// are those that a [Txn] is told have changed.
	//
	// fn runs first, while no other Commit does, and may put catalog
	// entries, which become visible with the cells, or refuse with an error:
	// then nothing becomes visible, and Commit returns the error as it is.
	Commit(ctx context.Context, rows Range, fn func(Snapshot, *Batch) error) (Position, error)
	// Close ends the ingestion, and without a Commit leaves nothing of it.
	Close() error
}

// A Run is an ascending run of cells of one family.
type Run interface {
	// Write adds cells, all behind those added before; no key comes twice.
	Write(ctx context.Context, c CellGroups) error
	// Close ends the run.
	Close() error
}

// CellGroups are cells in the order of their keys, in a form that an engine can
// walk without a step in Go. At[i] is where in Data the i-th group begins: cells
// of one row. A group is, in numbers of 32 bits of the machine's order,
//
//	the length of the row prefix, the number of cells, the row prefix,
//
// then for each cell
//
//	the length of the rest of its key, that of its value, the rest, the value,
//
// with the upper bit set in the length of a value that is an operand to merge, led
// by its [MergeKind]. Several groups in a row may be of one row.
type CellGroups struct {
	Data []byte
	At   []uint32
}

// OperandBit marks the length of a value that is an operand.
const OperandBit = 1 << 31
