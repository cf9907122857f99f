//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/cf/internal/wal"
	"github.com/smolwc/smolwc/cf/rocks/internal/writequeue"
	"github.com/smolwc/smolwc/internal/lock"
)

// A pair is a store and one that follows it.
type pair struct {
	*testing.T
	primary, standby *Store
}

func (p *pair) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// newPair opens a store with the families t/a and t/b, and a copy of it that follows.
func newPair(t *testing.T) *pair { return newPairIn(t, shm(t)) }

func newPairIn(t *testing.T, dir string) *pair {
	p := &pair{T: t}
	p.primary = p.open(filepath.Join(dir, "primary"), Options{})
	p.must(p.primary.CreateFamily(t.Context(), "t/a", "t/b"))
	p.must(p.primary.Ship("first", 1<<30))
	p.copyAnew()
	return p
}

// open opens a store, and closes it in the end unless the test has.
func (p *pair) open(dir string, o Options) *Store {
	p.Helper()
	o.Memory = 8 << 20
	s, err := Open(dir, o)
	p.must(err)
	p.Cleanup(func() { _ = s.Close() })
	return s
}

// reopen closes the primary and opens it again.
func (p *pair) reopen() {
	p.Helper()
	p.must(p.primary.Close())
	p.primary = p.open(p.primary.dir, Options{})
}

// copyAnew replaces the standby by a copy of the primary.
func (p *pair) copyAnew() {
	p.Helper()
	dir := filepath.Join(shm(p.T), "standby")
	_, err := p.primary.Checkpoint(p.Context(), dir)
	p.must(err)
	p.standby = p.open(dir, Options{Standby: true, Async: true})
}

// follow applies what the primary's log has.
func (p *pair) follow() error {
	ctx := p.Context()
	log, err := p.primary.Log(p.standby.Latest())
	if err != nil {
		return err
	}
	defer log.Close()
	for {
		r, err := log.Next(ctx)
		if r == nil || err != nil {
			return err
		}
		need, err := p.standby.Prepare(ctx, r)
		if err != nil {
			return err
		}
		if len(need.Files) > 0 {
			from, err := p.primary.LoadDir(need.Load)
			if err != nil {
				return err
			}
			p.must(os.RemoveAll(need.Dir))
			p.must(os.CopyFS(need.Dir, os.DirFS(from)))
		}
		if err := p.standby.Apply(ctx, r); err != nil {
			return err
		}
	}
}

