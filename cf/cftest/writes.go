package cftest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/smolwc/smolwc/cf"
)

func testFamilies(f *fixture) {
	expect := func(want ...string) {
		f.Helper()
		if got := f.store.Families(); !slices.Equal(got, want) {
			f.Errorf("families %q, want %q", got, want)
		}
	}
	expect()
	f.create("t/b", "t/a", "s/a")
	expect("s/a", "t/a", "t/b")

	f.write("t/a", "r q@1=v")
	f.create("t/a") // does nothing
	f.expect("t/a", "r q@1=v")
	f.expect("t/b", "")

	f.must(f.store.DropFamily(f.ctx, "t/a"))
	f.must(f.store.DropFamily(f.ctx, "t/a")) // does nothing
	expect("s/a", "t/b")

	f.run("many at once", func(f *fixture) {
		f.must(f.store.CreateFamily(f.ctx, "t/c", "t/b", "t/d", "t/c"))
		expect("s/a", "t/b", "t/c", "t/d")
		f.must(f.store.DropFamily(f.ctx, "t/d", "t/none", "t/c"))
		expect("s/a", "t/b")
		f.must(f.store.CreateFamily(f.ctx))
		f.must(f.store.DropFamily(f.ctx))
		expect("s/a", "t/b")
	})
	f.run("one that was dropped comes back empty", func(f *fixture) {
		f.create("t/a")
		f.expect("t/a", "")
	})
	f.run("one that there is not", func(f *fixture) {
		_, err := f.snapshot().Scan(f.ctx, everything("t/none"))
		f.expectError("Scan", err, cf.ErrNotExist)
		f.expectError("DropRange", f.store.DropRange(f.ctx, []string{"t/none"}, cf.Range{}), cf.ErrNotExist)
		f.expectError("Flush", f.store.Flush(f.ctx, "t/none"), cf.ErrNotExist)
		f.expectError("Compact", f.store.Compact(f.ctx, "t/none", cf.Range{}), cf.ErrNotExist)
	})
}

func testBatches(f *fixture) {
	f.create("t/a", "t/b")
	f.run("over rows and families", func(f *fixture) {
		f.blind(func(b *cf.Batch) {
			put(b, "t/a", ParseRows("r q@1=x | s q@1=y"))
			put(b, "t/b", ParseRows("r q@1=z"))
		})
		f.expect("t/a", "r q@1=x | s q@1=y")
		f.expect("t/b", "r q@1=z")
	})
	f.run("with a family that there is not, nothing is written", func(f *fixture) {
		_, err := f.store.Write(f.ctx, nil, func(b *cf.Batch) error {
			put(b, "t/a", ParseRows("lost q@1=x"))
			put(b, "t/none", ParseRows("lost q@1=x"))
			b.PutMeta("lost", nil)
			return nil
		})
		f.expectError("Update", err, cf.ErrNotExist)
		f.expect("t/a", "r q@1=x | s q@1=y")
	})
	f.run("with an error of the function, nothing is written", func(f *fixture) {
		cause := errors.New("changed my mind")
		for _, rows := range [][]cf.RowID{nil, {id("lost")}} {
			err := commit(f.ctx, f.store, rows, func(b *cf.Batch) error {
				put(b, "t/a", ParseRows("lost q@1=x"))
				return cause
			})
			if err != cause { // as it is, not wrapped
				f.Errorf("error %v, want %v", err, cause)
			}
		}
		f.expect("t/a", "r q@1=x | s q@1=y")
	})
	f.run("the later change wins", func(f *fixture) {
		f.blind(func(b *cf.Batch) {
			b.Row(id("r"))
			b.Put("t/a", "q", 2, []byte("first"))
			b.Put("t/a", "q", 2, []byte("second"))
			b.DeleteCell("t/a", "q", 1)
			b.Put("t/a", "q", 1, []byte("back"))
			b.Put("t/a", "gone", 1, []byte("x"))
			b.DeleteCell("t/a", "gone", 1)
			b.Row(id("s"))
			b.Put("t/a", "gone", 5, []byte("x"))
			b.DeleteRow("t/a")
			b.Put("t/a", "q", 7, []byte("after the row"))
		})
		f.expect("t/a", `r q@2=second q@1=back | s q@7=after\x20the\x20row`)
	})
	f.run("an empty one", func(f *fixture) { f.blind(func(*cf.Batch) {}) })
	f.run("positions grow", func(f *fixture) {
		last := f.blind(func(*cf.Batch) {})
		for i := range 10 {
			p := f.blind(func(b *cf.Batch) { put(b, "t/b", Rows{{"r", []Cell{{"q", 1, "v"}}}}) })
			if p <= last {
				f.Errorf("commit %d has position %d, the one before %d", i, p, last)
			}
			last = p
		}
	})
	f.run("readers see all of one or nothing", testAtomicity)
}

