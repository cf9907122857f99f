package cftikv

import (
	"context"
	"encoding/binary"
	"math"
	"time"

	"github.com/tikv/client-go/v2/oracle"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/outbox"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
)

// The places of a log without a first position.
const (
	logOff    = 0              // the log is not kept
	logBegins = math.MaxUint64 // commits enter the log; its first position is not known yet
)

const (
	// shards divide the log between TiKV's regions.
	shards = 8
	// entryPart bounds a part of an entry, in bytes. TiKV takes values of up to 6 MiB.
	entryPart = 4 << 20
	// noteTerm bounds the time from the start of an attempt to its commit, if its batch
	// carries notes. A reader looks for new entries among those that began this long ago.
	noteTerm = 10 * time.Second
)

// An entryKey is the key of the first part of an entry in the log of changes: it holds the
// start of the attempt that made the commit.
type entryKey struct {
	start uint64
	parts uint16
}

func (k entryKey) part(keys keyspace, part uint16) []byte {
	key := binary.BigEndian.AppendUint64(keys.entries(shardOf(k.start)), k.start)
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(key, k.parts), part)
}

// shardOf spreads timestamps: their lowest bits are often zero, as those above them are
// in time.
func shardOf(start uint64) byte { return byte(start * 0x9e3779b97f4a7c15 >> 61) }

// parseEntryKey takes the part after the shard in a key. ok is false for a later part.
func parseEntryKey(rest []byte) (k entryKey, ok bool) {
	if len(rest) != 12 {
		return k, false
	}
	k = entryKey{binary.BigEndian.Uint64(rest), binary.BigEndian.Uint16(rest[8:])}
	return k, binary.BigEndian.Uint16(rest[10:]) == 0
}

// log makes the entry of a batch with notes part of the attempt, if the log is kept.
func (a *attempt) log(ctx context.Context, b *cf.Batch, st *state) error {
	if b.Notes() == 0 {
		return nil
	}
	if st == nil {
		st = a.store.states.cached()
	}
	kept := st.log != logOff
	a.checks = append(a.checks, a.expect(func(now *state) bool { return kept == (now.log != logOff) }))
	if !kept {
		return nil
	}
	a.checks = append(a.checks, func(_ context.Context, commit uint64) error {
		if oracle.GetTimeFromTS(commit).Sub(oracle.GetTimeFromTS(a.start)) > noteTerm {
			return errAgain
		}
		return nil
	})
	return a.putEntry(ctx, outbox.Append(nil, b, func(family string) uint32 { return st.families[family].born }))
}

// expect is a check that the attempt is done again unless the state of the store is as the
// attempt assumed.
func (a *attempt) expect(same func(now *state) bool) check {
	return func(ctx context.Context, commit uint64) error {
		now, err := a.stateAt(ctx, commit)
		if err == nil && !same(now) {
			err = errAgain
		}
		return err
	}
}

func (a *attempt) putEntry(ctx context.Context, entry []byte) error {
	k := entryKey{a.start, uint16((len(entry) + entryPart - 1) / entryPart)}
	for i := range k.parts {
		part := entry[int(i)*entryPart : min(len(entry), (int(i)+1)*entryPart)]
		if err := a.set(ctx, k.part(a.store.keys, i), part); err != nil {
			return err
		}
	}
	return nil
}

// KeepsChanges implements [cf.ChangeLog], for all processes that have the store open. If
// the cluster cannot be reached, it reports what this process saw last.
func (s *Store) KeepsChanges() bool { return s.newest().log != logOff }

// KeepChanges implements [cf.ChangeLog]. It is a setting of the store, for all processes.
// The entries of commits that were made long before since are removed; some that were made
// shortly before it stay out of sight until a later call.
func (s *Store) KeepChanges(since time.Time) error {
	_, err := bounded(context.Background(), s, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.keepChanges(ctx, since)
	})
	return err
}

