package cftikv

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/tikv/client-go/v2/oracle"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/rowlock"
)

// A fence is a writer's view of the families. If they change before its commit so that
// it matters, the writer must begin again: a drop that it did not see would hide its
// cells, or it read cells that were dropped.
type fence struct {
	*attempt // its own change of the families does not count
	state    *state
	families []string
	spans    func() []span // in each of the families
}

// families returns the families for a batch, and makes their change a reason to do the
// attempt again.
func (a *attempt) families(ctx context.Context, b *cf.Batch, read *snapshot) (*state, error) {
	f := &fence{attempt: a, families: familiesOf(b), spans: func() []span { return rowSpans(b.Rows()) }}
	if read != nil {
		f.state, f.families = read.seen(f.families)
	}
	if len(f.families) == 0 {
		return f.state, nil
	}
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	a.checks = append(a.checks, f.check)
	return f.state, nil
}

// begin chooses a state, unless the writer saw one: the last one that this process
// knows, if the families are in it.
func (f *fence) begin(ctx context.Context) (err error) {
	if f.state != nil {
		return nil
	}
	f.state = f.store.states.cached()
	for _, name := range f.families {
		if _, ok := f.state.families[name]; !ok {
			f.state, err = f.store.stateAt(ctx, f.start)
			return err
		}
	}
	return nil
}

// check compares the families with those at the timestamp of the commit.
func (f *fence) check(ctx context.Context, commit uint64) error {
	now, err := f.stateAt(ctx, commit)
	if err != nil || now.version == f.state.version {
		return err
	}
	spans := f.spans()
	for _, name := range f.families {
		if later, ok := now.families[name]; !ok || changed(f.state.families[name], later, spans) {
			return errAgain
		}
	}
	return nil
}

func changed(seen, now family, spans []span) bool {
	return seen.id != now.id || seen.born != now.born || seen.epoch < now.settled ||
		slices.ContainsFunc(spans, func(s span) bool { return now.since(seen.epoch, s) })
}

// since reports whether a drop or a load after an epoch touches a range of keys.
func (f *family) since(epoch uint64, s span) bool {
	return f.drops.since(epoch, s) || slices.ContainsFunc(f.layers, func(l layer) bool { return l.epoch > epoch && l.touches(s) })
}

func familiesOf(b *cf.Batch) (names []string) {
	for _, op := range b.Ops() {
		if op.Family != "" && !slices.Contains(names, op.Family) {
			names = append(names, op.Family)
		}
	}
	return names
}

func rowSpans(rows []cf.RowID) (spans []span) {
	for _, r := range rowlock.Sorted(rows) {
		prefix := string(cf.AppendRowPrefix(nil, r.Row))
		spans = append(spans, span{prefix, prefix + "\x02"}) // as in Batch.DeleteRow
	}
	return spans
}

// A readSet is the rows that a transaction read.
type readSet struct {
	rows   []cf.RowID
	ranges []rowRange
}

type rowRange struct {
	space string
	rows  cf.Range
}

func (r *readSet) add(space string, rows cf.Range) {
	if row, ok := rows.Single(); ok {
		r.rows = append(r.rows, cf.RowID{Space: space, Row: row})
	} else if !rows.Empty() {
		r.ranges = append(r.ranges, rowRange{space, rows})
	}
}

func (r *readSet) empty() bool { return len(r.rows) == 0 && len(r.ranges) == 0 }

// spans are the keys of the rows in a family.
func (r *readSet) spans() []span {
	spans := rowSpans(r.rows)
	for _, g := range r.ranges {
		start, end := g.rows.Bounds()
		spans = append(spans, span{string(start), string(end)})
	}
	return spans
}

// unchanged returns ErrConflict if another commit changed what the transaction read,
// between its snapshot and a timestamp. a is the attempt that locks the single rows.
func (t *txn) unchanged(ctx context.Context, a *attempt, at uint64) error {
	if err := t.store.client.CheckVisibility(t.ts); err != nil { // the sentinels may be gone
		return wrap(ctx, err)
	}
	if err := t.undropped(ctx, a, at); err != nil {
		return err
	}
	for _, g := range t.reads.ranges {
		if err := t.rangeUnchanged(ctx, g, a.start, at); err != nil {
			return err
		}
	}
	if at != a.start { // the rows are locked since then
		return nil
	}
	keys := t.store.sentinels(t.reads.rows)
	now, err := regions.Get(ctx, t.store.client, regions.Options{At: at}, keys...)
	if err != nil {
		return err
	}
	return t.same(ctx, keys, now)
}

// undropped looks for drops of rows that were read, in the families that were used.
func (t *txn) undropped(ctx context.Context, a *attempt, at uint64) error {
	seen, names := t.seen(nil)
	f := &fence{attempt: a, state: seen, families: names, spans: t.reads.spans}
	if len(f.families) == 0 || t.reads.empty() {
		return nil
	}
	if err := f.check(ctx, at); err != errAgain {
		return err
	}
	return fmt.Errorf("%w: rows that were read have been dropped", cf.ErrConflict)
}

// rangeUnchanged compares the sentinels of a range of rows with the snapshot's. Only
// those need a second look whose writer began shortly before the snapshot: it may have
// committed before or after it.
func (t *txn) rangeUnchanged(ctx context.Context, g rowRange, own, at uint64) error {
	start, end := t.store.keys.sentinels(g.space, g.rows)
	earliest := oracle.GoTimeToTS(oracle.GetTimeFromTS(t.ts).Add(-longestWrite))
	var keys, now [][]byte
	err := t.store.each(ctx, at, own, start, end, func(key, value []byte) error {
		switch began := sentinelStart(value); {
		case began > t.ts:
			return errChanged
		case began > earliest:
			keys, now = append(keys, bytes.Clone(key)), append(now, bytes.Clone(value))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.same(ctx, keys, now)
}

// same compares sentinels with the snapshot's.
func (t *txn) same(ctx context.Context, keys, now [][]byte) error {
	before, err := regions.Get(ctx, t.store.client, regions.Options{At: t.ts}, keys...)
	if err != nil {
		return err
	}
	earliest := oracle.GoTimeToTS(oracle.GetTimeFromTS(t.ts).Add(-longestWrite))
	unchanged := func(before, now []byte) bool {
		swept := now == nil && sentinelStart(before) < earliest
		return swept || bytes.Equal(before, now)
	}
	if !slices.EqualFunc(before, now, unchanged) {
		return errChanged
	}
	return nil
}

var errChanged = fmt.Errorf("%w: rows that were read have been changed", cf.ErrConflict)

// sentinelStart is when the attempt began that put a sentinel. A sentinel that cannot be
// read counts as new.
func sentinelStart(value []byte) uint64 {
	if len(value) < 8 {
		return math.MaxUint64
	}
	return binary.BigEndian.Uint64(value)
}