// testAtomicity writes the same number to two families again and again, while readers
// compare the two.
func testAtomicity(f *fixture) {
	const rounds = 200
	var reading sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		reading.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				snap, err := f.store.Snapshot(f.ctx)
				if err != nil {
					f.Error(err)
					return
				}
				a, _, errA := Collect(f.ctx, snap, scanRow("t/a", "both"))
				b, _, errB := Collect(f.ctx, snap, scanRow("t/b", "both"))
				snap.Close()
				if errA != nil || errB != nil || a.String() != b.String() {
					f.Errorf("one snapshot: %s (%v) and %s (%v)", a, errA, b, errB)
					return
				}
			}
		})
	}
	for i := range rounds {
		f.blind(func(b *cf.Batch) {
			row := Rows{{"both", []Cell{{"n", 0, strconv.Itoa(i)}}}}
			put(b, "t/a", row)
			put(b, "t/b", row)
		})
	}
	close(stop)
	reading.Wait()
}

func scanRow(family, row string) cf.Scan {
	return cf.Scan{Family: family, Rows: []cf.Range{cf.Single(row)}}
}

func testDeletions(f *fixture) {
	const versions = "r q@4=d q@3=c q@2=b q@1=a q@0=z r@9=x"
	for i, test := range []struct {
		name   string
		change func(*cf.Batch)
		want   string
	}{
		{"a cell", func(b *cf.Batch) { b.DeleteCell("t", "q", 2) }, "r q@4=d q@3=c q@1=a q@0=z r@9=x"},
		{"a cell that there is not", func(b *cf.Batch) { b.DeleteCell("t", "q", 5) }, versions},
		{"all versions", func(b *cf.Batch) { b.DeleteVersions("t", "q", 0, 0) }, "r r@9=x"},
		{"from since, inclusive", func(b *cf.Batch) { b.DeleteVersions("t", "q", 2, 0) }, "r q@1=a q@0=z r@9=x"},
		{"to until, exclusive", func(b *cf.Batch) { b.DeleteVersions("t", "q", 0, 3) }, "r q@4=d q@3=c r@9=x"},
		{"between", func(b *cf.Batch) { b.DeleteVersions("t", "q", 1, 3) }, "r q@4=d q@3=c q@0=z r@9=x"},
		{"timestamp 0 alone", func(b *cf.Batch) { b.DeleteVersions("t", "q", 0, 1) }, "r q@4=d q@3=c q@2=b q@1=a r@9=x"},
		{"an empty time range", func(b *cf.Batch) { b.DeleteVersions("t", "q", 3, 3) }, versions},
		{"an inverted time range", func(b *cf.Batch) { b.DeleteVersions("t", "q", 4, 2) }, versions},
		{"a row", func(b *cf.Batch) { b.DeleteRow("t") }, ""},
		{"rows", func(b *cf.Batch) { b.DeleteRows("t", cf.Range{Start: "q", End: "r\x00"}) }, ""},
		{"rows up to this one", func(b *cf.Batch) { b.DeleteRows("t", cf.Range{End: "r"}) }, versions},
		{"an inverted range of rows", func(b *cf.Batch) { b.DeleteRows("t", cf.Range{Start: "s", End: "a"}) }, versions},
	} {
		f.run(test.name, func(f *fixture) {
			f.must(f.store.DropFamily(f.ctx, "t"))
			f.create("t")
			f.write("t", versions)
			if i%2 == 0 { // from files as well as from memory
				f.must(f.store.Flush(f.ctx, "t"))
			}
			f.blind(func(b *cf.Batch) {
				b.Row(id("r"))
				test.change(b)
			})
			f.expect("t", test.want)
			f.must(f.store.Compact(f.ctx, "t", cf.Range{}))
			f.expect("t", test.want)
		})
	}
	f.run("and then writing again", func(f *fixture) {
		f.write("t", versions)
		f.blind(func(b *cf.Batch) {
			b.Row(id("r"))
			b.DeleteRow("t")
		})
		f.write("t", "r q@1=older | r q@5=newer")
		f.expect("t", "r q@5=newer q@1=older")
	})
}

