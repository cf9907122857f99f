package cftikv

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/tikv/client-go/v2/oracle"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
)

// A load is the cells of an ingestion in one family.
type load struct {
	id   uint32
	born uint32 // the family's

	mu    sync.Mutex
	span  span // of its keys; empty at first
	alive time.Time
}

const (
	// loadBeat is the time after which a load that goes on says so.
	loadBeat = time.Minute
	// loadLost is the time after which a load without a sign of life is removed.
	loadLost = time.Hour
	// loadBytes and loadCells bound the transactions in which a load is written.
	loadBytes = 4 << 20
	loadCells = 10_000
)

func (s *Store) beginLoad(ctx context.Context, family string) (*load, error) {
	l := &load{alive: time.Now()}
	err := s.alter(ctx, func(e *edit) error {
		f, err := e.family(family)
		if err != nil {
			return err
		}
		l.id, l.born = e.next, f.born
		e.next++
		e.begun = []uint32{l.id}
		return nil
	})
	return l, err
}

// appendLoad encodes the record of a load that was alive at a timestamp.
func appendLoad(at uint64) []byte { return append(appendGarbage(at), 'l') }

// aliveAt is the inverse of appendLoad.
func aliveAt(record []byte) (at uint64, ok bool) {
	if len(record) != 10 || record[0] != format || record[9] != 'l' {
		return 0, false
	}
	return binary.BigEndian.Uint64(record[1:]), true
}

// lost reports whether a load gave no sign of life for long.
func lost(alive, now uint64) bool {
	return oracle.GetTimeFromTS(now).Sub(oracle.GetTimeFromTS(alive)) > loadLost
}

var errLoadLost = fmt.Errorf("%w: the load was removed, since it had given no sign of life for %v; load again", cf.ErrUnavailable, loadLost)

// A run implements [cf.Run].
type run struct {
	ctx    context.Context // of its flushes
	in     *ingestion
	load   *load
	keys   [][]byte
	values [][]byte
	bytes  int
	closed bool
}

// Write implements [cf.Run].
func (r *run) Write(ctx context.Context, c cf.CellGroups) error {
	limits := cellLimits(r.in.store.Limits())
	return bulk.EachCell(c, func(key, value []byte, operand bool) error {
		if err := limits.check(key, value); err != nil {
			return err
		}
		r.keys = append(r.keys, bytes.Clone(key))
		r.values = append(r.values, appendValue(0, operand, value))
		if r.bytes += len(key) + len(value); r.bytes >= loadBytes || len(r.keys) >= loadCells {
			return r.flush(ctx)
		}
		return nil
	})
}

// Close implements [cf.Run].
func (r *run) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	err := r.flush(r.ctx)
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	r.in.open--
	return err
}

// flush commits the cells that wait.
func (r *run) flush(ctx context.Context) error {
	if len(r.keys) == 0 {
		return nil
	}
	if err := r.in.store.ready(ctx); err != nil {
		return err
	}
	if err := r.load.live(ctx, r.in.store); err != nil {
		return err
	}
	_, err := bounded(ctx, r.in.store, func(ctx context.Context) (cf.Position, error) {
		return again(ctx, func() (cf.Position, error) { return r.put(ctx) })
	})
	if err == nil {
		r.load.add(r.keys[0], r.keys[len(r.keys)-1])
		r.keys, r.values, r.bytes = nil, nil, 0
	}
	return err
}

func (r *run) put(ctx context.Context) (cf.Position, error) {
	a, err := r.in.store.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer a.end()
	if err := a.isLoad(ctx, r.load.id); err != nil {
		return 0, err
	}
	for i, key := range r.keys {
		if err := a.set(ctx, a.store.keys.cell(r.load.id, key), r.values[i]); err != nil {
			return 0, err
		}
	}
	return a.commit(ctx)
}

// add makes the keys from first to last part of the span.
func (l *load) add(first, last []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.span.end == "" || string(first) < l.span.start {
		l.span.start = string(first)
	}
	l.span.end = max(l.span.end, string(last)+"\x00")
}

// live gives a sign of life if that is due.
func (l *load) live(ctx context.Context, s *Store) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.alive) < loadBeat {
		return nil
	}
	err := s.changeLoad(ctx, l.id, func(a *attempt, key []byte) error { return a.set(ctx, key, appendLoad(a.start)) })
	if err == nil {
		l.alive = time.Now()
	}
	return err
}

// changeLoad changes the record of an unfinished load.
func (s *Store) changeLoad(ctx context.Context, id uint32, change func(a *attempt, key []byte) error) error {
	_, err := again(ctx, func() (cf.Position, error) {
		a, err := s.begin(ctx)
		if err != nil {
			return 0, err
		}
		defer a.end()
		if err := a.isLoad(ctx, id); err != nil {
			return 0, err
		}
		if err := change(a, s.keys.garbage(id)); err != nil {
			return 0, wrap(ctx, err)
		}
		return a.commit(ctx)
	})
	return err
}

func (a *attempt) isLoad(ctx context.Context, id uint32) error {
	record, err := a.get(ctx, a.store.keys.garbage(id))
	if err != nil {
		return err
	}
	if _, ok := aliveAt(record); !ok {
		return errLoadLost
	}
	return nil
}
