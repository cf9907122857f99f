package cftikv_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/tikv/cftikv"
)

var background = context.Background()

// fatal is what tests and properties have in common.
type fatal interface {
	Helper()
	Fatal(args ...any)
}

func number(n int) []byte { return sum(int64(n)) }

// runs writes the runs of a load of rows. Each cell is a value, or an operand to add.
func runs(t fatal, in cf.Ingestion, rows map[string]int, operands bool) {
	t.Helper()
	s := bulk.NewSorter(1, 1<<20, in.TempDir(), in.Merge)
	defer s.Close()
	for row, n := range rows {
		s.Row(row)
		s.Group(0)
		dst := s.Cell("q", 0)
		if operands {
			dst = append(dst, byte(cf.MergeSum))
		}
		s.Value(append(dst, number(n)...), operands)
		s.EndGroup()
	}
	sorted, err := s.Finish(background)
	for _, part := range sorted.Parts(1) {
		run, runErr := in.Run(background, "f")
		if err = errors.Join(err, runErr); err != nil {
			t.Fatal(err)
		}
		err = part.Each(background, func(c cf.CellGroups) error { return run.Write(background, c) })
		err = errors.Join(err, run.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func begun(t fatal, s *cftikv.Store, rows map[string]int, operands bool) cf.Ingestion {
	t.Helper()
	in, err := s.Ingest(background)
	if err != nil {
		t.Fatal(err)
	}
	runs(t, in, rows, operands)
	return in
}

func commit(in cf.Ingestion) error {
	_, err := in.Commit(background, cf.Range{}, nil)
	return errors.Join(err, in.Close())
}

func sums(t fatal, s *cftikv.Store) map[string]int {
	t.Helper()
	snap, err := s.Snapshot(background)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	found, _, err := cftest.Collect(background, snap, cf.Scan{Family: "f", Rows: []cf.Range{{}}})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for _, r := range found {
		all[r.Key] = int(binary.BigEndian.Uint64([]byte(r.Cells[0].Value)[1:]))
	}
	return all
}

// Loads of values and of operands, over each other and over writes of all kinds, have
// the effect of the writes that they stand for.
func TestLoadsAndWritesOverEachOther(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newCluster(t).open(nil)
		defer s.Close()
		if err := s.CreateFamily(background, "f"); err != nil {
			rt.Fatal(err)
		}
		model := map[string]int{}
		row := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		rows := rapid.MapOfN(row, rapid.IntRange(1, 9), 1, 3)
		write := func(fn func(*cf.Batch)) {
			if _, err := s.Write(background, nil, func(b *cf.Batch) error { fn(b); return nil }); err != nil {
				rt.Fatal(err)
			}
		}
		span := func(t *rapid.T) cf.Range { return cf.Range{Start: row.Draw(t, "start"), End: row.Draw(t, "end")} }
		drop := func(r cf.Range) {
			maps.DeleteFunc(model, func(row string, _ int) bool { return row >= r.Start && row < r.End })
		}
		load := func(operands bool, apply func(row string, n int)) func(*rapid.T) {
			return func(t *rapid.T) {
				cells := rows.Draw(t, "cells")
				if err := commit(begun(rt, s, cells, operands)); err != nil {
					rt.Fatal(err)
				}
				for row, n := range cells {
					apply(row, n)
				}
			}
		}
		set := func(row string, n int) { model[row] = n }
		add := func(row string, n int) { model[row] += n }
		rt.Repeat(map[string]func(*rapid.T){
			"load":     load(false, set),
			"load add": load(true, add),
			"put": func(t *rapid.T) {
				r := row.Draw(t, "row")
				write(func(b *cf.Batch) { b.Row(id(r)); b.Put("f", "q", 0, number(1)) })
				set(r, 1)
			},
			"add": func(t *rapid.T) {
				r := row.Draw(t, "row")
				write(func(b *cf.Batch) { b.Row(id(r)); b.Merge("f", "q", 0, cf.MergeSum, number(2)) })
				add(r, 2)
			},
			"delete cell": func(t *rapid.T) {
				r := row.Draw(t, "row")
				write(func(b *cf.Batch) { b.Row(id(r)); b.DeleteCell("f", "q", 0) })
				delete(model, r)
			},
			"delete row": func(t *rapid.T) {
				r := row.Draw(t, "row")
				write(func(b *cf.Batch) { b.Row(id(r)); b.DeleteRow("f") })
				delete(model, r)
			},
			"drop": func(t *rapid.T) {
				r := span(t)
				if err := s.DropRange(background, []string{"f"}, r); err != nil {
					rt.Fatal(err)
				}
				drop(r)
			},
			"compact": func(t *rapid.T) {
				r := cf.Range{}
				if rapid.Bool().Draw(t, "a part") {
					r = span(t)
				}
				if err := s.Compact(background, "f", r); err != nil {
					rt.Fatal(err)
				}
				if r == (cf.Range{}) && s.Layers("f") > 0 {
					rt.Fatalf("%d layers are left", s.Layers("f"))
				}
			},
			"": func(*rapid.T) {
				if got := sums(rt, s); !maps.Equal(got, model) {
					rt.Fatalf("got %v, want %v", got, model)
				}
			},
		})
	})
}

// Loads, adds, drops of other rows and compactions of several processes at the same time
// lose nothing and count nothing twice, and every read sees whole loads.
func TestLoadsBesideOtherProcesses(t *testing.T) {
	const rounds, each = 6, 15
	stores := processes(t, 4, "f")
	var working sync.WaitGroup
	stop := make(chan struct{})
	load := func(s *cftikv.Store) {
		for range rounds {
			if err := commit(begun(t, s, map[string]int{"a": 100, "m": 100}, true)); err != nil {
				t.Error(err)
			}
		}
	}
	for _, s := range stores[:2] {
		working.Go(func() { load(s) })
		working.Go(func() {
			for range each {
				_, err := s.Write(background, nil, func(b *cf.Batch) error {
					for _, row := range []string{"a", "m"} {
						b.Row(id(row))
						b.Merge("f", "q", 0, cf.MergeSum, number(1))
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	var others sync.WaitGroup
	others.Go(func() {
		for range rounds {
			err := errors.Join(stores[2].DropRange(background, []string{"f"}, cf.Range{Start: "x"}), stores[2].Compact(background, "f", cf.Range{}))
			if err != nil {
				t.Error(err)
			}
		}
	})
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if got := sums(t, stores[3]); got["a"] != got["m"] {
				t.Errorf("a read sees a part of a commit: %v", got)
			}
		}
	})
	working.Wait()
	close(stop)
	others.Wait()
	want := 2*rounds*100 + 2*each
	if got := sums(t, stores[3]); got["a"] != want || got["m"] != want {
		t.Errorf("%v, want %d each", got, want)
	}
}

// The cells of a load that ended without a Commit go away, and so do those of a process
// that was killed: an hour later the load can no longer be committed.
func TestLoadsWithoutCommitGoAway(t *testing.T) {
	c := newCluster(t)
	s, killed := c.open(nil), c.open(nil)
	must(t, s.CreateFamily(background, "f"))
	must(t, commit(begun(t, s, map[string]int{"a": 1}, false)))
	stopped := begun(t, killed, map[string]int{"d": 1}, false)
	must(t, begun(t, s, map[string]int{"b": 1, "c": 1}, false).Close())
	rounds := func() {
		t.Helper()
		j, err := s.Janitor(background)
		must(t, err)
		defer j.Resign()
		for range 2 { // one announces, and one acts
			must(t, j.Round())
			j.Wait()
		}
	}
	rounds() // which leave a load alone that is under way
	c.pass(2 * cftikv.KeptVersions)
	going := begun(t, s, map[string]int{"e": 1}, false)
	rounds()
	c.pass(cftikv.LoadLost - 2*cftikv.KeptVersions + time.Minute)
	rounds()
	if err := commit(stopped); !errors.Is(err, cf.ErrUnavailable) || !strings.Contains(err.Error(), "load again") {
		t.Errorf("the commit of a lost load: %v", err)
	}
	must(t, commit(going))
	if got := fmt.Sprint(sums(t, s)); got != "map[a:1 e:1]" {
		t.Errorf("there is %s", got)
	}
	for range 2 { // one ends the layer of the last load
		c.pass(2*cftikv.KeptVersions + time.Minute)
		rounds()
	}
	if got, want := c.stored(), 6; got != want { // the version, the family, a lease, the record of a sweep and two cells
		t.Errorf("TiKV has %d keys, want %d", got, want)
	}
}