func put(t testing.TB, s *Store, family, row string, at int64, value string) {
	t.Helper()
	_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: row})
		b.Put(family, "q", at, []byte(value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// keysOf are the rows of a family.
func keysOf(t testing.TB, s *Store, family string) (rows []string) {
	t.Helper()
	var a cf.Answer
	err := s.Read(t.Context(), &cf.Scan{Family: family, Rows: []cf.Range{{}}}, &a)
	if err != nil {
		t.Fatal(err)
	}
	for b := range a.Blocks() {
		for i := range b.Rows {
			rows = append(rows, b.RowKey(&b.Rows[i]))
		}
	}
	return rows
}

// loadRow loads one row into families.
func loadRow(t testing.TB, s *Store, row string, value []byte, families ...string) cf.Position {
	t.Helper()
	return loadRowWith(t, s, row, value, nil, families...)
}

// loadRowWith is loadRow with a function that the commit calls.
func loadRowWith(t testing.TB, s *Store, row string, value []byte, fn func(cf.Snapshot, *cf.Batch) error, families ...string) cf.Position {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	in, err := s.Ingest(ctx)
	must(err)
	defer in.Close()
	sorter := bulk.NewSorter(len(families), 1<<20, in.TempDir(), in.Merge)
	defer sorter.Close()
	sorter.Row(row)
	for i := range families {
		sorter.Group(i)
		sorter.Value(append(sorter.Cell("q", 1), value...), false)
		sorter.EndGroup()
	}
	sorted, err := sorter.Finish(ctx)
	must(err)
	for _, part := range sorted.Parts(1) {
		run, err := in.Run(ctx, families[part.Family])
		must(err)
		must(part.Each(ctx, func(c cf.CellGroups) error { return run.Write(ctx, c) }))
		must(run.Close())
	}
	pos, err := in.Commit(ctx, cf.Range{}, fn)
	must(err)
	return pos
}

// A process that was killed between a family and its note leaves a family that standbys
// do not know. The next change of families tells them.
func TestAFamilyThatWasMadeWithoutANote(t *testing.T) {
	p := newPair(t)
	p.must(p.primary.createFamilies(t.Context(), []string{"t/c"}))
	p.reopen()
	p.must(p.primary.CreateFamily(t.Context(), "t/d"))
	for _, family := range []string{"t/a", "t/c", "t/d"} {
		put(t, p.primary, family, "row", 1, "v")
	}
	p.must(p.follow())
	for _, family := range []string{"t/a", "t/c", "t/d"} {
		if rows := keysOf(t, p.standby, family); fmt.Sprint(rows) != "[row]" {
			t.Errorf("%s of the standby has the rows %q", family, rows)
		}
	}
	p.must(p.primary.createFamilies(t.Context(), []string{"t/e"}))
	p.must(p.primary.CreateFamily(t.Context())) // of a table whose families are there
	p.must(p.follow())
	if got, want := fmt.Sprint(p.standby.Families()), fmt.Sprint(p.primary.Families()); got != want {
		t.Errorf("the standby has the families %s, not %s", got, want)
	}
}

// repOf is a record after a position, with deletes of entries of the catalog.
func repOf(after cf.Position, keys ...string) *cf.LogRecord {
	rep := binary.LittleEndian.AppendUint64(nil, uint64(after)+1)
	rep = binary.LittleEndian.AppendUint32(rep, uint32(len(keys)))
	for _, key := range keys {
		rep = appendString(append(rep, wal.RepDelete), []byte(key))
	}
	return &cf.LogRecord{After: after, Last: after + cf.Position(len(keys)), Data: rep}
}

// RocksDB writes what comes at the same time as one record of the log. A standby cannot
// apply one that has the note about a load and something else: it would lose the rest.
func TestTheNoteAboutALoadIsARecordOfItsOwn(t *testing.T) {
	p := newPairIn(t, t.TempDir()) // where a sync takes some time
	p.must(p.primary.mark(&marker{id: "LATE", Files: map[string][]string{"t/a": {"1.sst"}}}))
	p.must(p.follow())
	joined := repOf(p.standby.Latest(), loadedPrefix+"LATE", "other", loadedPrefix+"LATE")
	if _, err := p.standby.Prepare(t.Context(), joined); !errors.Is(err, cf.ErrDiverged) {
		t.Errorf("a standby takes a note that is joined with another write: %v", err)
	}

	processors := runtime.GOMAXPROCS(16)
	p.primary.queue = writequeue.New() // lets more writes into the engine at once
	runtime.GOMAXPROCS(processors)
	begin := p.primary.Latest()
	var writers sync.WaitGroup
	stop := make(chan struct{})
	for range 8 {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					put(t, p.primary, "t/a", "row", 1, "v")
				}
			}
		})
	}
	for range 30 {
		p.must(p.primary.noteLate(&marker{id: "LATE", Files: map[string][]string{"t/a": {"1.sst"}}}))
	}
	close(stop)
	writers.Wait()
	log, err := p.primary.Log(begin)
	p.must(err)
	defer log.Close()
	for {
		r, err := log.Next(t.Context())
		p.must(err)
		if r == nil {
			return
		}
		var notes, all int
		p.must(wal.Each(r.Data, func(_ cf.OpKind, family uint32, op *cf.LoggedOp) error {
			if all++; family == 0 && strings.HasPrefix(string(op.Key), loadedPrefix) {
				notes++
			}
			return nil
		}))
		if notes != 0 && notes != all {
			t.Fatalf("a record after %d has %d changes of a note and %d others", r.After, notes, all-notes)
		}
	}
}

