package lease

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// A Term is the time in which one server leads.
type Term struct {
	Epoch int64           // of the database in it
	Done  <-chan struct{} // closed when another server takes over

	before *State // nil: nobody led before
}

// ErrHeld matches the error of [Elector.Campaign] when another server leads.
var ErrHeld = errors.New("another server holds the lease")

// Campaign waits until this server holds the lease, and keeps it from then on: if it ends,
// the server takes it again, unless another one was faster. It returns ErrHeld when another
// server holds the lease, and an error that matches ErrForeign if that cannot change.
func (e *Elector) Campaign(ctx context.Context, c Candidate) (*Term, error) {
	if !e.made() || ctx == nil || c.Position == nil {
		return nil, errors.New("there is no elector, no context or no position")
	}
	defer e.setIneligible(nil)
	for ctx.Err() == nil {
		v, changed := e.View()
		switch err := v.State.eligible(e.o.Name, c); {
		case !v.Known:
		case errors.Is(err, ErrForeign):
			return nil, err
		case e.ours(v) && e.hasRolledBack(): // the key is from an earlier claim
			if e.change(ctx, v, clientv3.OpDelete(e.leaderKey())) == nil {
				continue
			}
		case e.ours(v):
			return e.begin(v), nil
		case v.Leader != "" && v.Leader != e.o.Name:
			return nil, fmt.Errorf("%w: %s", ErrHeld, v.Leader)
		case v.Leader != "": // from an earlier process of this server
		case e.hasRolledBack():
			e.setIneligible(fmt.Errorf("etcd has lost what this server has read there, as when a backup of it is restored, and only the server that led knows what is missing; if that is gone too, stop all servers, delete the keys below %s, and start the one with the newest epoch and the highest position first", e.o.Prefix))
		case err == nil && e.yielding():
			e.setIneligible(errors.New("it has handed over to " + strings.Join(v.State.syncStandbys(), ", ")))
		case err == nil && e.o.Observer:
			e.setIneligible(errors.New("it is an observer"))
		case err == nil:
			e.setIneligible(nil)
			term, err := e.claim(ctx, v, c)
			if term != nil {
				return term, nil
			}
			if err == nil {
				continue
			}
		default:
			e.setIneligible(err)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
	return nil, ctx.Err()
}

// hasRolledBack reports whether etcd returned to an earlier state than this server has
// seen.
func (e *Elector) hasRolledBack() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.back
}

// setIneligible notes why this server may not lead, nil if it may.
func (e *Elector) setIneligible(err error) {
	why := ""
	if err != nil {
		why = err.Error()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if why != "" && why != e.ineligible {
		e.logger.Warn("no server leads, and this one may not", "reason", why)
	}
	e.ineligible = why
}

// ours reports whether this process wrote the leader's key.
func (e *Elector) ours(v View) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.session != 0 && v.lease == e.session && v.State != nil && v.State.Leader == e.o.Name
}

// begin records that this server holds the lease that it claimed.
func (e *Elector) begin(v View) *Term {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := &hold{state: v.State, lease: v.lease, done: make(chan struct{})}
	e.held.Store(h)
	e.extend()
	e.see(e.view, e.view.at)
	e.logger.Info("this server holds the lease", "term", v.State.Term, "epoch", v.State.Epoch)
	return &Term{Epoch: v.State.Epoch, Done: h.done, before: e.before}
}

// claim takes the lease if this server is the best of those that may. Without a term and an
// error it is to be tried again.
func (e *Elector) claim(ctx context.Context, v View, c Candidate) (*Term, error) {
	if v.State != nil && !v.State.Strict {
		if best, err := e.best(ctx, v, c); err != nil || !best {
			return nil, err
		}
	}
	e.mu.Lock()
	e.before = v.State
	e.mu.Unlock()
	if err := e.take(ctx, v, v.State.next(e.o.Name, c)); err != nil {
		return nil, err
	}
	now, _ := e.View()
	if !e.ours(now) {
		return nil, nil
	}
	return e.begin(now), nil
}

// take writes the keys of a term, unless another server was faster, and looks at them. An
// error leaves open whether they were written: they are seen later.
func (e *Elector) take(ctx context.Context, v View, next *State) error {
	e.mu.Lock()
	session := e.session
	e.mu.Unlock()
	if session == 0 {
		return errors.New("the server has no lease in etcd yet")
	}
	put, err := e.putState(next)
	if err != nil {
		return err
	}
	call, cancel := e.short(ctx)
	defer cancel()
	_, err = e.etcd.Txn(call).If(
		clientv3.Compare(clientv3.CreateRevision(e.leaderKey()), "=", 0),
		clientv3.Compare(clientv3.ModRevision(e.stateKey()), "=", v.revision),
	).Then(
		clientv3.OpPut(e.leaderKey(), e.o.Name, clientv3.WithLease(session)),
		put,
	).Commit()
	if err != nil {
		return err
	}
	_, err = e.look(ctx)
	return err
}

// reacquire takes the lease again after it ended, unless somebody else took it.
func (e *Elector) reacquire(ctx context.Context) {
	for ctx.Err() == nil {
		v, changed := e.View()
		h := e.held.Load()
		switch again, back := e.continuation(h); {
		case h == nil || h.lease != 0:
		case e.ours(v) && !back:
			e.resume(v)
		case again == nil:
		case e.ours(v): // etcd holds the key, and an earlier state
			if put, err := e.putState(again); err == nil && e.change(ctx, v, put) == nil {
				continue
			}
		case v.Leader == "":
			if err := e.take(ctx, v, again); err == nil {
				continue
			}
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// continuation is the state with which a term of this server goes on; nil if another one has
// led since. back reports whether etcd holds an earlier one than the server.
func (e *Elector) continuation(h *hold) (again *State, back bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := e.newest; h != nil && n != nil && n.Leader == e.o.Name && n.Epoch == h.state.Epoch {
		again = new(State)
		*again = *n
		again.Term++
	}
	return again, e.back
}

// resume goes on with a term whose lease was taken again.
func (e *Elector) resume(v View) {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.held.Load()
	if h == nil {
		return
	}
	again := *h
	again.lease = v.lease
	e.held.Store(&again)
	e.extend()
	e.see(e.view, e.view.at)
	e.logger.Info("this server holds the lease again", "term", v.State.Term, "epoch", v.State.Epoch)
}

// SetSyncStandbys implements the Lease of package standby.
func (e *Elector) SetSyncStandbys(ctx context.Context, standbys []string, after uint64) error {
	if !e.made() || ctx == nil {
		return errors.New("there is no elector or no context")
	}
	v, _ := e.View()
	if e.held.Load() == nil || !e.ours(v) {
		return errors.New("this server does not hold the lease")
	}
	next := *v.State
	next.setSyncStandbys(standbys, after)
	put, err := e.putState(&next)
	if err != nil {
		return err
	}
	return e.change(ctx, v, put)
}

// Identify records the identity of a database that this server made since it leads, so
// that no server with another one takes its place. It tries again until it is noted, ctx
// ends, or the server leads no longer.
func (e *Elector) Identify(ctx context.Context, database string) error {
	if !e.made() || ctx == nil || database == "" {
		return errors.New("there is no elector, no context or no database")
	}
	for ctx.Err() == nil {
		v, changed := e.View()
		switch {
		case e.held.Load() == nil:
			return errors.New("this server does not lead")
		case v.State != nil && v.State.Database != "":
			return nil
		case e.ours(v):
			next := *v.State
			next.Database = database
			if put, err := e.putState(&next); err == nil && e.change(ctx, v, put) == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
	return ctx.Err()
}

// Resign gives the lease back when the server could not begin its term and acknowledged
// nothing in it. Then the same servers may lead as before, or all if nobody had led.
func (e *Elector) Resign(ctx context.Context, t *Term) error {
	if !e.made() || ctx == nil || t == nil || t.Done == nil {
		return errors.New("there is no term to resign from")
	}
	e.mu.Lock()
	e.held.Store(nil)
	e.mu.Unlock()
	v, _ := e.View()
	if !e.ours(v) {
		return nil
	}
	leave := clientv3.OpDelete(e.leaderKey())
	if t.before == nil {
		return e.change(ctx, v, leave, clientv3.OpDelete(e.stateKey()))
	}
	before := *t.before
	before.Term = v.State.Term
	put, err := e.putState(&before)
	if err != nil {
		return err
	}
	return e.change(ctx, v, leave, put)
}

// Transfer implements the Lease of package standby. If the standby does not take the lease within
// its TTL, this server may.
func (e *Elector) Transfer(ctx context.Context, to string, after uint64) error {
	if !e.made() || ctx == nil || to == "" {
		return errors.New("there is no elector, no context or no standby")
	}
	v, _ := e.View()
	if !e.ours(v) {
		return errors.New("this server does not hold the lease")
	}
	next := *v.State
	next.Strict = true // only these two may lead
	next.setSyncStandbys([]string{to}, after)
	put, err := e.putState(&next)
	if err != nil {
		return err
	}
	e.mu.Lock()
	h := e.held.Load()
	if h == nil { // another server took over
		e.mu.Unlock()
		return errors.New("this server does not hold the lease")
	}
	e.held.Store(nil) // it is not taken again
	e.yields = time.Now().Add(e.o.TTL)
	e.mu.Unlock()
	err = e.change(ctx, v, clientv3.OpDelete(e.leaderKey()), put)
	if now, _ := e.View(); err != nil && e.ours(now) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.yields = time.Time{}
		e.held.Store(h)
		e.extend()
		return err
	}
	close(h.done)
	return nil
}

// yielding reports whether this server just gave the lease to another one.
func (e *Elector) yielding() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Now().Before(e.yields)
}

// putState writes a state.
func (e *Elector) putState(s *State) (clientv3.Op, error) {
	text, err := json.Marshal(s)
	return clientv3.OpPut(e.stateKey(), string(text)), err
}

// change changes keys if this server holds the lease and its view of the state is the
// newest.
func (e *Elector) change(ctx context.Context, v View, how ...clientv3.Op) error {
	call, cancel := e.short(ctx)
	defer cancel()
	resp, err := e.etcd.Txn(call).If(
		clientv3.Compare(clientv3.LeaseValue(e.leaderKey()), "=", v.lease),
		clientv3.Compare(clientv3.ModRevision(e.stateKey()), "=", v.revision),
	).Then(how...).Commit()
	if _, lookErr := e.look(ctx); err == nil {
		err = lookErr
	}
	if err == nil && !resp.Succeeded {
		err = errors.New("the keys in etcd have changed meanwhile")
	}
	return err
}

// A ballot is what a server says of itself while nobody leads.
type ballot struct {
	Term     int64  `json:"term"`  // after which nobody leads
	Epoch    int64  `json:"epoch"` // of its database
	Position uint64 `json:"position"`
}

// say lists the server.
func (e *Elector) say(ctx context.Context, session clientv3.LeaseID, b ballot) error {
	text, err := json.Marshal(b)
	if err == nil {
		_, err = e.etcd.Put(ctx, e.serverKey(e.o.Name), string(text), clientv3.WithLease(session))
	}
	return err
}

// best reports whether this server's epoch is the latest among the servers that answer soon,
// and its position the highest in that epoch: a server that missed an epoch may hold changes
// of its own, and so a higher position. Ties go to the name that sorts last.
func (e *Elector) best(ctx context.Context, v View, c Candidate) (bool, error) {
	e.mu.Lock()
	session := e.session
	e.mu.Unlock()
	if session == 0 {
		return false, errors.New("the server has no lease in etcd yet")
	}
	mine := ballot{v.State.Term, max(c.Epoch, 1), c.Position()}
	call, cancel := e.short(ctx)
	defer cancel()
	if err := e.say(call, session, mine); err != nil {
		return false, err
	}
	for began := time.Now(); ; {
		silent, better, err := e.competitors(ctx, mine)
		if err != nil {
			return false, err
		}
		switch waited := time.Since(began); {
		case !silent && !better, waited > e.o.TTL/4 && !better, waited > e.o.TTL:
			return true, nil
		}
		_, changed := e.View()
		if now, _ := e.View(); now.Leader != "" || now.revision != v.revision {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-changed:
		case <-time.After(max(e.o.TTL/100, 10*time.Millisecond)):
		}
	}
}

// competitors compares the server with the others that are listed: better says that one is ahead,
// silent that one did not report its position.
func (e *Elector) competitors(ctx context.Context, mine ballot) (silent, better bool, err error) {
	call, cancel := e.short(ctx)
	defer cancel()
	resp, err := e.etcd.Get(call, e.serverKey(""), clientv3.WithPrefix())
	if err != nil {
		return false, false, err
	}
	for _, kv := range resp.Kvs {
		var theirs ballot
		name := string(kv.Key)[len(e.serverKey("")):]
		if name == e.o.Name || strings.Contains(name, "/") || json.Unmarshal(kv.Value, &theirs) != nil { // or of a prefix below this one
			continue
		}
		if theirs.Term != mine.Term {
			silent = true
		} else if cmp.Or(cmp.Compare(theirs.Epoch, mine.Epoch), cmp.Compare(theirs.Position, mine.Position), cmp.Compare(name, e.o.Name)) > 0 {
			better = true
		}
	}
	return silent, better, nil
}
