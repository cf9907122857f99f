package cftikv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tikv/client-go/v2/oracle"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
)

// destroyConcurrency is the number of regions whose cells are destroyed at the same time.
const destroyConcurrency = 2

// appendGarbage encodes the record of a family that is dropped by an attempt.
func appendGarbage(start uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{format}, start)
}

// destroy removes the cells of families that were dropped before the safepoint, with all
// their versions: no snapshot can have them. It needs no lease for that, since the number
// of a family is never given again, and a writer that did not see the drop does not commit.
// The lease keeps two processes from doing it at the same time.
func (s *Store) destroy(l *lease, safe uint64) error {
	gone, err := s.garbage(l.ctx, safe)
	if err != nil {
		return err
	}
	for _, id := range gone {
		cells := s.keys.cells(id)
		if _, err := s.client.DeleteRange(l.ctx, cells, after(cells), destroyConcurrency); err != nil {
			return wrap(l.ctx, err)
		}
		if err := s.forget(l, s.keys.garbage(id), s.keys.swept(id)); err != nil {
			return err
		}
	}
	return nil
}

// garbage lists the families that were dropped before the safepoint. A record holds the
// start of the attempt that dropped it, which committed within the time of a write.
func (s *Store) garbage(ctx context.Context, safe uint64) (gone []uint32, err error) {
	now, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	prefix := s.keys.garbages()
	err = s.each(ctx, now, 0, prefix, after(prefix), func(key, value []byte) error {
		if _, load := aliveAt(value); load {
			return nil
		}
		if len(key) != len(prefix)+4 || len(value) != 9 || value[0] != format {
			return fmt.Errorf("the record %q of a dropped family: %w", key, cf.ErrCorrupt)
		}
		committed := oracle.ExtractPhysical(binary.BigEndian.Uint64(value[1:])) + longestWrite.Milliseconds()
		if committed < oracle.ExtractPhysical(safe) {
			gone = append(gone, binary.BigEndian.Uint32(key[len(prefix):]))
		}
		return nil
	})
	return gone, err
}

// dropLoads makes loads that have given no sign of life for long families that were
// dropped. They can no longer be committed then.
func (s *Store) dropLoads(l *lease) error {
	now, err := s.now(l.ctx)
	if err != nil {
		return err
	}
	prefix := s.keys.garbages()
	var dead []uint32
	err = s.each(l.ctx, now, 0, prefix, after(prefix), func(key, value []byte) error {
		if alive, load := aliveAt(value); load && lost(alive, now) {
			dead = append(dead, binary.BigEndian.Uint32(key[len(prefix):]))
		}
		return nil
	})
	for _, id := range dead {
		err = errors.Join(err, s.changeRecords(l, func(a *attempt) error { return a.dropLoad(l.ctx, id) }))
	}
	return err
}

func (a *attempt) dropLoad(ctx context.Context, id uint32) error {
	key := a.store.keys.garbage(id)
	record, err := a.get(ctx, key)
	if err != nil {
		return err
	}
	if alive, load := aliveAt(record); !load || !lost(alive, a.start) {
		return nil
	}
	return a.set(ctx, key, appendGarbage(a.start))
}