func testDropRange(f *fixture) {
	const all = `a q@1=x | a\x00 q@1=x | a\x00\xff q@1=x | a\xff q@1=x | b q@1=x | \xff\xff q@1=x`
	for _, test := range []struct {
		name string
		rows cf.Range
		want string
	}{
		{"everything", cf.Range{}, ""},
		{"from the start, inclusive", cf.Range{Start: "a\xff"}, `a q@1=x | a\x00 q@1=x | a\x00\xff q@1=x`},
		{"to the end, exclusive", cf.Range{End: "a\xff"}, `a\xff q@1=x | b q@1=x | \xff\xff q@1=x`},
		{"one row and not those it is a prefix of", cf.Single("a"), `a\x00 q@1=x | a\x00\xff q@1=x | a\xff q@1=x | b q@1=x | \xff\xff q@1=x`},
		{"a prefix", cf.Range{Start: "a", End: "b"}, `b q@1=x | \xff\xff q@1=x`},
		{"nothing", cf.Range{Start: "a", End: "a"}, all},
		{"an inverted range", cf.Range{Start: "b", End: "a"}, all},
	} {
		f.run(test.name, func(f *fixture) {
			for _, name := range []string{"t/a", "t/b", "t/kept"} {
				f.must(f.store.DropFamily(f.ctx, name))
				f.create(name)
				f.write(name, all)
			}
			before := f.snapshot()
			f.must(f.store.DropRange(f.ctx, []string{"t/a", "t/b"}, test.rows))
			f.expect("t/a", test.want)
			f.expect("t/b", test.want)
			f.expect("t/kept", all)
			f.expectAt(before, "t/a", all)
		})
	}
	f.run("does not hide what is written later", func(f *fixture) {
		f.must(f.store.DropRange(f.ctx, []string{"t/a"}, cf.Range{}))
		f.write("t/a", "a q@1=again")
		f.expect("t/a", "a q@1=again")
	})
}

func testMeta(f *fixture) {
	f.create("t/a")
	f.blind(func(b *cf.Batch) {
		b.PutMeta("p/a", []byte("1"))
		b.PutMeta("p/b", []byte("2"))
		b.PutMeta("p/b", []byte("3"))
		b.PutMeta("p", []byte("4"))
		b.PutMeta("p/\xff", []byte("5"))
		b.PutMeta("q", nil)
		b.PutMeta("gone", []byte("6"))
		b.DeleteMeta("gone")
		put(b, "t/a", ParseRows("r q@1=v"))
	})
	before := f.snapshot()
	f.blind(func(b *cf.Batch) { b.DeleteMeta("p/a") })
	f.expect("t/a", "r q@1=v") // the catalog is nowhere among the cells

	meta := func(snap cf.Snapshot, key, want string) {
		f.Helper()
		got, err := snap.Meta(f.ctx, key)
		f.must(err)
		if text := fmt.Sprintf("%q %t", got, got != nil); text != want {
			f.Errorf("entry %s is %s, want %s", key, text, want)
		}
	}
	now := f.snapshot()
	meta(before, "p/a", `"1" true`)
	meta(now, "p/a", `"" false`)
	meta(now, "p/b", `"3" true`)
	meta(now, "q", `"" true`)
	meta(now, "gone", `"" false`)

	prefix := func(snap cf.Snapshot, p, want string) {
		f.Helper()
		got, err := snap.MetaPrefix(f.ctx, p)
		f.must(err)
		if text := fmt.Sprintf("%q", got); text != want {
			f.Errorf("entries with prefix %s: %s, want %s", p, text, want)
		}
	}
	prefix(before, "p/", `map["p/a":"1" "p/b":"3" "p/\xff":"5"]`)
	prefix(now, "p/", `map["p/b":"3" "p/\xff":"5"]`)
	prefix(now, "", `map["p":"4" "p/b":"3" "p/\xff":"5" "q":""]`)
	prefix(now, "x", `map[]`)
}

