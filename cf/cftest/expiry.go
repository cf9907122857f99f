package cftest

import (
	"time"

	"github.com/smolwc/smolwc/cf"
)

// testExpiry checks that only cells were dropped that may be dropped.
func testExpiry(f *fixture) {
	f.create("t/a", "t/b")
	expectSince := func(family string, since int64, want string) {
		f.Helper()
		snap, err := f.store.Snapshot(f.ctx)
		f.must(err)
		defer snap.Close()
		scan := everything(family)
		scan.Filter.Since = since
		f.expectScan(snap, scan, ParseRows(want))
	}
	compact := func() {
		f.Helper()
		f.must(f.store.Compact(f.ctx, "t/a", cf.Range{}))
		f.must(f.store.Compact(f.ctx, "t/b", cf.Range{}))
	}
	const rows = `r q@9=a q@5=b q@4=c q@0=d | s \x00@5=e \x00@4=f`
	f.write("t/a", rows)
	f.write("t/b", rows)

	f.run("without one everything is kept", func(f *fixture) {
		compact()
		f.expect("t/a", rows)
	})
	f.run("Before is kept, and so are other families", func(f *fixture) {
		f.must(f.store.SetExpiry("t/a", cf.Expiry{Before: 5, Period: 24 * time.Hour}))
		compact()
		expectSince("t/a", 5, `r q@9=a q@5=b | s \x00@5=e`)
		f.expect("t/b", rows)
	})
	f.run("what is written under a lower one is kept", func(f *fixture) {
		f.must(f.store.SetExpiry("t/a", cf.Expiry{Before: 2}))
		f.write("t/a", "r q@3=late q@1=expired")
		compact()
		snap := f.snapshot()
		got, _ := f.scan(snap, cf.Scan{Family: "t/a", Rows: []cf.Range{{}}, Filter: cf.Filter{Since: 3, Until: 4}})
		if want := ParseRows("r q@3=late"); !got.Equal(want) {
			f.Errorf("got %s, want %s", got, want)
		}
	})
	f.run("a dropped cell shows no older value of its own", func(f *fixture) {
		f.must(f.store.SetExpiry("t/b", cf.Expiry{}))
		f.write("t/b", "u q@3=old")
		f.must(f.store.Compact(f.ctx, "t/b", cf.Range{}))
		f.write("t/b", "u q@3=new")
		f.must(f.store.SetExpiry("t/b", cf.Expiry{Before: 4}))
		f.must(f.store.Flush(f.ctx, "t/b"))
		f.must(f.store.Compact(f.ctx, "t/b", cf.Range{}))
		got, _ := f.scan(f.snapshot(), everything("t/b"))
		for _, row := range got {
			for _, c := range row.Cells {
				if c.Value == "old" {
					f.Error("a value that had been replaced is back")
				}
			}
		}
	})
	f.run("none at all keeps everything again", func(f *fixture) {
		f.must(f.store.SetExpiry("t/a", cf.Expiry{}))
		f.write("t/a", "v q@0=x")
		compact()
		snap := f.snapshot()
		got, _ := f.scan(snap, scanRow("t/a", "v"))
		if want := ParseRows("v q@0=x"); !got.Equal(want) {
			f.Errorf("got %s, want %s", got, want)
		}
	})
	f.expectError("SetExpiry", f.store.SetExpiry("t/none", cf.Expiry{}), cf.ErrNotExist)
}
