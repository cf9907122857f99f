//go:build cgo && linux && !norocksdb

package rocks

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// The position of a load has its entries of the catalog, as the table that CopyTable makes.
func TestThePositionOfALoadsEntries(t *testing.T) {
	ctx := t.Context()
	p := newPair(t)
	in, err := p.primary.Ingest(ctx)
	p.must(err)
	defer in.Close()
	sorter := bulk.NewSorter(1, 1<<20, in.TempDir(), in.Merge)
	defer sorter.Close()
	sorter.Row("row")
	sorter.Group(0)
	sorter.Value(append(sorter.Cell("q", 1), "v"...), false)
	sorter.EndGroup()
	sorted, err := sorter.Finish(ctx)
	p.must(err)
	for _, part := range sorted.Parts(1) {
		run, err := in.Run(ctx, "t/a")
		p.must(err)
		p.must(part.Each(ctx, func(c cf.CellGroups) error { return run.Write(ctx, c) }))
		p.must(run.Close())
	}
	pos, err := in.Commit(ctx, cf.Single(""), func(_ cf.Snapshot, b *cf.Batch) error {
		b.PutMeta("table/copy", []byte("{}"))
		return nil
	})
	p.must(err)
	log, err := p.primary.Log(p.standby.Latest())
	p.must(err)
	defer log.Close()
	for p.standby.Latest() < pos {
		r, err := log.Next(ctx)
		p.must(err)
		need, err := p.standby.Prepare(ctx, r)
		p.must(err)
		if len(need.Files) > 0 {
			from, err := p.primary.LoadDir(need.Load)
			p.must(err)
			p.must(os.CopyFS(need.Dir, os.DirFS(from)))
		}
		p.must(p.standby.Apply(ctx, r))
	}
	snap, err := p.standby.Snapshot(ctx)
	p.must(err)
	defer snap.Close()
	if entry, err := snap.Meta(ctx, "table/copy"); err != nil || len(entry) == 0 {
		t.Errorf("the load has the position %d; the standby has %d, and not the load's entry (%v). The primary has %d", pos, p.standby.Latest(), err, p.primary.Latest())
	}
}

// A standby that is killed between the files of a load and the note, and promoted then. The
// primary before has its tail, and another standby that has less goes on.
func TestAPromotionBeforeTheNote(t *testing.T) {
	ctx := t.Context()
	p := newPair(t)
	p.must(p.standby.Ship("first", 1<<30))
	put(t, p.primary, "t/a", "before", 1, "v")
	p.must(p.follow())
	other := filepath.Join(shm(t), "other")
	loadRow(t, p.primary, "loaded", []byte("w"), "t/a") // over a cell, so that its file takes a number
	put(t, p.primary, "t/a", "tail", 1, "v")
	log, err := p.primary.Log(p.standby.Latest())
	p.must(err)
	defer log.Close()
	for {
		r, err := log.Next(ctx)
		p.must(err)
		need, err := p.standby.Prepare(ctx, r)
		p.must(err)
		if need.Load == "" {
			p.must(p.standby.Apply(ctx, r))
			continue
		}
		_, err = p.standby.Checkpoint(ctx, other) // another standby, which has the marker
		p.must(err)
		from, err := p.primary.LoadDir(need.Load)
		p.must(err)
		p.must(os.CopyFS(need.Dir, os.DirFS(from)))
		in := p.standby.following.read
		reader, err := p.standby.Snapshot(ctx) // a client reads meanwhile: the files take a number
		p.must(err)
		defer reader.Close()
		p.standby.mu.Lock()
		p.must(p.standby.ingestLeft(in)) // applyLoad up to its note
		p.standby.mu.Unlock()
		break
	}
	p.must(p.standby.Close())
	p.standby = p.open(p.standby.dir, Options{Standby: true, Async: true})
	third := p.open(other, Options{Standby: true, Async: true})
	after := p.standby.Latest() // Standby.commit
	t.Logf("the other standby has %d; the epoch begins after %d", third.Latest(), after)
	p.must(p.standby.Promote(ctx, false, func() error { return p.standby.PutMeta(ctx, "note/standbys", []byte("epoch 2")) }))
	l, err := p.primary.Log(after)
	if err == nil {
		_, err = l.Next(ctx)
		l.Close()
	}
	if errors.Is(err, cf.ErrDiverged) {
		t.Errorf("the tail of the old primary (OpenTail): %v", err)
	}
	l, err = p.standby.Log(third.Latest())
	p.must(err)
	defer l.Close()
	r, err := l.Next(ctx)
	p.must(err)
	head, _ := wal.ParseHead(r.Data)
	if _, err := third.Prepare(ctx, r); err != nil {
		t.Errorf("the other standby, record %d: %v", head.First, err)
	}
}