func testUpdates(f *fixture) {
	f.create("t/n")
	f.run("reads the newest state", func(f *fixture) {
		f.write("t/n", "r n@0=7")
		_, err := f.store.Update(f.ctx, []cf.RowID{id("r")}, func(snap cf.Snapshot, b *cf.Batch) error {
			f.expectAt(snap, "t/n", "r n@0=7")
			return nil
		})
		f.must(err)
	})
	f.run("a blind write refuses a row that it did not name", func(f *fixture) {
		_, err := f.store.Write(f.ctx, []cf.RowID{id("named")}, func(b *cf.Batch) error {
			for i := range 1000 { // in some other stripe, if locks are striped
				b.Row(id(fmt.Sprint("other", i)))
				b.Put("t/n", "n", 0, []byte("1"))
			}
			return nil
		})
		if err == nil {
			f.Error("no error")
		}
		f.expect("t/n", "r n@0=7")
	})
	f.run("a blind write waits from before its function runs", func(f *fixture) {
		rows := []cf.RowID{id("r")}
		written := make(chan error)
		_, err := f.store.Update(f.ctx, rows, func(cf.Snapshot, *cf.Batch) error {
			ran := make(chan struct{})
			go func() {
				_, err := f.store.Write(f.ctx, rows, func(*cf.Batch) error { close(ran); return nil })
				written <- err
			}()
			select {
			case <-ran:
				f.Error("its function ran while the row was being updated")
			case <-time.After(20 * time.Millisecond):
			}
			return nil
		})
		f.must(err)
		f.must(<-written)
	})
	f.run("refuses a row that it did not name", func(f *fixture) {
		_, err := f.store.Update(f.ctx, []cf.RowID{id("named")}, func(_ cf.Snapshot, b *cf.Batch) error {
			put(b, "t/n", ParseRows("named n@0=1 | other n@0=1"))
			return nil
		})
		if err == nil {
			f.Error("no error")
		}
		f.expect("t/n", "r n@0=7")
	})
	f.run("names a row more than once", func(f *fixture) {
		_, err := f.store.Update(f.ctx, []cf.RowID{id("r"), id("r")}, func(_ cf.Snapshot, b *cf.Batch) error {
			put(b, "t/n", ParseRows("r n@0=0"))
			return nil
		})
		f.must(err)
		f.expect("t/n", "r n@0=0")
	})
	f.run("reads what was acknowledged last", testUpdatesReadTheNewest)
	f.run("reads rows of many blocks", testUpdatesReadLongRows)
	f.run("reads other rows as of one moment", testUpdatesReadOneMoment)
	f.run("reads a family that is dropped meanwhile", testUpdatesReadDropped)
	f.run("none is lost", testNoLostUpdate)
	f.run("of many rows do not wait for each other forever", testNoDeadlock)
	f.run("blind writes do not fall between read and write", testBlindWrites)
}

