package standby_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/standbys"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/standby"
)

// load loads rows from..to, in two families, over existing cells.
func load(t *testing.T, db *query.DB, table string, from, to int, value string) {
	t.Helper()
	l, err := db.Table(table).BulkLoad(t.Context(), query.BulkOptions{Overlap: true})
	must(t, err)
	defer l.Close()
	m := write.NewMutation()
	for i := from; i < to; i++ {
		m.Reset()
		m.SetAt("f", "q", 1, cells.String(value))
		m.SetAt("g", "q", 1, cells.String(value))
		must(t, l.Apply(fmt.Sprintf("row%05d", i), m))
	}
	_, err = l.Commit(t.Context())
	must(t, err)
}

// Files of a load take sequence numbers or not, depending on what a store has in memory
// and on its snapshots; both differ between a primary and a standby.
func TestAStandbyHasLoads(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f", "g"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	stop, stopped := make(chan struct{}), sync.WaitGroup{}
	reading := func(s *standby.Standby) { // keeps snapshots of the standby
		stopped.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = contents(s.DB()) // the standby may be closed
				}
			}
		})
	}
	reading(s)
	for round := range 4 {
		m := write.NewMutation()
		m.SetAt("f", "q", 1, cells.String("before or after"))
		must(t, p.db.Table("a").Apply(t.Context(), fmt.Sprintf("row%05d", 50*round+10), m))
		load(t, p.db, "a", 50*round, 50*round+100, fmt.Sprint("load ", round))
		must(t, p.db.Table("a").Apply(t.Context(), fmt.Sprintf("row%05d", 50*round+20), m))
		if round%2 == 0 {
			continue
		}
		awaitEqual(t, p.db, s)
		if round == 1 { // the next ones come while it is down
			must(t, s.Close())
			set(t, p.db, "a", "while it is down", "f", "v")
			load(t, p.db, "a", 0, 100, "over the others")
			load(t, p.db, "a", 2000, 2100, "behind the others")
			s = follow(t, dir, p.addr)
			reading(s)
			awaitEqual(t, p.db, s)
		}
	}
	close(stop)
	stopped.Wait()
	awaitEqual(t, p.db, s)
	if err := s.Err(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "bulk", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// lose waits until a standby is lost, and rebuilds it.
func rebuild(t *testing.T, s *standby.Standby, why string) *standby.Standby {
	t.Helper()
	select {
	case <-s.Lost():
	case <-time.After(time.Minute):
		t.Fatal("the standby still follows after a minute")
	}
	if err := s.Err(); !errors.Is(err, standby.ErrRebuild) || !strings.Contains(err.Error(), why) {
		t.Fatalf("lost for %v; want %q", err, why)
	}
	if rows, err := contents(s.DB()); err == nil {
		t.Errorf("a standby that is lost was read: %v", rows)
	}
	next, err := s.Rebuild(t.Context())
	must(t, err)
	t.Cleanup(func() { must(t, next.Close()) })
	return next
}

// fallBehind makes a primary write more than it keeps of its log.
func fallBehind(t *testing.T, p *node) {
	t.Helper()
	for i := range 3 {
		set(t, p.db, "a", fmt.Sprint(i), "f", "v")
		must(t, p.db.Table("a").Flush(t.Context()))
		p.close() // opening removes what is not kept
		p.open()
	}
}

func TestAStandbyThatFellBehindIsRebuilt(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 1)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	set(t, p.db, "a", "0", "f", "v")
	awaitEqual(t, p.db, s)
	must(t, s.Close())
	fallBehind(t, p)
	s = rebuild(t, follow(t, dir, p.addr), "no longer kept")
	awaitEqual(t, p.db, s)
	if left, _ := filepath.Glob(dir + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	set(t, p.db, "a", "after", "f", "v")
	awaitEqual(t, p.db, s)
}

// A database that was restored, or that an earlier state has replaced, has other records
// at the same positions.
func TestAStandbyOfAnotherHistoryIsRebuilt(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(t *testing.T, p *node) string{
		"history is another one": func(t *testing.T, p *node) string { // a checkpoint, as a backup restores it
			to := filepath.Join(t.TempDir(), "restored")
			must(t, p.db.Checkpoint(t.Context(), to))
			return to
		},
		"are not records of this database": func(t *testing.T, p *node) string { // the files of an earlier moment
			p.close()
			to := filepath.Join(t.TempDir(), "copied")
			must(t, os.CopyFS(to, os.DirFS(p.dir)))
			p.open()
			return to
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			p := newPrimary(t, 0)
			declare(t, p.db, table("a", "f"))
			dir := filepath.Join(t.TempDir(), "standby")
			s := follow(t, dir, p.addr)
			set(t, p.db, "a", "both", "f", "v")
			awaitEqual(t, p.db, s)
			must(t, s.Close())
			old := back(t, p)
			s = follow(t, dir, p.addr)
			set(t, p.db, "a", "one", "f", "v")
			awaitEqual(t, p.db, s)
			must(t, s.Close())
			p.close()
			must(t, os.RemoveAll(p.dir))
			must(t, os.Rename(old, p.dir))
			p.open()
			for i := range 10 {
				set(t, p.db, "a", fmt.Sprint("two", i), "f", "v")
			}
			s = follow(t, dir, p.addr)
			if name == "history is another one" {
				// Its first standby gives a database its history.
				follow(t, filepath.Join(t.TempDir(), "other"), p.addr)
			}
			s = rebuild(t, s, name)
			awaitEqual(t, p.db, s)
			kept, err := query.Open(dir+".diverged", query.Options{ReadOnly: true})
			must(t, err)
			defer kept.Close()
			if row, err := kept.Table("a").ReadRow(t.Context(), "one"); err != nil || row.Len() != 1 {
				t.Errorf("what the primary has lost is not kept: %v, %v", row, err)
			}
		})
	}
}

