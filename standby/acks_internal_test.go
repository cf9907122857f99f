package standby

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
)

// counted is a tracker of a primary whose newest change is at a position.
func counted(o SemiSync, latest *uint64) *ackTracker {
	q := newAckTracker(o, slog.New(slog.DiscardHandler), func() uint64 { return *latest })
	q.begin()
	return q
}

// A write waits for as many standbys as are asked for: those with one name count once, and one
// that is not connected does not count until it has said again what it has.
func TestAcknowledgementsAreCountedByStandby(t *testing.T) {
	latest := uint64(0)
	q := counted(SemiSync{Mode: SemiSyncStrict, Acks: 2, Timeout: time.Millisecond}, &latest)
	latest = 100
	isPresent := func() bool { return q.checkSyncStandby() == nil }
	b := q.connect("b", 0)
	again := q.connect("b", 0)
	q.received(b, 50)
	q.received(again, 60)
	if q.synced != 0 || isPresent() {
		t.Errorf("two connections of one standby count as two: position %d", q.synced)
	}
	if err := q.waitForStandby(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing was written, since 2 standbys have to acknowledge it, and only 1 can (those with one name count once; give each its own)") {
		t.Errorf("a write with one standby: %v", err)
	}
	c := q.connect("c", 0)
	if q.synced != 0 || !isPresent() {
		t.Errorf("a standby that has said nothing counts: position %d", q.synced)
	}
	q.received(c, 40)
	if q.synced != 40 {
		t.Errorf("two standbys have 40, and %d is acknowledged", q.synced)
	}
	if err := q.await(t.Context(), 41); !errors.Is(err, cf.ErrNotAcknowledged) || !strings.Contains(err.Error(), "fewer than 2 standbys have acknowledged it within 1ms") {
		t.Errorf("a write that one standby has: %v", err)
	}
	q.disconnect(b)
	q.disconnect(again)
	q.received(c, 55)
	if q.synced != 40 || isPresent() {
		t.Errorf("a standby that is gone counts: position %d", q.synced)
	}
	d := q.connect("d", 55)
	q.received(d, 55)
	if err := q.await(t.Context(), 55); err != nil || q.synced != 55 {
		t.Errorf("two standbys have 55, and %d is acknowledged: %v", q.synced, err)
	}
	e := q.connect("d", 10) // a standby that has lost what it had
	q.received(c, 90)
	q.received(e, 20)
	if q.synced != 55 {
		t.Errorf("a standby that has lost its changes counts with them: position %d", q.synced)
	}
}

// Whatever standbys come, go and say, as many as are asked for have had each position that is
// acknowledged on their disks, and no write waits that they have.
func TestAsManyStandbysHaveWhatIsAcknowledged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		acks, latest := rapid.IntRange(1, 3).Draw(t, "acks"), uint64(0)
		q := counted(SemiSync{Mode: SemiSyncStrict, Acks: acks}, &latest)
		disks := map[string]uint64{} // what each standby has
		var connected []*ackSource
		some := rapid.SampledFrom([]string{"b", "c", "d", "e"})
		t.Repeat(map[string]func(*rapid.T){
			"write": func(*rapid.T) { latest++ },
			"connect": func(t *rapid.T) {
				name := some.Draw(t, "standby")
				connected = append(connected, q.connect(name, disks[name]))
			},
			"disconnect": func(t *rapid.T) {
				if len(connected) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(connected)-1).Draw(t, "connection")
				q.disconnect(connected[i])
				connected = slices.Delete(connected, i, i+1)
			},
			"acknowledge": func(t *rapid.T) {
				if len(connected) == 0 {
					t.Skip()
				}
				m := rapid.SampledFrom(connected).Draw(t, "connection")
				disks[m.name] = rapid.Uint64Range(disks[m.name], latest).Draw(t, "position")
				q.received(m, disks[m.name])
			},
			"": func(t *rapid.T) {
				have, there := 0, map[string]uint64{}
				for _, at := range disks {
					if at >= q.synced {
						have++
					}
				}
				for _, m := range connected {
					there[m.name] = max(there[m.name], m.synced)
				}
				if q.synced > 0 && have < acks {
					t.Fatalf("position %d is acknowledged, and the standbys have %v", q.synced, disks)
				}
				if all := reachedBy(there, acks); all > q.synced {
					t.Fatalf("position %d is acknowledged, and %d standbys have said that they have %d", q.synced, acks, all)
				}
				if got := q.checkSyncStandby() == nil; got != (len(there) >= acks) {
					t.Fatalf("writes may begin: %v, with %v connected", got, there)
				}
			},
		})
	})
}

