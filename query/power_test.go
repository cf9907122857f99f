package query_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

var (
	losses     = flag.Int("losses", 30, "how many operations the tests of losses of power make")
	lossSeed   = flag.Uint64("loss-seed", 0, "what they do, and what is lost; 0 is another each time")
	syncsDir   = "SYNCS_DIR"
	syncsFile  = "SYNCS_JOURNAL"
	removedDir = "SYNCS_REMOVED"
)

// A loss of power keeps the synced part of each file, and any part of later bytes. If
// it comes at any moment, during writes, flushes, loads and changes of the schema, the
// database opens and has all acknowledged writes, and each operation under way whole or
// not at all.
func TestPowerLoss(t *testing.T) { losesPower(t, query.Options{}) }

// Without syncs it has its state at an earlier moment, of tables and families too, but
// no earlier than the last change of the schema or load.
func TestPowerLossUnderAsync(t *testing.T) {
	losesPower(t, query.Options{Durability: query.DurabilityAsync})
}

func losesPower(t *testing.T, o query.Options) {
	wantRocksDB(t, "the syncs are those of RocksDB's files; cf/pebble tests losses of power at every sync of Pebble")
	if os.Getenv(syncsDir) == "" {
		againWithSyncs(t)
		return
	}
	seed := *lossSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-loss-seed %d", seed)
	p := &powered{t: t, rng: rand.New(rand.NewPCG(seed, 0)), dir: filepath.Join(os.Getenv(syncsDir), "db"), async: o.Durability == query.DurabilityAsync}
	o.Memory = 16 << 20
	db, err := query.Open(p.dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p.db = db
	p.do("create", func(ctx context.Context) error { return db.CreateTable(ctx, powerTable("t0")) })
	for range *losses {
		p.step()
		if t.Failed() {
			return
		}
	}
	t.Logf("%d losses of power", p.lost)
}

// againWithSyncs runs the calling test in its own process, whose syncs are recorded.
func againWithSyncs(t *testing.T) {
	t.Helper()
	base, err := os.MkdirTemp("/dev/shm", "smolwc")
	if err != nil {
		base = t.TempDir()
	}
	defer os.RemoveAll(base)
	library := filepath.Join(base, "syncs.so")
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-o", library, "../cf/rocks/testdata/syncs.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	disk, removed := filepath.Join(base, "disk"), filepath.Join(base, "removed")
	if err := errors.Join(os.Mkdir(disk, 0o700), os.Mkdir(removed, 0o700)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v",
		fmt.Sprintf("-losses=%d", *losses), fmt.Sprintf("-loss-seed=%d", *lossSeed))
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+library, syncsDir+"="+disk, syncsFile+"="+filepath.Join(base, "journal"), removedDir+"="+removed,
		"ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Error(err)
	}
	t.Logf("%s", out)
}

// A powered is a database that power can be taken from.
type powered struct {
	t     *testing.T
	rng   *rand.Rand
	db    *query.DB
	dir   string
	async bool

	ops, tables int
	said        int      // lines of the journal that have been read
	history     []string // the state after each operation
	last        int      // the last operation that is on the disk for certain
	lost        int
}

// lateQualifier is the qualifier of cells with the last timestamp.
const lateQualifier = "late"

func powerTable(name string) schema.Table {
	return schema.Table{Name: name, Families: []schema.Family{{Name: "a"}, {Name: "b"}}}
}

// step makes an operation.
func (p *powered) step() {
	names := slices.Sorted(maps.Keys(p.tablesNow()))
	name := names[p.rng.IntN(len(names))]
	table, families := p.db.Table(name), p.tablesNow()[name]
	switch n := p.rng.IntN(20); {
	case n == 0 && len(families) > 0: // the first one raises the format
		p.do("put", func(ctx context.Context) error {
			m := write.NewMutation()
			m.SetAt(families[0], lateQualifier, cells.MaxTimestamp, cells.I64(1))
			return table.Apply(ctx, fmt.Sprintf("r%04d", p.ops), m)
		})
	case n < 8 && len(families) > 0:
		size := []int{10, 300, 5000, 90_000}[p.rng.IntN(4)]
		p.do("put", func(ctx context.Context) error {
			m := write.NewMutation()
			for _, f := range families {
				m.Set(f, "q", cells.Bytes([]byte(strings.Repeat("x", size))))
			}
			return table.Apply(ctx, fmt.Sprintf("r%04d", p.ops), m)
		})
	case n < 11:
		p.do("flush", table.Flush)
	case n < 13 && len(families) > 0:
		p.do("load", func(ctx context.Context) error {
			return powerLoad(ctx, table, families[0], fmt.Sprintf("r%04d", p.ops))
		})
	case n < 15:
		p.tables++
		p.do("create", func(ctx context.Context) error {
			return p.db.CreateTable(ctx, powerTable(fmt.Sprintf("t%d", p.tables)))
		})
	case n < 17 && len(names) > 1:
		p.do("drop", func(ctx context.Context) error { return p.db.DropTable(ctx, name) })
	case n < 18 && len(families) > 0:
		p.do("drop family", func(ctx context.Context) error { return p.db.DropFamily(ctx, name, families[0]) })
	case n < 19:
		p.do("add family", func(ctx context.Context) error {
			return p.db.AddFamily(ctx, name, schema.Family{Name: fmt.Sprintf("f%d", p.ops)})
		})
	case len(families) > 0:
		p.do("alter", func(ctx context.Context) error {
			return p.db.SetFamily(ctx, name, schema.Family{Name: families[0], GC: schema.MaxVersions(1 + p.ops)})
		})
	}
}

