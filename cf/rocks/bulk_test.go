//go:build cgo && linux && !norocksdb

package rocks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linxGnu/grocksdb"
	"golang.org/x/sync/errgroup"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/rocks/internal/steady"
	"github.com/smolwc/smolwc/cf/rocks/internal/tablefile"
)

var errCrash = errors.New("crash")

// A loaded is a database in which a load stopped at a step, as a crash leaves it.
type loaded struct{ dir string }

// crashAt makes a load into three families, and returns a copy of the database at a
// step of the commit; "" is before the commit.
func crashAt(t *testing.T, step string) loaded {
	t.Helper()
	ctx := context.Background()
	base := shm(t)
	dir, crashed := filepath.Join(base, "db"), loaded{filepath.Join(base, "crashed")}
	s, err := Open(dir, Options{Async: true, Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"t/a", "t/b", "t/sum"} {
		must(s.CreateFamily(ctx, f))
	}
	_, err = s.Write(ctx, nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: "r"})
		b.Put("t/a", "q", 1, []byte("old"))
		b.Merge("t/sum", "q", 0, cf.MergeSum, i64(5))
		return nil
	})
	must(err)
	snap, err := s.Snapshot(ctx) // makes the engine assign sequence numbers to the files
	must(err)
	defer snap.Close()

	in, err := s.Ingest(ctx)
	must(err)
	defer in.Close()
	sorter := bulk.NewSorter(3, 1<<20, in.TempDir(), in.Merge)
	defer sorter.Close()
	sorter.Row("r")
	for i, value := range [][]byte{[]byte("new"), []byte("new"), append([]byte{byte(cf.MergeSum)}, i64(3)...)} {
		sorter.Group(i)
		sorter.Value(append(sorter.Cell("q", int64(1-i/2)), value...), i == 2)
		sorter.EndGroup()
	}
	sorted, err := sorter.Finish(ctx)
	must(err)
	for _, part := range sorted.Parts(1) {
		run, err := in.Run(ctx, []string{"t/a", "t/b", "t/sum"}[part.Family])
		must(err)
		must(part.Each(ctx, func(c cf.CellGroups) error { return run.Write(ctx, c) }))
		must(run.Close())
	}
	if step == "" {
		copyDir(t, dir, crashed.dir)
		return crashed
	}
	s.onStep = func(name string) error {
		if name != step {
			return nil
		}
		copyDir(t, dir, crashed.dir)
		return errCrash
	}
	_, err = in.Commit(ctx, cf.Range{}, func(_ cf.Snapshot, b *cf.Batch) error {
		b.PutMeta("load", []byte("done"))
		return nil
	})
	if !errors.Is(err, errCrash) {
		t.Fatalf("commit: %v", err)
	}
	return crashed
}

func i64(n byte) []byte { return []byte{6, 0, 0, 0, 0, 0, 0, 0, n} }

func shm(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "smolwc")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// copyDir copies an open database as a crash would leave it. It copies again if the
// engine's background work has changed files meanwhile.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	for range 100 {
		before := steady.StampOf(from)
		err := os.CopyFS(to, os.DirFS(from))
		if err == nil && before.Equal(steady.StampOf(from)) {
			return
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the files change faster than they can be copied")
}

