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
	Epoch int64           // that the database has in it
	Done  <-chan struct{} // closed when another server has taken over

	before *State // nil: nobody has led before
}

// ErrLed matches the error of [Judge.Campaign] when another server leads.
var ErrLed = errors.New("another server holds the lease")

// Campaign waits until this server holds the lease, and keeps it from then on: if it ends,
// the server takes it again, unless another one was faster. It returns ErrLed when another
// server holds the lease, and an error that matches ErrForeign if that cannot change.
func (j *Judge) Campaign(ctx context.Context, c Candidate) (*Term, error) {
	if !j.made() || ctx == nil || c.Position == nil {
		return nil, errors.New("there is no judge, no context or no position")
	}
	defer j.doubts(nil)
	for ctx.Err() == nil {
		v, changed := j.View()
		switch err := v.State.admits(j.o.Name, c); {
		case !v.Known:
		case errors.Is(err, ErrForeign):
			return nil, err
		case j.ours(v) && j.wentBack(): // the key is that of an earlier claim
			if j.change(ctx, v, clientv3.OpDelete(j.leaderKey())) == nil {
				continue
			}
		case j.ours(v):
			return j.begin(v), nil
		case v.Leader != "" && v.Leader != j.o.Name:
			return nil, fmt.Errorf("%w: %s", ErrLed, v.Leader)
		case v.Leader != "": // that of an earlier process of this server
		case j.wentBack():
			j.doubts(fmt.Errorf("etcd has lost what this server has read there, as when a backup of it is restored, and only the server that led knows what is missing; if that is gone too, stop all servers, delete the keys below %s, and start the one with the newest epoch and the highest position first", j.o.Prefix))
		case err == nil && j.o.Observer:
			j.doubts(errors.New("it is an observer"))
		case err == nil:
			j.doubts(nil)
			term, err := j.claim(ctx, v, c)
			if term != nil {
				return term, nil
			}
			if err == nil {
				continue
			}
		default:
			j.doubts(err)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
	return nil, ctx.Err()
}

// wentBack reports whether etcd has an earlier state than this server has seen.
func (j *Judge) wentBack() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.back
}

// doubts notes why this server may not lead, nil if it may.
func (j *Judge) doubts(err error) {
	why := ""
	if err != nil {
		why = err.Error()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if why != "" && why != j.doubt {
		j.logger.Warn("no server leads, and this one may not", "reason", why)
	}
	j.doubt = why
}

// ours reports whether the key of the leader is that of this process.
func (j *Judge) ours(v View) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.session != 0 && v.lease == j.session && v.State != nil && v.State.Leader == j.o.Name
}

// begin notes that this server holds the lease, which it has claimed.
func (j *Judge) begin(v View) *Term {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := &hold{state: v.State, lease: v.lease, done: make(chan struct{})}
	j.held.Store(h)
	j.extend()
	j.see(j.view, j.view.at)
	j.logger.Info("this server holds the lease", "term", v.State.Term, "epoch", v.State.Epoch)
	return &Term{Epoch: v.State.Epoch, Done: h.done, before: j.before}
}

// claim takes the lease if this server is the best of those that may. Without a term and an
// error it is to be tried again.
func (j *Judge) claim(ctx context.Context, v View, c Candidate) (*Term, error) {
	if v.State != nil && !v.State.Strict {
		if best, err := j.best(ctx, v, c); err != nil || !best {
			return nil, err
		}
	}
	j.mu.Lock()
	j.before = v.State
	j.mu.Unlock()
	if err := j.take(ctx, v, v.State.next(j.o.Name, c)); err != nil {
		return nil, err
	}
	now, _ := j.View()
	if !j.ours(now) {
		return nil, nil
	}
	return j.begin(now), nil
}

// take writes the keys of a term, unless another server was faster, and looks at them. An
// error leaves open whether they were written: they are seen later.
func (j *Judge) take(ctx context.Context, v View, next *State) error {
	j.mu.Lock()
	session := j.session
	j.mu.Unlock()
	if session == 0 {
		return errors.New("the server has no lease in etcd yet")
	}
	put, err := j.putState(next)
	if err != nil {
		return err
	}
	call, cancel := j.short(ctx)
	defer cancel()
	_, err = j.etcd.Txn(call).If(
		clientv3.Compare(clientv3.CreateRevision(j.leaderKey()), "=", 0),
		clientv3.Compare(clientv3.ModRevision(j.stateKey()), "=", v.revision),
	).Then(
		clientv3.OpPut(j.leaderKey(), j.o.Name, clientv3.WithLease(session)),
		put,
	).Commit()
	if err != nil {
		return err
	}
	_, err = j.look(ctx)
	return err
}

// regain takes the lease again when it has ended and nobody else has taken it.
func (j *Judge) regain(ctx context.Context) {
	for ctx.Err() == nil {
		v, changed := j.View()
		h := j.held.Load()
		switch again, back := j.goesOn(h); {
		case h == nil || h.lease != 0:
		case j.ours(v) && !back:
			j.resume(v)
		case again == nil:
		case j.ours(v): // etcd has the key, and an earlier state
			if put, err := j.putState(again); err == nil && j.change(ctx, v, put) == nil {
				continue
			}
		case v.Leader == "":
			if err := j.take(ctx, v, again); err == nil {
				continue
			}
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// goesOn is the state with which a term of this server goes on; nil if another one has led
// since. back reports whether etcd has an earlier one: the newest is that of the server.
func (j *Judge) goesOn(h *hold) (again *State, back bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := j.newest; h != nil && n != nil && n.Leader == j.o.Name && n.Epoch == h.state.Epoch {
		again = new(State)
		*again = *n
		again.Term++
	}
	return again, j.back
}

// resume goes on with a term whose lease was taken again.
func (j *Judge) resume(v View) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := j.held.Load()
	if h == nil {
		return
	}
	again := *h
	again.lease = v.lease
	j.held.Store(&again)
	j.extend()
	j.see(j.view, j.view.at)
	j.logger.Info("this server holds the lease again", "term", v.State.Term, "epoch", v.State.Epoch)
}

// Appoint implements the Lease of package standby.
func (j *Judge) Appoint(ctx context.Context, heir string, after uint64) error {
	if !j.made() || ctx == nil {
		return errors.New("there is no judge or no context")
	}
	v, _ := j.View()
	if j.held.Load() == nil || !j.ours(v) {
		return errors.New("this server does not hold the lease")
	}
	next := *v.State
	next.Heir, next.After = heir, after
	put, err := j.putState(&next)
	if err != nil {
		return err
	}
	return j.change(ctx, v, put)
}

// Identify notes the identity of a database that this server has made since it leads, so
// that no server with another one takes its place. It tries again until it is noted, ctx
// ends, or the server leads no longer.
func (j *Judge) Identify(ctx context.Context, database string) error {
	if !j.made() || ctx == nil || database == "" {
		return errors.New("there is no judge, no context or no database")
	}
	for ctx.Err() == nil {
		v, changed := j.View()
		switch {
		case j.held.Load() == nil:
			return errors.New("this server does not lead")
		case v.State != nil && v.State.Database != "":
			return nil
		case j.ours(v):
			next := *v.State
			next.Database = database
			if put, err := j.putState(&next); err == nil && j.change(ctx, v, put) == nil {
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

// Resign gives the lease back when the server could not begin its term and has acknowledged
// nothing in it: then those may lead that might have led before, all if nobody had.
func (j *Judge) Resign(ctx context.Context, t *Term) error {
	if !j.made() || ctx == nil || t == nil || t.Done == nil {
		return errors.New("there is no term to resign from")
	}
	j.mu.Lock()
	j.held.Store(nil)
	j.mu.Unlock()
	v, _ := j.View()
	if !j.ours(v) {
		return nil
	}
	leave := clientv3.OpDelete(j.leaderKey())
	if t.before == nil {
		return j.change(ctx, v, leave, clientv3.OpDelete(j.stateKey()))
	}
	before := *t.before
	before.Term = v.State.Term
	put, err := j.putState(&before)
	if err != nil {
		return err
	}
	return j.change(ctx, v, leave, put)
}

// putState writes a state.
func (j *Judge) putState(s *State) (clientv3.Op, error) {
	text, err := json.Marshal(s)
	return clientv3.OpPut(j.stateKey(), string(text)), err
}

// change changes keys while this server holds the lease and has seen the state last.
func (j *Judge) change(ctx context.Context, v View, how ...clientv3.Op) error {
	call, cancel := j.short(ctx)
	defer cancel()
	resp, err := j.etcd.Txn(call).If(
		clientv3.Compare(clientv3.LeaseValue(j.leaderKey()), "=", v.lease),
		clientv3.Compare(clientv3.ModRevision(j.stateKey()), "=", v.revision),
	).Then(how...).Commit()
	if _, lookErr := j.look(ctx); err == nil {
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
func (j *Judge) say(ctx context.Context, session clientv3.LeaseID, b ballot) error {
	text, err := json.Marshal(b)
	if err == nil {
		_, err = j.etcd.Put(ctx, j.serverKey(j.o.Name), string(text), clientv3.WithLease(session))
	}
	return err
}

// best reports whether this server has the latest epoch of those that answer soon, and the
// highest position in it: one that has missed an epoch may have changes of its own, and so a
// higher position. Of several with the same one it is the one whose name comes last.
func (j *Judge) best(ctx context.Context, v View, c Candidate) (bool, error) {
	j.mu.Lock()
	session := j.session
	j.mu.Unlock()
	if session == 0 {
		return false, errors.New("the server has no lease in etcd yet")
	}
	mine := ballot{v.State.Term, max(c.Epoch, 1), c.Position()}
	call, cancel := j.short(ctx)
	defer cancel()
	if err := j.say(call, session, mine); err != nil {
		return false, err
	}
	for began := time.Now(); ; {
		silent, better, err := j.rivals(ctx, mine)
		if err != nil {
			return false, err
		}
		switch waited := time.Since(began); {
		case !silent && !better, waited > j.o.TTL/4 && !better, waited > j.o.TTL:
			return true, nil
		}
		_, changed := j.View()
		if now, _ := j.View(); now.Leader != "" || now.revision != v.revision {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-changed:
		case <-time.After(max(j.o.TTL/100, 10*time.Millisecond)):
		}
	}
}

// rivals compares the server with the others that are listed: better says that one has more,
// silent that one has not said what it has.
func (j *Judge) rivals(ctx context.Context, mine ballot) (silent, better bool, err error) {
	call, cancel := j.short(ctx)
	defer cancel()
	resp, err := j.etcd.Get(call, j.serverKey(""), clientv3.WithPrefix())
	if err != nil {
		return false, false, err
	}
	for _, kv := range resp.Kvs {
		var theirs ballot
		name := string(kv.Key)[len(j.serverKey("")):]
		if name == j.o.Name || strings.Contains(name, "/") || json.Unmarshal(kv.Value, &theirs) != nil { // or of a prefix below this one
			continue
		}
		if theirs.Term != mine.Term {
			silent = true
		} else if cmp.Or(cmp.Compare(theirs.Epoch, mine.Epoch), cmp.Compare(theirs.Position, mine.Position), cmp.Compare(name, j.o.Name)) > 0 {
			better = true
		}
	}
	return silent, better, nil
}