// add adds n to the counter in each row, in one update.
func (f *fixture) add(n int, rows ...string) {
	var ids []cf.RowID
	for _, r := range rows {
		ids = append(ids, id(r))
	}
	_, err := f.store.Update(f.ctx, ids, func(snap cf.Snapshot, b *cf.Batch) error {
		for _, r := range rows {
			old, err := f.counter(snap, r)
			if err != nil {
				return err
			}
			put(b, "t/n", Rows{{r, []Cell{{"n", 0, strconv.Itoa(old + n)}}}})
		}
		return nil
	})
	if err != nil {
		f.Error(err)
	}
}

func (f *fixture) counter(snap cf.Snapshot, row string) (int, error) {
	rows, _, err := Collect(f.ctx, snap, scanRow("t/n", row))
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return strconv.Atoi(rows[0].Cells[0].Value)
}

func (f *fixture) expectCounter(row string, want ...int) {
	f.Helper()
	got, err := f.counter(f.snapshot(), row)
	f.must(err)
	if !slices.Contains(want, got) {
		f.Errorf("row %s counts %d, want one of %d", row, got, want)
	}
}

// testUpdatesReadTheNewest changes a row in every possible way, and reads it after each
// change.
func testUpdatesReadTheNewest(f *fixture) {
	f.create("t/one", "t/two")
	reads := func(n, m string) {
		f.Helper()
		_, err := f.store.Update(f.ctx, []cf.RowID{id("x"), id("r")}, func(snap cf.Snapshot, b *cf.Batch) error {
			f.expectScan(snap, scanRow("t/one", "r"), ParseRows(n))
			f.expectScan(snap, scanRow("t/two", "r"), ParseRows(m))
			return nil
		})
		f.must(err)
	}
	for i := range 20 {
		n, m := fmt.Sprintf("r a@%d=n", i), fmt.Sprintf("r b@0=%d", i)
		f.write("t/one", n)
		f.write("t/two", m)
		reads(n, m)
		f.must(f.store.Flush(f.ctx, "t/one"))
		reads(n, m)
		f.must(f.store.DropRange(f.ctx, []string{"t/one"}, cf.Single("r")))
		reads("", m)
		f.must(f.store.Compact(f.ctx, "t/one", cf.Range{}))
		reads("", m)
	}
	f.blind(func(b *cf.Batch) {
		b.Row(id("r"))
		b.DeleteCell("t/two", "b", 0)
	})
	reads("", "")
	f.must(f.store.DropFamily(f.ctx, "t/one"))
	f.create("t/one")
	f.write("t/one", "r a@1=again")
	reads("r a@1=again", "")
}

func testUpdatesReadLongRows(f *fixture) {
	f.create("t/long")
	row := Row{Key: "long"}
	for i := range 3000 {
		row.Cells = append(row.Cells, Cell{fmt.Sprintf("q%04d", i), 1, strings.Repeat("v", i%50)})
	}
	row.Cells = append(row.Cells, Cell{"r", 1, strings.Repeat("large", 1<<18)}, Cell{"s", 1, ""})
	for range 3 { // the store learns the shape of the family's rows
		_, err := f.store.Update(f.ctx, []cf.RowID{id("long")}, func(snap cf.Snapshot, b *cf.Batch) error {
			put(b, "t/long", Rows{row})
			if rows, _ := f.scan(snap, scanRow("t/long", "long")); len(rows) > 0 && !rows.Equal(Rows{row}) {
				f.Errorf("read %d rows, the first of %d cells", len(rows), len(rows[0].Cells))
			}
			first := scanRow("t/long", "long")
			first.Filter.CellsPerRow = 2
			c, err := snap.Scan(f.ctx, first)
			f.must(err)
			_, err = c.Next(f.ctx)
			f.must(err)
			c.Close() // before its end
			return nil
		})
		f.must(err)
	}
	f.expectScan(f.snapshot(), scanRow("t/long", "long"), Rows{row})
}

