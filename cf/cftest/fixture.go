package cftest

import (
	"context"
	"errors"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

// A fixture is a store for one test, with helpers.
type fixture struct {
	*testing.T
	harness Harness
	store   cf.Store
	ctx     context.Context
}

func newFixture(t *testing.T, open func(*testing.T) Harness) *fixture {
	t.Helper()
	h := open(t)
	f := &fixture{T: t, harness: h, store: h.Store, ctx: context.Background()}
	t.Cleanup(func() {
		if err := f.store.Close(); err != nil && !errors.Is(err, cf.ErrClosed) {
			t.Errorf("closing the store: %v", err)
		}
	})
	return f
}

func (f *fixture) run(name string, test func(*fixture)) {
	f.Run(name, func(t *testing.T) {
		g := *f
		g.T = t
		test(&g)
	})
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) create(families ...string) {
	f.Helper()
	for _, name := range families {
		f.must(f.store.CreateFamily(f.ctx, name))
	}
}

// commit commits a batch: by an Update of the rows, or by a Write if rows is nil.
func commit(ctx context.Context, s cf.Store, rows []cf.RowID, fill func(*cf.Batch) error) error {
	if rows == nil {
		_, err := s.Write(ctx, nil, fill)
		return err
	}
	_, err := s.Update(ctx, rows, func(_ cf.Snapshot, b *cf.Batch) error { return fill(b) })
	return err
}

// blind commits a batch without reading.
func (f *fixture) blind(fill func(*cf.Batch)) cf.Position {
	f.Helper()
	p, err := f.store.Write(f.ctx, nil, func(b *cf.Batch) error {
		fill(b)
		return nil
	})
	f.must(err)
	return p
}

// write puts the cells of rows, given as text, into a family in one batch.
func (f *fixture) write(family, rows string) {
	f.Helper()
	f.blind(func(b *cf.Batch) { put(b, family, ParseRows(rows)) })
}

func put(b *cf.Batch, family string, rows Rows) {
	for _, r := range rows {
		b.Row(id(r.Key))
		for _, c := range r.Cells {
			b.Put(family, c.Qualifier, c.Timestamp, []byte(c.Value))
		}
	}
}

func id(row string) cf.RowID { return cf.RowID{Space: "t", Row: row} }

func (f *fixture) snapshot() cf.Snapshot {
	f.Helper()
	s, err := f.store.Snapshot(f.ctx)
	f.must(err)
	f.Cleanup(s.Close)
	return s
}

func (f *fixture) scan(snap cf.Snapshot, s cf.Scan) (Rows, cf.Cost) {
	f.Helper()
	rows, cost, err := Collect(f.ctx, snap, s)
	f.must(err)
	return rows, cost
}

// everything is the scan of a whole family.
func everything(family string) cf.Scan {
	return cf.Scan{Family: family, Rows: []cf.Range{{}}}
}

// expect compares the family's current rows, as text, with want.
func (f *fixture) expect(family, want string) {
	f.Helper()
	snap, err := f.store.Snapshot(f.ctx)
	f.must(err)
	defer snap.Close()
	f.expectAt(snap, family, want)
}

func (f *fixture) expectAt(snap cf.Snapshot, family, want string) {
	f.Helper()
	f.expectScan(snap, everything(family), ParseRows(want))
}

func (f *fixture) expectScan(snap cf.Snapshot, s cf.Scan, want Rows) {
	f.Helper()
	if got, _ := f.scan(snap, s); !got.Equal(want) {
		f.Errorf("scan %+v\n got %s\nwant %s", s, got, want)
	}
}

func (f *fixture) expectError(what string, got, want error) {
	f.Helper()
	if !errors.Is(got, want) {
		f.Errorf("%s: error %v, want %v", what, got, want)
	}
}