// A standby whose positions are not those of the log stops, while it is read.
func TestAStandbyThatIsWrittenByOthersStops(t *testing.T) {
	p := newPair(t)
	put(t, p.primary, "t/a", "row", 1, "v")
	log, err := p.primary.Log(p.standby.Latest())
	p.must(err)
	defer log.Close()
	r, err := log.Next(t.Context())
	p.must(err)
	_, err = p.standby.Prepare(t.Context(), r)
	p.must(err)
	put(t, p.standby, "t/a", "other", 1, "v")
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			if err := p.standby.Flush(t.Context(), "t/b"); err != nil {
				return
			}
		}
	})
	if err := p.standby.Apply(t.Context(), r); !errors.Is(err, cf.ErrDiverged) || !errors.Is(err, cf.ErrUnknownOutcome) {
		t.Errorf("the record is applied at another position: %v", err)
	}
	readers.Wait()
}

// What a standby lets its compactions drop is never more than what its primary has said
// last, whatever happened to the primary and its families since.
func TestAStandbyDropsNoMoreThanItsPrimary(t *testing.T) {
	ctx := t.Context()
	for name, change := range map[string]func(p *pair){
		"a rule that is taken away": func(p *pair) {
			p.must(p.primary.SetExpiry("t/a", cf.Expiry{}))
		},
		"a rule that is taken away after a restart": func(p *pair) {
			p.reopen()
			p.must(p.primary.SetExpiry("t/a", cf.Expiry{}))
		},
		"a rule that is taken away while there are no standbys": func(p *pair) {
			p.must(p.primary.Ship("", 0))
			p.must(p.primary.SetExpiry("t/a", cf.Expiry{}))
			p.reopen()
			p.must(p.primary.Ship("second", 1<<30))
			p.copyAnew()
		},
		"a family that is dropped while there are no standbys": func(p *pair) {
			p.must(p.primary.Ship("", 0))
			p.must(p.primary.DropFamily(ctx, "t/a"))
			p.must(p.primary.Ship("second", 1<<30))
			p.copyAnew()
			p.must(p.primary.CreateFamily(ctx, "t/a"))
		},
		"a family that is dropped and made anew while there are no standbys": func(p *pair) {
			p.must(p.primary.Ship("", 0))
			p.must(p.primary.DropFamily(ctx, "t/a"))
			p.must(p.primary.CreateFamily(ctx, "t/a"))
			p.must(p.primary.Ship("second", 1<<30))
			p.copyAnew()
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			p := newPair(t)
			p.must(p.primary.SetExpiry("t/a", cf.Expiry{Before: 100}))
			p.must(p.follow())
			change(p)
			put(t, p.primary, "t/a", "old", 50, "v")
			p.must(p.follow())
			for range 2 {
				for what, s := range map[string]*Store{"primary": p.primary, "standby": p.standby} {
					p.must(s.Compact(ctx, "t/a", cf.Range{}))
					if rows := keysOf(t, s, "t/a"); fmt.Sprint(rows) != "[old]" {
						t.Errorf("the %s has the rows %q", what, rows)
					}
				}
				p.must(p.standby.Close())
				p.standby = p.open(p.standby.dir, Options{Standby: true, Async: true})
			}
		})
	}
}