// tablesNow are the families of each table.
func (p *powered) tablesNow() map[string][]string {
	now := map[string][]string{}
	for _, t := range p.db.Schema().Tables {
		now[t.Name] = []string{}
		for _, f := range t.Families {
			now[t.Name] = append(now[t.Name], f.Name)
		}
	}
	return now
}

func powerLoad(ctx context.Context, table *query.Table, family, row string) error {
	l, err := table.BulkLoad(ctx, query.BulkOptions{})
	if err != nil {
		return err
	}
	defer l.Close()
	m := write.NewMutation()
	m.Set(family, "loaded", cells.String(row))
	if err := l.Apply(row, m); err != nil {
		return err
	}
	_, err = l.Commit(ctx)
	return err
}

// described is the whole content of a database as text.
func described(db *query.DB) (string, error) {
	var b strings.Builder
	for _, t := range db.Schema().Tables {
		fmt.Fprintf(&b, "%s:", t.Name)
		for _, f := range t.Families {
			fmt.Fprintf(&b, " %s %s", f.Name, f.GC)
		}
		b.WriteByte('\n')
		for row, err := range db.Table(t.Name).ReadRows(context.Background()) {
			if err != nil {
				return "", err
			}
			b.WriteString(row.Key())
			for c := range row.Cells() {
				fmt.Fprintf(&b, " %s:%s %d", c.Family, c.Qualifier, len(c.Value.String()))
			}
			b.WriteByte('\n')
		}
	}
	return b.String(), nil
}

// A diskState is the files of a database and their synced lengths.
type diskState struct {
	dir    string
	synced map[string]int
}

// do makes an operation, and simulates losses of power during it.
func (p *powered) do(what string, op func(context.Context) error) {
	p.t.Helper()
	p.ops++
	var before diskState
	if len(p.history) > 0 {
		removed, _ := filepath.Glob(filepath.Join(os.Getenv(removedDir), "*"))
		for _, path := range removed {
			os.Remove(path)
		}
		before = p.state("before")
	}
	if err := op(p.t.Context()); err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
	now, err := described(p.db)
	if err != nil {
		p.t.Fatal(err)
	}
	p.history = append(p.history, now)
	acknowledged := p.last
	if !p.async || what != "put" && what != "flush" {
		p.last = len(p.history) - 1
	}
	from := p.said
	after := p.state("after")
	p.checkSaid(after)
	if before.dir == "" {
		return
	}
	events := p.journal()[from:p.said]
	// At the end of the operation, and during it: before one of the syncs.
	p.loses(what, after, after, nil, p.last)
	if len(events) > 0 {
		n := p.rng.IntN(len(events))
		synced := maps.Clone(before.synced)
		for _, e := range events[:n] {
			synced[e.name] = max(synced[e.name], e.size)
		}
		p.loses(what, diskState{before.dir, synced}, after, &events[n], acknowledged)
	}
}

// A syncEvent is a sync of a file.
type syncEvent struct {
	name string
	size int
}

// journal has the syncs of the files in the database's directory.
func (p *powered) journal() (events []syncEvent) {
	text, err := os.ReadFile(os.Getenv(syncsFile))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e syncEvent
		var path string
		if _, err := fmt.Sscanf(line, "%d %s", &e.size, &path); err != nil {
			p.t.Fatal(err)
		}
		if filepath.Dir(path) == p.dir {
			e.name = filepath.Base(path)
			events = append(events, e)
		}
	}
	return events
}

// state copies the database when nothing changes in it.
func (p *powered) state(name string) diskState {
	p.t.Helper()
	to := filepath.Join(filepath.Dir(p.dir), name)
	for range 100 {
		begun := len(p.journal())
		if err := os.RemoveAll(to); err != nil {
			p.t.Fatal(err)
		}
		err := os.CopyFS(to, os.DirFS(p.dir))
		if err == nil && len(p.journal()) == begun && sameNames(p.dir, to) {
			break
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.t.Fatal(err)
		}
	}
	s := diskState{to, map[string]int{}}
	events := p.journal()
	for _, e := range events {
		s.synced[e.name] = max(s.synced[e.name], e.size)
	}
	p.said = len(events)
	return s
}