// state opens the database and describes the visible cells. It also checks that no
// other trace of the load is left.
func (l loaded) state(t *testing.T) string {
	t.Helper()
	s, err := Open(l.dir, Options{Async: true, Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := os.Stat(filepath.Join(l.dir, bulkDir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the load's directory is left: %v", err)
	}
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	opts := grocksdb.NewDefaultReadOptions()
	defer opts.Destroy()
	opts.SetTotalOrderSeek(true)
	var b strings.Builder
	for _, f := range []string{"t/a", "t/b", "t/sum"} {
		rows, _, err := cftest.Collect(t.Context(), snap, cf.Scan{Family: f, Rows: []cf.Range{{}}})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s; ", f, rows)
		it := s.db.NewIteratorCF(opts, (*s.families.Load())[f].Handle)
		if it.SeekToFirst(); it.Valid() && it.Key().Data()[0] == 0 {
			t.Errorf("%s has a token %q", f, it.Key().Data())
		}
		it.Close()
	}
	meta, err := snap.MetaPrefix(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for key := range meta {
		b.WriteString(strings.SplitAfter(key, "/")[0])
	}
	return b.String()
}

const (
	allOfIt     = `t/a r q@1=new; t/b r q@1=new; t/sum r q@0=\x06\x00\x00\x00\x00\x00\x00\x00\b; load`
	nothingOfIt = `t/a r q@1=old; t/b ; t/sum r q@0=\x06\x00\x00\x00\x00\x00\x00\x00\x05; `
)

// After a crash at any step of a load, all of it is there or nothing.
func TestIngestionIsAllOrNothing(t *testing.T) {
	for step, want := range map[string]string{
		"":               nothingOfIt,
		"marked":         allOfIt,
		"ingested t/a":   allOfIt,
		"ingested t/b":   allOfIt,
		"ingested t/sum": allOfIt,
		"unmarked":       allOfIt,
	} {
		t.Run("at "+step, func(t *testing.T) {
			crashed := crashAt(t, step)
			for range 2 { // what was finished stays finished
				if got := crashed.state(t); got != want {
					t.Errorf("after a crash\n%s\nwant\n%s", got, want)
				}
			}
		})
	}
}

// The engine may have begun to ingest a file, and assigned it a sequence number.
func TestIngestionGoesOnWithFilesThatWereBegun(t *testing.T) {
	crashed := crashAt(t, "marked")
	files, err := filepath.Glob(filepath.Join(crashed.dir, bulkDir, "*", "*.sst"))
	if err != nil || len(files) != 6 {
		t.Fatalf("files %q, %v", files, err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		copy(text[bytes.LastIndex(text, tablefile.SequenceName)+len(tablefile.SequenceName):], []byte{77})
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := crashed.state(t); got != allOfIt {
		t.Errorf("after a crash\n%s\nwant\n%s", got, allOfIt)
	}
}

// A copy of a database without the load's files has all of the load or nothing, or is
// refused.
func TestIngestionWhoseFilesAreMissing(t *testing.T) {
	crashed := crashAt(t, "marked")
	if err := os.RemoveAll(filepath.Join(crashed.dir, bulkDir)); err != nil {
		t.Fatal(err)
	}
	if got := crashed.state(t); got != nothingOfIt {
		t.Errorf("nothing was ingested:\n%s", got)
	}
	crashed = crashAt(t, "ingested t/a")
	if err := os.RemoveAll(filepath.Join(crashed.dir, bulkDir)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(crashed.dir, Options{}); !errors.Is(err, cf.ErrCorrupt) {
		t.Errorf("a family was ingested: %v", err)
	}
}

func TestReadersDoNotSeeHalfAnIngestion(t *testing.T) {
	for step, want := range map[string]error{"marked": nil, "ingested t/a": cf.ErrUnavailable, "ingested t/sum": nil} {
		s, err := Open(crashAt(t, step).dir, Options{ReadOnly: true})
		if !errors.Is(err, want) {
			t.Errorf("at %s: %v, want %v", step, err, want)
		}
		if err == nil {
			s.Close()
		}
	}
}

// A reader that opens while a load becomes visible waits until that ends.
func TestReadersWaitForAnIngestion(t *testing.T) {
	dir := crashAt(t, "ingested t/a").dir
	opened := make(chan error)
	go func() {
		f, err := OpenFollower(dir, Options{})
		if err == nil {
			err = f.Close()
		}
		opened <- err
	}()
	time.Sleep(200 * time.Millisecond) // it very likely finds the load half done
	w, err := Open(dir, Options{})     // this open continues the load
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// A store in which a load stopped half-way shows nothing.
func TestStoreStopsWithAnIngestion(t *testing.T) {
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.onStep = func(string) error { return errCrash }
	in, err := s.Ingest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Commit(t.Context(), cf.Range{}, nil); !errors.Is(err, cf.ErrUnknownOutcome) {
		t.Errorf("commit: %v", err)
	}
	if _, err := s.Snapshot(t.Context()); !errors.Is(err, cf.ErrUnavailable) || !strings.Contains(err.Error(), "opening the database again") {
		t.Errorf("snapshot: %v", err)
	}
	if err := s.Read(t.Context(), &cf.Scan{Family: "t", Rows: []cf.Range{{}}}, new(cf.Answer)); !errors.Is(err, cf.ErrUnavailable) {
		t.Errorf("read: %v", err)
	}
	if _, err := s.Write(t.Context(), nil, func(b *cf.Batch) error { b.PutMeta("k", nil); return nil }); !errors.Is(err, cf.ErrUnavailable) {
		t.Errorf("write: %v", err)
	}
}

// A load begins while others end, and remove the directory that they shared.
func TestALoadBeginsWhileAnotherEnds(t *testing.T) {
	s, err := Open(shm(t), Options{Async: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var g errgroup.Group
	for range 4 {
		g.Go(func() error {
			for range 300 {
				in, err := s.Ingest(t.Context())
				if err != nil {
					return err
				}
				if err := in.Close(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}
