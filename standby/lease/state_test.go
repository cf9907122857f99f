package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"pgregory.net/rapid"
)

// The rules, by the state in the directory and the one before.
func TestTheRules(t *testing.T) {
	at := func(n uint64) func() uint64 { return func() uint64 { return n } }
	strict := &State{Database: "x", Term: 3, Epoch: 2, Leader: "a", Strict: true, SyncStandby: "b", After: 50}
	both := &State{Database: "x", Term: 3, Epoch: 2, Leader: "a", Strict: true, SyncStandby: "b", Also: []string{"d"}, After: 50}
	loose := &State{Database: "x", Term: 3, Epoch: 2, Leader: "a"}
	for _, c := range []struct {
		state *State
		name  string
		Candidate
		want string // "" if it may
	}{
		{nil, "a", Candidate{}, ""},
		{nil, "a", Candidate{Primary: true, Epoch: 7}, ""},
		{nil, "a", Candidate{Standby: true}, "a standby does not begin"},
		{strict, "a", Candidate{Primary: true, Epoch: 2}, ""},
		{strict, "a", Candidate{Primary: true, Epoch: 1}, "was a primary in epoch 1, and a has led in epoch 2 since"},
		{strict, "b", Candidate{Primary: true, Epoch: 2}, "was a primary in epoch 2"},
		{strict, "a", Candidate{Standby: true, Epoch: 3, Position: at(99)}, "has epoch 3, and etcd knows of epochs up to 2 alone"},
		{strict, "a", Candidate{Primary: true, Epoch: 3}, "has epoch 3, and etcd knows"},
		{loose, "c", Candidate{Standby: true, Epoch: 3, Position: at(99)}, "has epoch 3, and etcd knows"},
		{strict, "a", Candidate{}, "the directory is empty"},
		{strict, "a", Candidate{Standby: true, Epoch: 1, Position: at(0)}, ""}, // it was not promoted yet
		{strict, "b", Candidate{Standby: true, Epoch: 2, Position: at(50)}, ""},
		{strict, "b", Candidate{Standby: true, Epoch: 2, Position: at(49)}, "up to position 49, and had them up to 50"},
		{strict, "c", Candidate{Standby: true, Epoch: 2, Position: at(99)}, "only a or b is sure"},
		{both, "d", Candidate{Standby: true, Epoch: 2, Position: at(50)}, ""},
		{both, "d", Candidate{Standby: true, Epoch: 2, Position: at(49)}, "up to position 49, and had them up to 50"},
		{both, "c", Candidate{Standby: true, Epoch: 2, Position: at(99)}, "only a or b or d is sure"},
		{strict, "b", Candidate{Standby: true, Database: "y", Position: at(99)}, "the servers of this prefix have x"},
		{&State{Epoch: 1, Leader: "a", Strict: true}, "c", Candidate{Standby: true, Position: at(9)}, "only a is sure"},
		{loose, "c", Candidate{Standby: true, Epoch: 2, Position: at(0)}, ""},
		{loose, "c", Candidate{Primary: true, Epoch: 2, Position: at(0)}, "was a primary"},
		{&State{Epoch: 1, Leader: "a"}, "a", Candidate{Primary: true}, ""}, // it has had no standby yet
	} {
		err := c.state.eligible(c.name, c.Candidate)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v admits %s (%+v): %v; want %q", c.state, c.name, c.Candidate, err, c.want)
		}
		if foreign := errors.Is(err, ErrForeign); foreign != (c.Database == "y") {
			t.Errorf("%v: ErrForeign is %v", err, foreign)
		}
	}
}

// Whatever happens, a server that may lead after strict writes has each of them that was
// acknowledged, and begins an epoch that no other server has led.
func TestALeaderHasEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type server struct {
			primary  bool
			epoch    int64
			position uint64
		}
		all := map[string]*server{"a": {primary: true, epoch: 1}, "b": {epoch: 1}, "c": {epoch: 1}, "d": {epoch: 1}}
		names := []string{"a", "b", "c", "d"}
		acks := rapid.IntRange(1, 2).Draw(t, "acks")
		state := (*State)(nil).next("a", Candidate{Primary: true, Epoch: 1, Strict: true})
		leader, acknowledged := all["a"], uint64(0) // nil: nobody holds the lease
		led := map[int64]string{1: "a"}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) { // acknowledged if all synchronous standbys have it
				if leader == nil {
					return
				}
				leader.position++
				if named := state.syncStandbys(); len(named) == acks && rapid.Bool().Draw(t, "acknowledged") {
					for _, name := range named {
						all[name].position = leader.position
					}
					acknowledged = leader.position
				}
			},
			"follow": func(t *rapid.T) {
				s := all[rapid.SampledFrom(names).Draw(t, "server")]
				if leader != nil && s != leader {
					*s = server{epoch: leader.epoch, position: max(s.position, min(leader.position, s.position+1))}
				}
			},
			"appoint": func(t *rapid.T) {
				named := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, acks, rapid.ID[string]).Draw(t, "standbys")
				for _, name := range named {
					if s := all[name]; leader == nil || s == leader || s.primary || s.epoch != leader.epoch || s.position < acknowledged || s.position > leader.position {
						return
					}
				}
				state.setSyncStandbys(named, acknowledged)
			},
			"take over": func(t *rapid.T) {
				name := rapid.SampledFrom(names).Draw(t, "server")
				s := all[name]
				c := Candidate{Primary: s.primary, Standby: !s.primary, Epoch: s.epoch, Strict: true, Position: func() uint64 { return s.position }}
				if state.eligible(name, c) != nil {
					return
				}
				if s.position < acknowledged {
					t.Fatalf("%s has %d of %d acknowledged writes, and %+v admits it", name, s.position, acknowledged, state)
				}
				state, leader = state.next(name, c), nil
				if rapid.Bool().Draw(t, "killed before its promotion") {
					return
				}
				if by, ok := led[state.Epoch]; ok && by != name {
					t.Fatalf("%s and %s lead epoch %d", by, name, state.Epoch)
				}
				led[state.Epoch] = name
				s.primary, s.epoch, leader = true, state.Epoch, s
				for _, other := range all { // what only it has is lost
					if other != leader && !other.primary {
						other.position = min(other.position, leader.position)
					}
				}
			},
		})
	})
}

