package replay

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cf"
)

// A changelog is changes as a log has them, the oldest first. Readers of family "one" see the newest
// version of a column, and readers of "all" see every version.
type changelog []cf.LoggedOp

// row adds changes of a row.
func (l *changelog) row(row string, change func(b *cf.Batch)) {
	var b cf.Batch
	b.Row(cf.RowID{Row: row})
	change(&b)
	for i := range b.Ops() {
		op := &b.Ops()[i]
		*l = append(*l, cf.LoggedOp{Kind: op.Kind, Family: op.Family, Key: b.Key(op), Value: b.Value(op)})
	}
}

// stored are the cells of families by their keys.
type stored map[string]map[string]string

func (s stored) apply(op *cf.LoggedOp) {
	apply(s[op.Family], change{kind: op.Kind, key: op.Key, value: op.Value})
}

// visible are the cells that readers see.
func (s stored) visible() (all []string) {
	for _, family := range slices.Sorted(maps.Keys(s)) {
		column := ""
		for _, key := range slices.Sorted(maps.Keys(s[family])) {
			row, qualifier, ts, err := cf.SplitCellKey([]byte(key))
			if err != nil {
				panic(err)
			}
			before := column
			if column = key[:len(key)-cf.VersionLen]; family != "one" || column != before {
				all = append(all, fmt.Sprintf("%s %q %q %d = %x", family, row, qualifier, ts, s[family][key]))
			}
		}
	}
	return all
}

type failer interface{ Fatal(...any) }

// backward are the cells after two parts of a log: the first one, and the second one if it is read backward and
// applied in the end, in each family the ranges first. They must look as if each change was applied in order.
func backward(t failer, before, l changelog) (want, got stored) {
	want, got = stored{"one": {}, "all": {}}, stored{"one": {}, "all": {}}
	for i := range before {
		want.apply(&before[i])
		got.apply(&before[i])
	}
	h, a := newHider(map[string]bool{"one": true}), newArena(true)
	for i := range l {
		want.apply(&l[i])
	}
	for _, op := range slices.Backward(l) {
		if !h.hides(&op) {
			a.add(op.Family, op.Kind, op.Key, op.Value)
		}
	}
	for family := range a.entries {
		var left []change
		if err := a.sorted(context.Background(), family, func(c change) error { left = append(left, c); return nil }); err != nil {
			t.Fatal(err)
		}
		for _, ranges := range []bool{true, false} {
			for _, c := range left {
				if (c.kind == cf.OpDeleteRange) == ranges {
					apply(got[family], c)
				}
			}
		}
	}
	return want, got
}

// A newer cell hides an older one only if nothing deletes the newer one later.
func TestAHidingCellIsDeletedLater(t *testing.T) {
	one := []byte{6, 0, 0, 0, 0, 0, 0, 0, 1}
	for name, change := range map[string]func(b *cf.Batch){
		"nothing":                    func(*cf.Batch) {},
		"the version":                func(b *cf.Batch) { b.DeleteCell("one", "q", 2) },
		"some versions":              func(b *cf.Batch) { b.DeleteVersions("one", "q", 2, 3) },
		"all versions from it on":    func(b *cf.Batch) { b.DeleteVersions("one", "q", 2, 0) },
		"the older version":          func(b *cf.Batch) { b.DeleteCell("one", "q", 1) },
		"the older versions":         func(b *cf.Batch) { b.DeleteVersions("one", "q", 0, 2) },
		"the column":                 func(b *cf.Batch) { b.DeleteVersions("one", "q", 0, 0) },
		"the row":                    func(b *cf.Batch) { b.DeleteRow("one") },
		"all rows":                   func(b *cf.Batch) { b.DeleteRows("one", cf.Range{}) },
		"other columns":              func(b *cf.Batch) { b.DeleteVersions("one", "q2", 0, 0); b.DeleteCell("one", "", 2) },
		"another family":             func(b *cf.Batch) { b.DeleteRow("all") },
		"the version, and it is new": func(b *cf.Batch) { b.DeleteCell("one", "q", 2); b.Put("one", "q", 2, one) },
		"the version, and it is added to": func(b *cf.Batch) {
			b.DeleteCell("one", "q", 2)
			b.Merge("one", "q", 2, cf.MergeSum, one)
		},
		"the version, which was written twice": func(b *cf.Batch) { b.Put("one", "q", 2, one); b.DeleteCell("one", "q", 2) },
		"the row, and the older version is new": func(b *cf.Batch) {
			b.DeleteRow("one")
			b.Put("one", "q", 1, one)
		},
	} {
		for _, row := range []string{"row", "row\x00\xff"} {
			for _, first := range []int64{1, 2} {
				var l, later changelog
				l.row(row, func(b *cf.Batch) {
					b.Put("one", "q", first, one)
					b.Put("one", "q", 3-first, one)
				})
				later.row(row, change)
				for i := range len(l) + 1 { // the first i changes are in the store already
					want, got := backward(t, l[:i], slices.Concat(l[i:], later))
					if !slices.Equal(want.visible(), got.visible()) {
						t.Errorf("row %q, version %d written first, deleted: %s, there before: %d cells:\n got %q\nwant %q", row, first, name, i, got.visible(), want.visible())
					}
				}
			}
		}
	}
}

