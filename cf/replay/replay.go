// Package replay applies a part of a log to a store as one load of the rest of it in the end,
// in bounded memory: cells that later changes replaced or deleted are left out before the store
// sees them.
package replay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// Options of a [Replay].
type Options struct {
	// Apply applies a record that others do not join: one that makes or drops a family, or is
	// about a load.
	Apply func(ctx context.Context, r *cf.LogRecord) error
	// Versions says how many versions of each column readers see after the last record, by family;
	// others have no such limit. nil: there is none.
	Versions func(ctx context.Context) (map[string]int, error)
	// Memory is about half of the bytes that changes take in memory; 0 is 64 MiB. The rest is in
	// files in the store's directory.
	Memory int
	// Least is the number of bytes of records from which they are applied together; 0 is 4 MiB.
	Least int
}

// mostSpills bounds the files that are read at once, and so the memory for reading and the
// disk space for spills.
const mostSpills = 64

// A Replay applies records to a store that follows, is kept for nobody ([cf.Shipper.Ships] is
// ""), and has no readers. It belongs to one goroutine.
type Replay struct {
	store cf.Follower
	o     Options

	arena, spare *arena
	changes      []cf.LoggedOp   // of a record
	before       before          // nil: as the store has it
	bytes        int             // of records
	records      []*cf.LogRecord // those, while they are few
	to           cf.Position
	in           cf.Ingestion
	spills       []*spill
	spilling     chan spilled // nil: no goroutine spills
}

type spilled struct {
	spill *spill
	arena *arena
	err   error
}

// New makes a Replay, which the caller closes before the store.
func New(store cf.Follower, o Options) *Replay {
	o.Memory, o.Least = cmp.Or(o.Memory, 64<<20), cmp.Or(o.Least, 4<<20)
	return &Replay{store: store, o: o, arena: newArena(false)}
}

// Add takes the next record. Its bytes are the caller's again when Add returns.
func (r *Replay) Add(ctx context.Context, x *cf.LogRecord) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	at := r.to
	if r.bytes == 0 {
		at = r.store.Latest()
	}
	joins := x.After == at // otherwise applying it says why it cannot be
	if joins {
		var err error
		if joins, err = r.read(x); err != nil {
			return err
		}
	}
	if joins {
		lower, err := r.lowers(ctx)
		if err != nil {
			return err
		}
		joins = !lower
	}
	if !joins {
		if err := r.flush(ctx, false); err != nil {
			return err
		}
		r.before = nil
		return r.o.Apply(ctx, x)
	}
	for i := range r.changes {
		op := &r.changes[i]
		if op.Family != "" && !strings.Contains(op.Family, "/") { // it is gone
			return fmt.Errorf("%w: the log writes to %s, which the store does not have", cf.ErrDiverged, op.Family)
		}
		r.arena.add(op.Family, op.Kind, op.Key, op.Value)
	}
	r.bytes, r.to = r.bytes+len(x.Data), x.Last
	if r.bytes < r.o.Least {
		c := *x
		c.Data = slices.Clone(x.Data)
		r.records = append(r.records, &c)
		return nil
	}
	r.records = nil
	if r.arena.size() < r.o.Memory {
		return nil
	}
	if err := r.rotate(ctx); err != nil || len(r.spills) < mostSpills {
		return err
	}
	return r.flush(ctx, false)
}

// errAlone: a record is applied alone.
var errAlone = errors.New("alone")

// read reads the changes of a record. It is false if the record is applied alone.
func (r *Replay) read(x *cf.LogRecord) (bool, error) {
	clear(r.changes)
	r.changes = r.changes[:0]
	err := r.store.Ops(x, func(op *cf.LoggedOp) error {
		switch {
		case op.Kind == cf.OpNote:
			return nil
		case op.Family == "" && cf.EngineEntry(string(op.Key)):
			return errAlone
		}
		r.changes = append(r.changes, *op)
		return nil
	})
	if errors.Is(err, errAlone) || err == nil && cf.Position(len(r.changes)) != x.Last-x.After { // there are some that Ops does not show
		return false, nil
	}
	return err == nil, err
}

// lowers reports whether a record, whose changes were read, lowers one. It notes them.
func (r *Replay) lowers(ctx context.Context) (bool, error) {
	lower := false
	for i := range r.changes {
		family, at, ok, err := expiryOf(&r.changes[i])
		if err != nil {
			return false, err
		}
		if !ok {
			continue
		}
		if r.before == nil {
			if r.before, err = beforeIn(ctx, r.store); err != nil {
				return false, err
			}
		}
		lower = lower || at < r.before[family]
		r.before[family] = at
	}
	return lower, nil
}

