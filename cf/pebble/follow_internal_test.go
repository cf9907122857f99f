package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
)

// A pair is a store and one that follows it.
type pair struct {
	*testing.T
	primary, standby *Store
}

func newPair(t *testing.T) *pair {
	p := &pair{T: t}
	p.primary = p.open(filepath.Join(t.TempDir(), "primary"), false)
	p.must(p.primary.CreateFamily(t.Context(), "t/a", "t/b"))
	p.must(p.primary.Ship("history", 1<<30))
	p.standby = p.copyOf(p.primary)
	return p
}

func (p *pair) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *pair) open(dir string, follows bool) *Store {
	p.Helper()
	s, err := Open(dir, Options{Memory: 8 << 20, Standby: follows, Async: follows})
	p.must(err)
	p.Cleanup(func() { _ = s.Close() })
	return s
}

func (p *pair) again(s *Store, follows bool) *Store {
	p.Helper()
	p.must(s.Close())
	return p.open(s.dir, follows)
}

func (p *pair) copyOf(s *Store) *Store {
	p.Helper()
	dir := filepath.Join(p.TempDir(), "copy")
	_, err := s.Checkpoint(p.Context(), dir)
	p.must(err)
	c := p.open(dir, true)
	p.must(c.Ship("history", 1<<30))
	return c
}

func (p *pair) put(s *Store, row string) {
	p.Helper()
	_, err := s.Write(p.Context(), nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: row})
		b.Note([]byte(row))
		b.Put("t/a", "q", 1, []byte("v"))
		return nil
	})
	p.must(err)
}

func (p *pair) follow(from, to *Store) {
	p.Helper()
	p.must(cftest.Follow(p.Context(), from, to, 0))
	p.must(cftest.Same(p.Context(), from, to))
}

// lose makes Pebble give away n numbers that are in no record of the log, as a kill does when
// the manifest was written ahead of the log.
func lose(t *testing.T, s *Store, n int) {
	t.Helper()
	for i := range n {
		path := filepath.Join(t.TempDir(), "lost.sst")
		f, err := vfs.Default.Create(path, vfs.WriteCategoryUnspecified)
		if err == nil {
			w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), s.settings.MakeWriterOptions(0, s.db.TableFormat()))
			err = errors.Join(w.Set(append(appendID(nil, spaceSystem), 'z', byte(i)), nil), w.Close())
		}
		if err = errors.Join(err, s.db.Ingest(t.Context(), []string{path})); err != nil {
			t.Fatal(err)
		}
	}
}

// Either store may lose numbers, at any time: positions and records stay the same, also after
// both were opened again, in copies of the standby, and when it is promoted.
func TestNumbersThatAreLost(t *testing.T) {
	for _, lost := range []struct{ primary, standby int }{{3, 0}, {0, 3}, {1, 5}, {5, 1}} {
		t.Run(fmt.Sprint(lost), func(t *testing.T) {
			p := newPair(t)
			p.put(p.primary, "before")
			p.follow(p.primary, p.standby)
			lose(t, p.primary, lost.primary)
			p.standby = p.again(p.standby, true)
			lose(t, p.standby, lost.standby)
			at := p.standby.Latest()
			p.standby = p.again(p.standby, true)
			if got := p.standby.Latest(); got != at {
				t.Fatalf("position %d, not %d", got, at)
			}
			third := p.copyOf(p.standby) // without a record in its log
			p.put(p.primary, "after")
			p.must(cftest.LoadCell(t.Context(), p.primary, "t/a", "loaded", "q", "v"))
			p.primary = p.again(p.primary, false)
			p.put(p.primary, "again")
			p.follow(p.primary, p.standby)
			p.follow(p.standby, third)
			p.standby = p.again(p.standby, true)
			p.must(p.standby.Promote(t.Context(), false, func() error { return p.standby.PutMeta(t.Context(), "epoch", nil) }))
			old := p.again(p.primary, true)
			p.put(p.standby, "promoted")
			p.standby = p.again(p.standby, false)
			p.put(p.standby, "and opened again")
			p.must(cftest.LoadCell(t.Context(), p.standby, "t/a", "loaded there", "q", "v"))
			p.follow(p.standby, old)
			p.follow(old, third)
			p.follow(p.standby, p.copyOf(p.standby))
			var rows []string
			c, err := third.Changes(at)
			p.must(err)
			defer c.Close()
			for {
				next, err := c.Next(t.Context())
				p.must(err)
				if next == nil {
					break
				}
				for _, op := range next.Ops {
					if op.Kind == cf.OpNote {
						rows = append(rows, string(op.Value))
					}
				}
			}
			if fmt.Sprint(rows) != "[after again promoted and opened again]" {
				t.Errorf("the changes of the third are of %q", rows)
			}
		})
	}
}

