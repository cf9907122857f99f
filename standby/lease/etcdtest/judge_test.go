package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/server/smolwcpb"
	"github.com/smolwc/smolwc/standby/lease"
)

func openJudge(t *testing.T, etcd, name string) *lease.Judge {
	t.Helper()
	j, err := lease.Open(lease.Options{Endpoints: []string{etcd}, Prefix: "/judges", Name: name, TTL: time.Second})
	must(t, err)
	t.Cleanup(func() { must(t, j.Close()) })
	return j
}

func at(position uint64) func() uint64 { return func() uint64 { return position } }

// When writes do not wait strictly, the standby with the highest position of those that
// answer takes over.
func TestTheHighestPositionLeads(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	first := openJudge(t, etcd, "first")
	term, err := first.Campaign(t.Context(), lease.Candidate{Primary: true, Position: at(9)})
	must(t, err)
	if err := first.Check(); err != nil || term.Epoch != 1 {
		t.Fatalf("the first server leads epoch %d: %v", term.Epoch, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	led := make(chan string, 3)
	for i, position := range []uint64{5, 9, 7} {
		name := fmt.Sprint("standby", i)
		j, c := openJudge(t, etcd, name), lease.Candidate{Standby: true, Epoch: 1, Position: at(position)}
		eventually(t, "the standby sees who leads", func() bool { v, _ := j.View(); return v.Leader == "first" })
		if _, err := j.Campaign(t.Context(), c); !errors.Is(err, lease.ErrLed) || !strings.Contains(err.Error(), "first") {
			t.Errorf("a campaign against a server that leads: %v", err)
		}
		go func() {
			for ctx.Err() == nil {
				term, err := j.Campaign(ctx, c)
				if err == nil && term.Epoch == 2 && j.Check() == nil {
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

// A server that could not begin its term gives the lease back: the heir before may lead, and
// the leader before too.
func TestAServerResigns(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	first, heir, other := openJudge(t, etcd, "first"), openJudge(t, etcd, "heir"), openJudge(t, etcd, "other")
	if err := first.Appoint(t.Context(), "heir", 5); err == nil {
		t.Error("a server that does not lead has named an heir")
	}
	_, err := first.Campaign(t.Context(), lease.Candidate{Primary: true, Strict: true, Position: at(9)})
	must(t, err)
	must(t, first.Appoint(t.Context(), "heir", 5))
	var said smolwcpb.Lease
	first.Describe(&said)
	if !said.GetHeld() || said.GetHeir() != "heir" || said.GetLeftMicros() <= 0 || said.GetLeftMicros() > time.Second.Microseconds() {
		t.Errorf("the lease is %v", &said)
	}
	must(t, first.Close())
	wait, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for _, j := range []*lease.Judge{heir, other} {
		eventually(t, "nobody leads", func() bool { v, _ := j.View(); return v.State != nil && v.Leader == "" })
	}
	if _, err := other.Campaign(wait, lease.Candidate{Standby: true, Epoch: 1, Position: at(99)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a standby that is not the heir leads: %v", err)
	}
	c := lease.Candidate{Standby: true, Epoch: 1, Strict: true, Position: at(5)}
	term, err := heir.Campaign(t.Context(), c)
	must(t, err)
	must(t, heir.Resign(t.Context(), term))
	if heir.Check() == nil {
		t.Error("a server that has resigned says that it leads")
	}
	again := openJudge(t, etcd, "first")
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
	first, other := openJudge(t, etcd, "first"), openJudge(t, etcd, "other")
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

// A server whose keys are removed by hand stops taking writes.
func TestADeletedKey(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	j := openJudge(t, etcd, "a")
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
		return err != nil && strings.Contains(err.Error(), "is no state of smolwc")
	})
}