// rotate has a goroutine spill the arena.
func (r *Replay) rotate(ctx context.Context) (err error) {
	if err := r.wait(); err != nil {
		return err
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	full, done, dir := r.arena, make(chan spilled, 1), r.in.TempDir()
	if r.arena, r.spare = r.spare, nil; r.arena == nil {
		r.arena = newArena(full.backward)
		r.arena.data = make([]byte, 0, cap(full.data))
	}
	r.spilling = done
	go func() {
		s, err := full.spillTo(dir)
		full.reset()
		done <- spilled{s, full, err}
	}()
	return nil
}

// wait waits for the goroutine that spills.
func (r *Replay) wait() error {
	if r.spilling == nil {
		return nil
	}
	done := <-r.spilling
	r.spilling, r.spare = nil, done.arena
	if done.err == nil {
		r.spills = append(r.spills, done.spill)
	}
	return done.err
}

// begin begins the load, whose directory has the spills.
func (r *Replay) begin(ctx context.Context) (err error) {
	if r.in == nil {
		r.in, err = r.store.Ingest(ctx)
	}
	return err
}

// End applies what was added.
func (r *Replay) End(ctx context.Context) error { return r.flush(ctx, true) }

// Close ends the Replay, and removes its files.
func (r *Replay) Close() error {
	err := r.wait()
	if r.in != nil {
		err = cmp.Or(err, r.in.Close())
		r.in = nil
	}
	return err
}

// flush applies what was added.
func (r *Replay) flush(ctx context.Context, last bool) error {
	if r.bytes == 0 {
		return nil
	}
	if r.bytes < r.o.Least {
		for _, x := range r.records {
			if err := r.o.Apply(ctx, x); err != nil {
				return err
			}
		}
	} else if err := r.load(ctx, last); err != nil {
		return err
	}
	r.arena.reset()
	r.bytes, r.records, r.spills, r.before = 0, nil, nil, nil
	return nil
}

// load loads the rest of the changes. The catalog and deletes are written first.
func (r *Replay) load(ctx context.Context, last bool) (err error) {
	return r.loadAs(ctx, last, nil, nil)
}

// loadAs is load with names for families, and a check of the versions.
func (r *Replay) loadAs(ctx context.Context, last bool, named map[string]string, check func(map[string]int) error) (err error) {
	if err := r.wait(); err != nil {
		return err
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	labels := map[string]string{} // by name
	note := func(label string) { labels[cmp.Or(named[label], label)] = label }
	for label, all := range r.arena.entries {
		if len(all) > 0 {
			note(label)
		}
	}
	for _, s := range r.spills {
		for label := range s.frames {
			note(label)
		}
	}
	w := &writer{ctx: ctx, store: r.store, in: r.in, few: 16 + 4*len(r.store.Families())}
	defer func() { err = cmp.Or(err, w.endRun()) }()
	if err := cmp.Or(r.merge(ctx, "", w.change), w.write()); err != nil {
		return err
	}
	var versions map[string]int
	if last && r.o.Versions != nil {
		if versions, err = r.o.Versions(ctx); err != nil {
			return err
		}
	}
	if check != nil {
		if err := check(versions); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if name == "" {
			continue
		}
		if err := w.begin(name, versions[name]); err != nil {
			return err
		}
		if err := r.merge(ctx, labels[name], w.take); err != nil {
			return err
		}
	}
	if err := w.end(); err != nil {
		return err
	}
	if at := r.store.Latest(); at > r.to {
		return ErrUnfit
	}
	if err := r.store.Skip(ctx, r.to); err != nil {
		return err
	}
	err = r.in.Close()
	r.in = nil
	return err
}

// merge gives the rest of the changes of a family.
func (r *Replay) merge(ctx context.Context, name string, give func(change) error) error {
	if len(r.spills) == 0 {
		return r.arena.sorted(ctx, name, give)
	}
	var sources []source
	defer func() {
		for _, s := range sources {
			s.close()
		}
	}()
	for _, s := range r.spills {
		from, err := s.source(name)
		if err != nil {
			return err
		}
		sources = append(sources, from)
	}
	memory := new(memorySource)
	err := r.arena.sorted(ctx, name, func(c change) error {
		memory.left = append(memory.left, c)
		return nil
	})
	if err != nil {
		return err
	}
	sources = append(sources, memory)
	if r.arena.backward {
		slices.Reverse(sources)
	}
	return mergeSources(ctx, sources, give)
}

// A writer writes the rest of changes to the store.
type writer struct {
	ctx   context.Context
	store cf.Follower
	in    cf.Ingestion
	few   int // cells that are written, and not loaded: a load takes some positions

	family   string
	empty    bool // the store has nothing of it
	versions int  // of a column, 0 is any number
	column   []byte
	rank     int

	run     cf.Run
	loaded  bool // something is
	groups  cf.CellGroups
	pending []cf.LoggedOp // deletes, and changes of the catalog
	size    int           // of those
	cells   []cf.LoggedOp // the first ones
	held    int           // bytes of those
}

const (
	groupsBytes  = 1 << 20
	pendingBytes = 1 << 20
	pendingMost  = 1 << 12
	heldBytes    = 16 << 20
)

// begin begins a family.
func (w *writer) begin(family string, versions int) (err error) {
	if err := w.endRun(); err != nil {
		return err
	}
	w.family, w.versions, w.column, w.rank = family, versions, nil, 0
	w.empty, err = isEmpty(w.ctx, w.store, family)
	return err
}

// isEmpty reports whether a store has no cell of a family.
func isEmpty(ctx context.Context, store cf.Follower, family string) (bool, error) {
	s, err := store.Snapshot(ctx)
	if err != nil {
		return false, err
	}
	defer s.Close()
	c, err := s.Scan(ctx, cf.Scan{Family: family, Rows: []cf.Range{{}}, Limit: 1, Filter: cf.Filter{KeysOnly: true}})
	if err != nil {
		return false, err
	}
	defer c.Close()
	b, err := c.Next(ctx)
	return b == nil, err
}

// change has a change written.
func (w *writer) change(c change) error {
	w.pending = append(w.pending, cloned(cf.LoggedOp{Kind: c.kind, Family: w.family, Key: c.key, Value: c.value}))
	if w.size += len(c.key) + len(c.value); len(w.pending) < pendingMost && w.size < pendingBytes {
		return nil
	}
	return w.write()
}

// take writes the rest of the changes of a key.
func (w *writer) take(c change) error {
	op := cf.LoggedOp{Kind: c.kind, Family: w.family, Key: c.key, Value: c.value}
	if c.kind == cf.OpDelete || c.kind == cf.OpDeleteRange {
		if w.empty {
			return nil
		}
		return w.change(c)
	}
	if w.hidden(c.key) && c.kind == cf.OpPut {
		return nil
	}
	if w.loaded {
		return w.load(op)
	}
	if w.cells, w.held = append(w.cells, cloned(op)), w.held+len(c.key)+len(c.value); len(w.cells) <= w.few && w.held <= heldBytes {
		return nil
	}
	// Those of earlier families come first.
	w.loaded = true
	cells, family := w.cells, w.family
	w.cells, w.held = nil, 0
	for _, op := range cells {
		if op.Family != w.family || w.run == nil {
			if err := w.endRun(); err != nil {
				return err
			}
		}
		w.family = op.Family
		if err := w.load(op); err != nil {
			return err
		}
	}
	w.family = family
	return nil
}

// cloned does not keep the memory around the bytes.
func cloned(op cf.LoggedOp) cf.LoggedOp {
	op.Key, op.Value = bytes.Clone(op.Key), bytes.Clone(op.Value)
	return op
}

// hidden counts the versions of a column, and reports whether readers do not see this one.
func (w *writer) hidden(key []byte) bool {
	if w.versions == 0 || len(key) < cf.VersionLen {
		return false
	}
	if column := key[:len(key)-cf.VersionLen]; !bytes.Equal(column, w.column) {
		w.column, w.rank = append(w.column[:0], column...), 0
	}
	w.rank++
	return w.rank > w.versions
}

// load adds a cell to the run of its family.
func (w *writer) load(op cf.LoggedOp) (err error) {
	if w.run == nil {
		if w.run, err = w.in.Run(w.ctx, op.Family); err != nil {
			return err
		}
	}
	d, n := w.groups.Data, uint32(len(op.Value))
	if op.Kind == cf.OpMerge {
		n |= cf.OperandBit
	}
	w.groups.At = append(w.groups.At, uint32(len(d)))
	d = binary.NativeEndian.AppendUint32(d, uint32(len(op.Key))) // the key is whole, and needs no rest
	d = binary.NativeEndian.AppendUint32(d, 1)
	d = append(d, op.Key...)
	d = binary.NativeEndian.AppendUint32(d, 0)
	d = binary.NativeEndian.AppendUint32(d, n)
	w.groups.Data = append(d, op.Value...)
	if len(w.groups.Data) < groupsBytes {
		return nil
	}
	return w.hand()
}

// hand gives the run its cells.
func (w *writer) hand() error {
	if len(w.groups.At) == 0 {
		return nil
	}
	err := w.run.Write(w.ctx, w.groups)
	w.groups.Data, w.groups.At = w.groups.Data[:0], w.groups.At[:0]
	return err
}

func (w *writer) endRun() error {
	if w.run == nil {
		return nil
	}
	err := w.hand()
	err = cmp.Or(err, w.run.Close())
	w.run = nil
	return err
}

// write writes what is pending.
func (w *writer) write() error {
	if len(w.pending) == 0 {
		return nil
	}
	_, err := w.store.Write(w.ctx, nil, func(b *cf.Batch) error {
		for i := range w.pending {
			b.Logged(&w.pending[i])
		}
		return nil
	})
	w.pending, w.size = w.pending[:0], 0
	return err
}

// end makes everything visible.
func (w *writer) end() error {
	if err := w.endRun(); err != nil {
		return err
	}
	w.pending = append(w.pending, w.cells...)
	if err := w.write(); err != nil || !w.loaded {
		return err
	}
	_, err := w.in.Commit(w.ctx, cf.Range{}, nil)
	return err
}
