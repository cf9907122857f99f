package lease

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/smolwc/smolwc/api/smolwcpb"
)

// DefaultTTL is how long a lease lasts after it was renewed.
const DefaultTTL = 10 * time.Second

// Options say how a server reaches etcd, and what it is there.
type Options struct {
	Endpoints []string // HOST:PORT or URLs of etcd
	TLS       *tls.Config
	User      string // "" for an etcd without users
	Password  string
	// Prefix begins all keys. Servers with one database share one prefix.
	Prefix string
	// Name is the address by which other servers reach this one, HOST:PORT.
	Name string
	// Observer: this server never leads.
	Observer bool
	// TTL is how long the lease lasts after it was renewed, in whole seconds; 0 is
	// [DefaultTTL].
	TTL    time.Duration
	Logger *slog.Logger // nil discards messages
}

// A View is etcd's last answer.
type View struct {
	Known  bool   // etcd answered
	Leader string // the server that holds the lease; "": nobody does
	State  *State // nil: nobody led yet

	lease    clientv3.LeaseID // of the leader's key
	revision int64            // of the key of the state; 0: there is no such key
	at       int64            // the revision of etcd
}

// An Elector is what one server knows of the lease. It is safe for concurrent use.
type Elector struct {
	o      Options
	etcd   *clientv3.Client
	logger *slog.Logger
	stop   context.CancelFunc
	done   sync.WaitGroup
	closed sync.Once

	retains atomic.Bool          // Close leaves the lease as it is
	held    atomic.Pointer[hold] // nil: another server leads, or may; written with mu held

	mu         sync.Mutex
	session    clientv3.LeaseID // of this process; 0: there is no session
	until      deadline         // of the session
	view       View
	before     *State        // from before this server claimed the lease; nil: nobody had led
	changed    chan struct{} // closed when the session or the view changes
	newest     *State        // the newest state of any view
	back       bool          // etcd went back to a state before that
	rewatch    func()        // begins to watch anew
	yields     time.Time     // until then this server does not take back the lease that it gave away
	failure    error         // of the last call of etcd
	ineligible string        // why this server may not lead while nobody does; "" if it may
}

// A hold is a term of this server.
type hold struct {
	state *State
	lease clientv3.LeaseID
	until deadline
	done  chan struct{} // closed when another server takes over
}

// Open connects with etcd, in the background.
func Open(o Options) (*Elector, error) {
	o.TTL = cmp.Or(o.TTL, DefaultTTL)
	switch {
	case len(o.Endpoints) == 0:
		return nil, errors.New("the addresses of etcd are missing")
	case o.Name == "":
		return nil, errors.New("the address by which others reach this server is missing")
	case o.TTL < time.Second || o.TTL%time.Second != 0:
		return nil, fmt.Errorf("the lease lasts %v; want whole seconds, as in 10s", o.TTL)
	}
	o.Prefix = strings.TrimSuffix(o.Prefix, "/")
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	etcd, err := clientv3.New(clientv3.Config{
		Endpoints: o.Endpoints, TLS: o.TLS, Username: o.User, Password: o.Password, Logger: zap.NewNop(),
		DialTimeout: o.TTL / 3, DialKeepAliveTime: max(o.TTL/3, time.Second), DialKeepAliveTimeout: max(o.TTL/3, time.Second),
	})
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	e := &Elector{o: o, etcd: etcd, logger: o.Logger, changed: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	e.done.Go(func() { e.keep(ctx) })
	e.done.Go(func() { e.watch(ctx) })
	e.done.Go(func() { e.reacquire(ctx) })
	return e, nil
}

func (e *Elector) made() bool { return e != nil && e.etcd != nil }

// Close gives the lease back, so that another server takes over at once. This one must no
// longer take writes.
func (e *Elector) Close() (err error) {
	if !e.made() {
		return nil
	}
	e.closed.Do(func() {
		e.stop()
		e.done.Wait()
		e.held.Store(nil)
		if e.session != 0 && !e.retains.Load() {
			ctx, cancel := e.short(context.Background())
			defer cancel()
			_, _ = e.etcd.Revoke(ctx, e.session) // it ends by itself otherwise
		}
		err = e.etcd.Close()
	})
	return err
}

// Retain implements the Lease of package standby: Close does not give the lease back, which ends
// by itself.
func (e *Elector) Retain() {
	if e.made() {
		e.retains.Store(true)
	}
}

// The keys. The leader's key expires with its lease; the state's key stays.
func (e *Elector) leaderKey() string         { return e.o.Prefix + "/leader/now" }
func (e *Elector) stateKey() string          { return e.o.Prefix + "/leader/state" }
func (e *Elector) serverKey(n string) string { return e.o.Prefix + "/servers/" + n }

// short bounds a call of etcd.
func (e *Elector) short(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, max(e.o.TTL/3, 500*time.Millisecond))
}

