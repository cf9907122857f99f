package queue_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/queue"
	"pgregory.net/rapid"
)

// A model of a queue is its items and its configurations.
type model struct {
	now    int64
	items  []*modelItem // in the order of their making
	config map[string]queue.ZoneConfig
	window map[string]window // unique keys that are taken for a time, by zone and key
}

type window struct {
	holder queue.ID
	until  int64
}

type modelItem struct {
	queue.Item
	id       queue.ID
	zone     string
	state    queue.State
	time     int64 // as Info.Time
	attempts int
	why      string
	result   string
	job      *queue.Job // the last one
	place    int64      // time when it last began to wait
	back     bool       // it waits again at its old place, or at the floor of its zone if that is later
}

// holder is the item that has a unique key.
func (m *model) holder(zone, unique string) (queue.ID, bool) {
	if w, ok := m.window[zone+" "+unique]; ok && w.until > m.now {
		return w.holder, true
	}
	for _, i := range m.items {
		if i.zone == zone && i.Unique == unique && i.UniqueFor == 0 && i.state != queue.Dead && i.state != queue.Done {
			return i.id, true
		}
	}
	return queue.ID{}, false
}

func (m *model) count(match func(*modelItem) bool) (n int) {
	for _, i := range m.items {
		if match(i) {
			n++
		}
	}
	return n
}

// visible are the items that a visit can look at, in their order: expired ones first.
func (m *model) visible(zone string) (all []*modelItem) {
	for _, i := range m.items {
		if i.zone == zone && i.time <= m.now && (i.state == queue.Ready || i.state == queue.Leased) {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b *modelItem) int {
		if a.state != b.state {
			return cmp.Compare(b.state, a.state)
		}
		if a.state == queue.Ready && a.Priority != b.Priority {
			return cmp.Compare(a.Priority, b.Priority)
		}
		return cmp.Or(cmp.Compare(a.time, b.time), slices.Compare(a.id[:], b.id[:]))
	})
	return all
}

// dequeue is what a visit takes.
func (m *model) dequeue(zone string, n int, lease time.Duration) (taken []*modelItem) {
	c := m.config[zone]
	if c.Paused {
		return nil
	}
	if c.Limit > 0 {
		n = min(n, c.Limit-m.count(func(i *modelItem) bool { return i.zone == zone && i.state == queue.Leased && i.time > m.now }))
	}
	for _, i := range m.visible(zone) {
		switch {
		case len(taken) >= n:
			return taken
		case i.state == queue.Leased && i.attempts >= i.MaxAttempts:
			m.end(i, queue.Dead)
			i.why = "the lease of the last attempt has expired"
			continue
		case i.state == queue.Ready && i.Key != "" && m.holders(i) >= max(c.PerKey, 1):
			i.state = queue.Blocked
			continue
		}
		if i.state == queue.Ready {
			i.place = i.time
		}
		earlier := m.now
		if i.state == queue.Leased {
			earlier = max(earlier, i.time)
		}
		i.state, i.time = queue.Leased, earlier+lease.Microseconds()
		i.attempts++
		taken = append(taken, i)
	}
	return taken
}

func (m *model) holders(of *modelItem) int {
	return m.count(func(i *modelItem) bool { return i.zone == of.zone && i.Key == of.Key && i.state == queue.Leased })
}

// end takes an item out of its order, and has the next ones with its key wait for a
// worker.
func (m *model) end(i *modelItem, to queue.State) {
	was := i.state
	i.state, i.time = to, m.now
	if i.Key == "" || was != queue.Leased && was != queue.Ready {
		return
	}
	free := max(m.config[i.zone].PerKey, 1) - m.holders(i)
	if was == queue.Ready {
		free = min(free, 1)
	}
	m.unblock(func(other *modelItem) bool { return other.zone == i.zone && other.Key == i.Key }, free)
}

func (m *model) unblock(match func(*modelItem) bool, n int) {
	var all []*modelItem
	for _, i := range m.items {
		if i.state == queue.Blocked && match(i) {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b *modelItem) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.time, b.time), slices.Compare(a.id[:], b.id[:]))
	})
	for _, i := range all[:max(0, min(n, len(all)))] {
		i.state, i.back = queue.Ready, true
	}
}