// A primary that is killed between a load and its note writes the note when it is opened again,
// before anything else.
func TestAPrimaryThatDidNotNoteALoad(t *testing.T) {
	p := newPair(t)
	ctx := t.Context()
	of, err := p.primary.Ingest(ctx)
	p.must(err)
	in, b := of.(*ingestion), new(cf.Batch)
	b.PutMeta("loaded", []byte("yes"))
	l, err := in.entries(b)
	p.must(err)
	p.must(p.primary.kept.KeepLoad(l.id, 0, in.files))
	p.must(p.primary.kept.DateLoad(l.id, uint64(p.primary.Latest())+1))
	p.must(p.primary.db.Ingest(ctx, in.files))
	p.primary = p.again(p.primary, false)
	p.put(p.primary, "after")
	p.follow(p.primary, p.standby)
	snap, err := p.standby.Snapshot(ctx)
	p.must(err)
	defer snap.Close()
	if text, err := snap.Meta(ctx, "loaded"); err != nil || string(text) != "yes" {
		t.Errorf("the entry of the load is %q: %v", text, err)
	}
}

// A standby that is killed between a load and its note takes the note when it comes again. Until
// then nobody gets a copy of it.
func TestAStandbyThatHasHalfALoad(t *testing.T) {
	p := newPair(t)
	ctx := t.Context()
	p.must(cftest.LoadCell(ctx, p.primary, "t/a", "loaded", "q", "v"))
	log, err := p.primary.Log(p.standby.Latest())
	p.must(err)
	defer log.Close()
	r, err := log.Next(ctx)
	p.must(err)
	need, err := p.standby.Prepare(ctx, r)
	p.must(err)
	dir, err := p.primary.LoadDir(need.Load)
	p.must(err)
	p.must(os.CopyFS(need.Dir, os.DirFS(dir)))
	var files []string
	for _, name := range need.Files {
		files = append(files, filepath.Join(need.Dir, name))
	}
	p.must(p.standby.db.Ingest(ctx, files))
	p.standby = p.again(p.standby, true)
	if loading, err := p.standby.Loading(ctx); !loading || err != nil {
		t.Errorf("loading %t: %v", loading, err)
	}
	if _, err := p.standby.Checkpoint(ctx, filepath.Join(t.TempDir(), "copy")); !errors.Is(err, cf.ErrUnavailable) {
		t.Errorf("a copy of half a load: %v", err)
	}
	p.follow(p.primary, p.standby)
	p.put(p.primary, "after")
	p.follow(p.primary, p.standby)
}

// A record that the standby has is applied once; any other bytes of a record are refused, and
// change nothing.
func TestARecordIsAppliedOnce(t *testing.T) {
	p := newPair(t)
	ctx := t.Context()
	p.put(p.primary, "one")
	log, err := p.primary.Log(p.standby.Latest())
	p.must(err)
	defer log.Close()
	r, err := log.Next(ctx)
	p.must(err)
	before := p.standby.Latest()
	for i := range r.Data {
		bad := &cf.LogRecord{After: r.After, Last: r.Last, Data: bytes.Clone(r.Data)}
		bad.Data = bad.Data[:i]
		if _, err := p.standby.Prepare(ctx, bad); !errors.Is(err, cf.ErrCorrupt) && !errors.Is(err, cf.ErrDiverged) {
			t.Fatalf("%d bytes of a record: %v", i, err)
		}
	}
	if at := p.standby.Latest(); at != before {
		t.Fatalf("position %d", at)
	}
	p.must(p.standby.Apply(ctx, r))
	p.must(p.standby.Apply(ctx, r))
	p.standby = p.again(p.standby, true)
	p.must(p.standby.Apply(ctx, r))
	other := &cf.LogRecord{After: r.After, Last: r.Last, Data: bytes.Replace(r.Data, []byte("one"), []byte("two"), 1)}
	if err := p.standby.Apply(ctx, other); !errors.Is(err, cf.ErrDiverged) {
		t.Errorf("another record up to the same position: %v", err)
	}
	p.follow(p.primary, p.standby)
}

// The log is trimmed to what standbys need, from the oldest on; a pin keeps all that comes
// after it.
func TestTheLogThatStandbysNeed(t *testing.T) {
	p := newPair(t)
	ctx := t.Context()
	p.must(p.primary.Ship("history", 1))
	at := p.standby.Latest()
	release := p.primary.Pin(at)
	for i := range 5 {
		p.put(p.primary, fmt.Sprint("row", i))
		p.must(p.primary.Flush(ctx, "t/a"))
		p.must(cftest.LoadCell(ctx, p.primary, "t/b", fmt.Sprint("loaded", i), "q", "v"))
	}
	trimmed := func() bool {
		p.must(p.primary.KeepChanges(time.Time{}))
		_, err := p.primary.Log(at)
		if err != nil && !errors.Is(err, cf.ErrTrimmed) {
			t.Fatal(err)
		}
		return err != nil
	}
	if trimmed() {
		t.Fatal("the pinned log is trimmed")
	}
	p.follow(p.primary, p.standby)
	release()
	release()
	for i := 0; !trimmed(); i++ { // Pebble removes logs behind the back of a flush
		if i > 1000 {
			t.Fatal("the log is not trimmed")
		}
		p.must(p.primary.Flush(ctx, "t/a"))
		time.Sleep(10 * time.Millisecond)
	}
	if loads, err := p.primary.kept.Loads(); err != nil || len(loads) > 4 {
		t.Errorf("%d loads are kept: %v", len(loads), err)
	}
	p.put(p.primary, "last")
	p.follow(p.primary, p.standby)
}

