package route

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/leader"
	"github.com/smolwc/smolwc/shardmap"
)

// A watched is a server of the map, which the router asks whether it leads.
type watched struct {
	conn   *grpc.ClientConn
	stop   context.CancelFunc
	sooner chan struct{} // asks it at once
	answer leader.Answer
}

// near reports whether a server answered lately that it is within a lag; 0 is any lag,
// and then a server that has not been asked yet counts too.
func (w *watched) near(lag time.Duration) bool {
	switch {
	case w == nil || w.answer.Err != nil:
		return false
	case lag == 0:
		return true
	}
	return !w.answer.At.IsZero() && w.answer.Lag+time.Since(w.answer.At) <= lag
}

func serversOf(in shardmap.Resource) []string {
	all := []string{in.Leader.Addr}
	for _, s := range in.Standbys {
		all = append(all, s.Addr)
	}
	return all
}

// watchServers asks all servers of the map who leads, until the returned function is called.
func (r *Router) watchServers() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	m, changed := r.o.Map.Map()
	r.watchMap(ctx, &running, m)
	running.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
				m, changed = r.o.Map.Map()
				r.watchMap(ctx, &running, m)
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, w := range r.servers {
			_ = w.conn.Close() // no question is under way
		}
		clear(r.servers)
	}
}

// watchMap begins to ask the servers of a map, and ends asking others.
func (r *Router) watchMap(ctx context.Context, running *sync.WaitGroup, m *shardmap.Map) {
	wanted := map[string]bool{}
	for _, in := range m.Resources {
		for _, s := range serversOf(in) {
			wanted[s] = true
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for addr, w := range r.servers {
		if !wanted[addr] {
			w.stop()
			delete(r.servers, addr)
		}
	}
	for addr := range wanted {
		if r.servers[addr] != nil {
			continue
		}
		conn, err := dial(addr, r.o.TLS)
		if err != nil {
			r.o.Logger.Error("a server of the shard map cannot be asked", "server", addr, "error", err)
			continue
		}
		asked, stop := context.WithCancel(ctx)
		w := &watched{conn: conn, stop: stop, sooner: make(chan struct{}, 1), answer: leader.Answer{Addr: addr}}
		r.servers[addr] = w
		running.Go(func() {
			defer func() { _ = conn.Close() }() // no question is under way
			leader.Follow(asked, addr, conn, w.sooner, func(a leader.Answer) { r.heard(w, a) })
		})
	}
	r.look(m)
}

// heard records a server's answer about itself.
func (r *Router) heard(w *watched, a leader.Answer) {
	m, _ := r.o.Map.Map()
	r.mu.Lock()
	defer r.mu.Unlock()
	w.answer = a
	r.look(m)
}

// look finds out which server leads each resource of a map. The mutex is held.
func (r *Router) look(m *shardmap.Map) {
	leads := map[string]string{}
	for _, in := range m.Resources {
		if addr := r.leaderBy(in); addr != "" {
			leads[in.Name] = addr
		}
	}
	r.lead(leads)
}

// leaderBy is the server of a resource that leads it, by the servers' own answers; the map's, as
// long as that one was not asked; "" if no server leads. The mutex is held.
func (r *Router) leaderBy(in shardmap.Resource) string {
	answers := r.answers(in)
	if a, ok := leader.Of(answers); ok {
		return a.Addr
	}
	if answers[0].At.IsZero() {
		return in.Leader.Addr
	}
	return ""
}

// answers returns the answers of a resource's servers, the map's leader first. The mutex
// is held.
func (r *Router) answers(in shardmap.Resource) []leader.Answer {
	var all []leader.Answer
	for _, s := range serversOf(in) {
		a := leader.Answer{Addr: s}
		if w := r.servers[s]; w != nil {
			a = w.answer
		}
		all = append(all, a)
	}
	return all
}

// leaderOf is the server that leads a resource, "" if none is known to. The mutex is held.
func (r *Router) leaderOf(in shardmap.Resource) string {
	if len(r.servers) == 0 { // it does not serve yet
		return in.Leader.Addr
	}
	if lead := r.leads[in.Name]; slices.Contains(serversOf(in), lead) {
		return lead
	}
	return "" // or the map just lost it, and is yet to be looked at
}

// lead takes over who leads, logs changes, and wakes the calls that wait for it. The
// mutex is held.
func (r *Router) lead(leads map[string]string) {
	changed := r.changed(leads)
	for _, in := range changed {
		last, now := r.last[in], leads[in]
		switch {
		case now == "":
			r.o.Logger.Warn("no server leads the instance; its calls wait", "instance", in, "before", last)
			continue
		case last != "" && last != now:
			r.metrics.moves.Inc()
			r.o.Logger.Warn("another server leads the instance", "instance", in, "server", now, "before", last)
		default:
			r.o.Logger.Info("a server leads the instance", "instance", in, "server", now)
		}
		r.last[in] = now
	}
	if r.leads = leads; len(changed) > 0 {
		close(r.moved)
		r.moved = make(chan struct{})
	}
}

// changed are the resources that another server leads than before, sorted.
func (r *Router) changed(leads map[string]string) []string {
	var all []string
	for in, now := range leads {
		if r.leads[in] != now {
			all = append(all, in)
		}
	}
	for in := range r.leads {
		if leads[in] == "" {
			all = append(all, in)
		}
	}
	slices.Sort(all)
	return all
}

// learn records a server's answer to a call: another one leads. It reports false if
// the map does not list that one for the instance.
func (r *Router) learn(p place, says, leads string) bool {
	if !slices.Contains(serversOf(p.resource), leads) {
		r.o.Logger.Warn("a server names one that the shard map does not have", "instance", p.resource.Name, "server", says, "names", leads)
		return false
	}
	r.metrics.followed.Inc()
	r.askSooner(says, leads)
	return true
}

// askSooner asks servers at once.
func (r *Router) askSooner(addrs ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, addr := range addrs {
		if w := r.servers[addr]; w != nil {
			select {
			case w.sooner <- struct{}{}:
			default: // it will be asked anyway
			}
		}
	}
}

// leaderless are the resources of the map that no server leads, sorted by their names.
func (r *Router) leaderless() []string {
	m, _ := r.o.Map.Map()
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, in := range m.Resources {
		if r.leaderOf(in) == "" {
			all = append(all, in.Name)
		}
	}
	return all
}

// stale is how many resources another server leads than the map says.
func (r *Router) stale() int {
	m, _ := r.o.Map.Map()
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, in := range m.Resources {
		if by := r.leaderOf(in); by != "" && by != in.Leader.Addr {
			n++
		}
	}
	return n
}

// nobody is the error of a call whose instance no server leads. The call may wait for one,
// unless a server names one that the map does not have.
func (r *Router) nobody(in shardmap.Resource) (wait bool, err error) {
	r.mu.Lock()
	answers := r.answers(in)
	r.mu.Unlock()
	wait = true
	for _, a := range answers {
		if a.Err == nil && a.Leader != "" && !slices.Contains(serversOf(in), a.Leader) {
			wait = false
		}
	}
	return wait, status.Errorf(codes.Unavailable, "%s: %v", in.Name, leader.Nobody(answers))
}
