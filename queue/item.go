package queue

import (
	"time"

	"github.com/google/uuid"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/rowmap"
)

// An Item is work to be enqueued.
type Item struct {
	// Type names the handler. It must not be empty.
	Type string
	// Payload is at most [MaxPayload] bytes. The queue does not look at it.
	Payload []byte
	// Priority is from 0, first, to 15. Within a zone, visible items are taken by
	// priority, then by the time at which they became visible.
	Priority int
	// At is when the item becomes visible, until the year 9999; a past time means now.
	At time.Time
	// Delay is added to At, or to the time of Enqueue if At is zero.
	Delay time.Duration
	// Unique, if not empty, is a key that no other item of the zone may have: see
	// UniqueFor.
	Unique string
	// UniqueFor is how long Unique is taken after Enqueue, whether the item is done or
	// not. If it is 0, Unique is taken until the item is done, dead or cancelled.
	UniqueFor time.Duration
	// Key, if not empty, limits how many items with this key run at the same time in
	// the zone, to [ZoneConfig.PerKey].
	Key string
	// MaxAttempts is how often the item is taken before it becomes a dead letter; 0 is
	// [DefaultMaxAttempts]. It fits into 31 bits.
	MaxAttempts int
	// KeepResult is how long the item and its result can be found after it is done; if
	// it is 0, nothing remains of a done item.
	KeepResult time.Duration
}

// DefaultMaxAttempts is the default of [Item.MaxAttempts].
const DefaultMaxAttempts = 25

const lastPriority = 15

// An ID names an item within its zone. IDs sort by the time at which they were made,
// in milliseconds; IDs of one process sort in the order of their making.
type ID [16]byte

func (id ID) String() string { return uuid.UUID(id).String() }

// ParseID reads the text form of an ID.
func ParseID(s string) (ID, error) {
	id, err := uuid.Parse(s)
	if err != nil {
		return ID{}, rowmap.Fault(query.KindInvalidArgument, "%q is not an id: %v", s, err)
	}
	return ID(id), nil
}

func (i *Item) check() error {
	if err := checkName("type", i.Type); err != nil {
		return err
	}
	for what, name := range map[string]string{"unique key": i.Unique, "key": i.Key} {
		if name == "" {
			continue
		}
		if err := checkName(what, name); err != nil {
			return err
		}
	}
	switch {
	case len(i.Payload) > MaxPayload:
		return rowmap.Fault(query.KindInvalidArgument, "the payload has %d bytes; the limit is %d", len(i.Payload), MaxPayload)
	case i.Priority < 0 || i.Priority > lastPriority:
		return rowmap.Fault(query.KindInvalidArgument, "the priority is %d; priorities are from 0 to %d", i.Priority, lastPriority)
	case i.Delay < 0 || i.UniqueFor < 0 || i.KeepResult < 0:
		return rowmap.Fault(query.KindInvalidArgument, "a duration is negative")
	case i.MaxAttempts < 0 || i.MaxAttempts > maxCount:
		return rowmap.Fault(query.KindInvalidArgument, "the number of attempts is %d; it must be from 1 to %d, or 0 for %d", i.MaxAttempts, maxCount, DefaultMaxAttempts)
	case i.At.Year() > 9999:
		return rowmap.Fault(query.KindInvalidArgument, "At is in the year %d; the last is 9999", i.At.Year())
	case i.UniqueFor > 0 && i.Unique == "":
		return rowmap.Fault(query.KindInvalidArgument, "UniqueFor needs a unique key")
	}
	return nil
}

// An item is an enqueued Item, which does not change.
type item struct {
	zone        string
	id          ID
	kind        string // Item.Type
	payload     []byte
	priority    int64
	vests       int64
	enqueued    int64
	key         string
	unique      string
	uniqueFor   int64 // microseconds
	maxAttempts int64
	keep        int64 // microseconds
}

func (i *item) encode() string {
	return encode(i.kind, i.payload, i.priority, i.vests, i.enqueued, i.key, i.unique, i.uniqueFor, i.maxAttempts, i.keep)
}

func decodeItem(zone string, id ID, key, value string) (*item, error) {
	d := decode(key, value)
	i := &item{
		zone: zone, id: id,
		kind: d.str(), payload: d.bytes(), priority: d.count(), vests: d.time(), enqueued: d.time(),
		key: d.str(), unique: d.str(), uniqueFor: d.time(), maxAttempts: d.count(), keep: d.time(),
	}
	return i, d.end()
}

// item reads an item. Items do not change, so there is a dependency only if the caller
// asks for it: whether the item exists.
func (w *work) item(zone string, id ID) (*item, bool, error) {
	key := w.q.keys.item(zone, id)
	value, found, err := w.Get(key)
	if err != nil || !found {
		return nil, false, err
	}
	i, err := decodeItem(zone, id, key, value)
	return i, err == nil, err
}

// tries are how often an item was taken.
type tries struct {
	attempts int64 // those that count against Item.MaxAttempts
	taken    int64 // all: the fencing token of the last lease
}

func (d *decoder) tries() tries { return tries{d.count(), d.count()} }

// A waiting is the value of a ready or a blocked item, and of a dead letter.
type waiting struct {
	kind string
	tries
	moved bool // the item's state row exists
}

func (r waiting) encode() string { return encode(r.kind, r.attempts, r.taken, r.moved) }

func decodeWaiting(key, value string) (waiting, error) {
	d := decode(key, value)
	r := waiting{d.str(), d.tries(), d.bool()}
	return r, d.end()
}

// A lease is the value of a leased item.
type lease struct {
	kind  string
	tries      // this one included
	moved bool // the item's state row exists
	tell  bool // the zone waits for the end of the lease: it is limited, or the item is keyed
}

func (l lease) encode() string { return encode(l.kind, l.attempts, l.taken, l.moved, l.tell) }

func decodeLease(key, value string) (lease, error) {
	d := decode(key, value)
	l := lease{d.str(), d.tries(), d.bool(), d.bool()}
	return l, d.end()
}

// A hold is a leased item.
type hold struct {
	item    *item
	lease   lease
	expires int64
}

// A state says where an item is, or was when it became visible.
type state struct {
	at   State
	time int64  // vesting time, or the time of death or of completion
	why  string // the last error
	tries
}

func (s state) encode() string { return encode(int64(s.at), s.time, s.attempts, s.taken, s.why) }

func (w *work) state(zone string, id ID) (s state, found bool, err error) {
	key := w.q.keys.state(zone, id)
	value, found, err := w.Get(key)
	if err != nil || !found {
		return s, false, err
	}
	d := decode(key, value)
	s = state{at: State(d.count()), time: d.time(), tries: d.tries(), why: d.str()}
	return s, true, d.end()
}
