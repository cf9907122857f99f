package leader

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"
)

// Scheme is the scheme of a target with several addresses, as in
// smolwc:///db1:8086,db2:8086.
const Scheme = "smolwc"

// A Resolver is for gRPC: see [grpc.WithResolvers]. A connection to a target of the
// scheme [Scheme] goes to the server that leads, and to another one when that one leads.
type Resolver struct {
	// Options apply to the connections over which servers are asked.
	Options []grpc.DialOption
}

// Scheme implements [resolver.Builder].
func (r *Resolver) Scheme() string { return Scheme }

// Build implements [resolver.Builder].
func (r *Resolver) Build(target resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	f := &following{cc: cc}
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	for addr := range strings.SplitSeq(target.Endpoint(), ",") {
		conn, err := grpc.NewClient(addr, r.Options...)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("the address %q: %w", addr, err)
		}
		f.conns, f.sooner = append(f.conns, conn), append(f.sooner, make(chan struct{}, 1))
		f.answers = append(f.answers, Answer{Addr: addr})
	}
	for i, conn := range f.conns {
		f.running.Go(func() {
			Follow(ctx, f.answers[i].Addr, conn, f.sooner[i], func(a Answer) { f.heard(i, a) })
		})
	}
	return f, nil
}

// A following follows the leader for one connection.
type following struct {
	cc      resolver.ClientConn
	conns   []*grpc.ClientConn
	sooner  []chan struct{}
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	answers []Answer
	leads   string
}

func (f *following) heard(i int, a Answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[i] = a
	leads, ok := Of(f.answers)
	if ok && leads.Addr == f.leads {
		return
	}
	if ok {
		f.leads = leads.Addr
		_ = f.cc.UpdateState(resolver.State{Addresses: []resolver.Address{{Addr: leads.Addr, ServerName: leads.Addr}}}) // it asks again by itself
		return
	}
	for _, a := range f.answers {
		if a.At.IsZero() { // it may be the one
			return
		}
	}
	if f.leads == "" { // a connection that had a leader keeps it until there is another
		f.cc.ReportError(Nobody(f.answers))
	}
}

// Nobody is the error of a call for the server that leads while no server does.
func Nobody(answers []Answer) error {
	var said []string
	for _, a := range answers {
		said = append(said, a.String())
	}
	return errors.New("no server takes writes now: " + strings.Join(said, "; "))
}

// ResolveNow implements [resolver.Resolver].
func (f *following) ResolveNow(resolver.ResolveNowOptions) {
	for _, s := range f.sooner {
		select {
		case s <- struct{}{}:
		default: // it will be asked anyway
		}
	}
}

// Close implements [resolver.Resolver].
func (f *following) Close() {
	f.cancel()
	f.running.Wait()
	for _, c := range f.conns {
		_ = c.Close() // no question is under way
	}
}