// What a log that is read backward leaves out is not seen, whatever it deletes, merges and writes twice.
func TestNothingVisibleIsHidden(t *testing.T) {
	rows := []string{"", "a", "a\x00", "a\x00\xff", "b"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, most int) changelog {
			var l changelog
			for range rapid.IntRange(0, most).Draw(t, name) {
				l.row(rapid.SampledFrom(rows[:rapid.IntRange(1, len(rows)).Draw(t, "rows")]).Draw(t, "row"), func(b *cf.Batch) {
					family := rapid.SampledFrom([]string{"one", "one", "all"}).Draw(t, "family")
					q, at := rapid.SampledFrom([]string{"", "q"}).Draw(t, "qualifier"), rapid.Int64Range(0, 3).Draw(t, "time")
					value := []byte{6, 0, 0, 0, 0, 0, 0, 0, byte(rapid.IntRange(0, 100).Draw(t, "value"))}
					switch rapid.IntRange(0, 11).Draw(t, "kind") {
					case 0, 1:
						b.Merge(family, q, at, cf.MergeSum, value)
					case 2, 3:
						b.DeleteCell(family, q, at)
					case 4:
						b.DeleteVersions(family, q, at, rapid.SampledFrom([]int64{0, at + 1, at + 2}).Draw(t, "until"))
					case 5:
						b.DeleteRow(family)
					case 6:
						r := cf.Range{Start: rapid.SampledFrom(rows).Draw(t, "start"), End: rapid.SampledFrom(rows).Draw(t, "end")}
						b.DeleteRows(family, r)
					default:
						b.Put(family, q, at, value)
					}
				})
			}
			return l
		}
		want, got := backward(t, draw("before", 6), draw("changes", 16))
		if !slices.Equal(want.visible(), got.visible()) {
			t.Fatalf("got %q\nwant %q", got.visible(), want.visible())
		}
		if !maps.Equal(want["all"], got["all"]) {
			t.Fatalf("got %q\nwant %q", texts(got["all"]), texts(want["all"]))
		}
	})
}

// The row of a deleted range is found only if the range does not go beyond it.
func TestRowsOfRanges(t *testing.T) {
	rows := []string{"", "a", "a\x00", "a\x00\x00", "a\x00\xff", "a\xff", "ab", "\x00", "\xff"}
	for _, row := range rows {
		prefix := cf.AppendRowPrefix(nil, row)
		for _, key := range [][]byte{prefix, cf.AppendCellKey(nil, row, "", 0), cf.AppendCellKey(nil, row, "q\x00", 5)} {
			if got := rowOf(key); !bytes.Equal(got, prefix) {
				t.Errorf("the row of %x is %x; want %x", key, got, prefix)
			}
		}
		for _, end := range rows {
			start, to := cf.Range{Start: row, End: end}.Bounds()
			if of := rowOf(start); of != nil && sameRow(of, to) {
				t.Errorf("the range from %q to %q is in row %x", row, end, of)
			}
		}
	}
}