func sameNames(a, b string) bool {
	as, _ := filepath.Glob(filepath.Join(a, "*"))
	bs, _ := filepath.Glob(filepath.Join(b, "*"))
	return slices.EqualFunc(as, bs, func(a, b string) bool { return filepath.Base(a) == filepath.Base(b) })
}

// checkSaid compares the lengths in SYNCED with the lengths that were synced.
func (p *powered) checkSaid(s diskState) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "SYNCED"))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var name string
		var size int
		if n, _ := fmt.Sscanf(line, "%s %d\n", &name, &size); n != 2 || name == "smolwc" || name == "sum" {
			continue
		}
		if size > s.synced[name] {
			p.t.Errorf("SYNCED says that %d bytes of %s are synced, and %d are", size, name, s.synced[name])
		}
	}
}

// loses opens a database after a loss of power between two states, during the sync
// under if that is not nil. The database must have the state after some operation, no
// earlier than a given one.
func (p *powered) loses(what string, from, to diskState, under *syncEvent, earliest int) {
	p.t.Helper()
	p.lost++
	dir := filepath.Join(filepath.Dir(p.dir), "left")
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, os.DirFS(to.dir)); err != nil {
		p.t.Fatal(err)
	}
	p.keep(os.Getenv(removedDir), dir, false)
	p.keep(from.dir, dir, under != nil)
	left := ""
	entries, err := os.ReadDir(dir)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".log") || strings.HasPrefix(name, "MANIFEST-") {
			left += p.cut(filepath.Join(dir, name), filepath.Join(from.dir, name), from.synced[name], under)
		}
	}
	for _, o := range []query.Options{{ReadOnly: true}, {}, {}} {
		db, err := query.Open(dir, o)
		if err != nil {
			p.t.Errorf("%s, %s: %v", what, left, err)
			return
		}
		got, err := described(db)
		if err := errors.Join(err, db.Close()); err != nil {
			p.t.Errorf("%s, %s: %v", what, left, err)
		}
		if format := db.Format(); format < 2 && strings.Contains(got, ":"+lateQualifier) {
			p.t.Errorf("%s, %s: format %d has the last timestamp", what, left, format)
		}
		if !slices.Contains(p.history[earliest:], got) {
			p.t.Errorf("%s, %s, read-only %v: there is\n%.2000s\nand not\n%.2000s", what, left, o.ReadOnly, got, strings.Join(p.history[earliest:], "or\n"))
		}
	}
}

// keep restores files of an earlier state to a directory that were removed meanwhile,
// and the old SYNCED if power is lost before it was replaced.
func (p *powered) keep(from, dir string, old bool) {
	p.t.Helper()
	entries, err := os.ReadDir(from)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range entries {
		to := filepath.Join(dir, e.Name())
		if _, err := os.Stat(to); e.IsDir() || err == nil && (e.Name() != "SYNCED" || !old) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err == nil {
			err = os.WriteFile(to, b, 0o600)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

// cut keeps the synced part of a file and a random part of the later bytes that may
// have reached the disk: for a file that is being synced, up to the end of that sync;
// for any other log, its earlier content.
func (p *powered) cut(path, before string, synced int, under *syncEvent) string {
	b, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	end := synced
	if under != nil && under.name == filepath.Base(path) {
		end = max(end, under.size)
	} else if info, err := os.Stat(before); p.async && err == nil {
		end = max(end, int(info.Size()))
	}
	tail := b[min(synced, len(b)):min(end, len(b))]
	how := p.rng.IntN(4)
	switch {
	case len(tail) == 0:
	case how == 0:
		tail = tail[:0]
	case how == 1:
		tail = tail[:p.rng.IntN(len(tail))]
	case how == 2: // the size has reached the disk, and from some sector on the rest has not
		at := p.rng.IntN(len(tail))
		clear(tail[max(0, at-(synced+at)%512):])
	case !p.async: // sectors have not
		for at := 0; at < len(tail); {
			n := min(512-(synced+at)%512, len(tail)-at)
			if p.rng.IntN(2) == 0 {
				clear(tail[at : at+n])
			}
			at += n
		}
	}
	if err := os.WriteFile(path, b[:min(synced, len(b))+len(tail)], 0o600); err != nil {
		p.t.Fatal(err)
	}
	return fmt.Sprintf("%s: %d of %d bytes synced, %d more by way %d; ", filepath.Base(path), synced, len(b), len(tail), how)
}
