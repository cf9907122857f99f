package queue

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/rowmap"
)

// A State is the reason why an item waits.
type State int

const (
	Ready   State = iota // a worker, or its vesting time
	Blocked              // other items with its key
	Leased               // its worker
	Dead                 // to be replayed or cancelled
	Done                 // the end of [Item.KeepResult]
)

func (s State) String() string {
	names := [...]string{"ready", "blocked", "leased", "dead", "done"}
	if s < 0 || int(s) >= len(names) {
		return "unknown"
	}
	return names[s]
}

// Info is an item as a transaction sees it.
type Info struct {
	ID       ID
	Zone     string
	Type     string
	Payload  []byte
	Priority int
	Key      string
	Unique   string
	State    State
	// Time is when a ready or blocked item became or becomes visible, when a lease
	// expires, or when the item died or was done.
	Time        time.Time
	Enqueued    time.Time
	Attempts    int // those that began
	MaxAttempts int
	Err         string // the last error; "" if no attempt failed, or the item is done
	Result      []byte
}

// Get is an item of a zone. If there is no such item, the error is [ErrNotFound].
func (q *Queue) Get(ctx context.Context, tx *query.Tx, zone string, id ID) (Info, error) {
	const op = "get item"
	w, err := q.work(ctx, tx)
	if err == nil {
		err = checkName("zone", zone)
	}
	if err != nil {
		return Info{}, fail(op, id.String(), err)
	}
	info, err := w.info(zone, id)
	return info, fail(op, id.String(), err)
}

func (w *work) info(zone string, id ID) (Info, error) {
	i, found, err := w.item(zone, id)
	if err == nil && !found {
		err = ErrNotFound
	}
	if err != nil {
		return Info{}, err
	}
	s, _, err := w.locate(i)
	if err != nil {
		return Info{}, err
	}
	info := i.info(s)
	if s.at == Done {
		info.Result, err = w.result(i)
	}
	return info, err
}

func (i *item) info(s state) Info {
	return Info{
		ID: i.id, Zone: i.zone, Type: i.kind, Payload: i.payload, Priority: int(i.priority), Key: i.key, Unique: i.unique,
		State: s.at, Time: timeOf(s.time), Enqueued: timeOf(i.enqueued),
		Attempts: int(s.attempts), MaxAttempts: int(i.maxAttempts), Err: s.why,
	}
}

func (w *work) result(i *item) ([]byte, error) {
	key := w.q.keys.result(i.zone, i.id)
	value, _, err := w.Get(key)
	if err != nil {
		return nil, err
	}
	d := decode(key, value)
	result := d.bytes()
	return result, d.end()
}

// locate is where an item is, and the key of its row there, "" for a done one.
func (w *work) locate(i *item) (s state, key string, err error) {
	s, found, err := w.state(i.zone, i.id)
	if err != nil {
		return s, "", err
	}
	if !found {
		s = state{at: Ready, time: i.vests}
	}
	switch s.at {
	case Dead:
		return s, w.q.keys.dead(i.zone, s.time, i.id), nil
	case Done:
		return s, "", nil
	}
	for at, key := range map[State]string{
		Ready:   w.q.keys.ready(i, s.time),
		Blocked: w.q.keys.blocked(i, s.time),
	} {
		value, found, err := w.Get(key)
		if err != nil {
			return s, "", err
		}
		if found {
			r, err := decodeWaiting(key, value)
			s.at, s.tries = at, r.tries
			return s, key, err
		}
	}
	return w.locateLease(i, s)
}

// locateLease is the place of an item that is in no other order.
func (w *work) locateLease(i *item, s state) (state, string, error) {
	h, found, err := w.findLease(i)
	if err == nil && !found {
		err = rowmap.Fault(query.KindCorruption, "item %s of zone %q is in no order", i.id, i.zone)
	}
	if err != nil {
		return s, "", err
	}
	return state{at: Leased, time: h.expires, tries: h.lease.tries, why: s.why}, w.q.keys.lease(i.zone, h.expires, i.id), nil
}

