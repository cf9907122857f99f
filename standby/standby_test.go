package standby_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
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
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/standby"
)

// A node serves a database to standbys, on one address for the whole test.
type node struct {
	t       *testing.T
	dir     string
	addr    string
	log     int64
	semi    standby.SemiSync
	lease   standby.Lease
	logger  *slog.Logger
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
	n.primary = standby.NewPrimary(standby.PrimaryOptions{LogBytes: n.log, SemiSync: n.semi, Lease: n.lease, Logger: n.logger})
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
	p := listen(t, addr)
	l := &visit{port: p, conns: make(chan net.Conn), closed: make(chan struct{})}
	p.now.Store(l)
	g := grpc.NewServer(grpc.WaitForHandlers(true)) // whose logger may be that of the test
	smolwcpb.RegisterStandbysServer(g, s)
	go func() { _ = g.Serve(l) }()
	return g
}

// A port listens for the whole of a test, also while no server is there: no other test gets
// its number meanwhile.
type port struct {
	net.Listener
	now atomic.Pointer[visit]
}

var ports sync.Map // of *port by their addresses

// listen is the port with an address, which it notes.
func listen(t testing.TB, addr *string) *port {
	t.Helper()
	if p, ok := ports.Load(*addr); ok {
		return p.(*port)
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		t.Fatal(err)
	}
	p := &port{Listener: l}
	*addr = l.Addr().String()
	ports.Store(*addr, p)
	t.Cleanup(func() { ports.Delete(l.Addr().String()); _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.pass(c)
		}
	}()
	return p
}

func (p *port) pass(c net.Conn) {
	if v := p.now.Load(); v != nil {
		select {
		case v.conns <- c:
			return
		case <-v.closed:
		}
	}
	_ = c.Close() // no server is there
}

// A visit is the listener of one server at a port.
type visit struct {
	*port
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (v *visit) Accept() (net.Conn, error) {
	select {
	case c := <-v.conns:
		return c, nil
	case <-v.closed:
		return nil, net.ErrClosed
	}
}

func (v *visit) Close() error {
	v.once.Do(func() { close(v.closed) })
	return nil
}

func follow(t *testing.T, dir, primary string) *standby.Standby {
	t.Helper()
	return followAs(t, dir, primary, false)
}

// observe follows without counting.
func observe(t *testing.T, dir, primary string) *standby.Standby {
	t.Helper()
	return followAs(t, dir, primary, true)
}

func followAs(t *testing.T, dir, primary string, observer bool) *standby.Standby {
	t.Helper()
	o := standby.Options{Primary: primary, Name: "test", Observer: observer, Retry: time.Millisecond, Database: query.Options{Memory: 16 << 20, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}}
	s, err := standby.Open(t.Context(), dir, o)
	for errors.Is(err, standby.ErrNotYet) && strings.Contains(err.Error(), "another standby is being copied") {
		s, err = standby.Open(t.Context(), dir, o) // a copy that failed here may not have ended there
	}
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
		if time.Since(at) > 5*time.Minute {
			t.Fatalf("the standby has stood at position %d for five minutes, with other rows than its primary (%v)", position, err)
		}
	}
}

// born is the format that a database has on Pebble from the beginning, 0 on RocksDB.
func born() int {
	if query.DefaultEngine() == query.EnginePebble {
		return 6
	}
	return 0
}

func TestAStandbyBeginsFromNothingAndFollows(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("fleet", "meta", "delay"))
	for i := range 100 {
		set(t, p.db, "fleet", fmt.Sprintf("plane#%03d", i), "meta", "before")
	}
	if p.db.Format() != max(1, born()) {
		t.Errorf("format %d before the first standby", p.db.Format())
	}
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	awaitEqual(t, p.db, s)
	if p.db.Format() != max(5, born()) {
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
	t.Parallel()
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
	t.Parallel()
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

// Directories with files of others are refused, and nothing in them or beside them is
// changed.
func TestOnlyAStandbyIsContinued(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	database := func(dir string) error {
		db, err := query.Open(dir, query.Options{})
		if err != nil {
			return err
		}
		return db.Close()
	}
	for name, c := range map[string]struct {
		lay  func(dir string) error
		want string
	}{
		"a database": {database, "no standby"},
		"a database without CURRENT": {func(dir string) error {
			return errors.Join(database(dir), os.Remove(filepath.Join(dir, "CURRENT")))
		}, "files that are no standby's, such as"},
		"a note":          {func(dir string) error { return write1(dir, "notes.txt") }, "such as notes.txt; name another directory, or an empty one"},
		"a table file":    {func(dir string) error { return write1(dir, "000001.sst") }, "such as 000001.sst"},
		"a note beside":   {func(dir string) error { return write1(dir+".copying", "notes.txt") }, "other.copying is in the way"},
		"tables beside":   {func(dir string) error { return write1(dir+".copying", "000001.sst") }, "other.copying is in the way"},
		"a replaced one":  {func(dir string) error { return database(dir + ".replaced") }, "other.replaced is in the way"},
		"a dangling link": {func(dir string) error { return os.Symlink("nowhere", dir) }, "does not exist; create it"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			base := t.TempDir()
			dir := filepath.Join(base, "other")
			must(t, c.lay(dir))
			before := filesBelow(t, base)
			_, err := standby.Open(t.Context(), dir, standby.Options{Primary: p.addr})
			if !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
			if after := filesBelow(t, base); !maps.Equal(before, after) {
				t.Errorf("there is %v; before: %v", after, before)
			}
		})
	}
	if p.db.Format() != max(1, born()) {
		t.Errorf("standbys that were refused give the database format %d", p.db.Format())
	}
}

