package cftikv

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/outbox"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
)

const (
	lookupsAtOnce = 16 // requests for the timestamps of commits
	entriesAtOnce = 16 // in one read
	fewKeys       = 32 // of each shard at first, then more and more
	mostKeys      = 1024
	mostStarts    = 64 // of ChangeStarts
)

// changeLog implements [cf.Changes]. It gives the commits after a position up to its
// snapshot, in the order of their timestamps; nothing can be committed there later.
// The keys of the log are in the order in which the attempts began, at most noteTerm
// before they committed. So it reads the keys from noteTerm before its position on, and
// asks for the timestamp of each commit.
type changeLog struct {
	store   *Store
	after   uint64       // everything up to here was given
	through uint64       // waiting holds all commits up to here
	waiting []logged     // in order
	ready   []*cf.Commit // the first of them
	most    int          // keys of each shard to look at
	closed  bool
}

type logged struct {
	entryKey
	commit uint64
}

// Changes implements [cf.ChangeLog]. The commits of all processes are there as soon as
// they have been made. The position of a commit is its timestamp.
func (s *Store) Changes(after cf.Position) (cf.Changes, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := s.logHas(ctx, uint64(after)); err != nil {
		return nil, err
	}
	return &changeLog{store: s, after: uint64(after), most: fewKeys}, nil
}

// logHas returns a timestamp of now, or ErrTrimmed if the log does not have the commits
// between a position and now.
func (s *Store) logHas(ctx context.Context, after uint64) (uint64, error) {
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	now, err := s.now(ctx)
	if err != nil {
		return 0, err
	}
	st, err := s.stateAt(ctx, now)
	if err != nil {
		return 0, err
	}
	if st.log == logOff || after < st.log || after > now {
		return 0, cf.ErrTrimmed
	}
	return now, nil
}

// ChangeStarts implements [cf.ChangeLog]. Every timestamp is a position, so these are
// evenly spread.
func (s *Store) ChangeStarts() (starts []cf.Position, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	st, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	now, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	if st.log != logOff && st.log < now {
		step := max(1, (now-st.log)/mostStarts)
		for at := st.log; at < now && len(starts) < mostStarts; at += step {
			starts = append(starts, cf.Position(at))
		}
	}
	return append(starts, cf.Position(now)), nil
}

// Position implements [cf.Changes].
func (c *changeLog) Position() cf.Position { return cf.Position(c.after) }

// Close implements [cf.Changes].
func (c *changeLog) Close() { c.closed = true }

// Next implements [cf.Changes].
func (c *changeLog) Next(ctx context.Context) (*cf.Commit, error) {
	if c.closed {
		return nil, cf.ErrClosed
	}
	if err := c.store.ready(ctx); err != nil {
		return nil, err
	}
	if len(c.ready) == 0 && len(c.waiting) == 0 {
		if err := c.look(ctx); err != nil {
			return nil, err
		}
	}
	if len(c.ready) == 0 && len(c.waiting) > 0 {
		if err := c.fetch(ctx); err != nil {
			return nil, err
		}
	}
	if len(c.ready) == 0 {
		return nil, nil
	}
	k := c.ready[0]
	c.ready = c.ready[1:]
	c.after = uint64(k.At)
	return k, nil
}

// look finds the next commits. Without any, the log was read up to now.
func (c *changeLog) look(ctx context.Context) error {
	c.after = max(c.after, c.through)
	now, err := c.store.logHas(ctx, c.after)
	if err != nil {
		return err
	}
	for most := c.most; ; most *= 4 {
		found, through, err := c.keys(ctx, now, most)
		if err != nil {
			return err
		}
		commits, err := c.findCommits(ctx, now, found)
		if err != nil {
			return err
		}
		for i, at := range commits {
			if c.after < at && at <= through {
				c.waiting = append(c.waiting, logged{found[i], at})
			}
		}
		if c.through = through; len(c.waiting) > 0 || through == now {
			break
		}
	}
	c.most = min(4*c.most, mostKeys)
	slices.SortFunc(c.waiting, func(a, b logged) int { return cmp.Compare(a.commit, b.commit) })
	if len(c.waiting) == 0 {
		c.after = c.through
	}
	return nil
}