func (s *Store) keepChanges(ctx context.Context, since time.Time) error {
	st, err := s.known(ctx)
	if err != nil {
		return err
	}
	if since.IsZero() {
		return s.keepNothing(ctx, st)
	}
	if st.log == logOff {
		err := s.alter(ctx, func(e *edit) error {
			if e.log == logOff {
				e.log = logBegins
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.keepSince(ctx, oracle.GoTimeToTS(since)-1)
}

func (s *Store) keepNothing(ctx context.Context, st *state) error {
	if st.log != logOff {
		if err := s.alter(ctx, func(e *edit) error { e.log = logOff; return nil }); err != nil {
			return err
		}
	}
	return s.removeEntries(ctx)
}

// keepSince moves the begin of the log to a position, if there is anything before it, but
// never beyond the present. The begin of a new log is after all commits without an entry.
func (s *Store) keepSince(ctx context.Context, position uint64) error {
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	st, err := s.stateAt(ctx, now)
	if err != nil {
		return err
	}
	position = min(position, now)
	if st.log == logBegins {
		position = now
	} else if few, err := s.noEntries(ctx, st.log, position); few || err != nil {
		return err
	}
	err = s.alter(ctx, func(e *edit) error {
		if e.log == logBegins || e.log != logOff && e.log < position {
			e.log = position
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.removeEntries(ctx)
}

// noEntries reports whether no commit between two positions is in the log. A commit that
// began before the first one counts too.
func (s *Store) noEntries(ctx context.Context, after, upTo uint64) (bool, error) {
	if upTo <= after {
		return true, nil
	}
	for shard := range byte(shards) {
		found, _, err := s.scanEntries(ctx, upTo, shard, before(after, noteTerm), upTo, 1)
		if len(found) > 0 || err != nil {
			return false, err
		}
	}
	return true, nil
}

// removeEntries deletes the entries of the commits before the begin of the log, apart from
// some that began within noteTerm before it: these may have been made later.
func (s *Store) removeEntries(ctx context.Context) error {
	for shard := range byte(shards) {
		for more := true; more; {
			if s.ended.Load() {
				return cf.ErrClosed
			}
			var err error
			if more, err = again(ctx, func() (bool, error) { return s.removeSome(ctx, shard) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// removedAtOnce is the number of entries that one transaction deletes.
const removedAtOnce = 1000

// removeSome deletes the first entries of a shard, and reports whether there may be more.
func (s *Store) removeSome(ctx context.Context, shard byte) (bool, error) {
	a, err := s.begin(ctx)
	if err != nil {
		return false, err
	}
	defer a.end()
	st, err := s.stateAt(ctx, a.start)
	if err != nil || st.log == logBegins {
		return false, err
	}
	end := a.start
	if st.log != logOff {
		end = before(st.log, noteTerm)
	}
	found, _, err := s.scanEntries(ctx, a.start, shard, 0, end, removedAtOnce)
	if err != nil || len(found) == 0 {
		return false, err
	}
	for _, k := range found {
		for i := range k.parts {
			if err := a.kv.Delete(k.part(s.keys, i)); err != nil {
				return false, wrap(ctx, err)
			}
		}
	}
	a.checks = append(a.checks, a.expect(func(now *state) bool { return now.log == st.log }))
	_, err = a.commit(ctx)
	return len(found) == removedAtOnce, err
}

// before is the timestamp some time before another one.
func before(ts uint64, d time.Duration) uint64 {
	return ts - min(ts, uint64(d.Milliseconds())<<18)
}

// scanEntries lists entries of a shard that began between two timestamps, inclusive, in
// order. full is false if there are more than most.
func (s *Store) scanEntries(ctx context.Context, at uint64, shard byte, from, to uint64, most int) (found []entryKey, full bool, err error) {
	prefix := s.keys.entries(shard)
	it := regions.New(s.client, regions.Options{At: at, Prefix: prefix, KeysOnly: true, NoFillCache: true, Ahead: -1})
	defer it.Close()
	for it.Seek(ctx, binary.BigEndian.AppendUint64(nil, from)); it.Valid(); it.Next(ctx) {
		k, first := parseEntryKey(it.Key())
		if k.start > to {
			break
		}
		if !first {
			continue
		}
		if len(found) == most {
			return found, false, nil
		}
		found = append(found, k)
	}
	return found, true, it.Err()
}