// pause waits, and reports whether to go on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// note takes the result of a call of etcd. change is what it changes.
func (e *Elector) note(err error, change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if (err == nil) != (e.failure == nil) {
		if err != nil {
			e.logger.Error("etcd does not answer", "error", err)
		} else {
			e.logger.Info("etcd answers again")
		}
	}
	e.failure = err
	if err == nil {
		change()
		close(e.changed)
		e.changed = make(chan struct{})
	}
}

// keep renews the session, and looks at the keys in case the watch stands still.
func (e *Elector) keep(ctx context.Context) {
	for {
		wait := e.o.TTL / 5
		err := e.renew(ctx)
		if err == nil {
			_, err = e.look(ctx)
		}
		if err != nil {
			wait = min(wait, 500*time.Millisecond)
		}
		if !pause(ctx, wait) {
			return
		}
	}
}

// renew renews the lease of the session, or begins another session when it ended. The
// lease lasts from the moment before the call.
func (e *Elector) renew(ctx context.Context) error {
	call, cancel := e.short(ctx)
	defer cancel()
	sent, id, ttl := time.Now(), e.session, int64(0)
	var err error
	if id == 0 {
		id, ttl, err = e.join(call)
	} else {
		var renewed *clientv3.LeaseKeepAliveResponse
		if renewed, err = e.etcd.KeepAliveOnce(call, id); err == nil {
			ttl = renewed.TTL
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ended := errors.Is(err, rpctypes.ErrLeaseNotFound)
	if ended {
		e.logger.Warn("the lease in etcd has ended")
		id, err = 0, nil
	}
	e.note(err, func() {
		e.session, e.until = id, deadlineOf(sent, time.Duration(ttl)*time.Second)
		e.extend()
	})
	if ended {
		return rpctypes.ErrLeaseNotFound
	}
	return err
}

// join begins a session, and lists the server, so that others ask for its position.
func (e *Elector) join(ctx context.Context) (id clientv3.LeaseID, ttl int64, err error) {
	granted, err := e.etcd.Grant(ctx, int64(e.o.TTL/time.Second))
	if err == nil && !e.o.Observer {
		err = e.say(ctx, granted.ID, ballot{})
	}
	if err != nil {
		return 0, 0, err
	}
	return granted.ID, granted.TTL, nil
}

// extend makes the term of this server last as long as its session.
func (e *Elector) extend() {
	h := e.held.Load()
	if h == nil {
		return
	}
	longer := *h
	if longer.until = e.until; longer.lease != e.session {
		longer.lease, longer.until = 0, deadline{}
	}
	e.held.Store(&longer)
}

// watch keeps the view.
func (e *Elector) watch(ctx context.Context) {
	for ctx.Err() == nil {
		from, err := e.look(ctx)
		if err != nil {
			pause(ctx, min(e.o.TTL/5, time.Second))
			continue
		}
		watched, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
		e.mu.Lock()
		e.rewatch = cancel
		e.mu.Unlock()
		for w := range e.etcd.Watch(watched, e.o.Prefix+"/leader/", clientv3.WithPrefix(), clientv3.WithRev(from)) {
			if w.Err() != nil {
				break
			}
			if _, err := e.look(ctx); err != nil {
				break
			}
		}
		cancel()
	}
}

// look reads the keys, and returns the revision from which to watch them.
func (e *Elector) look(ctx context.Context) (from int64, err error) {
	call, cancel := e.short(ctx)
	defer cancel()
	e.mu.Lock()
	asked := e.view.at
	e.mu.Unlock()
	resp, err := e.etcd.Get(call, e.o.Prefix+"/leader/", clientv3.WithPrefix())
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	v := View{Known: true}
	if err == nil {
		v.at = resp.Header.Revision
		for _, kv := range resp.Kvs {
			switch string(kv.Key) {
			case e.leaderKey():
				v.Leader, v.lease = string(kv.Value), clientv3.LeaseID(kv.Lease)
			case e.stateKey():
				v.State, v.revision = new(State), kv.ModRevision
				if err = json.Unmarshal(kv.Value, v.State); err != nil {
					err = fmt.Errorf("key %s does not hold smolwc state: %w", kv.Key, err)
				}
			}
		}
	}
	e.note(err, func() { e.see(v, asked) })
	if err != nil {
		return 0, err
	}
	return resp.Header.Revision + 1, nil
}

// see takes a view, and ends the term of this server if another one leads. asked is the
// revision that was known when etcd was asked.
func (e *Elector) see(v View, asked int64) {
	switch {
	// etcd answers with its newest revision, so it lost some. A backup may also be restored
	// with revisions that go on; the key is then an earlier one.
	case v.at < asked, v.at >= e.view.at && v.State != nil && v.revision < e.view.revision:
		e.logger.Warn("etcd has gone back, as to a backup", "revision", v.at, "before", asked, "of_state", v.revision, "of_state_before", e.view.revision)
		e.back = true
		if e.rewatch != nil {
			e.rewatch()
		}
	case v.at < e.view.at:
		return // an answer overtaken by another one
	}
	if e.back && v.State.follows(e.newest) {
		e.back = false
	}
	if !e.back {
		e.newest = v.State
	}
	e.view = v
	h := e.held.Load()
	if h == nil {
		return
	}
	switch {
	case !e.back && v.State != nil && (v.State.Leader != e.o.Name || v.State.Epoch != h.state.Epoch):
		e.held.Store(nil)
		close(h.done)
	case v.Leader == "" || v.lease != h.lease || e.back: // what the key stood for is gone
		lost := *h
		lost.lease, lost.until = 0, deadline{}
		e.held.Store(&lost)
	}
}

// View returns etcd's last answer. The channel is closed when that changes.
func (e *Elector) View() (View, <-chan struct{}) {
	if !e.made() {
		return View{}, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.view, e.changed
}

// Check implements the Lease of package standby.
func (e *Elector) Check() error {
	if !e.made() {
		return errors.New("there is no elector")
	}
	if h := e.held.Load(); h != nil && h.until.left(time.Now()) > 0 {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.view.Leader != "" && e.view.Leader != e.o.Name:
		return fmt.Errorf("another server holds the lease; write to %s", e.view.Leader)
	case e.failure != nil:
		return fmt.Errorf("this server does not hold the lease, and cannot reach etcd: %v", e.failure)
	}
	return errors.New("this server does not hold the lease now")
}

// Waiting says for what a [Elector.Campaign] waits.
func (e *Elector) Waiting() string {
	if !e.made() {
		return "there is no elector"
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch etcd := "etcd (" + strings.Join(e.o.Endpoints, ", ") + ")"; {
	case e.failure != nil:
		return fmt.Sprintf("%s does not answer: %v", etcd, e.failure)
	case !e.view.Known:
		return etcd + " has not answered yet"
	case e.view.Leader == e.o.Name && e.view.lease != e.session:
		return "the lease of an earlier process of this server has to end first"
	case e.view.Leader != "":
		return e.view.Leader + " leads"
	case e.ineligible != "":
		return "no server leads, and this one may not: " + e.ineligible
	}
	return "no server leads yet"
}

// Describe implements the Lease of package standby.
func (e *Elector) Describe(to *smolwcpb.Lease) {
	if !e.made() || to == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if h := e.held.Load(); h != nil {
		if left := h.until.left(time.Now()); left > 0 {
			to.Held, to.LeftMicros = true, left.Microseconds()
		}
	}
	if to.Leader = e.view.Leader; to.Leader == e.o.Name && !to.Held {
		to.Leader = "" // it held the lease when etcd answered last
	}
	if e.view.State != nil {
		to.Heir = strings.Join(e.view.State.syncStandbys(), ", ")
	}
	if e.failure != nil {
		to.Error = e.failure.Error()
	}
}