// keys lists the next keys of each shard. All commits up to through are among them.
func (c *changeLog) keys(ctx context.Context, now uint64, most int) (found []entryKey, through uint64, err error) {
	through = now
	for shard := range byte(shards) {
		keys, full, err := c.store.scanEntries(ctx, now, shard, before(c.after, noteTerm), now, most)
		if err != nil {
			return nil, 0, err
		}
		if !full {
			through = min(through, keys[len(keys)-1].start)
		}
		found = append(found, keys...)
	}
	return found, through, nil
}

// findCommits learns the timestamps of the commits that it does not know.
func (c *changeLog) findCommits(ctx context.Context, now uint64, found []entryKey) (commits []uint64, err error) {
	commits = make([]uint64, len(found))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(lookupsAtOnce)
	for i, k := range found {
		if commits[i] = c.store.commits.get(k.start); commits[i] != 0 {
			continue
		}
		g.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			commits[i], err = c.store.commitOf(ctx, k, now)
			return err
		})
	}
	return commits, g.Wait()
}

// commitOf is the timestamp at which an entry was committed that a snapshot shows. TiKV
// keeps it with the entry. The protocol of transactions asks for it in the same way, to
// resolve locks, so every version of TiKV gives it; a read of the key would not.
func (s *Store) commitOf(ctx context.Context, k entryKey, at uint64) (uint64, error) {
	status, err := s.client.GetLockResolver().GetTxnStatus(k.start, at, k.part(s.keys, 0))
	if err != nil {
		return 0, wrap(ctx, err)
	}
	if !status.IsCommitted() {
		return 0, cf.ErrTrimmed // and collected, meanwhile
	}
	s.commits.put(k.start, status.CommitTS())
	return status.CommitTS(), nil
}

// commits are timestamps of commits by the starts of their attempts.
type commits struct {
	mu      sync.Mutex
	byStart map[uint64]uint64
}

// knownCommits bounds the timestamps that are kept.
const knownCommits = 1 << 16

// get returns 0 for a commit that is not known.
func (c *commits) get(start uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byStart[start]
}

func (c *commits) put(start, commit uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byStart == nil || len(c.byStart) >= knownCommits {
		c.byStart = map[uint64]uint64{}
	}
	c.byStart[start] = commit
}

// fetch reads the entries of the next commits.
func (c *changeLog) fetch(ctx context.Context) error {
	now, err := c.store.logHas(ctx, c.after)
	if err != nil {
		return err
	}
	st, err := c.store.stateAt(ctx, now)
	if err != nil {
		return err
	}
	next := c.next()
	var keys [][]byte
	for _, k := range next {
		for i := range k.parts {
			keys = append(keys, k.part(c.store.keys, i))
		}
	}
	values, err := regions.Get(ctx, c.store.client, regions.Options{At: now, NoFillCache: true}, keys...)
	if err != nil {
		return err
	}
	for _, k := range next {
		commit, err := k.decode(values[:k.parts], st)
		if err != nil {
			return err
		}
		c.ready = append(c.ready, commit)
		values = values[k.parts:]
	}
	c.waiting = c.waiting[len(next):]
	return nil
}

// next are the first commits that wait: some small ones, or a large one.
func (c *changeLog) next() []logged {
	n := 1
	for n < min(len(c.waiting), entriesAtOnce) && c.waiting[0].parts == 1 && c.waiting[n].parts == 1 {
		n++
	}
	return c.waiting[:n]
}

func (k logged) decode(parts [][]byte, st *state) (*cf.Commit, error) {
	if slices.ContainsFunc(parts, func(p []byte) bool { return p == nil }) {
		return nil, cf.ErrTrimmed
	}
	ops, err := outbox.Decode(slices.Concat(parts...), func(f outbox.Family) bool {
		now, ok := st.families[f.Name]
		return ok && now.born == f.Born
	})
	if err != nil {
		return nil, fmt.Errorf("commit %d: %w: %w", k.commit, err, cf.ErrCorrupt)
	}
	return &cf.Commit{Before: cf.Position(k.commit - 1), At: cf.Position(k.commit), Ops: ops}, nil
}