// Cells that the primary's compactions have dropped, and the standby's have not, do not
// come back when the rule that dropped them is relaxed.
func TestARelaxedRuleBringsNothingBack(t *testing.T) {
	t.Parallel()
	var hours atomic.Int64
	clock := func() time.Time { return time.Unix(1_700_000_000, 0).Add(time.Duration(hours.Load()) * time.Hour) }
	p := &node{t: t, dir: filepath.Join(t.TempDir(), "primary"), addr: "127.0.0.1:0"}
	p.primary = standby.NewPrimary(standby.PrimaryOptions{})
	var err error
	p.db, err = query.Open(p.dir, query.Options{Standbys: p.primary.Hook(), GCInterval: -1, Clock: clock})
	must(t, err)
	p.served = serve(t, p.primary.Service(), &p.addr)
	t.Cleanup(p.close)
	aged := table("a", "f")
	aged.Families[0].GC = schema.MaxAge(time.Hour)
	declare(t, p.db, aged)
	s, err := standby.Open(t.Context(), filepath.Join(t.TempDir(), "standby"), standby.Options{Primary: p.addr, Database: query.Options{Clock: clock}})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	for i := range 10 {
		set(t, p.db, "a", fmt.Sprint("old", i), "f", "v")
	}
	awaitEqual(t, p.db, s)
	hours.Store(3)
	_, err = p.db.GC(t.Context(), "a", query.GCOptions{Compact: true})
	must(t, err)
	set(t, p.db, "a", "new", "f", "v")
	awaitEqual(t, p.db, s)
	aged.Families[0].GC = nil
	declare(t, p.db, aged)
	set(t, p.db, "a", "newer", "f", "v")
	awaitEqual(t, p.db, s)
	if rows, err := contents(s.DB()); err != nil || len(rows["a"]) != 2 {
		t.Errorf("%v, %v; want the rows new and newer", rows, err)
	}
}

// A standby can feed another one.
func TestStandbysInARow(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f", "g"))
	first := follow(t, filepath.Join(t.TempDir(), "first"), p.addr)
	addr := "127.0.0.1:0"
	served := serve(t, first.Service(), &addr)
	t.Cleanup(func() { first.Service().Stop(); served.Stop() })
	second := follow(t, filepath.Join(t.TempDir(), "second"), addr)
	for i := range 20 {
		set(t, p.db, "a", fmt.Sprint(i), "f", "v")
	}
	load(t, p.db, "a", 0, 100, "loaded")
	declare(t, p.db, table("b", "f"))
	set(t, p.db, "b", "row", "f", "v")
	awaitEqual(t, p.db, second)
	all, err := first.Service().ListReplicas(context.Background(), nil)
	must(t, err)
	if !all.GetStandby() || len(all.GetReplicas()) != 1 || all.GetPrimary() != p.addr {
		t.Errorf("%v", all)
	}
}

// A service that keeps no loads.
type keepsNoLoads struct{ standbys.Service }

func (keepsNoLoads) Load(*smolwcpb.LoadRequest, smolwcpb.Standbys_LoadServer) error {
	return status.Error(codes.NotFound, "the files of the load are not kept")
}

