package cftikv

import (
	"context"
	"errors"
	"time"
)

// A Janitor does rounds of the janitor's work when a test wants them.
type Janitor struct {
	l *lease
	c collector
}

// Janitor makes the store the leader of its upkeep.
func (s *Store) Janitor(ctx context.Context) (*Janitor, error) {
	l, err := s.lead(ctx, janitorJob)
	return &Janitor{l, collector{store: s}}, err
}

func (j *Janitor) Round() error { return j.l.store.round(j.l, &j.c) }

func (j *Janitor) Resign() { j.l.resign() }

// Wait lets the time pass in which clients learn of a safepoint.
func (j *Janitor) Wait() { j.c.at = j.c.at.Add(-announceTime) }

// Protect protects the snapshots that the store has open, as if they had been open for
// some time.
func (s *Store) Protect(ctx context.Context, open time.Duration) error {
	s.snapshots.mu.Lock()
	for snap := range s.snapshots.opened {
		s.snapshots.opened[snap] = time.Now().Add(-open)
	}
	s.snapshots.mu.Unlock()
	return s.protect(ctx)
}

// The times of the janitor.
const (
	LeaseTerm    = leaseTerm
	KeptVersions = keptVersions
	CollectPause = collectPause
	LongestWrite = longestWrite
	ProtectAfter = protectAfter
	ProtectFor   = protectFor
	LoadLost     = loadLost
)

// Entries counts the entries of the log of changes, also those out of sight.
func (s *Store) Entries(ctx context.Context) (n int, err error) {
	now, err := s.now(ctx)
	for shard := range byte(shards) {
		found, _, scanErr := s.scanEntries(ctx, now, shard, 0, now, 1000)
		n, err = n+len(found), errors.Join(err, scanErr)
	}
	return n, err
}

// Layers is the number of layers of a family.
func (s *Store) Layers(family string) int { return len(s.newest().families[family].layers) }
