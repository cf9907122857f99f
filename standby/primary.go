package standby

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/standbys"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
)

// DefaultLogBytes is how much of its log a database keeps for standbys, unless
// [PrimaryOptions] say otherwise.
const DefaultLogBytes = 1 << 30

// PrimaryOptions say how a database feeds its standbys.
type PrimaryOptions struct {
	// LogBytes is how much of the log is kept, at least, for standbys that are not
	// connected; 0 is [DefaultLogBytes]. A standby that needs an older part is
	// rebuilt. Less than 0 keeps no log and takes no standbys.
	LogBytes int64
	// SemiSync says which writes wait for a standby. The zero SemiSync makes no write
	// wait.
	SemiSync SemiSync
	// Lease is what the database needs for taking writes; nil is no lease.
	Lease Lease
	// Token and TLS are for the calls that tell the old primary that this one was promoted
	// in its place. They are as in [Options].
	Token string
	TLS   *tls.Config
	// Switched is called after a switchover, with the address of the server that leads now; it
	// makes the primary's directory follow that one. Nil leaves a fenced primary, for reads.
	Switched func(leader string)
	// Logger gets messages for an operator; nil discards them.
	Logger *slog.Logger
}

// A Primary feeds the standbys of a database. It costs nothing before the first standby
// asks for a copy; then the database gets format 5, and keeps its log. It is safe for
// concurrent use.
type Primary struct {
	feed *feed
	o    PrimaryOptions
	hook plumbing.Standbys

	retry   time.Duration // as in Options
	fencing sync.Once     // of old primaries

	mu        sync.Mutex // one beginning at a time
	switching sync.Mutex // one switchover at a time
}

// errRefused is the answer of a server without a log for standbys.
var errRefused = status.Error(codes.FailedPrecondition, "this server takes no standbys: its --standby-log is 0")

// NewPrimary makes a Primary. [Primary.Hook] connects it with a database.
func NewPrimary(o PrimaryOptions) *Primary {
	o.LogBytes = cmp.Or(o.LogBytes, DefaultLogBytes)
	p := &Primary{feed: newFeed(o.Logger, o.SemiSync), o: o, retry: firstRetry}
	p.feed.acks.lease = o.Lease
	p.hook.Begin, p.hook.Wrap, p.hook.Opened = endPromotion, p.wrap, p.opened
	p.feed.begin, p.feed.date = p.ship, p.dateLog
	if o.LogBytes < 0 {
		p.feed.refusal = errRefused
	}
	p.feed.describe = p.feed.acks.describe
	p.feed.promote, p.feed.fence, p.feed.switchover = p.promote, p.feed.takeFence, p.switchover
	return p
}

// Service serves the calls of standbys. It is an option of package server.
func (p *Primary) Service() standbys.Service {
	if p == nil || p.feed == nil {
		return nil
	}
	return p.feed
}

// Hook is for [query.Options], of one database that is opened for writing.
func (p *Primary) Hook() *plumbing.Standbys {
	if p == nil || p.feed == nil {
		return nil
	}
	return &p.hook
}

// Database is the identity of the database, once it is open.
func (p *Primary) Database(ctx context.Context) (string, error) {
	if p == nil || p.feed == nil || ctx == nil {
		return "", errors.New("there is no primary or no context")
	}
	store, err := p.feed.shipper()
	if err != nil {
		return "", err
	}
	id, err := identify(ctx, store)
	return id.uuid, err
}

// wrap takes the store of the database.
func (p *Primary) wrap(store cf.Store) (cf.Store, error) {
	if err := p.o.SemiSync.check(); err != nil {
		return nil, err
	}
	s, ok := store.(cf.Shipper)
	if !ok || s.Home() == "" {
		return store, nil
	}
	id, err := identify(context.Background(), s)
	if err != nil {
		return nil, err
	}
	p.feed.epoch.Store(id.history.Epoch)
	p.feed.serveStore(s)
	if ships := s.Ships(); ships != "" {
		if p.o.LogBytes < 0 {
			ships = ""
		}
		if err := s.Ship(ships, p.o.LogBytes); err != nil {
			p.feed.logger.Warn("the log that is kept for standbys cannot be changed; as much as before is kept", "error", err)
		}
	}
	if p.o.SemiSync.Mode == SemiSyncOff && p.o.Lease == nil && p.o.LogBytes < 0 {
		return store, nil
	}
	waits, ok := store.(engine)
	if !ok {
		return nil, errors.New("the store of the database cannot wait for a standby")
	}
	return semiSyncStore{waits, p.feed.acks}, nil
}