// A state that etcd has after it went back is as good as the newest one, or it is not.
func TestAStateFollows(t *testing.T) {
	newest := &State{Term: 3, Epoch: 2, Leader: "a", SyncStandby: "b", After: 50}
	newest.Also = []string{"c"}
	same, older, later, fewer := *newest, *newest, *newest, *newest
	same.Also = []string{"c"}
	older.After, later.Term, fewer.Also = 40, 4, nil
	for _, c := range []struct {
		now, before *State
		want        bool
	}{{nil, nil, true}, {nil, newest, false}, {newest, nil, true}, {&same, newest, true}, {&older, newest, false}, {&fewer, newest, false}, {&later, newest, true}} {
		if got := c.now.follows(c.before); got != c.want {
			t.Errorf("%+v follows %+v: %v", c.now, c.before, got)
		}
	}
}

// A lease is over when either clock says so, and a little before etcd can think so.
func TestDeadline(t *testing.T) {
	sent := time.Now()
	d := deadlineOf(sent, 10*time.Second)
	for _, c := range []struct {
		now  time.Time
		held bool
	}{
		{sent.Add(8 * time.Second), true},
		{sent.Add(9 * time.Second), false},
		{sent.Add(8 * time.Second).Round(0), true}, // a wall clock alone
		{sent.Add(9 * time.Second).Round(0), false},
	} {
		if held := d.left(c.now) > 0; held != c.held {
			t.Errorf("after %v the lease is held: %v", c.now.Sub(sent), held)
		}
	}
	if (deadline{}).left(sent) > 0 {
		t.Error("a lease that was never taken is held")
	}
}

func ExampleOpen() {
	_, err := Open(Options{Endpoints: []string{"127.0.0.1:2379"}, Prefix: "/smolwc/fleet", Name: "db1:8086", TTL: 1500 * time.Millisecond})
	fmt.Println(err)
	// Output: the lease lasts 1.5s; want whole seconds, as in 10s
}

// A write without the lease is refused, and has not run out of time: its client may send it
// to another server.
func TestARefusalIsNoTimeout(t *testing.T) {
	j := &Elector{etcd: new(clientv3.Client), failure: context.DeadlineExceeded}
	if err := j.Check(); err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "cannot reach etcd") {
		t.Errorf("%v", err)
	}
}

// A backup of etcd may be restored so that its revisions go on. Then only the revision of the
// state says that it is an earlier one.
func TestABackupOfEtcdWhoseRevisionsGoOn(t *testing.T) {
	syncStandby := func(name string) *State {
		return &State{Term: 3, Epoch: 2, Leader: "a", Strict: true, SyncStandby: name}
	}
	j := &Elector{logger: slog.New(slog.DiscardHandler), session: 7}
	j.o.Name = "a"
	j.see(View{Known: true, Leader: "a", State: syncStandby("b"), lease: 7, revision: 10, at: 10}, 0)
	j.begin(j.view)
	j.see(View{Known: true, Leader: "a", State: syncStandby("c"), lease: 7, revision: 20, at: 20}, 10)
	if j.hasRolledBack() {
		t.Fatal("a new synchronous standby is taken for an old backup")
	}
	j.see(View{Known: true, Leader: "a", State: syncStandby("b"), lease: 7, revision: 10, at: 1000}, 20)
	again, back := j.continuation(j.held.Load())
	if !back || again == nil || again.SyncStandby != "c" {
		t.Errorf("after a backup was restored the state goes on as %+v (it went back: %v)", again, back)
	}
	j.see(View{Known: true, Leader: "a", State: again, lease: 7, revision: 1001, at: 1001}, 1000)
	if j.hasRolledBack() {
		t.Error("the state was written again, and etcd still counts as gone back")
	}
}
