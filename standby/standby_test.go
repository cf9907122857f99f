//go:build cgo

package standby_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/smolwcpb"
	"github.com/smolwc/smolwc/standby"
)

// A node serves a database to standbys, on one address for the whole test.
type node struct {
	t       *testing.T
	dir     string
	addr    string
	log     int64
	db      *query.DB
	primary *standby.Primary
	served  *grpc.Server
}

// newPrimary opens a database and serves it.
func newPrimary(t *testing.T, log int64) *node {
	n := &node{t: t, dir: filepath.Join(t.TempDir(), "primary"), addr: "127.0.0.1:0", log: log}
	n.open()
	t.Cleanup(n.close)
	return n
}

func (n *node) open() {
	n.t.Helper()
	n.primary = standby.NewPrimary(standby.PrimaryOptions{LogBytes: n.log})
	var err error
	n.db, err = query.Open(n.dir, query.Options{Memory: 16 << 20, Standbys: n.primary.Hook(), GCInterval: -1})
	if err != nil {
		n.t.Fatal(err)
	}
	n.served = serve(n.t, n.primary.Service(), &n.addr)
}

func (n *node) close() {
	if n.served == nil {
		return
	}
	n.primary.Service().Stop()
	n.served.Stop()
	n.served = nil
	if err := n.db.Close(); err != nil {
		n.t.Error(err)
	}
}

// serve serves the calls of standbys, and notes the address.
func serve(t testing.TB, s smolwcpb.StandbysServer, addr *string) *grpc.Server {
	t.Helper()
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		t.Fatal(err)
	}
	*addr = l.Addr().String()
	g := grpc.NewServer()
	smolwcpb.RegisterStandbysServer(g, s)
	go func() { _ = g.Serve(l) }()
	return g
}

