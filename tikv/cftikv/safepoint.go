package cftikv

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/tikv/client-go/v2/oracle"
	"github.com/tikv/client-go/v2/tikv"
)

// TiKV keeps the versions of a key that a snapshot at the safepoint of the cluster needs,
// or a later one. TiDB moves the safepoint; where there is no TiDB, the janitor does. PD
// knows the snapshots that somebody needs: its service safepoints.

const (
	// keptVersions is how long a snapshot needs no protection. It is more than
	// longestWrite: the locks of older transactions are removed.
	keptVersions = 2 * longestWrite
	// collectPause is about the time between two moves of the safepoint: a move looks
	// for locks in all regions of the cluster.
	collectPause = 10 * time.Minute
	// announceTime is how long a safepoint is known before it takes effect. Clients of
	// TiKV that have not learnt of it by then refuse to read.
	announceTime = tikv.GcSafePointCacheInterval + 10*time.Second

	// A process protects a snapshot once it was open for protectAfter, and no longer than
	// protectFor.
	protectAfter = janitorPause
	protectFor   = 24 * time.Hour
	// protectTerm is how long the protection of a process that was killed lasts.
	protectTerm = 10 * time.Minute
)

// gcWorker is the service whose safepoint is the one that TiKV may move to.
const gcWorker = "gc_worker"

// A collector moves the safepoint of the cluster. First it announces it.
type collector struct {
	store     *Store
	announced uint64 // 0 is nothing
	at        time.Time
}

// collect does the next step that is due. It returns the safepoint in force: nobody can
// read at an earlier timestamp.
func (c *collector) collect(ctx context.Context) (uint64, error) {
	s := c.store
	force, err := s.client.GetPDClient().UpdateGCSafePoint(ctx, 0) // which never goes back
	if err != nil || s.foreignGC {
		return force, wrap(ctx, err)
	}
	if c.announced == 0 {
		return force, c.announce(ctx, force)
	}
	if time.Since(c.at) < announceTime {
		return force, nil
	}
	next := c.announced
	c.announced = 0
	if saved, err := s.savedSafepoint(); err != nil || saved < next {
		return force, err // another collector announced an earlier one at the same time
	}
	force, err = s.client.GC(ctx, next)
	return force, wrap(ctx, err)
}

// announce chooses the next safepoint, and lets all clients know.
func (c *collector) announce(ctx context.Context, force uint64) error {
	s := c.store
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	next := oracle.GoTimeToTS(oracle.GetTimeFromTS(now).Add(-keptVersions))
	if oracle.GetTimeFromTS(next).Sub(oracle.GetTimeFromTS(force)) < collectPause {
		return nil
	}
	needed, err := s.client.GetPDClient().UpdateServiceGCSafePoint(ctx, gcWorker, math.MaxInt64, next)
	if err != nil {
		return wrap(ctx, err)
	}
	next = min(next, needed)
	saved, err := s.savedSafepoint()
	if err != nil || next <= force {
		return err
	}
	if saved < next {
		if err := s.client.GetSafePointKV().Put(tikv.GcSavedSafePoint, strconv.FormatUint(next, 10)); err != nil {
			return wrap(ctx, err)
		}
	}
	c.announced, c.at = next, time.Now()
	return nil
}

// savedSafepoint is the last one that was announced, 0 before the first one.
func (s *Store) savedSafepoint() (uint64, error) {
	text, err := s.client.GetSafePointKV().Get(tikv.GcSavedSafePoint)
	if err != nil || text == "" {
		return 0, wrap(context.Background(), err)
	}
	ts, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the safepoint in PD: %w", err)
	}
	return ts, nil
}

// protection is a store's claim on the collector.
type protection struct {
	mu        sync.Mutex
	opened    map[*snapshot]time.Time
	protected bool // PD knows a safepoint of this store
}

func (p *protection) add(s *snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opened == nil {
		p.opened = map[*snapshot]time.Time{}
	}
	p.opened[s] = time.Now()
}

func (p *protection) remove(s *snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.opened, s)
}

func (p *protection) count() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(len(p.opened))
}

// oldest is the timestamp of the oldest snapshot that needs protection, 0 if none does.
func (p *protection) oldest(now time.Time) (ts uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s, opened := range p.opened {
		if age := now.Sub(opened); age >= protectAfter && age < protectFor && (ts == 0 || s.ts < ts) {
			ts = s.ts
		}
	}
	return ts
}

// protect lets PD know the oldest snapshot of this store.
func (s *Store) protect(ctx context.Context) error {
	oldest := s.snapshots.oldest(time.Now())
	if oldest == 0 {
		return s.unprotect()
	}
	s.snapshots.protected = true
	_, err := s.client.GetPDClient().UpdateServiceGCSafePoint(ctx, s.service, int64(protectTerm.Seconds()), oldest)
	return wrap(ctx, err)
}

// unprotect ends the protection.
func (s *Store) unprotect() error {
	if !s.snapshots.protected {
		return nil
	}
	s.snapshots.protected = false
	ctx, cancel := context.WithTimeout(context.Background(), resignTimeout)
	defer cancel()
	_, err := s.client.GetPDClient().UpdateServiceGCSafePoint(ctx, s.service, 0, 0)
	return wrap(ctx, err)
}
