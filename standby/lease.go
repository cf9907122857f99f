package standby

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
)

// A Lease says whether a primary may take writes. An elector outside of the servers grants it
// to one server at a time; package standby/lease implements one. It is safe for concurrent
// use.
type Lease interface {
	// Check is nil while the primary holds the lease, by the clock of its machine.
	// Otherwise it says why not, and where to write, if that is known. It is called before
	// each write and before it is acknowledged, so it is quick.
	Check() error
	// SetSyncStandbys records the synchronous standbys: those that may take over, since each
	// acknowledges every strict write from now on. They have all changes up to a position.
	// After an error they may be recorded or not.
	SetSyncStandbys(ctx context.Context, standbys []string, after uint64) error
	// Transfer gives the lease to the named standby, which received everything up to a
	// position; no other standby may take it. After an error this server may hold it or not.
	Transfer(ctx context.Context, to string, after uint64) error
	// Retain makes the server keep the lease when it stops, until it ends by itself: no standby
	// received all of its changes, and it may be started again before another one takes over.
	Retain()
	// Describe says what this server knows of the lease.
	Describe(*smolwcpb.Lease)
}

// ErrNotYet matches an error of [Open] that may go away: the server that leads does not
// answer, or was not promoted yet, or a person must move away what was kept aside.
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

// The syncStandbys are the synchronous standbys of a primary with a lease whose writes wait
// strictly. A write waits for all of them, and for no other standby: so each holds what was
// acknowledged. While there are too few of them, no write is acknowledged.
type syncStandbys struct {
	names []string
	floor uint64 // all writes that were acknowledged before this process are up to here
}

const (
	chooseEvery         = 100 * time.Millisecond
	syncStandbyPatience = 2 * time.Second // with a synchronous standby that does not acknowledge
)

// choosesSyncStandbys reports whether only synchronous standbys count.
func (q *ackTracker) choosesSyncStandbys() bool { return q.lease != nil && q.o.Mode == SemiSyncStrict }

// chooseSyncStandbys chooses the synchronous standbys until the primary stops.
func (q *ackTracker) chooseSyncStandbys(stopped <-chan struct{}) {
	ctx, cancel := until(stopped)
	defer cancel()
	tick := time.NewTicker(chooseEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		if next, after := q.nextSyncStandbys(); len(next) > 0 {
			if err := q.lease.SetSyncStandbys(ctx, next, after); err == nil {
				q.logger.Info("chose the synchronous standbys; writes wait for them, and each may take over", "standbys", next, "of", q.o.Acks, "after", after)
				q.setSyncStandbys(next)
			} else if ctx.Err() == nil {
				q.logger.Warn("could not record the synchronous standbys; writes wait", "standbys", next, "error", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// nextSyncStandbys are the synchronous standbys from now on, nil if they need not change. Until they
// are recorded nothing is acknowledged, so that they have all that was.
func (q *ackTracker) nextSyncStandbys() (next []string, after uint64) {
	if q.lease.Check() != nil {
		return nil, 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	after = max(q.synced, q.syncStandbys.floor)
	all, gone, others := q.candidates(after)
	if last := len(all) - 1; last >= 0 && len(others) > 0 && q.slow() && others[0].synced > all[last].synced { // the one that is furthest behind is replaced
		all = all[:last]
	}
	for _, more := range [][]ackSource{others, gone} { // those that are gone have everything, too
		all = append(all, more[:min(len(more), q.o.Acks-len(all))]...)
	}
	changes := false
	for _, s := range all {
		next = append(next, s.name)
		changes = changes || !slices.Contains(q.syncStandbys.names, s.name)
	}
	if !changes {
		return nil, 0
	}
	q.syncStandbys.names = nil
	q.updatePresent()
	return next, after
}

// candidates are the synchronous standbys that are connected, and that are gone, and other standbys
// that have all changes up to a position, the one with the most first.
func (q *ackTracker) candidates(after uint64) (here, gone, others []ackSource) {
	synced := map[string]uint64{}
	for m := range q.sources {
		synced[m.name] = max(synced[m.name], m.synced)
	}
	for _, name := range q.syncStandbys.names {
		if at, ok := synced[name]; ok {
			here = append(here, ackSource{name: name, synced: at})
		} else {
			gone = append(gone, ackSource{name: name})
		}
		delete(synced, name)
	}
	for name, at := range synced {
		if at >= after {
			others = append(others, ackSource{name: name, synced: at})
		}
	}
	for _, some := range [][]ackSource{here, others} {
		slices.SortFunc(some, func(a, b ackSource) int {
			return cmp.Or(cmp.Compare(b.synced, a.synced), cmp.Compare(a.name, b.name))
		})
	}
	return here, gone, others
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

// dropSyncStandby lets the synchronous standbys be chosen anew if one has lost changes. The mutex
// is held.
func (q *ackTracker) dropSyncStandby(name string, latest uint64) {
	if slices.Contains(q.syncStandbys.names, name) && latest < max(q.synced, q.syncStandbys.floor) {
		q.syncStandbys.names = nil
	}
}

// setSyncStandbys makes the acknowledgements of standbys count.
func (q *ackTracker) setSyncStandbys(names []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.syncStandbys.names = names
	q.updatePresent()
	q.acknowledge()
}

// A Finding describes a directory's database.
type Finding struct {
	Standby, Primary bool   // neither: no database
	Follows          string // of a standby: the address of its primary
	Database         string // its identity
	Epoch            int64  // 0: the database never had a standby
	Position         uint64
}

// Finding describes the database in the standby's directory.
func (s *Standby) Finding(ctx context.Context) (Finding, error) {
	if s == nil || s.opened == nil || ctx == nil {
		return Finding{}, errors.New("there is no standby; Open gives one")
	}
	id, err := identify(ctx, s.opened)
	return Finding{Standby: true, Follows: s.Primary(), Database: id.uuid, Epoch: id.history.Epoch, Position: s.Position()}, err
}

// Find looks into a directory that is not open in any process.
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
	if _, err := readFile(at.dir, plumbing.StandbyFile, &r); err != nil {
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
	if ok, perr := readFile(at.dir, plumbing.PromotedFile, &promoted); perr == nil && ok && found.Primary {
		found.Epoch = promoted.Number
	}
	return found, errors.Join(err, store.Close())
}