func follow(t *testing.T, dir, primary string) *standby.Standby {
	t.Helper()
	s, err := standby.Open(t.Context(), dir, standby.Options{Primary: primary, Name: "test", Retry: time.Millisecond, Database: query.Options{Memory: 16 << 20, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func declare(t *testing.T, db *query.DB, tables ...schema.Table) {
	t.Helper()
	_, err := db.Declare(t.Context(), schemaOf(tables...))
	must(t, err)
}

func schemaOf(tables ...schema.Table) *schema.Schema { return &schema.Schema{Tables: tables} }

// position is the newest position of a primary.
func position(t testing.TB, p *standby.Primary) uint64 {
	t.Helper()
	all, err := p.Service().ListReplicas(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return all.GetPosition()
}

func table(name string, families ...string) schema.Table {
	t := schema.Table{Name: name}
	for _, f := range families {
		t.Families = append(t.Families, schema.Family{Name: f})
	}
	return t
}

func set(t *testing.T, db *query.DB, table, row, family, value string) {
	t.Helper()
	m := write.NewMutation()
	m.Set(family, "q", cells.String(value))
	must(t, db.Table(table).Apply(t.Context(), row, m))
}

// contents are all cells of all tables, as lines.
func contents(db *query.DB) (all map[string][]string, err error) {
	all = map[string][]string{}
	for _, declared := range db.Schema().Tables {
		var lines []string
		for row, err := range db.Table(declared.Name).ReadRows(context.Background()) {
			if err != nil {
				return nil, err
			}
			for c := range row.Cells() {
				lines = append(lines, fmt.Sprintf("%q %s @%d %v", row.Key(), c.Column(), c.Timestamp, c.Value))
			}
		}
		all[declared.Name] = lines
	}
	return all, nil
}

// awaitEqual waits until a standby has what the primary has, which nobody writes.
func awaitEqual(t *testing.T, primary *query.DB, s *standby.Standby) {
	t.Helper()
	want, err := contents(primary)
	must(t, err)
	for at, position := time.Now(), uint64(0); ; time.Sleep(5 * time.Millisecond) {
		if now := s.Position(); now != position {
			at, position = time.Now(), now
		}
		if err := s.Err(); err != nil {
			t.Fatalf("the standby is lost: %v", err)
		}
		got, err := contents(s.DB())
		if err == nil && maps.EqualFunc(got, want, slices.Equal[[]string]) {
			return
		}
		if time.Since(at) > time.Minute {
			t.Fatalf("the standby has stood at position %d for a minute, with other rows than its primary (%v)", position, err)
		}
	}
}

func TestAStandbyBeginsFromNothingAndFollows(t *testing.T) {
	p := newPrimary(t, 0)
	declare(t, p.db, table("fleet", "meta", "delay"))
	for i := range 100 {
		set(t, p.db, "fleet", fmt.Sprintf("plane#%03d", i), "meta", "before")
	}
	if p.db.Format() != 1 {
		t.Errorf("format %d before the first standby", p.db.Format())
	}
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	awaitEqual(t, p.db, s)
	if p.db.Format() != 5 {
		t.Errorf("format %d with a standby", p.db.Format())
	}
	for i := range 100 {
		set(t, p.db, "fleet", fmt.Sprintf("plane#%03d", i), "delay", "after")
	}
	gone := write.NewMutation()
	gone.DeleteRow()
	must(t, p.db.Table("fleet").Apply(t.Context(), "plane#007", gone))
	awaitEqual(t, p.db, s)

	err := s.DB().Table("fleet").Apply(t.Context(), "plane#007", gone)
	if query.KindOf(err) != query.KindFailedPrecondition || !strings.Contains(fmt.Sprint(err), p.addr) {
		t.Errorf("a write to a standby: %v", err)
	}
	if _, err := s.DB().Declare(t.Context(), &schema.Schema{Tables: []schema.Table{table("other", "f")}}); !strings.Contains(fmt.Sprint(err), p.addr) {
		t.Errorf("a declaration at a standby: %v", err)
	}
	if _, err := query.Open(dir, query.Options{}); query.KindOf(err) == query.KindInternal || err == nil {
		t.Errorf("a standby was opened for writing: %v", err)
	}
}

func TestAStandbyFollowsChangesOfTheSchema(t *testing.T) {
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	s := follow(t, filepath.Join(t.TempDir(), "standby"), p.addr)
	for round := range 3 {
		name := fmt.Sprintf("t%d", round)
		declare(t, p.db, table(name, "f", "g"))
		set(t, p.db, name, "row", "g", name)
		set(t, p.db, "a", name, "f", name)
		awaitEqual(t, p.db, s)
		must(t, p.db.DropTable(t.Context(), name))
		awaitEqual(t, p.db, s)
		declare(t, p.db, table(name, "g", "h"))
		set(t, p.db, name, "row", "h", "again")
	}
	awaitEqual(t, p.db, s)
}

func TestAStandbyGoesOnWhereItStopped(t *testing.T) {
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	for i := range 5 {
		set(t, p.db, "a", fmt.Sprint("up", i), "f", "v")
		awaitEqual(t, p.db, s)
		must(t, s.Close())
		set(t, p.db, "a", fmt.Sprint("down", i), "f", "v")
		if i%2 == 1 { // the primary too
			p.close()
			p.open()
			declare(t, p.db, table(fmt.Sprint("new", i), "f"))
		}
		s = follow(t, dir, p.addr)
		awaitEqual(t, p.db, s)
		if s.Position() == 0 {
			t.Error("the standby has no position")
		}
	}
	if left, _ := filepath.Glob(dir + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOnlyAStandbyIsContinued(t *testing.T) {
	p := newPrimary(t, 0)
	dir := filepath.Join(t.TempDir(), "other")
	db, err := query.Open(dir, query.Options{})
	must(t, err)
	must(t, db.Close())
	if _, err := standby.Open(t.Context(), dir, standby.Options{Primary: p.addr}); !strings.Contains(fmt.Sprint(err), "no standby") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "CURRENT")); err != nil {
		t.Error(err)
	}
}

// How much of the log is kept follows the setting of each start, and so does whether the
// server takes standbys.
func TestTheLogThatIsKeptFollowsItsSetting(t *testing.T) {
	kept := func(dir string) string {
		text, err := os.ReadFile(filepath.Join(dir, "archive", "standbys.json"))
		if errors.Is(err, fs.ErrNotExist) {
			return "no log"
		}
		must(t, err)
		_, after, _ := strings.Cut(string(text), `"bytes":`)
		return after
	}
	p := newPrimary(t, 1<<20)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	open := func(log int64) *standby.Standby {
		s, err := standby.Open(t.Context(), dir, standby.Options{Primary: p.addr, LogBytes: log, Retry: time.Millisecond})
		must(t, err)
		return s
	}
	for _, log := range []int64{1 << 20, 2 << 20, 1 << 19} {
		p.close()
		p.log = log
		p.open()
		s := open(log)
		set(t, p.db, "a", fmt.Sprint(log), "f", "v")
		awaitEqual(t, p.db, s)
		must(t, s.Close())
		want := fmt.Sprintf("%d}", log)
		if got := []string{kept(p.dir), kept(dir)}; got[0] != want || got[1] != want {
			t.Errorf("%d: the files say %q", log, got)
		}
	}
	p.close()
	p.log = -1
	p.open()
	if got := kept(p.dir); got != "no log" {
		t.Errorf("without standbys, the file says %q", got)
	}
	declare(t, p.db, table("b", "f")) // standbys do not hear of it
	set(t, p.db, "b", "row", "f", "v")
	p.close()
	p.log = 1 << 20
	p.open()
	s := open(1 << 20)
	first := follow(t, filepath.Join(t.TempDir(), "first"), p.addr)
	awaitEqual(t, p.db, first)
	s = rebuild(t, s, "history is another one")
	awaitEqual(t, p.db, s)
}
