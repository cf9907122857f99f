package node_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/rhino"
	"github.com/smolwc/smolwc/rhino/node"
)

// patience is how long a request, or the progress of a client, may take altogether.
const patience = 2 * time.Minute

// A stubborn client sends a request until it is answered, and connects again when its
// connection breaks. It belongs to one goroutine.
type stubborn struct {
	c      *cluster
	name   string // of the region, or the control
	client *node.Client
}

// ask gives the reply, and whether the first attempt had it. After others a request may
// have taken effect twice.
func (s *stubborn) ask(request string) (reply string, first bool, err error) {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	for first = true; ; first = false {
		reply, err = s.try(ctx, request)
		if err == nil && !strings.Contains(reply, "PleaseRetry") {
			return reply, first, nil
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return "", false, fmt.Errorf("%s at %s: for %v the last reply was %s, %v", request, s.name, patience, reply, err)
		}
	}
}

func (s *stubborn) try(ctx context.Context, request string) (reply string, err error) {
	if s.client == nil {
		if err := s.connect(ctx); err != nil {
			return "", err
		}
	}
	if reply, err = s.client.Call(ctx, request); err != nil {
		s.close()
	}
	return reply, err
}

// connect connects to the control, or to a front as the tenant.
func (s *stubborn) connect(ctx context.Context) (err error) {
	if s.client, err = node.Dial(ctx, s.c.Config, s.name, false); err != nil || s.name == control {
		return err
	}
	reply, err := s.client.Call(ctx, `{"Login":{"token":"token"}}`)
	if err == nil && !strings.Contains(reply, "LoggedIn") {
		err = fmt.Errorf("the login was answered with %s", reply)
	}
	if err != nil {
		s.close()
	}
	return err
}

func (s *stubborn) close() {
	_ = s.client.Close()
	s.client = nil
}

// expect is ask for one of some replies.
func (s *stubborn) expect(request string, want ...string) (first bool, err error) {
	reply, first, err := s.ask(request)
	for _, w := range want {
		if err == nil && sameJSON(reply, w) {
			return first, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("%s at %s: got %s, want one of %s", request, s.name, reply, want)
	}
	return first, err
}

// A load is the clients that make changes while processes are killed.
type load struct {
	*cluster
	running sync.WaitGroup
	stop    atomic.Bool
}

// A writer changes something again and again; done counts the changes that were
// acknowledged. Its client is at the front of a region, or the control.
type writer struct {
	stubborn
	done atomic.Int64
}

// run begins to write. change is called with 0, 1, 2, …, until the load ends or fails.
func (l *load) run(at string, change func(w *writer, n int) error) *writer {
	w := &writer{stubborn: stubborn{c: l.cluster, name: at}}
	l.running.Go(func() {
		for n := 0; !l.stop.Load() && !l.t.Failed(); n++ {
			if err := change(w, n); err != nil {
				l.t.Error(err)
			}
			w.done.Add(1)
		}
		if w.client != nil {
			w.close()
		}
	})
	return w
}

// end waits for the last changes.
func (l *load) end() {
	l.t.Helper()
	l.stop.Store(true)
	l.running.Wait()
	if l.t.Failed() {
		l.t.FailNow()
	}
}

// goOn waits until writers have made n more changes.
func (l *load) goOn(n int64, writers ...*writer) {
	l.t.Helper()
	for _, w := range writers {
		from, end := w.done.Load(), time.Now().Add(patience)
		for ; w.done.Load() < from+n; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				l.t.Errorf("the client at %s does not go on", w.name)
			}
			if l.t.Failed() {
				l.end()
			}
		}
	}
}

// rows is a change that sets a new row in a region's shard, and of those set at the
// first attempt deletes every third. has are the rows that must be there.
func rows(region, prefix string, has map[string]uint64) func(w *writer, n int) error {
	return func(w *writer, n int) error {
		id := fmt.Sprintf("%s %06d", prefix, n)
		key := fmt.Sprintf(`{"id":{"String":%q}}`, id)
		row := fmt.Sprintf(`{"id":{"String":%q},"a":{"U64":%d},"b":{"U64":%[2]d}}`, id, n)
		first, err := w.expect(about("SetRow", region, "row", row), `"SetRowCompleted"`)
		has[id] = uint64(n)
		if err == nil && first && n%3 == 0 {
			delete(has, id)
			_, err = w.expect(about("DeleteRow", region, "pk", key), `"DeleteRowCompleted"`)
		}
		return err
	}
}

// shards is a change that makes a shard and uses it at once. has are the shards and
// their regions.
func shards(has map[string]string) func(w *writer, n int) error {
	return func(w *writer, n int) error {
		name := fmt.Sprintf("shard %06d", n)
		has[name] = []string{eu, us, asia}[n%3]
		first, err := w.expect(fmt.Sprintf(`{"CreateShard":{"name":%q,"region":%q}}`, name, has[name]), `"ShardCreated"`, `"ShardAlreadyExists"`)
		if err == nil && first {
			_, err = w.expect(fmt.Sprintf(`{"CreateShard":{"name":%q,"region":%q}}`, name, has[name]), `"ShardAlreadyExists"`)
		}
		if err == nil {
			_, err = w.expect(fmt.Sprintf(`{"SetRow":{"shard_name":%q,"table_name":"notes","row":{"id":{"String":"x"}}}}`, name), `"SetRowCompleted"`)
		}
		return err
	}
}

