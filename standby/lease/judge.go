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

	"github.com/smolwc/smolwc/server/smolwcpb"
)

// DefaultTTL is how long a lease lasts after it was renewed.
const DefaultTTL = 10 * time.Second

// Options say how a server reaches etcd, and what it is there.
type Options struct {
	Endpoints []string // HOST:PORT or URLs of etcd
	TLS       *tls.Config
	User      string // "" for an etcd without users
	Password  string
	// Prefix is that of all keys. Servers with one database have one prefix.
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

// A View is what etcd has said last.
type View struct {
	Known  bool   // etcd has said something
	Leader string // the server that holds the lease; "": nobody does
	State  *State // nil: nobody has led yet

	lease    clientv3.LeaseID // of the leader's key
	revision int64            // of the key of the state; 0: there is no such key
	at       int64            // the revision of etcd
}

// A Judge is what one server knows of the lease. It is safe for concurrent use.
type Judge struct {
	o      Options
	etcd   *clientv3.Client
	logger *slog.Logger
	stop   context.CancelFunc
	done   sync.WaitGroup
	closed sync.Once

	held atomic.Pointer[hold] // nil: another server leads, or may; written with mu held

	mu      sync.Mutex
	session clientv3.LeaseID // of this process; 0: there is no session
	until   deadline         // of the session
	view    View
	before  *State        // the one before this server has claimed the lease; nil: nobody had led
	changed chan struct{} // closed when the session or the view changes
	newest  *State        // the newest state of any view
	back    bool          // etcd has gone back to a state before that
	rewatch func()        // begins to watch anew
	failure error         // of the last call of etcd
	doubt   string        // why this server may not lead while nobody does; "" if it may
}

// A hold is a term of this server.
type hold struct {
	state *State
	lease clientv3.LeaseID
	until deadline
	done  chan struct{} // closed when another server has taken over
}

// Open connects with etcd, in the background.
func Open(o Options) (*Judge, error) {
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
	j := &Judge{o: o, etcd: etcd, logger: o.Logger, changed: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	j.stop = stop
	j.done.Go(func() { j.keep(ctx) })
	j.done.Go(func() { j.watch(ctx) })
	j.done.Go(func() { j.regain(ctx) })
	return j, nil
}

func (j *Judge) made() bool { return j != nil && j.etcd != nil }

// Close gives the lease back, so that another server takes over at once. This one must no
// longer take writes.
func (j *Judge) Close() (err error) {
	if !j.made() {
		return nil
	}
	j.closed.Do(func() {
		j.stop()
		j.done.Wait()
		j.held.Store(nil)
		if j.session != 0 {
			ctx, cancel := j.short(context.Background())
			defer cancel()
			_, _ = j.etcd.Revoke(ctx, j.session) // it ends by itself otherwise
		}
		err = j.etcd.Close()
	})
	return err
}

// The keys. That of the leader goes with its lease; that of the state stays.
func (j *Judge) leaderKey() string         { return j.o.Prefix + "/leader/now" }
func (j *Judge) stateKey() string          { return j.o.Prefix + "/leader/state" }
func (j *Judge) serverKey(n string) string { return j.o.Prefix + "/servers/" + n }

// short bounds a call of etcd.
func (j *Judge) short(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, max(j.o.TTL/3, 500*time.Millisecond))
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
func (j *Judge) note(err error, change func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if (err == nil) != (j.failure == nil) {
		if err != nil {
			j.logger.Error("etcd does not answer", "error", err)
		} else {
			j.logger.Info("etcd answers again")
		}
	}
	j.failure = err
	if err == nil {
		change()
		close(j.changed)
		j.changed = make(chan struct{})
	}
}

// keep renews the session, and looks at the keys in case the watch stands still.
func (j *Judge) keep(ctx context.Context) {
	for {
		wait := j.o.TTL / 5
		err := j.renew(ctx)
		if err == nil {
			_, err = j.look(ctx)
		}
		if err != nil {
			wait = min(wait, 500*time.Millisecond)
		}
		if !pause(ctx, wait) {
			return
		}
	}
}

// renew renews the lease of the session, or begins another session when it has ended. The
// lease lasts from the moment before the call.
func (j *Judge) renew(ctx context.Context) error {
	call, cancel := j.short(ctx)
	defer cancel()
	sent, id, ttl := time.Now(), j.session, int64(0)
	var err error
	if id == 0 {
		id, ttl, err = j.join(call)
	} else {
		var renewed *clientv3.LeaseKeepAliveResponse
		if renewed, err = j.etcd.KeepAliveOnce(call, id); err == nil {
			ttl = renewed.TTL
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ended := errors.Is(err, rpctypes.ErrLeaseNotFound)
	if ended {
		j.logger.Warn("the lease in etcd has ended")
		id, err = 0, nil
	}
	j.note(err, func() {
		j.session, j.until = id, deadlineOf(sent, time.Duration(ttl)*time.Second)
		j.extend()
	})
	if ended {
		return rpctypes.ErrLeaseNotFound
	}
	return err
}

// join begins a session, and lists the server, so that others ask for its position.
func (j *Judge) join(ctx context.Context) (id clientv3.LeaseID, ttl int64, err error) {
	granted, err := j.etcd.Grant(ctx, int64(j.o.TTL/time.Second))
	if err == nil && !j.o.Observer {
		err = j.say(ctx, granted.ID, ballot{})
	}
	if err != nil {
		return 0, 0, err
	}
	return granted.ID, granted.TTL, nil
}

// extend makes the term of this server last as long as its session.
func (j *Judge) extend() {
	h := j.held.Load()
	if h == nil {
		return
	}
	longer := *h
	if longer.until = j.until; longer.lease != j.session {
		longer.lease, longer.until = 0, deadline{}
	}
	j.held.Store(&longer)
}

// watch keeps the view.
func (j *Judge) watch(ctx context.Context) {
	for ctx.Err() == nil {
		from, err := j.look(ctx)
		if err != nil {
			pause(ctx, min(j.o.TTL/5, time.Second))
			continue
		}
		watched, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
		j.mu.Lock()
		j.rewatch = cancel
		j.mu.Unlock()
		for w := range j.etcd.Watch(watched, j.o.Prefix+"/leader/", clientv3.WithPrefix(), clientv3.WithRev(from)) {
			if w.Err() != nil {
				break
			}
			if _, err := j.look(ctx); err != nil {
				break
			}
		}
		cancel()
	}
}

// look reads the keys, and returns the revision from which to watch them.
func (j *Judge) look(ctx context.Context) (from int64, err error) {
	call, cancel := j.short(ctx)
	defer cancel()
	j.mu.Lock()
	asked := j.view.at
	j.mu.Unlock()
	resp, err := j.etcd.Get(call, j.o.Prefix+"/leader/", clientv3.WithPrefix())
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	v := View{Known: true}
	if err == nil {
		v.at = resp.Header.Revision
		for _, kv := range resp.Kvs {
			switch string(kv.Key) {
			case j.leaderKey():
				v.Leader, v.lease = string(kv.Value), clientv3.LeaseID(kv.Lease)
			case j.stateKey():
				v.State, v.revision = new(State), kv.ModRevision
				if err = json.Unmarshal(kv.Value, v.State); err != nil {
					err = fmt.Errorf("the key %s is no state of smolwc: %w", kv.Key, err)
				}
			}
		}
	}
	j.note(err, func() { j.see(v, asked) })
	if err != nil {
		return 0, err
	}
	return resp.Header.Revision + 1, nil
}

// see takes a view, and ends the term of this server if another one leads. asked is the
// revision that was known when etcd was asked.
func (j *Judge) see(v View, asked int64) {
	switch {
	// etcd answers with its newest revision: it has lost some. A backup may also be restored
	// with revisions that go on; the key is then an earlier one.
	case v.at < asked, v.at >= j.view.at && v.State != nil && v.revision < j.view.revision:
		j.logger.Warn("etcd has gone back, as to a backup", "revision", v.at, "before", asked, "of_state", v.revision, "of_state_before", j.view.revision)
		j.back = true
		if j.rewatch != nil {
			j.rewatch()
		}
	case v.at < j.view.at:
		return // an answer that another one has overtaken
	}
	if j.back && v.State.follows(j.newest) {
		j.back = false
	}
	if !j.back {
		j.newest = v.State
	}
	j.view = v
	h := j.held.Load()
	if h == nil {
		return
	}
	switch {
	case !j.back && v.State != nil && (v.State.Leader != j.o.Name || v.State.Epoch != h.state.Epoch):
		j.held.Store(nil)
		close(h.done)
	case v.Leader == "" || v.lease != h.lease || j.back: // what the key stood for is gone
		lost := *h
		lost.lease, lost.until = 0, deadline{}
		j.held.Store(&lost)
	}
}

// View is what etcd has said last. The channel is closed when that changes.
func (j *Judge) View() (View, <-chan struct{}) {
	if !j.made() {
		return View{}, nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.view, j.changed
}

// Check implements the Lease of package standby.
func (j *Judge) Check() error {
	if !j.made() {
		return errors.New("there is no judge")
	}
	if h := j.held.Load(); h != nil && h.until.left(time.Now()) > 0 {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.view.Leader != "" && j.view.Leader != j.o.Name:
		return fmt.Errorf("another server holds the lease; write to %s", j.view.Leader)
	case j.failure != nil:
		return fmt.Errorf("this server does not hold the lease, and cannot reach etcd: %v", j.failure)
	}
	return errors.New("this server does not hold the lease now")
}

// Waiting says for what a [Judge.Campaign] waits.
func (j *Judge) Waiting() string {
	if !j.made() {
		return "there is no judge"
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch etcd := "etcd (" + strings.Join(j.o.Endpoints, ", ") + ")"; {
	case j.failure != nil:
		return fmt.Sprintf("%s does not answer: %v", etcd, j.failure)
	case !j.view.Known:
		return etcd + " has not answered yet"
	case j.view.Leader == j.o.Name && j.view.lease != j.session:
		return "the lease of an earlier process of this server has to end first"
	case j.view.Leader != "":
		return j.view.Leader + " leads"
	case j.doubt != "":
		return "no server leads, and this one may not: " + j.doubt
	}
	return "no server leads yet"
}

// Describe implements the Lease of package standby.
func (j *Judge) Describe(to *smolwcpb.Lease) {
	if !j.made() || to == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if h := j.held.Load(); h != nil {
		if left := h.until.left(time.Now()); left > 0 {
			to.Held, to.LeftMicros = true, left.Microseconds()
		}
	}
	if to.Leader = j.view.Leader; to.Leader == j.o.Name && !to.Held {
		to.Leader = "" // it held the lease when etcd answered last
	}
	if j.view.State != nil {
		to.Heir = j.view.State.Heir
	}
	if j.failure != nil {
		to.Error = j.failure.Error()
	}
}