// opened makes writes wait from now on.
func (p *Primary) opened() {
	settled := p.settled
	p.feed.settled.Store(&settled)
	p.feed.flush = p.hook.Flush
	p.feed.acks.begin()
	if p.feed.acks.choosesSyncStandbys() {
		go p.feed.acks.chooseSyncStandbys(p.feed.closed)
	}
	if store, err := p.feed.shipper(); err == nil {
		p.fenceOldPrimaries(store, promotion{}, nil)
	}
}

// fenceOldPrimaries begins to fence the old primaries, once, until the primary stops.
func (p *Primary) fenceOldPrimaries(store cf.Shipper, now promotion, answer chan<- error) {
	t := fencer{feed: p.feed, store: store, token: p.o.Token, tls: p.o.TLS, retry: p.retry, leased: p.o.Lease != nil}
	p.fencing.Do(func() {
		go func() {
			ctx, cancel := until(p.feed.closed)
			defer cancel()
			t.run(ctx, now, answer)
		}()
	})
}

// until is a context that ends with a channel.
func until(stopped <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// settled is the time of the database before which no commit can come now. Without the
// lease it is not known: another server may take writes by now.
func (p *Primary) settled() int64 {
	at := p.hook.Settled()
	if p.feed.acks.checkLease() != nil {
		return 0
	}
	return at
}

// promote refuses to promote a server that is no standby.
func (p *Primary) promote(context.Context, string, time.Time) (*smolwcpb.PromoteResponse, error) {
	if err := p.feed.checkUsable(); err != nil {
		return nil, status.Errorf(codes.FailedPrecondition, "%s; then it can be promoted", status.Convert(err).Message())
	}
	return nil, status.Error(codes.FailedPrecondition, "this server is no standby; it takes writes already")
}

// KeepLog makes the database keep its log, as for standbys, and returns its store. The records
// say when they were written, from the first call on, if the engine's can.
func (p *Primary) KeepLog(ctx context.Context) (cf.Shipper, error) {
	if p == nil || p.feed == nil || ctx == nil {
		return nil, errors.New("there is no primary or no context")
	}
	if err := cmp.Or(p.feed.checkUsable(), p.feed.refusal); err != nil {
		return nil, err
	}
	if err := p.ship(ctx); err != nil {
		return nil, err
	}
	store, err := p.feed.shipper()
	if err != nil {
		return nil, err
	}
	p.feed.archived.Store(true)
	return store, p.dateLog(ctx, store)
}

// dateLog makes records say when they were written, if the engine's can.
func (p *Primary) dateLog(ctx context.Context, store cf.Shipper) error {
	dater, ok := store.(cf.Dater)
	if !ok {
		return nil
	}
	clock, err := p.hook.Dated(Async(ctx))
	if err == nil {
		dater.DateLog(clock)
	}
	return err
}

// Acknowledger is for what sends the log to an archive, if [SemiSync] makes writes wait for that.
// sent says up to which position the log is in the archive, and lost that it is not reached; they
// belong to one goroutine. waiting reports whether a write waits, and its channel is closed when
// another one begins to.
func (p *Primary) Acknowledger() (sent func(uint64), lost func(), waiting func() (bool, <-chan struct{})) {
	if p == nil || p.feed == nil || !p.o.SemiSync.Archive {
		return nil, nil, nil
	}
	var m *ackSource
	q := p.feed.acks
	sent = func(at uint64) {
		if m == nil {
			m = q.connectArchive()
		}
		q.received(m, at)
	}
	lost = func() {
		if m != nil {
			q.disconnect(m)
		}
		m = nil
	}
	return sent, lost, q.waits
}

// OpenFollower opens the store of a database in a directory, which applies the records of a log.
// Nothing else may have it open.
func OpenFollower(dir string) (cf.Follower, error) { return openStore(dir, query.Options{}, true) }

// ship prepares the database for standbys, once.
func (p *Primary) ship(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	store, err := p.feed.shipper()
	if err != nil {
		return err
	}
	id, err := identify(ctx, store)
	if err != nil {
		return err
	}
	if ships := store.Ships(); ships != "" && ships == id.history.ID {
		return nil
	}
	if err := p.feed.acks.checkLease(); err != nil { // a database on Pebble is already in the format
		return err
	}
	if err := p.hook.Raise(Async(ctx)); err != nil {
		return err
	}
	h := id.history.Anew()
	if err := store.Ship(h.ID, p.o.LogBytes); err != nil {
		return err
	}
	p.feed.logger.Info("the database keeps its log for standbys from now on", "bytes", p.o.LogBytes)
	p.feed.epoch.Store(h.Epoch)
	return writeHistory(ctx, store, h)
}