// A copy that began where the log did has missed what was trimmed since.
func TestACopyFromBeforeTheTrimmedLog(t *testing.T) {
	p := newPair(t)
	late := p.copyOf(p.standby)
	p.must(p.standby.Ship("history", 1))
	for i := range 6 {
		p.put(p.primary, fmt.Sprint("row", i))
		p.must(cftest.Follow(t.Context(), p.primary, p.standby, 0))
		p.must(p.standby.Flush(t.Context(), "t/a"))
	}
	for trimmed := false; !trimmed; {
		p.must(p.standby.TrimLog())
		first, _, err := p.standby.firstAfter(0)
		p.must(err)
		trimmed = first > uint64(late.Latest())+1
	}
	p.must(p.standby.Ship("history", 1<<30))
	for range 2 {
		if _, err := p.standby.Log(late.Latest()); !errors.Is(err, cf.ErrTrimmed) {
			t.Errorf("the log after %d: %v", late.Latest(), err)
		}
		p.standby = p.again(p.standby, true)
	}
}

// The directory of a store as a crash leaves it.
func (p *pair) crashed(s *Store) (dir string) {
	p.Helper()
	dir = filepath.Join(p.TempDir(), "crashed")
	p.must(os.CopyFS(dir, os.DirFS(s.dir)))
	return dir
}

// A loss of power leaves a sector of zeros within the last record of the log. The primary opens,
// and standbys read on.
func TestATornRecordInTheLogOfAPrimary(t *testing.T) {
	p := newPair(t)
	standbys := []*Store{p.standby, p.copyOf(p.primary)}
	for i := range 20 {
		p.put(p.primary, fmt.Sprint("row", i, strings.Repeat("x", 1500)))
	}
	dir := p.crashed(p.primary)
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	p.must(err)
	name := slices.Max(logs)
	text, err := os.ReadFile(name)
	p.must(err)
	from := (len(text) - 1024) / 512 * 512
	clear(text[from : from+512])
	p.must(os.WriteFile(name, text, 0o600))
	torn := p.open(dir, false)
	p.put(torn, "behind")
	for _, s := range standbys {
		p.must(cftest.Follow(t.Context(), torn, s, 0))
		p.must(cftest.Same(t.Context(), torn, s))
		p.must(torn.Flush(t.Context(), "t/a")) // then the log is among those that are kept
		torn = p.again(torn, false)
	}
}

// One of the logs that are kept is gone.
func TestAKeptLogIsGone(t *testing.T) {
	p := newPair(t)
	for i := range 6 {
		p.put(p.primary, fmt.Sprint("row", i))
		p.must(p.primary.Flush(t.Context(), "t/a"))
	}
	var logs []string
	for len(logs) < 5 { // the last flush ends a little later
		var err error
		logs, err = filepath.Glob(filepath.Join(p.primary.dir, archiveDir, "*.log"))
		p.must(err)
	}
	slices.Sort(logs)
	p.must(os.Remove(logs[3]))
	if err := cftest.Follow(t.Context(), p.primary, p.standby, 0); !errors.Is(err, cf.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(logs[3])) {
		t.Errorf("without %s: %v", logs[3], err)
	}
}

// Pebble writes the rows of a log to files while a standby opens, and then has no use for the log.
func TestThePositionOfAStandbyThatOpens(t *testing.T) {
	p := newPair(t)
	s, err := Open(filepath.Join(t.TempDir(), "primary"), Options{Memory: 1 << 30, Async: true})
	p.must(err)
	defer s.Close()
	p.must(s.CreateFamily(t.Context(), "t/a"))
	for i := range 200 {
		_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			b.Row(cf.RowID{Space: "t", Row: fmt.Sprint(i)})
			b.Put("t/a", "q", 1, []byte(strings.Repeat("v", 100_000)))
			return nil
		})
		p.must(err)
	}
	for range 5 {
		c := p.open(p.crashed(s), true)
		if c.Latest() != s.Latest() {
			t.Errorf("position %d, and not %d", c.Latest(), s.Latest())
		}
		p.must(c.Close())
	}
}