// forget deletes records of the janitor.
func (s *Store) forget(l *lease, keys ...[]byte) error {
	return s.changeRecords(l, func(a *attempt) error {
		for _, key := range keys {
			if err := a.kv.Delete(key); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) changeRecords(l *lease, change func(*attempt) error) error {
	_, err := again(l.ctx, func() (cf.Position, error) {
		a, err := s.begin(l.ctx)
		if err != nil {
			return 0, err
		}
		defer a.end()
		if err := change(a); err != nil {
			return 0, wrap(l.ctx, err)
		}
		a.checks = append(a.checks, l.check)
		return a.commit(l.ctx)
	})
	return err
}

// compactDue compacts the families that have drops or layers, and looks for expired cells in those
// where this was last done a period ago.
func (s *Store) compactDue(l *lease) error {
	st, err := s.latest(l.ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(st.families)) {
		f := st.families[name]
		due, err := s.sweepIsDue(l.ctx, name, f)
		if err != nil {
			return err
		}
		if len(f.drops) == 0 && len(f.layers) == 0 && !due {
			continue
		}
		gone := doomed{drops: f.drops, checks: []check{l.check}}
		if due {
			s.expire(&gone, name, st)
		}
		if err := s.compactFamily(l.ctx, name, f, gone, cf.Range{}); err != nil {
			return fmt.Errorf("family %s: %w", name, err)
		}
		if due {
			err = s.note(l, s.keys.swept(f.id))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sweepIsDue reports whether it is time to look for the expired cells of a family.
func (s *Store) sweepIsDue(ctx context.Context, name string, f family) (bool, error) {
	e := s.expiry(name)
	if e.Period == 0 || e.Before == 0 {
		return false, nil
	}
	now, err := s.now(ctx)
	if err != nil {
		return false, err
	}
	return s.isDue(ctx, now, s.keys.swept(f.id), e.Period)
}

// isDue reports whether the time in a record is a period ago, or there is no record.
func (s *Store) isDue(ctx context.Context, now uint64, key []byte, period time.Duration) (bool, error) {
	value, err := get(ctx, s.client.GetSnapshot(now), key)
	if err != nil || len(value) != 8 {
		return err == nil, err
	}
	last := time.UnixMilli(int64(binary.BigEndian.Uint64(value)))
	return oracle.GetTimeFromTS(now).Sub(last) >= period, nil
}

// note puts the time into a record.
func (s *Store) note(l *lease, key []byte) error {
	return s.changeRecords(l, func(a *attempt) error {
		now := binary.BigEndian.AppendUint64(nil, uint64(oracle.ExtractPhysical(a.start)))
		return a.set(l.ctx, key, now)
	})
}

// sentinelPeriod is the time between two sweeps of old sentinels.
const sentinelPeriod = 24 * time.Hour

// sweepSentinels deletes the sentinels of commits before the safepoint, once in a period.
// Nobody needs them: the timestamps that they hold precede all later writes', and every
// transaction that can still commit began after these commits.
func (s *Store) sweepSentinels(l *lease, safe uint64) error {
	now, err := s.now(l.ctx)
	if err != nil || safe == 0 {
		return err
	}
	if due, err := s.isDue(l.ctx, now, s.keys.sentinelsSwept(), sentinelPeriod); !due || err != nil {
		return err
	}
	for from, more := []byte(nil), true; more; {
		if s.ended.Load() {
			return nil
		}
		from, err = again(l.ctx, func() ([]byte, error) { return s.sweepSome(l, safe, from) })
		if more = from != nil; err != nil {
			return err
		}
	}
	return s.note(l, s.keys.sentinelsSwept())
}

// sweepSome deletes the first of the old sentinels from a key on, and returns the key to go
// on from, nil at their end. A row that is written meanwhile is a conflict.
func (s *Store) sweepSome(l *lease, safe uint64, from []byte) (next []byte, err error) {
	a, err := s.begin(l.ctx)
	if err != nil {
		return nil, err
	}
	defer a.end()
	prefix := s.keys.allSentinels()
	it := regions.New(s.client, regions.Options{At: a.start, Prefix: prefix, NoFillCache: true})
	defer it.Close()
	deleted, looked := 0, 0
	for it.Seek(l.ctx, from); it.Valid(); it.Next(l.ctx) {
		if deleted == compactedKeys || looked == lookedAtKeys {
			next = bytes.Clone(it.Key())
			break
		}
		looked++
		if before(safe, longestWrite) <= sentinelStart(it.Value()) {
			continue
		}
		deleted++
		if err := a.kv.Delete(append(bytes.Clone(prefix), it.Key()...)); err != nil {
			return nil, wrap(l.ctx, err)
		}
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	a.checks = append(a.checks, l.check)
	_, err = a.commit(l.ctx)
	return next, err
}
