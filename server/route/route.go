// Package route is a router: it takes the calls of Bigtable's clients, and passes each on
// to the server that leads its instance, as a shard map says.
//
// [New] makes a [Router], and [Router.Serve] serves it. A router reads the names in
// requests and nothing else: requests, answers, headers, trailers and errors pass through
// it as they are. It stores nothing, so there may be several.
package route

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/server/internal/account"
	"github.com/smolwc/smolwc/server/internal/calls"
	"github.com/smolwc/smolwc/shardmap"
)

// Reads say which servers answer calls that read rows. The zero value is the server that
// leads the instance alone.
type Reads struct {
	// Standbys answer too, in turn with the leader.
	Standbys bool
	// MaxLag is how far a standby may be behind; 0 is any lag.
	MaxLag time.Duration
}

// ParseReads reads leader, any, or a lag such as 5s: any server that is not further behind.
func ParseReads(text string) (Reads, error) {
	switch text {
	case "leader":
		return Reads{}, nil
	case "any":
		return Reads{Standbys: true}, nil
	}
	if lag, err := time.ParseDuration(text); err == nil && lag > 0 {
		return Reads{Standbys: true, MaxLag: lag}, nil
	}
	return Reads{}, fmt.Errorf("reads are %q; want leader, any, or how far a standby may be behind, such as 5s", text)
}

// String is the text that [ParseReads] reads.
func (r Reads) String() string {
	switch {
	case !r.Standbys:
		return "leader"
	case r.MaxLag > 0:
		return r.MaxLag.String()
	}
	return "any"
}

// Options say how a router works.
type Options struct {
	Map   *shardmap.Watcher // must not be nil
	Reads Reads             // a call overrides them by its header smolwc-reads
	// Profiles are the reads of calls that name an app profile and have no header.
	Profiles map[string]Reads
	// Wait is how long a call waits at most while no server leads its instance; 0 is 30 s.
	Wait   time.Duration
	TLS    *tls.Config         // with the servers; nil: no TLS
	GRPC   []grpc.ServerOption // for the clients: credentials
	Limits server.Limits       // of the clients
	Grace  time.Duration       // for calls under way when the router stops; 0 is 10 s
	Logger *slog.Logger        // nil discards messages
}

// A Router passes calls on. It is safe for concurrent use.
type Router struct {
	o       Options
	methods map[string]*method
	conns   *account.Conns
	health  *health.Server
	metrics *metrics
	calls   atomic.Int64
	turn    atomic.Uint64 // of the servers that answer reads
	serving atomic.Bool

	// closing ends when the router is about to stop.
	closing context.Context
	close   context.CancelFunc

	mu      sync.Mutex
	servers map[string]*watched // the servers of the map, by their addresses
	leads   map[string]string   // resource to the server that leads it; absent: none is known
	last    map[string]string   // resource to the last server that led it
	moved   chan struct{}       // closed when another server leads a resource
}

// New makes a router.
func New(o Options) (*Router, error) {
	if m, _ := o.Map.Map(); m == nil {
		return nil, errors.New("a router needs a shard map; shardmap.Watch gives one")
	}
	o.Limits.SetDefaults()
	if o.Wait == 0 {
		o.Wait = 30 * time.Second
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Router{o: o, methods: methods(), conns: account.NewConns(o.Limits, o.Logger), health: health.NewServer(), servers: map[string]*watched{}, leads: map[string]string{}, last: map[string]string{}, moved: make(chan struct{})}
	r.closing, r.close = context.WithCancel(context.Background())
	r.metrics = newMetrics(r)
	return r, nil
}

func (r *Router) made() bool { return r != nil && r.conns != nil }

// The windows of streams and connections, and the goroutines that wait for calls, as in
// the server.
const (
	streamWorkers = 32
	streamWindow  = 1 << 20
	connWindow    = 16 << 20
)

// Serve serves until the context ends. Then it reports that it is not ready, accepts no
// new calls, lets the calls under way end within the grace period, and cancels the rest.
// When it returns no call is under way. A router is served once.
func (r *Router) Serve(ctx context.Context, listener net.Listener) error {
	if !r.made() || ctx == nil || listener == nil {
		return errors.New("a router needs New, a context and a listener")
	}
	options := append([]grpc.ServerOption{
		grpc.ForceServerCodecV2(codec{}),
		grpc.UnknownServiceHandler(r.handle),
		grpc.MaxRecvMsgSize(int(min(wire.MaxRequest, r.o.Limits.ConnectionBytes, r.o.Limits.Bytes))),
		grpc.MaxConcurrentStreams(uint32(r.o.Limits.Streams)),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connWindow),
		grpc.WaitForHandlers(true),
		grpc.StatsHandler(watcher{r}),
	}, account.ConnectionOptions()...)
	g := grpc.NewServer(append(options, r.o.GRPC...)...)
	grpc_health_v1.RegisterHealthServer(g, r.health)
	defer r.watchServers()()
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		r.serving.Store(false)
		r.health.Shutdown()
		r.close()
		calls.Stop(g, r.o.Grace, r.o.Logger, func() {})
	})
	r.serving.Store(true)
	served := make(chan error, 1)
	go func() { served <- g.Serve(r.conns.Listen(listener)) }() // it waits for all calls
	select {
	case err := <-served:
		if stop() { // it ended without a request to stop
			r.serving.Store(false)
			g.Stop()
			return err
		}
		<-stopped
	case <-stopped:
	}
	return nil
}

// A place is where an instance is now.
type place struct {
	resource shardmap.Resource
	leader   string // "": no server is known to lead it
	// changed and moved are closed when another server may lead it.
	changed, moved <-chan struct{}
}

// find finds an instance.
func (r *Router) find(instance string) (p place, err error) {
	m, changed := r.o.Map.Map()
	p.changed = changed
	var ok bool
	if p.resource, ok = m.Find(instance); !ok {
		return p, status.Errorf(codes.NotFound, "the shard map does not have %s; it has %s", instance, some(m.Names()))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p.leader, p.moved = r.leaderOf(p.resource), r.moved
	return p, nil
}

// some is the beginning of a list of names.
func some(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// readers returns the servers that may answer a read: the leader and standbys that are not
// too far behind, another one first each time.
func (r *Router) readers(p place, reads Reads) []string {
	var all []string
	r.mu.Lock()
	for _, s := range serversOf(p.resource) {
		if s == p.leader || r.servers[s].near(reads.MaxLag) {
			all = append(all, s)
		}
	}
	r.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	first := int(r.turn.Add(1) % uint64(len(all)))
	return slices.Concat(all[first:], all[:first])
}
