package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// A Tail collects records from the end of a log backward: of a cell that is replaced again and again, only
// the newest is kept at all. It belongs to one goroutine.
type Tail struct {
	r       *Replay
	hider   *hider
	after   cf.Position
	before  before // of the first record that says it
	samples map[string]sample
	sampled int // bytes of their records
}

// A sample is a change of a family that the store does not have yet.
type sample struct {
	record *cf.LogRecord
	change int
}

// mostSamples bounds the bytes of the records of the samples.
const mostSamples = 16 << 20

// NewTail makes a Tail of a log that ends at a position. The caller closes it before the store.
func NewTail(ctx context.Context, store cf.Follower, to cf.Position, o Options) (*Tail, error) {
	t := &Tail{r: New(store, o), after: to, before: before{}, samples: map[string]sample{}}
	t.r.arena.backward, t.r.to = true, to
	single := map[string]bool{}
	if o.Versions != nil {
		versions, err := o.Versions(ctx)
		if err != nil {
			return nil, err
		}
		for name, n := range versions {
			single[name] = n == 1
		}
	}
	t.hider = newHider(single)
	return t, nil
}

// After is the position before the first record of the Tail.
func (t *Tail) After() cf.Position { return t.after }

// Add takes the record before the others. It is false if the Tail does not reach back to it: then
// this one and those before it have to be applied by a [Replay]. Its bytes are the caller's again when Add returns.
func (t *Tail) Add(ctx context.Context, x *cf.LogRecord) (bool, error) {
	r := t.r
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if x.Last != t.after || len(r.spills) >= mostSpills {
		return false, nil
	}
	if joins, err := r.read(x); !joins || err != nil {
		return false, err
	}
	var fresh map[string]sample
	for i := range r.changes {
		name := r.changes[i].Family
		if name == "" || strings.Contains(name, "/") {
			continue
		}
		if _, ok := t.samples[name]; ok {
			continue
		}
		if t.sampled+len(x.Data) > mostSamples {
			return false, nil
		}
		if fresh == nil {
			fresh = map[string]sample{}
		}
		fresh[name] = sample{change: i}
	}
	if fresh != nil {
		c := *x
		c.Data = slices.Clone(x.Data)
		t.sampled += len(c.Data)
		for name, s := range fresh {
			t.samples[name] = sample{&c, s.change}
		}
	}
	for i := len(r.changes) - 1; i >= 0; i-- {
		family, at, ok, err := expiryOf(&r.changes[i])
		if err != nil {
			return false, err
		}
		if later, known := t.before[family]; ok && known && at > later {
			return false, ErrUnfit // it was lowered
		} else if ok {
			t.before[family] = at
		}
		if op := &r.changes[i]; !t.hider.hides(op) {
			r.arena.add(op.Family, op.Kind, op.Key, op.Value)
		}
	}
	t.after = x.After
	if r.bytes += len(x.Data); r.arena.size() < r.o.Memory {
		return true, nil
	}
	return true, r.rotate(ctx)
}

// Worth reports whether there is enough for a load.
func (t *Tail) Worth() bool { return t.r.bytes >= t.r.o.Least }

// Load loads the rest of the records, into a store that holds everything up to After.
func (t *Tail) Load(ctx context.Context) error {
	r := t.r
	if at := r.store.Latest(); at != t.after {
		return fmt.Errorf("%w: the store has position %d, and the records come after %d", cf.ErrDiverged, at, t.after)
	}
	before, err := beforeIn(ctx, r.store)
	if err != nil {
		return err
	}
	for family, at := range t.before {
		if at < before[family] {
			return ErrUnfit
		}
	}
	named := map[string]string{}
	for label, s := range t.samples {
		if joins, err := r.read(s.record); err != nil || !joins {
			return errors.Join(err, ErrUnfit)
		}
		name := r.changes[s.change].Family
		if !strings.Contains(name, "/") {
			return fmt.Errorf("%w: the log writes to %s, which the store does not have", cf.ErrDiverged, name)
		}
		named[label] = name
	}
	return r.loadAs(ctx, true, named, func(versions map[string]int) error {
		for name := range t.hider.pruned {
			if versions[name] != 1 { // the rule has changed
				return ErrUnfit
			}
		}
		return nil
	})
}

// Close ends the Tail, and removes its files.
func (t *Tail) Close() error { return t.r.Close() }