// testUpdatesReadOneMoment writes rows while an update reads them.
func testUpdatesReadOneMoment(f *fixture) {
	f.create("t/moment")
	f.write("t/moment", "o0 n@0=0 | r n@0=0")
	var writing sync.WaitGroup
	defer writing.Wait()
	// Some of these rows may have to wait for the update, since they share its lock.
	writeOthers := func(value int) {
		written := make(chan error, 8)
		for i := range cap(written) {
			writing.Go(func() {
				written <- commit(f.ctx, f.store, nil, func(b *cf.Batch) error {
					put(b, "t/moment", ParseRows(fmt.Sprintf("o%d n@0=%d", i, value)))
					return nil
				})
			})
		}
		f.must(<-written)
		f.must(f.store.PutMeta(f.ctx, "moment", []byte(strconv.Itoa(value))))
	}
	_, err := f.store.Update(f.ctx, []cf.RowID{id("r")}, func(snap cf.Snapshot, b *cf.Batch) error {
		f.expectScan(snap, scanRow("t/moment", "r"), ParseRows("r n@0=0"))
		writeOthers(1)
		rows, _ := f.scan(snap, everything("t/moment"))
		meta, err := snap.Meta(f.ctx, "moment")
		f.must(err)
		writeOthers(2)
		f.expectScan(snap, scanRow("t/moment", "r"), ParseRows("r n@0=0"))
		f.expectScan(snap, everything("t/moment"), rows)
		again, err := snap.Meta(f.ctx, "moment")
		f.must(err)
		if string(again) != string(meta) {
			f.Errorf("the catalog entry was %q and is %q", meta, again)
		}
		return nil
	})
	f.must(err)
}

func testUpdatesReadDropped(f *fixture) {
	f.create("t/dropped")
	f.write("t/dropped", "r n@0=1")
	_, err := f.store.Update(f.ctx, []cf.RowID{id("r")}, func(snap cf.Snapshot, b *cf.Batch) error {
		f.must(f.store.DropFamily(f.ctx, "t/dropped"))
		f.expectScan(snap, scanRow("t/dropped", "r"), ParseRows("r n@0=1"))
		f.create("t/dropped")
		f.expectScan(snap, scanRow("t/dropped", "r"), ParseRows("r n@0=1"))
		f.expectAt(snap, "t/dropped", "r n@0=1")
		return nil
	})
	f.must(err)
}

func testNoLostUpdate(f *fixture) {
	const workers, each = 16, 25
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for range each {
				f.add(1, "counter")
			}
		})
	}
	working.Wait()
	f.expectCounter("counter", workers*each)
}

func testNoDeadlock(f *fixture) {
	const workers, each = 8, 25
	rows := []string{"d1", "d2", "d3", "d4"}
	var working sync.WaitGroup
	for w := range workers {
		working.Go(func() {
			for i := range each {
				a, b := rows[(w+i)%len(rows)], rows[(3*w+2*i+1)%len(rows)]
				if a == b {
					f.add(2, a)
					continue
				}
				f.add(1, a, b)
			}
		})
	}
	working.Wait()
	snap, sum := f.snapshot(), 0
	for _, r := range rows {
		n, err := f.counter(snap, r)
		f.must(err)
		sum += n
	}
	if sum != workers*each*2 {
		f.Errorf("the rows count %d together, want %d", sum, workers*each*2)
	}
}

// testBlindWrites sets a counter in one goroutine while another one increases it. In
// either order, the value that was set is not lost.
func testBlindWrites(f *fixture) {
	const rounds = 50
	for i := range rounds {
		set := (i + 1) * 1000
		hasRead := make(chan struct{})
		var once sync.Once // fn may run again
		var working sync.WaitGroup
		working.Go(func() {
			_, err := f.store.Update(f.ctx, []cf.RowID{id("set")}, func(snap cf.Snapshot, b *cf.Batch) error {
				old, err := f.counter(snap, "set")
				once.Do(func() { close(hasRead) })
				time.Sleep(time.Millisecond)
				put(b, "t/n", Rows{{"set", []Cell{{"n", 0, strconv.Itoa(old + 1)}}}})
				return err
			})
			if err != nil {
				f.Error(err)
			}
		})
		<-hasRead
		f.write("t/n", fmt.Sprintf("set n@0=%d", set))
		working.Wait()
		f.expectCounter("set", set, set+1)
	}
}