func (m *model) forget(i *modelItem) {
	m.items = slices.DeleteFunc(m.items, func(other *modelItem) bool { return other == i })
}

// A history is a queue beside the model.
type history struct {
	*fixture
	m *model
}

var modelZones = []string{"a", "b"}

// TestHistoriesMatchTheModel drives a queue and a naive model through the same random
// history. rapid prints the seed of a failure; -rapid.checks makes it longer.
func TestHistoriesMatchTheModel(t *testing.T) {
	f := begin(t)
	rapid.Check(t, func(t *rapid.T) {
		must(t, f.db.Table("queues").DeleteRange(ctx, read.Prefix("")))
		f.pass(time.Hour)
		f.q = f.another()
		f.q.SetTidyAfter(2)
		h := &history{f, &model{now: f.q.Now(), config: map[string]queue.ZoneConfig{}, window: map[string]window{}}}
		t.Repeat(map[string]func(*rapid.T){
			"enqueue": h.enqueue, "dequeue": h.dequeue, "dequeue more": h.dequeue, "end": h.end, "end more": h.end, "extend": h.extend,
			"change": h.change, "drain": h.drain, "configure": h.configure, "pass": h.pass, "restart": h.restart, "": h.compare,
		})
		audit(t, h.db, h.q)
	})
}

func (h *history) enqueue(t *rapid.T) {
	i := &modelItem{zone: rapid.SampledFrom(modelZones).Draw(t, "zone"), Item: queue.Item{
		Type:        rapid.SampledFrom([]string{"x", "y"}).Draw(t, "type"),
		Payload:     rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "payload"),
		Priority:    rapid.SampledFrom([]int{0, 0, 7, 15}).Draw(t, "priority"),
		Delay:       rapid.SampledFrom([]time.Duration{0, 0, 0, time.Microsecond, time.Second, time.Minute}).Draw(t, "delay"),
		Key:         rapid.SampledFrom([]string{"", "k", "l"}).Draw(t, "key"),
		Unique:      rapid.SampledFrom([]string{"", "", "u", "v"}).Draw(t, "unique"),
		MaxAttempts: rapid.IntRange(1, 3).Draw(t, "attempts"),
		KeepResult:  rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "keep"),
	}}
	if i.Unique != "" {
		i.UniqueFor = rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "window")
	}
	i.time = h.m.now + i.Delay.Microseconds()
	holder, taken := h.m.holder(i.zone, i.Unique)
	taken = taken && i.Unique != ""
	err := h.db.Update(ctx, func(tx *query.Tx) (err error) {
		if i.id, err = h.q.Enqueue(ctx, tx, i.zone, i.Item); errors.Is(err, queue.ErrDuplicate) && i.id != holder {
			t.Errorf("the holder is %v, want %v", i.id, holder)
		}
		return err
	})
	if taken != errors.Is(err, queue.ErrDuplicate) || !taken && err != nil {
		t.Fatalf("enqueue: %v; the key is taken: %v", err, taken)
	}
	if taken {
		return
	}
	h.m.items = append(h.m.items, i)
	if i.UniqueFor > 0 {
		h.m.window[i.zone+" "+i.Unique] = window{i.id, h.m.now + i.UniqueFor.Microseconds()}
	} else {
		delete(h.m.window, i.zone+" "+i.Unique)
	}
}

func (h *history) dequeue(t *rapid.T) {
	zone, n := rapid.SampledFrom(modelZones).Draw(t, "zone"), rapid.IntRange(1, 4).Draw(t, "n")
	lease := rapid.SampledFrom([]time.Duration{time.Microsecond, time.Second, time.Minute}).Draw(t, "lease")
	jobs, want := h.take(zone, n, lease), h.m.dequeue(zone, n, lease)
	if len(jobs) != len(want) {
		t.Fatalf("took %d items, want %d", len(jobs), len(want))
	}
	for n, j := range jobs {
		i := want[n]
		if j.ID() != i.id || j.Attempt() != i.attempts || j.Expires().UnixMicro() != i.time || i.job != nil && j.Token() <= i.job.Token() {
			t.Fatalf("job %d is %v, attempt %d until %v; want %v, %d, %d", n, j.ID(), j.Attempt(), j.Expires(), i.id, i.attempts, i.time)
		}
		i.job = j
	}
}

