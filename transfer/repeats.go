package transfer

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/plumbing"
)

// A record that repeats another would replace it. Repeats are found in two ways. If the
// first record is one of the first maxSeenKeys, they are found at once. All others are
// found by sorting all records, as a bulk load or a ledger does. Both need bounded
// memory for any number of records.

// repeats is the message for a record that repeats another.
const repeats = "makes the row key %s, which %s made; the key needs one more field, or ts= a field that tells the lines apart"

// seenKeys finds records that repeat one of the first maxSeenKeys. In place of keys it
// keeps hashes of 128 bits with a random seed.
type seenKeys struct {
	seeds [2]maphash.Seed
	lines map[[2]uint64]int
	text  []byte
}

// maxSeenKeys bounds the memory of seenKeys. It exceeds smallRows, so smaller files
// need no sorting.
const maxSeenKeys = 1 << 16

func newSeenKeys() *seenKeys {
	return &seenKeys{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, lines: map[[2]uint64]int{}}
}

// add records a row. If an earlier row is of the same key and timestamp, it returns
// that row's line.
func (k *seenKeys) add(r row) (line int, again bool) {
	k.text = binary.BigEndian.AppendUint64(k.text[:0], uint64(r.cells[0].Timestamp))
	k.text = append(k.text, r.key...)
	hash := [2]uint64{maphash.Bytes(k.seeds[0], k.text), maphash.Bytes(k.seeds[1], k.text)}
	if line, again = k.lines[hash]; !again && len(k.lines) < maxSeenKeys {
		k.lines[hash] = r.line
	}
	return line, again
}

// late are the repeated records that sorting found.
type late struct {
	mu    sync.Mutex // the sorting goroutine also adds records
	spec  Spec
	most  int                // maximum number of records in kept
	lines int64              // number of lines of all such records
	first *LineError         // the first one in the file
	kept  map[int]*LineError // by line, up to most
}

func (l *late) add(r plumbing.Repeat) {
	l.mu.Lock()
	defer l.mu.Unlock()
	file, line := l.spec.place(r.Again.Line)
	e := &LineError{File: file, Line: line, Lines: r.Again.Lines, Problem: fmt.Sprintf(repeats, quote(r.Row), l.spec.placed(r.First.Line)), number: r.Again.Line}
	l.lines += int64(e.Lines)
	if l.first == nil || e.number < l.first.number {
		l.first = e
	}
	if len(l.kept) < l.most {
		if l.kept == nil {
			l.kept = map[int]*LineError{}
		}
		l.kept[e.number] = e
	}
}

// enter adds a row as a record that no other record may repeat.
func enter(l plumbing.Ledger, r row) error {
	return l.Record(r.key, r.cells[0].Timestamp, r.record())
}

// An account counts the rows written in batches.
type account struct {
	ledger   plumbing.Ledger
	plan     *plan
	records  int64
	cells    int64
	replaced int64 // within the batches
	scratch  []cells.Cell
}

func (a *account) add(r row) error {
	a.records += a.plan.records(r)
	a.cells += int64(len(r.cells))
	a.replaced += int64(r.replaced)
	if a.plan.once() {
		return enter(a.ledger, r)
	}
	a.scratch = append(a.scratch[:0], r.cells...)
	for i := range a.scratch { // in the same way as plan.fill
		a.scratch[i].Timestamp = max(a.scratch[i].Timestamp, 0)
	}
	return a.ledger.Cells(r.key, a.scratch)
}

// settle stores the counts of the written rows in the result, even after an error.
func (a *account) settle(ctx context.Context, to *Result) error {
	n, err := a.ledger.Count(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	to.Records, to.Rows, to.Cells = a.records, n.Rows, a.cells
	if !a.plan.once() {
		to.Cells = n.Cells
	}
	if len(a.plan.adds) == 0 && !a.plan.once() { // adds do not replace cells
		to.Replaced = n.Replaced + a.replaced
	}
	return nil
}
