package cftikv

import (
	"bytes"
	"context"
	cryptorand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tikv/client-go/v2/oracle"

	"github.com/smolwc/smolwc/cf"
)

// A janitor does the store's own upkeep, in one process at a time: it moves the safepoint
// of the cluster, destroys the cells of families that were dropped, and compacts families
// that need it. Each process also protects its own old snapshots.
type janitor struct {
	end     func()
	running sync.WaitGroup
}

// janitorPause is the time between two rounds.
const janitorPause = time.Minute

// janitorJob is the name of the janitor's lease.
const janitorJob = "store"

func (s *Store) startJanitor() {
	var ctx context.Context
	ctx, s.janitor.end = context.WithCancel(context.Background())
	s.janitor.running.Go(func() {
		defer s.unprotect()
		repeat(ctx, func() { s.report(ctx, "cannot protect old snapshots", s.protect(ctx)) })
	})
	s.janitor.running.Go(func() { repeat(ctx, func() { s.clean(ctx) }) })
}

// repeat calls fn after each pause until the context ends.
func repeat(ctx context.Context, fn func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(janitorPause/2 + rand.N(janitorPause)):
			fn()
		}
	}
}

// clean does the work of the janitor for as long as no other process does.
func (s *Store) clean(ctx context.Context) {
	l, err := s.lead(ctx, janitorJob)
	if errors.Is(err, cf.ErrBusy) {
		return
	}
	if err != nil {
		s.report(ctx, "cannot begin the upkeep of the store", err)
		return
	}
	defer l.resign()
	c := collector{store: s}
	repeat(l.ctx, func() { s.report(l.ctx, "the upkeep of the store has failed", s.round(l, &c)) })
}

// round is one round of the work. A failed step is done in a later round.
func (s *Store) round(l *lease, c *collector) error {
	safe, err := c.collect(l.ctx)
	if err == nil {
		err = s.destroy(l, safe)
	}
	if err == nil {
		err = s.sweepSentinels(l, safe)
	}
	return errors.Join(err, s.dropLoads(l), s.compactDue(l))
}

func (s *Store) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		s.logger.Warn(what, slog.String("store", s.keys.prefix), slog.Any("error", err))
	}
}

// A lease is the right to do a job, which one leader at a time holds. Its record in TiKV
// names the leader, and the time until which nobody else may take the job. It is the time
// of PD, which all processes share.
type lease struct {
	store   *Store
	job     string
	owner   []byte
	ctx     context.Context // of the work: it ends when the lease may be lost
	end     func()
	keeping sync.WaitGroup
}

const (
	leaseTerm  = time.Minute
	leasePause = leaseTerm / 3 // between renewals
	// resignTimeout bounds the wait for the end of a lease. A lease that is not ended
	// ends by itself.
	resignTimeout = time.Second
)

var (
	_       cf.Elector = (*Store)(nil)
	errHeld            = fmt.Errorf("the job is %w", cf.ErrBusy)
)

// Lead implements [cf.Elector].
func (s *Store) Lead(ctx context.Context, job string) (context.Context, func(), error) {
	if err := s.ready(ctx); err != nil {
		return nil, nil, err
	}
	l, err := s.lead(ctx, job)
	if err != nil {
		return nil, nil, err
	}
	return l.ctx, sync.OnceFunc(l.resign), nil
}

func (s *Store) lead(ctx context.Context, job string) (*lease, error) {
	l := &lease{store: s, job: job, owner: make([]byte, 16)}
	cryptorand.Read(l.owner)
	began := time.Now()
	err := l.update(ctx, func(held record, now int64) (record, error) {
		if held.until > now {
			return held, errHeld
		}
		return l.renewed(now), nil
	})
	if err != nil {
		return nil, err
	}
	l.ctx, l.end = context.WithCancel(ctx)
	l.keeping.Go(func() {
		defer l.end()
		l.keep(began)
	})
	return l, nil
}

// keep renews the lease until it ends, or could not be renewed in time. last is before
// the last renewal.
func (l *lease) keep(last time.Time) {
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-time.After(leasePause):
		}
		began := time.Now()
		ctx, cancel := context.WithDeadline(l.ctx, last.Add(leaseTerm))
		err := l.update(ctx, func(held record, now int64) (record, error) {
			if !held.of(l) {
				return held, errHeld
			}
			return l.renewed(now), nil
		})
		late := ctx.Err() != nil
		cancel()
		if late || errors.Is(err, errHeld) {
			return
		}
		if err == nil {
			last = began
		}
	}
}

// resign gives the job back.
func (l *lease) resign() {
	l.end()
	l.keeping.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), resignTimeout)
	defer cancel()
	l.update(ctx, func(held record, _ int64) (record, error) {
		if !held.of(l) {
			return held, errHeld
		}
		return record{}, nil
	})
}

// check is a check of an attempt: the lease must be held at its commit. So a process that
// was paused changes nothing that its successor began to rely on.
func (l *lease) check(ctx context.Context, commit uint64) error {
	value, err := get(ctx, l.store.client.GetSnapshot(commit), l.store.keys.lease(l.job))
	if err != nil {
		return err
	}
	if held := decodeRecord(value); !held.of(l) || held.until <= oracle.ExtractPhysical(commit) {
		return fmt.Errorf("this process has lost the job %q: %w", l.job, errHeld)
	}
	return nil
}

// update changes the record in a transaction. now is the time of PD in milliseconds.
func (l *lease) update(ctx context.Context, change func(held record, now int64) (record, error)) error {
	_, err := again(ctx, func() (cf.Position, error) {
		key := l.store.keys.lease(l.job)
		a, err := l.store.begin(ctx, key)
		if err != nil {
			return 0, err
		}
		defer a.end()
		value, err := a.get(ctx, key)
		if err != nil {
			return 0, err
		}
		next, err := change(decodeRecord(value), oracle.ExtractPhysical(a.start))
		if err != nil {
			return 0, err
		}
		if err := a.set(ctx, key, next.append(nil)); err != nil {
			return 0, err
		}
		return a.commit(ctx)
	})
	return err
}

// A record is a lease as TiKV stores it. The zero record is nobody's.
type record struct {
	owner []byte
	until int64 // in milliseconds
}

func (l *lease) renewed(now int64) record { return record{l.owner, now + leaseTerm.Milliseconds()} }

func (r record) of(l *lease) bool { return bytes.Equal(r.owner, l.owner) }

func (r record) append(dst []byte) []byte {
	return append(binary.BigEndian.AppendUint64(dst, uint64(r.until)), r.owner...)
}

// decodeRecord takes a record that it cannot read for nobody's: a lease protects nothing
// that is not checked at its commit too.
func decodeRecord(value []byte) record {
	if len(value) < 8 {
		return record{}
	}
	return record{value[8:], int64(binary.BigEndian.Uint64(value))}
}