// beforeALoad has the standby follow up to the note about a load, whose files come with it.
func (p *pair) beforeALoad() (note *cf.LogRecord) {
	p.Helper()
	log, err := p.primary.Log(p.standby.Latest())
	p.must(err)
	defer log.Close()
	for {
		r, err := log.Next(p.Context())
		p.must(err)
		need, err := p.standby.Prepare(p.Context(), r)
		p.must(err)
		if need.Load == "" {
			p.must(p.standby.Apply(p.Context(), r))
			continue
		}
		from, err := p.primary.LoadDir(need.Load)
		p.must(err)
		p.must(os.CopyFS(need.Dir, os.DirFS(from)))
		return r
	}
}

// A standby is promoted when it has the files of a load, and not yet the note. The load
// becomes visible in its epoch, and its own standbys get the files.
func TestAPromotionThatEndsALoad(t *testing.T) {
	ctx := t.Context()
	p := newPair(t)
	p.must(p.standby.Ship("first", 1<<30))
	loadRow(t, p.primary, "loaded", []byte("v"), "t/a", "t/b")
	p.beforeALoad()
	other := filepath.Join(shm(t), "other")
	_, err := p.standby.Checkpoint(ctx, other)
	p.must(err)
	steps := 0
	p.standby.onStep = func(string) error {
		steps++
		if p.free(p.standby) {
			t.Error("a checkpoint or a moment could have a part of the load")
		}
		return nil
	}
	p.must(p.standby.Promote(ctx, false, func() error { return nil }))
	if p.standby.onStep = nil; steps != 2 {
		t.Errorf("%d steps, and not one for each family", steps)
	}
	p.primary, p.standby = p.standby, p.open(other, Options{Standby: true, Async: true})
	p.must(p.follow())
	for _, family := range []string{"t/a", "t/b"} {
		if rows := keysOf(t, p.standby, family); fmt.Sprint(rows) != "[loaded]" {
			t.Errorf("%s of the standby has the rows %q", family, rows)
		}
	}
}

// A load waits before it has its place in the log. What is kept goes on meanwhile, and the
// files of the load stay, for standbys that ask for them.
func TestALoadIsKeptWhileItWaits(t *testing.T) {
	ctx := t.Context()
	p := newPair(t)
	loadRowWith(t, p.primary, "loaded", []byte("v"), func(cf.Snapshot, *cf.Batch) error {
		for range 3 {
			p.must(p.primary.PutMeta(ctx, "note/other", nil))
			p.must(p.primary.flushMemory())
		}
		p.must(p.follow())
		p.must(p.primary.Ship("first", 1))
		p.must(p.primary.KeepChanges(time.Time{}))
		return nil
	}, "t/a")
	p.must(p.follow())
	if rows := keysOf(t, p.standby, "t/a"); fmt.Sprint(rows) != "[loaded]" {
		t.Errorf("the standby has the rows %q", rows)
	}
}

// What a crash leaves of a load that has no place in the log is removed.
func TestALoadThatWasKeptAndDidNotCome(t *testing.T) {
	p := newPair(t)
	left := filepath.Join(p.primary.dir, archiveDir, "loads", fmt.Sprintf("%020d-left", uint64(math.MaxUint64)))
	p.must(os.MkdirAll(left, 0o755))
	loadRow(t, p.primary, "loaded", []byte("v"), "t/a")
	p.reopen()
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
	p.must(p.follow())
}

// A standby and its primary have the same last records, in the same order, over several logs
// and up to the note about a load, which each writes by itself.
func TestTheLastRecordsOfALog(t *testing.T) {
	ctx := t.Context()
	p := newPair(t)
	p.must(p.standby.Ship("first", 1<<30))
	put(t, p.primary, "t/a", "before", 1, "v")
	for _, loaded := range []string{"", "loaded"} {
		if loaded != "" {
			loadRow(t, p.primary, loaded, []byte("v"), "t/a")
		}
		p.must(p.follow())
		for i := range 3 {
			put(t, p.primary, "t/a", fmt.Sprint("row", i), 1, "v")
			p.must(p.follow())
			p.must(p.standby.Flush(ctx, "t/a"))
		}
		last, err := p.standby.LastRecords(ctx)
		p.must(err)
		log, err := p.primary.Log(last[0].After)
		p.must(err)
		defer log.Close()
		for _, r := range last {
			if same, err := log.Next(ctx); err != nil || string(same.Data) != string(r.Data) {
				t.Errorf("the record after %d is another one (%v)", r.After, err)
			}
		}
		if to := last[len(last)-1].Last; to != p.primary.Latest() || len(last) != 4 { // the first one is "before", or ends the load
			t.Errorf("%d records up to %d, and the log ends at %d", len(last), to, p.primary.Latest())
		}
	}
}