func write1(dir, name string) error {
	return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600))
}

// filesBelow are the checksums of all files below a directory.
func filesBelow(t *testing.T, dir string) map[string]uint32 {
	t.Helper()
	all := map[string]uint32{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			all[path] = 0
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = crc32.ChecksumIEEE(text)
		return err
	}))
	return all
}

// A copy that was interrupted goes on, and a directory that is a link stays one.
func TestAStandbyBehindALink(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 1)
	declare(t, p.db, table("a", "f"))
	base := t.TempDir()
	dir, to := filepath.Join(base, "link"), filepath.Join(base, "disk", "standby")
	must(t, os.MkdirAll(to, 0o700))
	must(t, os.Symlink(to, dir))
	must(t, write1(to, "tokens.json"))
	s := follow(t, dir, p.addr)
	set(t, p.db, "a", "0", "f", "v")
	awaitEqual(t, p.db, s)
	must(t, s.Close())
	fallBehind(t, p)
	s = rebuild(t, follow(t, dir, p.addr), "no longer kept")
	awaitEqual(t, p.db, s)
	if at, err := os.Readlink(dir); err != nil || at != to {
		t.Errorf("the link leads to %q now (%v)", at, err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "tokens.json")); err != nil || string(text) != "mine" {
		t.Errorf("the tokens are %q (%v)", text, err)
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory may be read by others: %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(to + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What a crash has left of the copy for a standby is removed when the primary is opened.
func TestWhatACrashHasLeftOfACopyIsRemoved(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	p.close()
	must(t, write1(filepath.Join(p.dir, "standby.tmp"), "000001.sst"))
	p.open()
	if _, err := os.Stat(filepath.Join(p.dir, "standby.tmp")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy is there: %v", err)
	}
}

// A request for a copy that is refused leaves the format of the database as it is.
func TestARefusedCopyChangesNothing(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	conn, err := grpc.NewClient(p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	defer conn.Close()
	for want, req := range map[string]*smolwcpb.CopyRequest{
		"knows formats up to 4":      {Format: 4},
		"the standby is of another1": {Format: query.FormatVersion, Database: "another1"},
	} {
		stream, err := smolwcpb.NewStandbysClient(conn).Copy(t.Context(), req)
		must(t, err)
		if _, err = stream.Recv(); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	if p.db.Format() != max(1, born()) {
		t.Errorf("the database has format %d", p.db.Format())
	}
}

// A heard is a log that a test looks through.
type heard struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements [io.Writer].
func (h *heard) Write(line []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(line)
}

func (h *heard) has(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Contains(h.text.String(), text)
}

// A standby whose primary refuses it says so, serves what it has, and can be promoted: the
// primary may have lost its disk, and begun again with another database.
func TestAStandbyThatIsRefused(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(t *testing.T, p *node) (why string){
		"takes no standbys": func(_ *testing.T, p *node) string {
			p.log = -1
			p.open()
			return "its --standby-log is 0"
		},
		"lost its disk": func(t *testing.T, p *node) string {
			p.dir = filepath.Join(t.TempDir(), "empty")
			p.open()
			return "and the standby is of"
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPrimary(t, 0)
			declare(t, p.db, table("a", "f"))
			set(t, p.db, "a", "row", "f", "v")
			dir := filepath.Join(t.TempDir(), "standby")
			first := follow(t, dir, p.addr)
			awaitEqual(t, p.db, first)
			must(t, first.Close())
			p.close()
			why := again(t, p)
			log := new(heard)
			s, err := standby.Open(t.Context(), dir, standby.Options{Primary: p.addr, Retry: time.Millisecond, Database: query.Options{Memory: 16 << 20, Logger: slog.New(slog.NewTextHandler(log, nil))}})
			must(t, err)
			defer s.Close()
			await(t, "the standby does not say why it is refused", func() bool { return log.has("level=ERROR") && log.has(why) })
			if err := s.Err(); err != nil {
				t.Errorf("the standby is lost: %v", err)
			}
			if row, err := s.DB().Table("a").ReadRow(t.Context(), "row"); err != nil || row == nil {
				t.Errorf("the row is %v: %v", row, err)
			}
			other := filepath.Join(t.TempDir(), "other")
			if name == "takes no standbys" {
				if _, err := standby.Open(t.Context(), other, standby.Options{Primary: p.addr}); !strings.Contains(fmt.Sprint(err), why) {
					t.Errorf("%v", err)
				}
				if left, _ := filepath.Glob(other + "*"); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			}
			promoted, err := s.Promote(t.Context(), "127.0.0.1:1", query.DurabilitySync)
			must(t, err)
			promoted.Primary.Service().Stop()
			db, err := query.Open(dir, query.Options{Standbys: promoted.Primary.Hook(), GCInterval: -1})
			must(t, err)
			must(t, db.Close())
		})
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
		var says struct{ Bytes int64 }
		must(t, json.Unmarshal(text, &says))
		return fmt.Sprint(says.Bytes)
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
		want := fmt.Sprint(log)
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
	must(t, s.Close())

	s = open(-1)
	awaitEqual(t, p.db, s)
	n := promote(t, s, dir)
	if got := kept(dir); got != "no log" {
		t.Errorf("without standbys, the file of a promoted standby says %q", got)
	}
	if _, err := standby.Open(t.Context(), filepath.Join(t.TempDir(), "third"), standby.Options{Primary: n.addr}); err == nil || !strings.Contains(err.Error(), "takes no standbys") {
		t.Errorf("a server without a log has a standby: %v", err)
	}
}

// A database of format 5 that had a standby goes on as the primary that it was: with its
// history and its epoch, and standbys copy it.
func TestAPrimaryOfFormat5(t *testing.T) {
	if !query.HasRocksDB {
		t.Skip("RocksDB is not linked")
	}
	n := &node{t: t, dir: filepath.Join(t.TempDir(), "primary"), addr: "127.0.0.1:0"}
	must(t, os.CopyFS(n.dir, os.DirFS("../query/testdata/upgrade/format5")))
	before, err := os.ReadFile(filepath.Join(n.dir, "archive", "standbys.json"))
	must(t, err)
	n.open()
	t.Cleanup(n.close)
	notes, err := n.db.Plumbing().Notes(t.Context(), "standbys")
	must(t, err)
	var history struct {
		ID    string
		Epoch int
	}
	must(t, json.Unmarshal(notes["standbys"], &history))
	if history.Epoch != 1 || !strings.Contains(string(before), history.ID) {
		t.Errorf("the note is %s; it was the history %s", notes["standbys"], before)
	}
	s := follow(t, filepath.Join(t.TempDir(), "standby"), n.addr)
	awaitPosition(t, n, s)
	row, err := s.DB().Table("versions").ReadRow(t.Context(), "row")
	must(t, err)
	if v, ok := row.I64("f", "int"); !ok || v != -7 {
		t.Errorf("the standby has %d, %t", v, ok)
	}
	after, err := os.ReadFile(filepath.Join(n.dir, "archive", "standbys.json"))
	must(t, err)
	if string(after) != string(before) {
		t.Errorf("standbys.json is %s; it was %s", after, before)
	}
}

// A standby that catches up with a promotion while it looks for a position of the previous epoch
// does not take the new epoch's position for it.
func TestAwaitBetweenTwoMoments(t *testing.T) {
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "first")
	first := follow(t, dir, p.addr)
	standby.HookSnapshots(t)
	second := follow(t, filepath.Join(t.TempDir(), "second"), p.addr)
	must(t, try(t, p.db, "both"))
	awaitPosition(t, p, first)
	awaitPosition(t, p, second)
	p.primary.Service().Stop() // the standbys get no more
	p.served.Stop()
	await(t, "the second standby is connected", func() bool { _, connected := second.Lag(); return !connected })
	must(t, try(t, p.db, "lost"))
	lost := p.primary.Service().Position(t.Context())
	n := promote(t, first, dir)
	for i := range 20 {
		must(t, try(t, n.db, fmt.Sprint("theirs", i)))
	}
	p.close()
	// The second one follows the new primary just when Await has read its epoch.
	catchUp := func() {
		must(t, second.Redirect(n.addr))
		for at := time.Now(); second.Position() != position(t, n.primary); time.Sleep(time.Millisecond) {
			if time.Since(at) > 20*time.Second {
				t.Error("it does not catch up")
				return
			}
		}
	}
	err := second.Service().Await(standby.OnSnapshot(t.Context(), catchUp), lost)
	has := has(t, second.DB(), "lost")
	if !has && (err == nil || !strings.Contains(err.Error(), "is lost")) {
		t.Errorf("Await of the lost position %s: %v; the standby has the row: %v", lost, err, has)
	}
	if err := second.Service().Await(t.Context(), lost); err == nil || !strings.Contains(err.Error(), "is lost") {
		t.Errorf("later: %v", err)
	}
}