// tokens is a change that adds a token or removes it. has are the tokens with their
// tenants, "" for those that were removed.
func tokens(has map[string]string) func(w *writer, n int) error {
	return func(w *writer, n int) (err error) {
		token := fmt.Sprintf("token %d", rand.N(20))
		if has[token] != "" {
			has[token] = ""
			_, err = w.expect(fmt.Sprintf(`{"RemoveGlobalToken":{"token":%q}}`, token), `"GlobalTokenRemoved"`, `"InvalidToken"`)
			return err
		}
		has[token] = fmt.Sprintf("tenant %d", n)
		_, err = w.expect(fmt.Sprintf(`{"AddGlobalTenant":{"tenant_id":%q,"token":%q}}`, has[token], token), `"GlobalTenantAdded"`)
		return err
	}
}

// A region and the control are killed again and again while rows are set and deleted,
// shards are made and tokens change. What was acknowledged is there, fronts serve again
// by themselves, and in the end every region knows everything.
func TestARegionAndTheControlAreKilled(t *testing.T) {
	c := newCluster(t)
	stop := c.all()
	prepared(t, c, `["id"]`)
	stop()
	c.Deadline = 2 * time.Second // which the leases of facts depend on
	file := c.file()
	c.start(c.Config, node.Options{Roles: []node.Role{node.FrontRole}})
	c.start(c.Config, node.Options{Roles: []node.Role{node.RegionRole}, Regions: []string{eu, asia}})
	c.start(c.Config, node.Options{Roles: []node.Role{node.ReplicatorRole}})
	startRegion := func() func() { return c.process(file, node.RegionRole, us) }
	startControl := func() func() { return c.process(file, node.ControlRole, "") }
	killRegion, killControl := startRegion(), startControl()

	l := &load{cluster: c}
	inUs, inEu := []map[string]uint64{{}, {}}, []map[string]uint64{{}, {}}
	madeShards, madeTokens := map[string]string{}, map[string]string{}
	remote, home := l.run(eu, rows(us, "remote", inUs[0])), l.run(us, rows(us, "home", inUs[1]))
	away, apart := l.run(us, rows(eu, "away", inEu[0])), l.run(eu, rows(eu, "apart", inEu[1]))
	routing, logins := l.run(eu, shards(madeShards)), l.run(control, tokens(madeTokens))
	all := []*writer{remote, home, away, apart, routing, logins}
	for n := range *kills {
		l.goOn(1+rand.N[int64](20), all...)
		time.Sleep(rand.N(10 * time.Millisecond)) // at any moment of a request
		kill, start := &killRegion, startRegion
		if n%2 == 1 {
			kill, start = &killControl, startControl
		}
		(*kill)()
		l.goOn(1+rand.N[int64](20), apart)
		if *kill = start(); rand.N(3) == 0 { // while it opens its database
			time.Sleep(rand.N(300 * time.Millisecond))
			(*kill)()
			*kill = start()
		}
	}
	l.goOn(10, all...)
	l.end()
	t.Logf("acknowledged: %d, %d, %d and %d rows, %d shards, %d tokens", remote.done.Load(), home.done.Load(), away.done.Load(), apart.done.Load(), routing.done.Load(), logins.done.Load())

	c.Deadline = time.Minute // of the clients that look
	for _, at := range []string{eu, us, asia} {
		c.hasRows(at, us, inUs...)
		c.hasRows(at, eu, inEu...)
		c.hasFacts(at, madeShards, madeTokens)
	}
}

// hasRows fails the test unless a region's shard has just these rows, at a front.
func (c *cluster) hasRows(at, region string, want ...map[string]uint64) {
	c.t.Helper()
	client, n := &stubborn{c: c, name: at}, 0
	for after, page := "", 0; page == 0 || after != ""; page++ {
		var reply struct{ RowsFound rhino.RowsFound }
		text, _, err := client.ask(fmt.Sprintf(`{"GetRows":{"shard_name":"in %s","table_name":"notes","prefix":{},"limit":1000,"after":%q}}`, region, after))
		if err := cmp.Or(err, json.Unmarshal([]byte(text), &reply)); err != nil {
			c.t.Fatalf("%s, %v", text, err)
		}
		for _, row := range reply.RowsFound.Rows {
			id, _ := row["id"].AsString()
			a, _ := row["a"].AsI64()
			b, _ := row["b"].AsI64()
			known := false
			for _, rows := range want {
				v, ok := rows[id]
				known = known || ok && v == uint64(a) && a == b && len(row) == 3
			}
			if !known {
				c.t.Errorf("shard in %s at the front of %s: row %q with %d, %d must not be there", region, at, id, a, b)
			}
			n++
		}
		after = reply.RowsFound.Next
	}
	client.close()
	if all := len(want[0]) + len(want[1]); n != all {
		c.t.Errorf("shard in %s at the front of %s: %d rows; %d were acknowledged", region, at, n, all)
	}
}

// hasFacts waits until a region knows shards and tokens.
func (c *cluster) hasFacts(region string, shards, tokens map[string]string) {
	c.t.Helper()
	at := c.direct(region)
	for shard, in := range shards {
		at.soon(fmt.Sprintf(`{"GetShardRegion":{"tenant_id":"acme","shard_name":%q}}`, shard), fmt.Sprintf(`{"ShardLocated":{"region":%q}}`, in))
	}
	for token, tenant := range tokens {
		want := `"InvalidToken"`
		if tenant != "" {
			want = fmt.Sprintf(`{"TenantIdByToken":{"tenant_id":%q}}`, tenant)
		}
		at.soon(fmt.Sprintf(`{"GetTenantIdByToken":{"token":%q}}`, token), want)
	}
}
