package cftest

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
)

// testIngest tests loads, whose cells become visible together.
func testIngest(f *fixture) {
	f.create("t/a", "t/b", "t/sum")
	f.write("t/a", "r q@2=old q@1=old | z q@1=old")
	add(f, "t/sum", "r", 5)
	before := f.snapshot()

	f.run("nothing is visible before Commit, all after it", func(f *fixture) {
		in := f.ingest()
		defer in.Close()
		load(f, in, map[string]string{"t/a": "a q@1=new | r q@2=new q@0=new", "t/b": "r q@1=new"}, map[string][]int64{"r": {1, 2}, "s": {3}})
		f.expect("t/a", "r q@2=old q@1=old | z q@1=old")
		f.expect("t/b", "")
		p, err := in.Commit(f.ctx, cf.Range{}, func(snap cf.Snapshot, b *cf.Batch) error {
			if v, err := snap.Meta(f.ctx, "load"); v != nil || err != nil {
				f.Errorf("catalog entry before Commit: %q, %v", v, err)
			}
			b.PutMeta("load", []byte("done"))
			return nil
		})
		f.must(err)
		if later := f.blind(func(b *cf.Batch) { b.PutMeta("k", nil) }); later <= p {
			f.Errorf("position %d of a commit after that of the load, %d", later, p)
		}
	})
	visible := func(f *fixture) {
		f.Helper()
		f.expect("t/a", "a q@1=new | r q@2=new q@1=old q@0=new | z q@1=old")
		f.expect("t/b", "r q@1=new")
		f.expect("t/sum", "r q@0="+sum(8)+" | s q@0="+sum(3))
		if v, err := f.snapshot().Meta(f.ctx, "load"); err != nil || string(v) != "done" {
			f.Errorf("catalog entry: %q, %v", v, err)
		}
	}
	f.run("over what is there", visible)
	f.run("a snapshot from before does not see it", func(f *fixture) {
		f.expectAt(before, "t/a", "r q@2=old q@1=old | z q@1=old")
		f.expectAt(before, "t/b", "")
		f.expectAt(before, "t/sum", "r q@0="+sum(5))
	})
	f.run("without Commit nothing is left", func(f *fixture) {
		in := f.ingest()
		load(f, in, map[string]string{"t/a": "lost q@1=x"}, nil)
		f.must(in.Close())
		_, err := in.Commit(f.ctx, cf.Range{}, nil)
		f.expectError("Commit after Close", err, cf.ErrClosed)
		visible(f)
	})
	f.run("with an error of the function nothing is left", func(f *fixture) {
		cause := errors.New("changed my mind")
		in := f.ingest()
		defer in.Close()
		load(f, in, map[string]string{"t/a": "lost q@1=x"}, nil)
		if _, err := in.Commit(f.ctx, cf.Range{}, func(cf.Snapshot, *cf.Batch) error { return cause }); err != cause {
			f.Errorf("error %v, want %v", err, cause)
		}
		visible(f)
	})
	f.run("of nothing", func(f *fixture) {
		in := f.ingest()
		defer in.Close()
		_, err := in.Commit(f.ctx, cf.Range{}, func(_ cf.Snapshot, b *cf.Batch) error {
			b.PutMeta("empty", []byte("yes"))
			return nil
		})
		f.must(err)
		if v, err := f.snapshot().Meta(f.ctx, "empty"); err != nil || string(v) != "yes" {
			f.Errorf("catalog entry: %q, %v", v, err)
		}
	})
	f.run("into a family that there is not", func(f *fixture) {
		in := f.ingest()
		defer in.Close()
		_, err := in.Run(f.ctx, "t/none")
		f.expectError("Run", err, cf.ErrNotExist)
	})
	f.run("a transaction that has read its rows conflicts", func(f *fixture) {
		for _, c := range []struct {
			read     string
			conflict bool
		}{{"m", true}, {"y", false}} {
			tx, err := f.store.Begin(f.ctx)
			f.must(err)
			tx.Read("t", cf.Single(c.read))
			var b cf.Batch
			b.Row(id("w"))
			b.Put("t/b", "q", 1, []byte("x"))
			f.must(tx.Add(&b))
			in := f.ingest()
			load(f, in, map[string]string{"t/b": "m q@1=x"}, nil)
			_, err = in.Commit(f.ctx, cf.Range{Start: "m", End: "m\x00"}, nil)
			f.must(err)
			f.must(in.Close())
			if _, err := tx.Commit(f.ctx, nil); errors.Is(err, cf.ErrConflict) != c.conflict {
				f.Errorf("commit after a load of m by a transaction that read %s: %v", c.read, err)
			}
		}
	})
	f.run("stays after the store is opened again", func(f *fixture) {
		if f.harness.Reopen == nil {
			f.Skip("the store keeps nothing")
		}
		before.Close()
		f.must(f.store.Close())
		f.store = f.harness.Reopen(f.store)
		defer f.store.Close()
		f.expect("t/a", "a q@1=new | r q@2=new q@1=old q@0=new | z q@1=old")
		f.expect("t/sum", "r q@0="+sum(8)+" | s q@0="+sum(3))
	})
}

