package standby

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
)

// A Lease says whether a primary may take writes. An elector outside of the servers grants it
// to one server at a time; package standby/lease has one. It is safe for concurrent use.
type Lease interface {
	// Check is nil while the primary holds the lease, by the clock of its machine.
	// Otherwise it says why not, and where to write, if that is known. It is called before
	// each write and before it is acknowledged, so it is quick.
	Check() error
	// SetSyncStandby records the synchronous standby: the one that may take over, since it
	// acknowledges each strict write from now on. It has all changes up to a position. After an
	// error it may be recorded or not.
	SetSyncStandby(ctx context.Context, standby string, after uint64) error
	// Transfer gives the lease to the standby with a name, which has everything up to a
	// position; no other standby may take it. After an error this server may hold it or not.
	Transfer(ctx context.Context, to string, after uint64) error
	// Retain makes the server keep the lease when it stops, until it ends by itself: no standby
	// has all of its changes, and it may be started again before another one takes over.
	Retain()
	// Describe says what this server knows of the lease.
	Describe(*smolwcpb.Lease)
}

// ErrNotYet matches an error of [Open] that may go away: the server that leads does not
// answer, or was not promoted yet, or a person has to move away what was kept aside.
var ErrNotYet = errors.New("the primary is not there yet")

// A notYet matches ErrNotYet.
type notYet struct{ error }

func (e notYet) Is(target error) bool { return target == ErrNotYet }

func (e notYet) Unwrap() error { return e.error }

// checkLease is nil while the lease is held, or without one.
func (q *ackTracker) checkLease() error {
	if q.lease == nil || !q.open.Load() {
		return nil
	}
	if err := q.lease.Check(); err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	return nil
}

func describeLease(l Lease, to *smolwcpb.ListReplicasResponse) {
	if l != nil {
		to.Lease = new(smolwcpb.Lease)
		l.Describe(to.Lease)
	}
}

// A syncStandby is the synchronous standby of a primary with a lease whose writes wait strictly.
// Only its acknowledgements count: so it has each write that was acknowledged.
type syncStandby struct {
	name  string // "": no standby counts
	floor uint64 // all writes that were acknowledged before this process are up to here
}

const (
	chooseEvery         = 100 * time.Millisecond
	syncStandbyPatience = 2 * time.Second // with a synchronous standby that does not acknowledge
)

// choosesSyncStandby reports whether only the synchronous standby counts.
func (q *ackTracker) choosesSyncStandby() bool { return q.lease != nil && q.o.Mode == SemiSyncStrict }

// chooseSyncStandby chooses the synchronous standby until the primary stops.
func (q *ackTracker) chooseSyncStandby(stopped <-chan struct{}) {
	ctx, cancel := until(stopped)
	defer cancel()
	tick := time.NewTicker(chooseEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		if next, after := q.nextSyncStandby(); next != "" {
			if err := q.lease.SetSyncStandby(ctx, next, after); err == nil {
				q.logger.Info("chose the synchronous standby; writes wait for it, and it may take over", "standby", next, "after", after)
				q.setSyncStandby(next)
			} else if ctx.Err() == nil {
				q.logger.Warn("could not record the synchronous standby; writes wait", "standby", next, "error", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// nextSyncStandby is the standby that is to be the synchronous one from now on, "" if that need not change. Until
// it is recorded nothing is acknowledged, so that it has all that was.
func (q *ackTracker) nextSyncStandby() (name string, after uint64) {
	if q.lease.Check() != nil {
		return "", 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var best *ackSource
	after = max(q.synced, q.syncStandby.floor)
	least := after
	for m := range q.sources {
		if m.name == q.syncStandby.name && !q.slow() {
			return "", 0
		}
		if m.name == q.syncStandby.name { // another one must have more
			least = max(least, m.synced+1)
		}
		if best == nil || m.synced > best.synced {
			best = m
		}
	}
	if best == nil || best.synced < least {
		return "", 0
	}
	q.syncStandby.name = ""
	q.updatePresent()
	return best.name, after
}

// slow reports whether a write waits for too long.
func (q *ackTracker) slow() bool {
	patience := min(syncStandbyPatience, q.o.Timeout/2)
	for w := range q.waiting {
		if time.Since(w.since) > patience {
			return true
		}
	}
	return false
}

// dropSyncStandby removes a synchronous standby that has lost changes which it had. The mutex is held.
func (q *ackTracker) dropSyncStandby(name string, latest uint64) {
	if q.choosesSyncStandby() && name == q.syncStandby.name && latest < max(q.synced, q.syncStandby.floor) {
		q.syncStandby.name = ""
	}
}

// setSyncStandby makes the acknowledgements of a standby count.
func (q *ackTracker) setSyncStandby(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.syncStandby.name = name
	q.updatePresent()
	for m := range q.sources {
		if m.name == name {
			q.acknowledge(m.synced)
		}
	}
}

// A Finding is what a directory has.
type Finding struct {
	Standby, Primary bool   // neither: no database
	Follows          string // of a standby: the address of its primary
	Database         string // its identity
	Epoch            int64  // 0: the database never had a standby
	Position         uint64
}

// Finding is what the directory of the standby has.
func (s *Standby) Finding(ctx context.Context) (Finding, error) {
	if s == nil || s.opened == nil || ctx == nil {
		return Finding{}, errors.New("there is no standby; Open gives one")
	}
	id, err := identify(ctx, s.opened)
	return Finding{Standby: true, Follows: s.Primary(), Database: id.uuid, Epoch: id.history.Epoch, Position: s.Position()}, err
}

// Find looks into a directory that no process has open.
func Find(ctx context.Context, dir string, o query.Options) (found Finding, err error) {
	at, err := dataDirOf(dir)
	if err != nil {
		return found, err
	}
	is, err := at.recover()
	if err != nil || !hasDatabase(at.dir) {
		return found, err
	}
	found.Standby, found.Primary = is == dirStandby, is != dirStandby
	var r role
	if _, err := readFile(at.dir, query.StandbyFile, &r); err != nil {
		return found, err
	}
	found.Follows = r.Primary
	store, err := openStore(at.dir, o, true)
	if err != nil {
		return found, fmt.Errorf("%s: %w", filepath.Base(at.dir), err)
	}
	id, err := identify(ctx, store)
	found.Database, found.Epoch, found.Position = id.uuid, id.history.Epoch, uint64(store.Latest())
	var promoted epoch
	if ok, perr := readFile(at.dir, query.PromotedFile, &promoted); perr == nil && ok && found.Primary {
		found.Epoch = promoted.Number
	}
	return found, errors.Join(err, store.Close())
}
