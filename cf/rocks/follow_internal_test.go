//go:build cgo

package rocks

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
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
func newPair(t *testing.T) *pair {
	p := &pair{T: t}
	p.primary = p.open(filepath.Join(shm(t), "primary"), Options{})
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
	blocks, _, err := s.Read(t.Context(), cf.Scan{Family: family, Rows: []cf.Range{{}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		for i := range b.Rows {
			rows = append(rows, b.RowKey(&b.Rows[i]))
		}
	}
	return rows
}

// loadRow loads one row into families.
func loadRow(t testing.TB, s *Store, row string, value []byte, families ...string) {
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
	_, err = in.Commit(ctx, cf.Range{}, nil)
	must(err)
}

// A process that was killed between a family and its note leaves a family that standbys
// do not know. The next change of families tells them.
func TestAFamilyThatWasMadeWithoutANote(t *testing.T) {
	p := newPair(t)
	p.must(p.primary.createFamilies([]string{"t/c"}))
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
	p.must(p.primary.createFamilies([]string{"t/e"}))
	p.must(p.primary.CreateFamily(t.Context())) // of a table whose families are there
	p.must(p.follow())
	if got, want := fmt.Sprint(p.standby.Families()), fmt.Sprint(p.primary.Families()); got != want {
		t.Errorf("the standby has the families %s, not %s", got, want)
	}
}