// findLease finds the lease of an item among its zone's. Nothing depends on it.
func (w *work) findLease(i *item) (hold, bool, error) {
	z, err := w.zone(i.zone)
	if err != nil {
		return hold{}, false, err
	}
	for e, err := range w.PeekAll(w.q.keys.after(z.leases, leaseRow, i.zone), 0) {
		if err != nil {
			return hold{}, false, err
		}
		at := w.q.keys.place(e.Key, leaseRow, 3)
		if _, expires, id := at.str(), at.time(), at.id(); at.err != nil || id == i.id {
			l, err := decodeLease(e.Key, e.Value)
			err = cmp.Or(at.err, err)
			return hold{i, l, expires}, err == nil, err
		}
	}
	return hold{}, false, nil
}

// Peek are the visible items of a zone in the order in which they would be taken, at
// most n. It takes no lease, and the commit does not depend on it.
func (q *Queue) Peek(ctx context.Context, tx *query.Tx, zone string, n int) ([]Info, error) {
	const op = "peek at zone"
	w, err := q.work(ctx, tx)
	if err == nil {
		err = checkName("zone", zone)
	}
	if err != nil {
		return nil, fail(op, zone, err)
	}
	all, err := w.peek(zone, n)
	return all, fail(op, zone, err)
}

func (w *work) peek(zone string, n int) (all []Info, err error) {
	w.loose = true
	z, err := w.zone(zone)
	if err != nil {
		return nil, err
	}
	k := w.q.keys
	rows := []listing{{k.between(z.leases, w.now, leaseRow, zone), leaseRow}}
	for _, p := range z.priorities() {
		rows = append(rows, listing{k.between(z.ready[p], w.now, readyRow, zone, p), readyRow})
	}
	for _, r := range rows {
		if len(all) >= n {
			break
		}
		for info, err := range w.list(zone, r, n-len(all)) {
			if err != nil {
				return nil, err
			}
			all = append(all, info)
		}
	}
	return all, nil
}

// A listing is rows of a kind whose last element is the id of an item.
type listing struct {
	rows read.RowSet
	kind int
}

// elements is how many elements the keys of rows of a kind have.
var elements = map[int]int{readyRow: 4, leaseRow: 3, blockedRow: 5, deadRow: 3}

// list are the items of rows, at most n if that is not 0.
func (w *work) list(zone string, l listing, n int) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for e, err := range w.PeekAll(l.rows, n) {
			var info Info
			if err == nil {
				info, err = w.listed(zone, e.Key, l.kind)
			}
			if !yield(info, err) || err != nil {
				return
			}
		}
	}
}

func (w *work) listed(zone, key string, kind int) (Info, error) {
	id, err := w.q.keys.idOf(key, kind)
	if err != nil {
		return Info{}, err
	}
	return w.info(zone, id)
}

// idOf is the id at the end of a key of a kind.
func (k keys) idOf(key string, kind int) (ID, error) {
	t, err := k.parse(key, kind, elements[kind])
	if err != nil {
		return ID{}, err
	}
	last := &decoder{key: key, rest: t[len(t)-1:]}
	return last.id(), last.err
}

// Dead are the dead letters of a zone, the oldest first. The commit does not depend on
// the list. The loop may replay and cancel them.
func (q *Queue) Dead(ctx context.Context, tx *query.Tx, zone string) iter.Seq2[Info, error] {
	const op = "list dead letters of zone"
	return func(yield func(Info, error) bool) {
		w, err := q.work(ctx, tx)
		if err == nil {
			err = checkName("zone", zone)
		}
		if err != nil {
			yield(Info{}, fail(op, zone, err))
			return
		}
		w.loose = true
		for info, err := range w.dead(zone) {
			if !yield(info, fail(op, zone, err)) || err != nil {
				return
			}
		}
	}
}

// dead reads dead letters batch by batch, so that no scan is under way in the loop.
func (w *work) dead(zone string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		rows := w.q.keys.all(deadRow, zone)
		for {
			entries, err := collect(w.PeekAll(rows, batch))
			if err != nil {
				yield(Info{}, err)
				return
			}
			for _, e := range entries {
				if !yield(w.listed(zone, e.Key, deadRow)) {
					return
				}
			}
			if len(entries) < batch {
				return
			}
			rows = w.q.keys.behind(entries[batch-1].Key, deadRow, zone)
		}
	}
}