// In the mode degrade, writes wait again when as many standbys as are asked for have caught up.
func TestADegradedPrimaryWaitsForEnoughStandbys(t *testing.T) {
	latest := uint64(10)
	q := counted(SemiSync{Mode: SemiSyncDegrade, Acks: 2}, &latest)
	b, c := q.connect("b", 10), q.connect("c", 5)
	for range 3 {
		latest += 5
		q.received(b, latest)
	}
	if !q.degraded {
		t.Error("writes wait with one standby of two")
	}
	q.received(c, 9)
	for range 3 { // each acknowledges everything that was there at its last word, and no more
		for _, m := range []*ackSource{b, c} {
			goal := m.goal
			latest++
			q.received(m, goal)
		}
	}
	if q.degraded {
		t.Error("both have caught up, and writes do not wait")
	}
}

// A lease that takes note of the synchronous standbys.
type notedLease struct{}

func (*notedLease) Check() error                                            { return nil }
func (*notedLease) Transfer(context.Context, string, uint64) error          { return nil }
func (*notedLease) Retain()                                                 {}
func (*notedLease) Describe(*smolwcpb.Lease)                                {}
func (*notedLease) SetSyncStandbys(context.Context, []string, uint64) error { return nil }

// With a lease, the synchronous standbys have each write that was acknowledged, also while others
// take the places of some.
func TestEachSynchronousStandbyHasWhatIsAcknowledged(t *testing.T) {
	latest := uint64(10)
	q := newAckTracker(SemiSync{Mode: SemiSyncStrict, Acks: 2}, slog.New(slog.DiscardHandler), func() uint64 { return latest })
	q.lease = new(notedLease)
	q.begin()
	choose := func(want string) {
		t.Helper()
		names, after := q.nextSyncStandbys()
		if got := strings.Join(names, " "); got != want {
			t.Fatalf("the synchronous standbys are to be %q; want %q", got, want)
		}
		if names == nil {
			return
		}
		if q.checkSyncStandby() == nil || after != max(q.synced, 10) {
			t.Errorf("writes begin before the choice is recorded, or it is recorded with %d", after)
		}
		q.setSyncStandbys(names)
	}
	b := q.connect("b", 10)
	q.received(b, 9)
	choose("") // it lacks what was acknowledged before
	q.received(b, 10)
	choose("b") // which may take over, and is one of two
	latest = 20
	q.received(b, 20)
	if q.synced != 0 || q.checkSyncStandby() == nil {
		t.Errorf("one of two standbys has acknowledged, up to %d", q.synced)
	}
	c, d := q.connect("c", 20), q.connect("d", 20)
	q.received(c, 15)
	choose("b c")
	q.received(d, 20)
	if q.synced != 15 {
		t.Errorf("the synchronous standbys have 15, and %d is acknowledged", q.synced)
	}
	q.received(c, 20)
	q.disconnect(c)
	latest = 30
	q.received(b, 30)
	choose("b d")
	if q.synced != 20 {
		t.Errorf("the synchronous standbys have 20, and %d is acknowledged", q.synced)
	}
	q.disconnect(d)
	choose("") // it has everything, and nobody can take its place
	d = q.connect("d", 19)
	choose("b") // it has lost something
	q.received(d, 30)
	choose("b d")
	w := q.beginWait(31, SemiSyncStrict)
	w.since = time.Now().Add(-time.Hour)
	c = q.connect("c", 30)
	q.received(c, 30)
	choose("") // it has no more than those that are slow
	latest = 40
	q.received(b, 40)
	q.received(c, 40)
	choose("b c")
	select {
	case <-w.done:
	default:
		t.Error("both synchronous standbys have the write, and it waits")
	}
}

func TestSemiSyncIsChecked(t *testing.T) {
	for _, c := range []struct {
		SemiSync
		want string
	}{
		{SemiSync{Mode: SemiSyncStrict, Acks: 3}, ""},
		{SemiSync{Mode: SemiSyncStrict, Acks: -1}, "semi-sync waits for -1 standbys; want 1 or more"},
		{SemiSync{Mode: 7}, "want off, degrade or strict"},
		{SemiSync{Timeout: -1}, "no negative time"},
	} {
		if err := c.check(); fmt.Sprint(err) == "<nil>" != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v; want %q", c.SemiSync, err, c.want)
		}
	}
}