// drawJob draws an item that was taken; its last job may have ended.
func (h *history) drawJob(t *rapid.T) *modelItem {
	var all []*modelItem
	for _, i := range h.m.items {
		if i.job != nil {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		t.Skip("nothing was taken")
	}
	return rapid.SampledFrom(all).Draw(t, "item")
}

func (h *history) end(t *rapid.T) {
	i, how := h.drawJob(t), rapid.SampledFrom([]string{"complete", "return", "release", "bury"}).Draw(t, "how")
	delay := rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "delay")
	cause := errors.New(rapid.SampledFrom([]string{"", "x"}).Draw(t, "cause"))
	err := h.db.Update(ctx, func(tx *query.Tx) error {
		switch how {
		case "complete":
			return i.job.Complete(ctx, tx, []byte("result"))
		case "return":
			return i.job.Return(ctx, tx, delay, cause)
		case "release":
			return i.job.Release(ctx, tx)
		}
		return i.job.Bury(ctx, tx, cause)
	})
	if i.state != queue.Leased {
		if !errors.Is(err, queue.ErrLeaseLost) {
			t.Fatalf("%s of an item that is %v: %v", how, i.state, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", how, err)
	}
	switch {
	case how == "complete" && i.KeepResult == 0:
		h.m.end(i, queue.Done)
		h.m.forget(i)
	case how == "complete":
		h.m.end(i, queue.Done)
		i.result, i.why = "result", ""
	case how == "release":
		i.attempts--
		h.m.again(i, i.place)
		i.back = true
	case how == "bury" || i.attempts >= i.MaxAttempts:
		h.m.end(i, queue.Dead)
		i.why = cause.Error()
	default:
		i.why = cause.Error()
		h.m.again(i, h.m.now+delay.Microseconds())
	}
}

// again ends a lease and has the item wait.
func (m *model) again(i *modelItem, at int64) {
	m.end(i, queue.Ready)
	i.time = at
}

func (h *history) extend(t *rapid.T) {
	i := h.drawJob(t)
	d := rapid.SampledFrom([]time.Duration{time.Microsecond, time.Minute}).Draw(t, "duration")
	err := i.job.Extend(ctx, d)
	if i.state != queue.Leased || i.time <= h.m.now {
		if !errors.Is(err, queue.ErrLeaseLost) {
			t.Fatalf("extend a lease that is lost: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	i.time = max(i.time, h.m.now+d.Microseconds())
}

func (h *history) change(t *rapid.T) {
	if len(h.m.items) == 0 {
		t.Skip("no items")
	}
	i, how := rapid.SampledFrom(h.m.items).Draw(t, "item"), rapid.SampledFrom([]string{"cancel", "replay", "hurry"}).Draw(t, "how")
	_, taken := h.m.holder(i.zone, i.Unique)
	err := h.db.Update(ctx, func(tx *query.Tx) error {
		switch how {
		case "cancel":
			return h.q.Cancel(ctx, tx, i.zone, i.id)
		case "replay":
			return h.q.Replay(ctx, tx, i.zone, i.id)
		}
		return h.q.Hurry(ctx, tx, i.zone, i.id)
	})
	switch {
	case how == "replay" && i.state == queue.Dead && i.Unique != "" && i.UniqueFor == 0 && taken:
		if !errors.Is(err, queue.ErrDuplicate) {
			t.Fatalf("replay: %v", err)
		}
		return
	case how == "replay" && i.state != queue.Dead, how == "hurry" && i.state != queue.Ready:
		if query.KindOf(err) != query.KindFailedPrecondition {
			t.Fatalf("%s of an item that is %v: %v", how, i.state, err)
		}
		return
	case err != nil:
		t.Fatalf("%s: %v", how, err)
	}
	switch how {
	case "cancel":
		h.m.end(i, queue.Done)
		h.m.forget(i)
	case "replay":
		i.state, i.time, i.attempts = queue.Ready, h.m.now, 0
		if i.Unique != "" && i.UniqueFor == 0 {
			delete(h.m.window, i.zone+" "+i.Unique)
		}
	case "hurry":
		i.time = min(i.time, h.m.now)
	}
}

func (h *history) drain(t *rapid.T) {
	zone := rapid.SampledFrom(modelZones).Draw(t, "zone")
	n := 0
	for more := -1; more != 0; n += more {
		h.do(func(tx *query.Tx) (err error) {
			more, err = h.q.Drain(ctx, tx, zone)
			return err
		})
	}
	gone := func(i *modelItem) bool { return i.zone == zone && (i.state == queue.Ready || i.state == queue.Blocked) }
	if want := h.m.count(gone); n != want {
		t.Fatalf("drained %d items, want %d", n, want)
	}
	h.m.items = slices.DeleteFunc(h.m.items, gone)
}

func (h *history) configure(t *rapid.T) {
	zone, c := rapid.SampledFrom(modelZones).Draw(t, "zone"), queue.ZoneConfig{
		Weight: rapid.IntRange(0, 2).Draw(t, "weight"), Limit: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "limit"),
		PerKey: rapid.IntRange(0, 2).Draw(t, "per key"), Paused: rapid.Float64Range(0, 1).Draw(t, "paused") < .2,
	}
	h.do(func(tx *query.Tx) error { return h.q.Configure(ctx, tx, zone, c) })
	if more := max(c.PerKey, 1) > max(h.m.config[zone].PerKey, 1); more {
		h.m.unblock(func(i *modelItem) bool { return i.zone == zone }, len(h.m.items))
	}
	h.m.config[zone] = c
}

func (h *history) pass(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{time.Microsecond, time.Millisecond, time.Second, time.Minute, 31 * time.Second}).Draw(t, "time")
	h.fixture.pass(d)
	h.m.now = h.q.Now()
	must(t, h.q.Keep(ctx))
	for _, i := range slices.Clone(h.m.items) {
		if i.state == queue.Done && i.time+i.KeepResult.Microseconds() <= h.m.now {
			h.m.forget(i)
		}
	}
}

func (h *history) restart(*rapid.T) {
	h.q = h.another()
	h.q.SetTidyAfter(2)
}

// compare looks at everything from outside.
func (h *history) compare(t *rapid.T) {
	got, want := map[string]queue.Stats{}, map[string]queue.Stats{}
	all, err := h.q.Stats(ctx, "")
	must(t, err)
	for _, s := range all {
		s.Oldest = time.Time{}
		got[s.Zone+s.Type] = s
	}
	for _, i := range h.m.items {
		info := h.get(i.zone, i.id)
		if at := info.Time.UnixMicro(); i.back && at > i.time && at <= h.m.now {
			i.time = at
		}
		i.back = false
		if info.State != i.state || info.Time.UnixMicro() != i.time || info.Attempts != i.attempts || info.Err != i.why ||
			string(info.Payload) != string(i.Payload) || string(info.Result) != i.result {
			t.Fatalf("the item is %+v, want %+v", info, i)
		}
		h.m.tally(want, i)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("the statistics are %v, want %v", got, want)
	}
	for _, zone := range modelZones {
		var peeked []queue.Info
		h.do(func(tx *query.Tx) (err error) {
			peeked, err = h.q.Peek(ctx, tx, zone, 100)
			return err
		})
		visible := h.m.visible(zone)
		if !slices.EqualFunc(peeked, visible, func(a queue.Info, b *modelItem) bool { return a.ID == b.id }) {
			t.Fatalf("Peek gives %v, want %v", peeked, visible)
		}
	}
}

func (m *model) tally(to map[string]queue.Stats, i *modelItem) {
	if i.state == queue.Done {
		return
	}
	s := to[i.zone+i.Type]
	s.Zone, s.Type = i.zone, i.Type
	switch visible := i.time <= m.now; {
	case i.state == queue.Ready && visible:
		s.Ready++
	case i.state == queue.Ready:
		s.Delayed++
	case i.state == queue.Blocked:
		s.Blocked++
	case i.state == queue.Dead:
		s.Dead++
	case visible:
		s.Expired++
	default:
		s.Leased++
	}
	to[i.zone+i.Type] = s
}