func (f *fixture) ingest() cf.Ingestion {
	f.Helper()
	in, err := f.store.Ingest(f.ctx)
	f.must(err)
	return in
}

// sum is the encoded value of a cell that adds up to n.
func sum(n int64) string { return string(sumValue(n)) }

func sumValue(n int64) []byte { return binary.BigEndian.AppendUint64([]byte{0x06}, uint64(n)) }

func add(f *fixture, family, row string, n int64) {
	f.blind(func(b *cf.Batch) {
		b.Row(id(row))
		b.Merge(family, "q", 0, cf.MergeSum, sumValue(n))
	})
}

// load writes rows, given as text by family, and operands of sums into t/sum.
func load(f *fixture, in cf.Ingestion, rows map[string]string, sums map[string][]int64) {
	f.Helper()
	names := []string{"t/a", "t/b", "t/sum"}
	s := bulk.NewSorter(len(names), 1<<20, in.TempDir(), in.Merge)
	defer s.Close()
	for name, text := range rows {
		for _, r := range ParseRows(text) {
			s.Row(r.Key)
			s.Group(slices.Index(names, name))
			for _, c := range r.Cells {
				s.Value(append(s.Cell(c.Qualifier, c.Timestamp), c.Value...), false)
			}
			s.EndGroup()
		}
	}
	for row, ns := range sums {
		for _, n := range ns {
			s.Row(row)
			s.Group(2)
			s.Value(append(append(s.Cell("q", 0), byte(cf.MergeSum)), sumValue(n)...), true)
			s.EndGroup()
		}
	}
	sorted, err := s.Finish(f.ctx)
	f.must(err)
	for _, part := range sorted.Parts(1) {
		run, err := in.Run(f.ctx, names[part.Family])
		f.must(err)
		f.must(part.Each(f.ctx, func(c cf.CellGroups) error { return run.Write(f.ctx, c) }))
		f.must(run.Close())
	}
}

// LoadCell makes one cell, at timestamp 1, part of a family by a load.
func LoadCell(ctx context.Context, s cf.Store, family, row, qualifier, value string) error {
	in, err := s.Ingest(ctx)
	if err != nil {
		return err
	}
	defer in.Close()
	sorter := bulk.NewSorter(1, 1<<20, in.TempDir(), in.Merge)
	defer sorter.Close()
	sorter.Row(row)
	sorter.Group(0)
	sorter.Value(append(sorter.Cell(qualifier, 1), value...), false)
	sorter.EndGroup()
	sorted, err := sorter.Finish(ctx)
	if err != nil {
		return err
	}
	for _, part := range sorted.Parts(1) {
		run, err := in.Run(ctx, family)
		if err != nil {
			return err
		}
		err = part.Each(ctx, func(c cf.CellGroups) error { return run.Write(ctx, c) })
		if err := errors.Join(err, run.Close()); err != nil {
			return err
		}
	}
	_, err = in.Commit(ctx, cf.Range{}, nil)
	return err
}
