package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/standby/lease"
)

// electorTTL is so long that no elector loses the lease on a machine that stands still.
const electorTTL = 30 * time.Second

func openElector(t *testing.T, etcd, name string) *lease.Elector {
	t.Helper()
	return openElectorFor(t, etcd, name, electorTTL)
}

func openElectorFor(t *testing.T, etcd, name string, ttl time.Duration) *lease.Elector {
	t.Helper()
	j, err := lease.Open(lease.Options{Endpoints: []string{etcd}, Prefix: "/judges", Name: name, TTL: ttl})
	must(t, err)
	t.Cleanup(func() { must(t, j.Close()) })
	return j
}

func at(position uint64) func() uint64 { return func() uint64 { return position } }

// When writes do not wait strictly, the standby with the latest epoch, and the highest
// position in it, takes over of those that answer.
func TestTheHighestPositionLeads(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	first := openElector(t, etcd, "first")
	term, err := first.Campaign(t.Context(), lease.Candidate{Primary: true, Epoch: 2, Position: at(9)})
	must(t, err)
	if err := first.Check(); err != nil || term.Epoch != 2 {
		t.Fatalf("the first server leads epoch %d: %v", term.Epoch, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	led := make(chan string, 4)
	for i, position := range []uint64{5, 9, 7, 20} {
		name := fmt.Sprint("standby", i)
		j, c := openElector(t, etcd, name), lease.Candidate{Standby: true, Epoch: 2, Position: at(position)}
		if i == 3 { // it led before the first server, and has changes of its own
			c.Epoch = 1
		}
		eventually(t, "the standby sees who leads", func() bool { v, _ := j.View(); return v.Leader == "first" })
		if _, err := j.Campaign(t.Context(), c); !errors.Is(err, lease.ErrHeld) || !strings.Contains(err.Error(), "first") {
			t.Errorf("a campaign against a server that leads: %v", err)
		}
		go func() {
			for ctx.Err() == nil {
				term, err := j.Campaign(ctx, c)
				if err == nil && term.Epoch == 3 && j.Check() == nil {
					led <- name
					return
				}
				_, changed := j.View()
				select {
				case <-changed:
				case <-ctx.Done():
				}
			}
		}()
	}
	must(t, first.Close())
	if name := <-led; name != "standby1" {
		t.Errorf("%s leads", name)
	}
	if first.Check() == nil {
		t.Error("the server that has given the lease back says that it leads")
	}
}

// A server that could not begin its term gives the lease back: the previous synchronous standby may lead, and
// the leader before too.
func TestAServerResigns(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	first, second, other := openElector(t, etcd, "first"), openElector(t, etcd, "second"), openElector(t, etcd, "other")
	if err := first.SetSyncStandbys(t.Context(), []string{"second"}, 5); err == nil {
		t.Error("a server that does not lead has named a synchronous standby")
	}
	_, err := first.Campaign(t.Context(), lease.Candidate{Primary: true, Strict: true, Position: at(9)})
	must(t, err)
	must(t, first.SetSyncStandbys(t.Context(), []string{"second"}, 5))
	var said smolwcpb.Lease
	first.Describe(&said)
	if !said.GetHeld() || said.GetHeir() != "second" || said.GetLeftMicros() <= 0 || said.GetLeftMicros() > electorTTL.Microseconds() {
		t.Errorf("the lease is %v", &said)
	}
	must(t, first.Close())
	wait, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for _, j := range []*lease.Elector{second, other} {
		eventually(t, "nobody leads", func() bool { v, _ := j.View(); return v.State != nil && v.Leader == "" })
	}
	if _, err := other.Campaign(wait, lease.Candidate{Standby: true, Epoch: 1, Position: at(99)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a standby that is not the synchronous one leads: %v", err)
	}
	c := lease.Candidate{Standby: true, Epoch: 1, Strict: true, Position: at(5)}
	term, err := second.Campaign(t.Context(), c)
	must(t, err)
	must(t, second.Resign(t.Context(), term))
	if second.Check() == nil {
		t.Error("a server that has resigned says that it leads")
	}
	again := openElector(t, etcd, "first")
	back, err := again.Campaign(t.Context(), lease.Candidate{Primary: true, Epoch: 1, Strict: true, Position: at(9)})
	must(t, err)
	if back.Epoch != 1 {
		t.Errorf("the leader before leads epoch %d", back.Epoch)
	}
}

// A server that leads first and could not begin gives the lease back: it is as if nobody had
// led.
func TestAFirstLeaderResigns(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	first, other := openElector(t, etcd, "first"), openElector(t, etcd, "other")
	term, err := first.Campaign(t.Context(), lease.Candidate{Strict: true, Position: at(0)})
	must(t, err)
	eventually(t, "the other server sees who leads", func() bool { v, _ := other.View(); return v.Leader == "first" })
	if got := other.Waiting(); got != "first leads" {
		t.Errorf("the other server waits: %s", got)
	}
	must(t, first.Resign(t.Context(), term))
	if v, _ := first.View(); v.Leader != "" || v.State != nil || first.Check() == nil {
		t.Errorf("after it has resigned: %+v, %v", v, first.Check())
	}
	eventually(t, "nobody leads", func() bool { v, _ := other.View(); return v.Leader == "" && v.State == nil })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := other.Campaign(ctx, lease.Candidate{Standby: true, Epoch: 1, Position: at(5)})
		ended <- err
	}()
	eventually(t, "the standby says why it may not lead", func() bool {
		return strings.HasPrefix(other.Waiting(), "no server leads, and this one may not: nobody has led yet")
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a campaign that was ended: %v", err)
	}
	if term, err = other.Campaign(t.Context(), lease.Candidate{Primary: true, Epoch: 1, Position: at(5)}); err != nil || term.Epoch != 1 {
		t.Errorf("%+v, %v", term, err)
	}
}

// When etcd goes back to a backup, or has lost everything, the server that leads writes down
// again what etcd should know, and others do not act on what it knew then.
func TestAnEtcdThatGoesBack(t *testing.T) {
	const soon = 2 * time.Second // a lease that is in the backup has to end
	for _, lost := range []string{"the last synchronous standby", "the last leader", "everything"} {
		t.Run(strings.ReplaceAll(lost, " ", "-"), func(t *testing.T) {
			t.Parallel()
			e, backup := newEtcd(t), filepath.Join(t.TempDir(), "backup")
			save := func(what string) {
				e.stop()
				if lost == what {
					must(t, os.CopyFS(backup, os.DirFS(e.dir)))
				}
				e.start()
			}
			first := openElectorFor(t, e.clients.Host, "first", soon)
			_, err := first.Campaign(t.Context(), lease.Candidate{Primary: true, Strict: true, Database: "x", Position: at(9)})
			must(t, err)
			must(t, first.SetSyncStandbys(t.Context(), []string{"a"}, 5))
			must(t, first.Close())
			save("the last leader")
			a, b := openElectorFor(t, e.clients.Host, "a", soon), openElectorFor(t, e.clients.Host, "b", soon)
			term, err := a.Campaign(t.Context(), lease.Candidate{Standby: true, Epoch: 1, Strict: true, Database: "x", Position: at(9)})
			must(t, err)
			must(t, a.SetSyncStandbys(t.Context(), []string{"b"}, 5))
			save("the last synchronous standby")
			back := func() {
				e.stop()
				must(t, os.RemoveAll(e.dir))
				if lost != "everything" {
					must(t, os.CopyFS(e.dir, os.DirFS(backup)))
				}
				e.start()
			}
			syncStandby := func(j *lease.Elector) string {
				if v, _ := j.View(); v.State != nil {
					return v.State.SyncStandby
				}
				return ""
			}
			for range 20 { // it goes back by more than servers write when they find it again
				eventually(t, "etcd knows the next synchronous standby", func() bool { return a.SetSyncStandbys(t.Context(), []string{"c"}, 7) == nil })
			}
			eventually(t, "b knows it too", func() bool { return syncStandby(b) == "c" })
			back()
			other := dial(t, e.clients.Host)
			eventually(t, "a leads again, and etcd knows its synchronous standby", func() bool {
				state, err := other.Get(t.Context(), "/judges/leader/state")
				return err == nil && len(state.Kvs) == 1 && strings.Contains(string(state.Kvs[0].Value), `"heir":"c"`) && a.Check() == nil && syncStandby(a) == "c"
			})
			select {
			case <-term.Done:
				t.Error("the term has ended")
			default:
			}
			must(t, a.Close())
			eventually(t, "nobody leads", func() bool { v, _ := b.View(); return v.Leader == "" })
			for range 100 {
				_, err := other.Put(t.Context(), "/other", "")
				must(t, err)
			}
			for range 6 { // b may be reading the keys twice, and renewing its lease, meanwhile
				_, changed := b.View()
				_, err := other.Put(t.Context(), "/judges/leader/other", "")
				must(t, err)
				<-changed
			}
			eventually(t, "b sees that", func() bool {
				v, _ := b.View()
				return v.Leader == "" && syncStandby(b) == "c" && b.Waiting() == "no server leads yet"
			})
			back()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := b.Campaign(ctx, lease.Candidate{Standby: true, Epoch: 2, Strict: true, Database: "x", Position: at(6)})
				ended <- err
			}()
			eventually(t, "b says why it does not lead", func() bool { return strings.Contains(b.Waiting(), "etcd has lost what this server has read there") })
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the synchronous standby of the backup leads: %v", err)
			}
		})
	}
}

// A server that has made its database names it, so that no other one takes its place.
func TestADatabaseThatIsMadeIsNamed(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	first, other := openElector(t, etcd, "first"), openElector(t, etcd, "other")
	if err := first.Identify(t.Context(), "x"); err == nil {
		t.Error("a server that does not lead has named its database")
	}
	_, err := first.Campaign(t.Context(), lease.Candidate{Position: at(0)})
	must(t, err)
	must(t, first.Identify(t.Context(), "x"))
	must(t, first.Close())
	eventually(t, "nobody leads", func() bool { v, _ := other.View(); return v.State != nil && v.Leader == "" })
	if _, err := other.Campaign(t.Context(), lease.Candidate{Standby: true, Epoch: 1, Database: "y", Position: at(9)}); !errors.Is(err, lease.ErrForeign) {
		t.Errorf("a server with another database: %v", err)
	}
}

// A server whose keys are removed by hand stops taking writes.
func TestADeletedKey(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	j := openElector(t, etcd, "a")
	term, err := j.Campaign(t.Context(), lease.Candidate{Primary: true, Position: at(0)})
	must(t, err)
	c := dial(t, etcd)
	_, err = c.Put(t.Context(), "/judges/leader/state", `{"term":2,"epoch":2,"leader":"b"}`)
	must(t, err)
	<-term.Done
	if j.Check() == nil {
		t.Error("a server leads although another one does")
	}
	_, err = c.Put(t.Context(), "/judges/leader/state", `no state`)
	must(t, err)
	eventually(t, "the fault is said", func() bool {
		err := j.Check()
		return err != nil && strings.Contains(err.Error(), "does not hold smolwc state")
	})
}
