package cftikv

import (
	"context"
	"encoding/binary"
	"maps"

	"github.com/tikv/client-go/v2/oracle"

	"github.com/smolwc/smolwc/cf"
)

// Several processes write a store: this file implements the parts of [cf.Shared] that are
// not in every write.

var (
	_ cf.Shared    = (*Store)(nil)
	_ cf.Versioned = (*snapshot)(nil)
	_ cf.Stamper   = (*txn)(nil)
)

// Now implements [cf.Shared]: it is the clock of TiKV's placement driver.
func (s *Store) Now(ctx context.Context) (int64, error) {
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	ts, err := s.now(ctx)
	return micros(ts), err
}

// TimeOf implements [cf.Shared]: a position is the timestamp of a commit.
func (s *Store) TimeOf(at cf.Position) int64 { return micros(uint64(at)) }

// micros is the time of a timestamp of TiKV in microseconds. It ascends with the
// timestamps, but several may have the same time.
func micros(ts uint64) int64 {
	return oracle.ExtractPhysical(ts)*1000 + min(oracle.ExtractLogical(ts), preciseLogical)
}

// CatalogVersion implements [cf.Versioned].
func (s *snapshot) CatalogVersion(ctx context.Context) (uint64, error) {
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.findState(ctx); err != nil {
		return 0, err
	}
	return s.state.catalog, nil
}

// demandCatalog makes the attempt fail unless the catalog is at the version that a batch
// demands.
func (a *attempt) demandCatalog(b *cf.Batch) {
	version, ok := b.DemandsCatalog()
	if !ok {
		return
	}
	a.checks = append(a.checks, func(ctx context.Context, commit uint64) error {
		now, err := a.stateAt(ctx, commit)
		if err == nil && now.catalog != version {
			err = cf.ErrCatalogChanged
		}
		return err
	})
}

// stamps gives the timestamps of rows. A row's sentinel holds the last one. The row's next
// writer gives greater ones: it read the sentinel, under a lock or so that it conflicts
// with others, or it began after the commit of the sentinel. For that, a commit waits until
// it is not before a timestamp that it gives.
type stamps struct {
	keys     keyspace
	start    uint64           // of the attempt
	last     map[string]int64 // by the key of the sentinel
	greatest int64            // of those that were given
}

// preciseLogical bounds the logical part of the timestamps that have a microsecond of their
// own.
const preciseLogical = 999

// isPrecise reports whether all earlier timestamps are of an earlier microsecond.
func isPrecise(ts uint64) bool { return oracle.ExtractLogical(ts) < preciseLogical }

func newStamps(keys keyspace, start uint64) stamps {
	return stamps{keys: keys, start: start, last: map[string]int64{}}
}

// found notes the sentinel of a row as it is in the store, nil for a row without one.
func (s *stamps) found(key string, sentinel []byte) {
	s.last[key] = 0
	if len(sentinel) == 16 {
		s.last[key] = int64(binary.BigEndian.Uint64(sentinel[8:]))
	}
}

func (s *stamps) knows(key []byte) bool {
	_, ok := s.last[string(key)]
	return ok
}

// next is the next timestamp of a row.
func (s *stamps) next(r cf.RowID) int64 {
	key := string(s.keys.sentinel(r))
	s.last[key] = max(micros(s.start), s.last[key]+1)
	s.greatest = max(s.greatest, s.last[key])
	return s.last[key]
}

// take makes the commit keep the timestamps that its transaction gave.
func (s *stamps) take(given *stamps) {
	maps.Copy(s.last, given.last)
	s.greatest = max(s.greatest, given.greatest)
}

// sentinel is the value of a sentinel that the attempt writes: its start, and the last
// timestamp of the row, or one that is later.
func (s *stamps) sentinel(key []byte) []byte {
	last, ok := s.last[string(key)]
	if !ok {
		last = micros(s.start)
	}
	value := binary.BigEndian.AppendUint64(make([]byte, 0, 16), s.start)
	return binary.BigEndian.AppendUint64(value, uint64(last))
}

// before is the last timestamp of TiKV that is before one that was given.
func (s *stamps) before() uint64 {
	return max(1, oracle.ComposeTS(s.greatest/1000, s.greatest%1000)) - 1
}