// The kept files of a load are copies where the file system has no links.
func TestALoadIsKeptWithoutLinks(t *testing.T) {
	p := newPair(t)
	loads := t.TempDir() // on another file system than the store
	probe := filepath.Join(loads, "probe")
	if err := os.Link(filepath.Join(p.primary.dir, "CURRENT"), probe); err == nil {
		t.Skip("the machine has one file system for both")
	}
	p.must(os.Symlink(loads, filepath.Join(p.primary.dir, archiveDir, "loads")))
	loadRow(t, p.primary, "loaded", []byte("v"), "t/a", "t/b")
	p.must(p.follow())
	for _, family := range []string{"t/a", "t/b"} {
		if rows := keysOf(t, p.standby, family); fmt.Sprint(rows) != "[loaded]" {
			t.Errorf("%s of the standby has the rows %q", family, rows)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(loads, "*", "*.tmp")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A load that is refused leaves no files for standbys.
func TestARefusedLoadIsNotKept(t *testing.T) {
	p := newPair(t)
	in, err := p.primary.Ingest(t.Context())
	p.must(err)
	defer in.Close()
	refusal := errors.New("refused")
	if _, err := in.Commit(t.Context(), cf.Range{}, func(cf.Snapshot, *cf.Batch) error { return refusal }); !errors.Is(err, refusal) {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(p.primary.dir, archiveDir, "loads", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The files of loads count in what is kept: otherwise the disk fills, since a load adds
// next to nothing to the log.
func TestLoadsCountInWhatIsKept(t *testing.T) {
	p := newPair(t)
	const kept, each, loads = 1 << 20, 300_000, 12
	p.must(p.primary.Ship("first", kept))
	value, random := make([]byte, each), rand.NewChaCha8([32]byte{})
	held := p.primary.Pin(p.primary.Latest())
	for i := range loads {
		_, _ = random.Read(value) // it always succeeds
		loadRow(t, p.primary, fmt.Sprint("row", i), value, "t/a")
		p.must(p.primary.KeepChanges(time.Time{}))
	}
	all, err := p.primary.changes.kept.Loads()
	p.must(err)
	if len(all) != loads {
		t.Fatalf("%d loads are kept, and a standby needs %d", len(all), loads)
	}
	p.must(p.follow())
	held()
	p.must(p.primary.KeepChanges(time.Time{}))
	if all, err = p.primary.changes.kept.Loads(); err != nil || len(all) < kept/each || len(all) > kept/each+2 {
		t.Errorf("%d loads are kept of %d bytes each, of a log of %d bytes (%v)", len(all), each, kept, err)
	}
	put(t, p.primary, "t/a", "last", 1, "v")
	p.must(p.follow())
	if got, want := fmt.Sprint(keysOf(t, p.standby, "t/a")), fmt.Sprint(keysOf(t, p.primary, "t/a")); got != want {
		t.Errorf("the standby has the rows %s, not %s", got, want)
	}
	if stats, err := p.primary.Stats(t.Context()); err != nil || stats.Engine.Log.Kept < kept {
		t.Errorf("the figures say that %d bytes are kept (%v)", stats.Engine.Log.Kept, err)
	}
}

// free reports whether changes of families and loads need not wait.
func (p *pair) free(s *Store) bool {
	ended, cancel := context.WithCancel(p.Context())
	cancel()
	for _, l := range []lock.RW{s.shaping, s.ingesting} {
		if l.Lock(ended) != nil {
			return false
		}
		l.Unlock()
	}
	return true
}

// Changes of families wait for a checkpoint, and writes wait for them. So a checkpoint
// flushes memory, and copies files to another file system, without their locks.
func TestACheckpointHoldsNoLocksForLong(t *testing.T) {
	ctx := t.Context()
	for name, to := range map[string]func(*testing.T) string{
		"on the same file system": shm,
		"on another file system":  func(t *testing.T) string { return t.TempDir() },
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			p := &pair{T: t}
			s := p.open(filepath.Join(shm(t), "db"), Options{Async: true})
			p.must(s.CreateFamily(ctx, "t/a"))
			put(t, s, "t/a", "before", 1, "v")
			var steps []string
			s.onStep = func(step string) error {
				if step != "flushed" && step != "linked" {
					return nil // of the load below
				}
				steps = append(steps, step)
				if !p.free(s) { // the rest would wait for ever
					return fmt.Errorf("%s: a lock is held", step)
				}
				p.must(s.CreateFamily(ctx, "t/"+step))
				put(t, s, "t/"+step, "during", 1, "v")
				loadRow(t, s, "loaded", []byte("v"), "t/a")
				return nil
			}
			dir := filepath.Join(to(t), "copy")
			at, err := s.Checkpoint(ctx, dir)
			p.must(err)
			s.onStep = nil
			if !slices.Equal(steps, []string{"flushed", "linked"}) {
				t.Errorf("the steps are %q", steps)
			}
			c := p.open(dir, Options{MustExist: true})
			if got := fmt.Sprint(c.Families(), keysOf(t, c, "t/a"), keysOf(t, c, "t/flushed")); got != "[t/a t/flushed] [before loaded] [during]" {
				t.Errorf("the copy has %s", got)
			}
			if c.Latest() < at {
				t.Errorf("the copy ends at %d; want %d or more", c.Latest(), at)
			}
			if left, _ := filepath.Glob(filepath.Join(s.dir, checkpoints)); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if _, err := s.Checkpoint(ctx, dir); !errors.Is(err, fs.ErrExist) {
				t.Errorf("over a copy: %v", err)
			}
		})
	}
}

// A change of families that waits for a checkpoint gives up when its context ends, and so
// does a checkpoint. What a crash left of a checkpoint is removed.
func TestAWaitForACheckpointEnds(t *testing.T) {
	p := newPair(t)
	s := p.primary
	p.must(s.shaping.Lock(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	s.onStep = func(string) error { cancel(); return nil }
	for what, err := range map[string]error{
		"checkpoint": func() error { _, err := s.Checkpoint(ctx, filepath.Join(t.TempDir(), "copy")); return err }(),
		"create":     s.CreateFamily(ctx, "t/c"),
		"drop":       s.DropFamily(ctx, "t/a"),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.onStep = nil
	s.shaping.Unlock()
	left := filepath.Join(s.dir, "checkpoint-1.tmp", "db")
	p.must(os.MkdirAll(left, 0o755))
	p.reopen()
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a crash left of a checkpoint is there: %v", err)
	}
}

// The store stalls between the cells of a load and the note about it. The position of the
// load is that of the note: a standby has the load from there on. What a read sees meanwhile
// is at a position that no standby has without the load.
func TestThePositionOfALoadIsThatOfItsLateNote(t *testing.T) {
	p := newPair(t)
	put(t, p.primary, "t/b", "x", 1, "v")
	p.must(p.primary.Flush(t.Context(), "t/b"))
	stallAt := func(files string) {
		f := (*p.primary.families.Load())["t/b"]
		p.must(p.primary.db.SetOptionsCF(f.Handle, []string{"level0_file_num_compaction_trigger", "level0_slowdown_writes_trigger", "level0_stop_writes_trigger"}, []string{"1", files, files}))
	}
	env := grocksdb.NewDefaultEnv()
	env.SetBackgroundThreads(0) // no compaction ends the stall
	defer env.SetBackgroundThreads(2)
	p.primary.onStep = func(step string) error {
		if step == "ingested t/a" {
			stallAt("1")
		}
		return nil
	}
	pos := make(chan cf.Position)
	go func() { pos <- loadRow(t, p.primary, "loaded", []byte("v"), "t/a") }()
	for !p.primary.unnoted.Load() {
		time.Sleep(time.Millisecond)
	}
	seen := p.primary.Seen()
	if len(keysOf(t, p.primary, "t/a")) == 0 {
		t.Error("the cells are not visible before the note")
	}
	p.must(p.follow())
	if has := p.standby.Latest(); has >= seen && len(keysOf(t, p.standby, "t/a")) == 0 {
		t.Errorf("a read has seen the load at position %d, and the standby has %d without it", seen, has)
	}
	stallAt("100")
	if at, has := <-pos, p.standby.Latest(); at <= has && len(keysOf(t, p.standby, "t/a")) == 0 {
		t.Errorf("the load has the position %d, and the standby has %d without it", at, has)
	}
}

// The name of a directory is no pattern: what a crash has left of a checkpoint is removed
// there, and not in a directory whose name the pattern would match.
func TestCheckpointsAreRemovedInTheirOwnDirectory(t *testing.T) {
	up := t.TempDir()
	other := filepath.Join(up, "x", "checkpoint-2.tmp")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"db[1]", "?"} {
		dir := filepath.Join(up, name)
		own := filepath.Join(dir, "checkpoint-1.tmp")
		for range 2 { // the first makes the database
			s, err := Open(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(own); err == nil {
				t.Errorf("%s is left", own)
			}
			if err := errors.Join(s.Close(), os.MkdirAll(own, 0o755)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(other); err != nil {
			t.Error(err)
		}
	}
}

// A store in memory has no directory, and looks into none.
func TestAStoreInMemoryKeepsNoLoads(t *testing.T) {
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer func(dir string) { s.dir = dir }(s.dir)
	s.dir = t.TempDir()
	if err := os.MkdirAll(filepath.Join(s.dir, archiveDir, "loads", "1-of-another"), 0o755); err != nil {
		t.Fatal(err)
	}
	if loads, err := s.changes.kept.Loads(); len(loads) > 0 || err != nil || s.Home() != "" {
		t.Errorf("loads %v in %q: %v", loads, s.Home(), err)
	}
}

// A server that loses power has dropped no more than it may at the position that is left.
func TestExpiredCellsAfterALossOfPower(t *testing.T) {
	for _, who := range []string{"standby", "primary"} {
		t.Run(who, func(t *testing.T) {
			ctx := t.Context()
			p := newPair(t)
			p.must(p.primary.Close())
			p.primary = p.open(p.primary.dir, Options{Async: true})
			s := p.primary
			if who == "standby" {
				s = p.standby
			}
			put(t, p.primary, "t/a", "old", 50, "v")
			p.must(p.follow())
			p.must(s.Flush(ctx, "t/a"))
			put(t, p.primary, "t/b", "other", 50, "v")
			p.must(p.follow())
			_, err := s.SyncLog(ctx) // as is done now and then
			p.must(err)
			p.must(p.primary.SetExpiry("t/a", cf.Expiry{Before: 100}))
			p.must(p.follow())
			how := grocksdb.NewCompactRangeOptions() // RocksDB compacts by itself; here it is asked to
			defer how.Destroy()
			how.SetBottommostLevelCompaction(grocksdb.KForce)
			s.db.CompactRangeCFOpt((*s.families.Load())["t/a"].Handle, grocksdb.Range{}, how)
			o := s.options
			s = p.open(p.withoutPower(s.dir), o)
			snap, err := s.Snapshot(ctx)
			p.must(err)
			defer snap.Close()
			note, err := snap.Meta(ctx, expiryPrefix+"t/a")
			p.must(err)
			if rows := keysOf(t, s, "t/a"); len(note) == 0 && fmt.Sprint(rows) != "[old]" {
				t.Errorf("at position %d the catalog says nothing about expired cells, and the rows are %q", s.Latest(), rows)
			}
		})
	}
}

// A standby loses power after any record, when families of one name come and go. It goes on from
// its position: no family is there before the changes that come before it.
func TestFamiliesAfterALossOfPower(t *testing.T) {
	ctx := t.Context()
	p := newPair(t)
	put(t, p.primary, "t/a", "first", 1, "v")
	for _, row := range []string{"one", "two", "three"} {
		p.must(p.primary.CreateFamily(ctx, "t/n"))
		put(t, p.primary, "t/n", row, 1, "v")
		p.must(p.primary.DropFamily(ctx, "t/n"))
	}
	p.must(p.primary.CreateFamily(ctx, "t/n", "t/m"))
	put(t, p.primary, "t/n", "last", 1, "v")
	log, err := p.primary.Log(p.standby.Latest())
	p.must(err)
	defer log.Close()
	for {
		r, err := log.Next(ctx)
		if p.must(err); r == nil {
			break
		}
		p.must(p.standby.Apply(ctx, r))
		after := &pair{T: t, primary: p.primary, standby: p.open(p.withoutPower(p.standby.dir), p.standby.options)}
		if err := after.follow(); err != nil {
			t.Errorf("after a loss of power at position %d: %v", r.Last, err)
		} else if rows := keysOf(t, after.standby, "t/n"); fmt.Sprint(rows) != "[last]" {
			t.Errorf("after a loss of power at position %d the rows are %q", r.Last, rows)
		}
		p.must(after.standby.Close())
	}
}

// withoutPower is a copy of a directory without what was not synced.
func (p *pair) withoutPower(dir string) (after string) {
	p.Helper()
	after = filepath.Join(shm(p.T), "after")
	p.must(os.CopyFS(after, os.DirFS(dir)))
	synced, err := os.ReadFile(filepath.Join(after, "SYNCED"))
	p.must(err)
	for line := range strings.Lines(string(synced)) {
		if name, size, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasSuffix(name, ".log") {
			n, err := strconv.ParseInt(size, 10, 64)
			p.must(err)
			p.must(os.Truncate(filepath.Join(after, name), n))
		}
	}
	return after
}
