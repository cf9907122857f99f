package standby

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/smolwcpb"
)

// A Lease says whether a primary may take writes. A judge outside of the servers grants it
// to one server at a time; package standby/lease has one. It is safe for concurrent use.
type Lease interface {
	// Check is nil while the primary holds the lease, by the clock of its machine.
	// Otherwise it says why not, and where to write, if that is known. It is called before
	// each write and before it is acknowledged, so it is quick.
	Check() error
	// Appoint names the heir: the standby that may take over, since it will acknowledge
	// each strict write. It has all changes up to a position. After an error the judge may
	// know the heir or not.
	Appoint(ctx context.Context, heir string, after uint64) error
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

// leads is nil while the lease is held, or without one.
func (q *quorum) leads() error {
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

// The heirs of a primary with a lease whose writes wait strictly. Only the standby that the
// judge knows as the heir counts: so it has each write that was acknowledged.
type heirs struct {
	name  string // "": no standby counts
	floor uint64 // all writes that were acknowledged before this process are up to here
}

const (
	heirEvery    = 100 * time.Millisecond
	heirPatience = 2 * time.Second // with an heir that does not acknowledge
)

// appoints reports whether only the heir counts.
func (q *quorum) appoints() bool { return q.lease != nil && q.o.Mode == SemiSyncStrict }

// appoint names heirs until the primary stops.
func (q *quorum) appoint(stopped <-chan struct{}) {
	ctx, cancel := until(stopped)
	defer cancel()
	tick := time.NewTicker(heirEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		if next, after := q.next(); next != "" {
			if err := q.lease.Appoint(ctx, next, after); err == nil {
				q.logger.Info("writes wait for this standby, which may take over", "standby", next, "after", after)
				q.appointed(next)
			} else if ctx.Err() == nil {
				q.logger.Warn("the standby that may take over cannot be named; writes wait", "standby", next, "error", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// next is the standby that is to be the heir from now on, "" if that need not change. Until
// it is appointed nothing is acknowledged, so that it has all that was.
func (q *quorum) next() (name string, after uint64) {
	if q.lease.Check() != nil {
		return "", 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var best *member
	after = max(q.synced, q.heirs.floor)
	least := after
	for m := range q.members {
		if m.name == q.heirs.name && !q.slow() {
			return "", 0
		}
		if m.name == q.heirs.name { // another one must have more
			least = max(least, m.synced+1)
		}
		if best == nil || m.synced > best.synced {
			best = m
		}
	}
	if best == nil || best.synced < least {
		return "", 0
	}
	q.heirs.name = ""
	q.look()
	return best.name, after
}

// slow reports whether a write waits for too long.
func (q *quorum) slow() bool {
	patience := min(heirPatience, q.o.Timeout/2)
	for w := range q.waiting {
		if time.Since(w.since) > patience {
			return true
		}
	}
	return false
}

// distrust makes a standby no heir that has lost changes which it had. The mutex is held.
func (q *quorum) distrust(name string, latest uint64) {
	if q.appoints() && name == q.heirs.name && latest < max(q.synced, q.heirs.floor) {
		q.heirs.name = ""
	}
}

// appointed makes a standby count.
func (q *quorum) appointed(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.heirs.name = name
	q.look()
	for m := range q.members {
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
	at, err := placeOf(dir)
	if err != nil {
		return found, err
	}
	is, err := at.recover()
	if err != nil || !hasDatabase(at.dir) {
		return found, err
	}
	found.Standby, found.Primary = is == aStandby, is != aStandby
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