// A standby that needs a load which its primary no longer keeps has nothing of its own, so
// nothing is kept aside, where it would be in the way of changes that nobody else has.
func TestALoadThatIsNoLongerKeptLeavesNothingAside(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f", "g"))
	addr := "127.0.0.1:0"
	served := serve(t, keepsNoLoads{p.primary.Service()}, &addr)
	t.Cleanup(served.Stop)
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, addr)
	load(t, p.db, "a", 0, 10, "loaded")
	s = rebuild(t, s, "no longer kept")
	awaitEqual(t, p.db, s)
	if left, _ := filepath.Glob(dir + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A service whose first copy and first load stop in the middle, on connections that live.
type stalls struct {
	standbys.Service
	always        bool // not only the first ones
	copies, loads atomic.Int64
}

func (s *stalls) Copy(req *smolwcpb.CopyRequest, stream smolwcpb.Standbys_CopyServer) error {
	return s.Service.Copy(req, stallingStream{stream, s.copies.Add(1) == 1 || s.always})
}

func (s *stalls) Load(req *smolwcpb.LoadRequest, stream smolwcpb.Standbys_LoadServer) error {
	return s.Service.Load(req, stallingStream{stream, s.loads.Add(1) == 1 || s.always})
}

type stallingStream struct {
	grpc.ServerStreamingServer[smolwcpb.CopyResponse]
	stalls bool
}

func (s stallingStream) Send(m *smolwcpb.CopyResponse) error {
	if s.stalls && len(m.GetContent()) > 0 {
		<-s.Context().Done()
		return s.Context().Err()
	}
	return s.ServerStreamingServer.Send(m)
}

// A copy and a load that stall are tried again; no other standby can be
// copied until then.
func TestFilesThatStall(t *testing.T) {
	standby.SetFileSilence(t, 200*time.Millisecond)
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f", "g"))
	addr, slow := "127.0.0.1:0", &stalls{Service: p.primary.Service()}
	served := serve(t, slow, &addr)
	t.Cleanup(served.Stop)
	dir := filepath.Join(t.TempDir(), "standby")
	if _, err := standby.Open(t.Context(), dir, standby.Options{Primary: addr}); !errors.Is(err, standby.ErrNotYet) || !strings.Contains(err.Error(), "sends no more of the files") {
		t.Fatalf("a copy that stalls: %v", err)
	}
	var s *standby.Standby
	await(t, "the copy is not tried again", func() (ok bool) {
		var err error
		s, err = standby.Open(t.Context(), dir, standby.Options{Primary: addr, Retry: time.Millisecond})
		return err == nil
	})
	t.Cleanup(func() { must(t, s.Close()) })
	load(t, p.db, "a", 0, 10, "loaded")
	awaitEqual(t, p.db, s)
	if n := slow.loads.Load(); n < 2 {
		t.Errorf("the load was asked for %d times", n)
	}
}

// A standby whose files cannot be read stops, and does not connect again and again.
func TestAStandbyWhoseFilesFailStops(t *testing.T) {
	p := newPrimary(t, 0)
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	awaitPosition(t, p, s)
	must(t, s.Close())
	broken := standby.BreakStores(t)
	s = follow(t, dir, p.addr)
	awaitPosition(t, p, s)
	broken.Store(true)
	p.close() // it has to connect again
	p.open()
	select {
	case <-s.Lost():
	case <-time.After(time.Minute):
		t.Fatal("after a minute the standby still connects")
	}
	if err := s.Err(); errors.Is(err, standby.ErrRebuild) || !strings.Contains(err.Error(), "cannot read its own files") {
		t.Errorf("%v", err)
	}
}

// A standby that connects again over the same connection is listed once.
func TestAStandbyThatConnectsTwiceIsListedOnce(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	s := follow(t, filepath.Join(t.TempDir(), "standby"), p.addr)
	awaitPosition(t, p, s)
	await(t, "the standby is not there", func() bool { return len(describe(t, p).GetReplicas()) == 1 })
	conn, err := grpc.NewClient(p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	defer conn.Close()
	all, err := p.primary.Service().ListReplicas(t.Context(), nil)
	must(t, err)
	for range 2 {
		stream, err := smolwcpb.NewStandbysClient(conn).Follow(t.Context())
		must(t, err)
		must(t, stream.Send(&smolwcpb.FollowRequest{Hello: &smolwcpb.Hello{
			Database: all.GetDatabase(), History: all.GetHistory(), Epoch: &smolwcpb.Epoch{Number: 1}, Name: "twice", Format: query.FormatVersion,
			After: s.Position(), Last: s.Position(), Latest: s.Position(),
		}}))
		m, err := stream.Recv() // it was let in
		if must(t, err); m.GetRebuild() != "" {
			t.Fatal(m.GetRebuild())
		}
	}
	all, err = p.primary.Service().ListReplicas(t.Context(), nil)
	must(t, err)
	if len(all.GetReplicas()) != 2 { // the standby too
		t.Errorf("%v", all.GetReplicas())
	}
}

// Two servers are started as primaries on copies of one directory, and write as much. Their last
// records are the same, and others are not.
func TestTwinsOfAPrimary(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	s := follow(t, filepath.Join(t.TempDir(), "standby"), p.addr)
	putAt(t, p.db, "a", "row", "both", 1)
	awaitEqual(t, p.db, s)
	p.close()
	twin := &node{t: t, dir: filepath.Join(t.TempDir(), "twin"), addr: "127.0.0.1:0"}
	must(t, os.CopyFS(twin.dir, os.DirFS(p.dir)))
	p.open()
	twin.open()
	t.Cleanup(twin.close)
	for db, value := range map[*query.DB]string{p.db: "ours", twin.db: "theirs"} {
		putAt(t, db, "a", "row", value, 2)
		putAt(t, db, "a", "last", "same", 1)
	}
	awaitEqual(t, p.db, s)
	if ours, theirs := position(t, p.primary), position(t, twin.primary); ours != theirs {
		t.Fatalf("the positions are %d and %d", ours, theirs)
	}
	must(t, s.Redirect(twin.addr))
	awaitEqual(t, twin.db, rebuild(t, s, "its last records are not records of this database"))
}
