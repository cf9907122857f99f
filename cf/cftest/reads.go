package cftest

import (
	"math"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

func testSnapshots(f *fixture) {
	f.create("t/a", "t/b")
	f.write("t/a", "r q@1=old")
	f.write("t/b", "r q@1=old")
	old := f.snapshot()

	f.blind(func(b *cf.Batch) {
		put(b, "t/a", ParseRows("r q@1=new q@2=new | s q@1=new"))
		b.Row(id("r"))
		b.DeleteRow("t/b")
	})
	f.must(f.store.Flush(f.ctx, "t/a"))
	f.must(f.store.Compact(f.ctx, "t/a", cf.Range{}))
	f.expectAt(old, "t/a", "r q@1=old")
	f.expectAt(old, "t/b", "r q@1=old")
	f.expect("t/a", "r q@2=new q@1=new | s q@1=new")
	f.expect("t/b", "")

	f.run("a cursor keeps the state of its snapshot", func(f *fixture) {
		c, err := old.Scan(f.ctx, everything("t/a"))
		f.must(err)
		defer c.Close()
		f.write("t/a", "a q@1=later")
		b, err := c.Next(f.ctx)
		f.must(err)
		if rows, err := appendBlock(nil, b, cf.Scan{}); err != nil || rows.String() != "r q@1=old" {
			f.Errorf("cursor yields %s, %v", rows, err)
		}
	})
	f.run("a family that is dropped, and made again", func(f *fixture) {
		f.must(f.store.DropFamily(f.ctx, "t/b"))
		f.expectAt(old, "t/b", "r q@1=old")
		f.create("t/b")
		f.write("t/b", "r q@1=another")
		f.expectAt(old, "t/b", "r q@1=old")
		f.expect("t/b", "r q@1=another")
	})
	f.run("after closing", func(f *fixture) {
		snap, err := f.store.Snapshot(f.ctx)
		f.must(err)
		snap.Close()
		snap.Close() // does nothing
		_, err = snap.Scan(f.ctx, everything("t/a"))
		f.expectError("Scan", err, cf.ErrClosed)
		_, err = snap.Meta(f.ctx, "k")
		f.expectError("Meta", err, cf.ErrClosed)
		_, err = snap.MetaPrefix(f.ctx, "k")
		f.expectError("MetaPrefix", err, cf.ErrClosed)
	})
}

// testHostileKeys uses keys that are prefixes of each other, contain the special bytes
// of physical keys, or are empty, as row keys and qualifiers. It reads each key by itself,
// by prefix, and all together, from memory and from files.
func testHostileKeys(f *fixture) {
	keys := []string{
		"", "\x00", "\x00\x01", "\x00\xff", "\x00\xff\x00", "\x01", "\x01\x00", "\x02", "\x1c",
		"a", "a\x00", "a\x00\x00", "a\x00\x01b", "a\x00\xff", "a\x00\xff\x00", "a\x01", "a\xff", "a\xff\x00", "a\xff\xff",
		"b", "\xfe", "\xff", "\xff\x00", "\xff\xff", strings.Repeat("\x00", 300), strings.Repeat("\xff", 300),
	}
	slices.Sort(keys)
	model := &Model{}
	f.create("t")
	model.CreateFamily("t")
	f.blind(func(b *cf.Batch) {
		for _, row := range keys[1:] { // a row key is at least one byte
			for _, qualifier := range keys {
				for _, ts := range []int64{0, 1, 1<<62 - 1, math.MaxInt64} {
					c := Change{Kind: Put, Family: "t", Row: row, Qualifier: qualifier, Timestamp: ts, Value: row + qualifier}
					c.Apply(b)
					model.Apply(c)
				}
			}
		}
	})
	same := func(f *fixture, s cf.Scan) {
		f.Helper()
		f.expectScan(f.snapshot(), s, model.Scan(s))
	}
	all := func(f *fixture) {
		same(f, everything("t"))
		same(f, cf.Scan{Family: "t", Rows: []cf.Range{{}}, Reverse: true})
		for _, k := range keys {
			end, _ := cf.PrefixSuccessor(k)
			for _, reverse := range []bool{false, true} {
				same(f, cf.Scan{Family: "t", Reverse: reverse, Rows: []cf.Range{cf.Single(k)}})
				same(f, cf.Scan{Family: "t", Reverse: reverse, Rows: []cf.Range{{Start: k, End: end}}, Filter: cf.Filter{Versions: 1}})
				same(f, cf.Scan{Family: "t", Reverse: reverse, Rows: []cf.Range{{End: k}}, Filter: cf.Filter{CellsPerRow: 1}})
				same(f, cf.Scan{Family: "t", Reverse: reverse, Rows: []cf.Range{{}}, Filter: cf.Filter{Qualifiers: []cf.Range{cf.Single(k)}}})
				same(f, cf.Scan{Family: "t", Reverse: reverse, Rows: []cf.Range{{}}, Filter: cf.Filter{Qualifiers: []cf.Range{cf.Prefix(k)}}})
			}
		}
	}
	f.run("in memory", all)
	f.must(f.store.Flush(f.ctx, "t"))
	f.run("in files", all)
}

func testFilters(f *fixture) {
	f.create("t")
	f.write("t", "r a@3=a3 a@2=a2 a@1=a1 b@9=b9 ba@5=ba5 ba@0=ba0 c@4=c4 c@2=c2")
	for _, test := range []struct {
		name   string
		filter cf.Filter
		want   string
	}{
		{"none", cf.Filter{}, "r a@3=a3 a@2=a2 a@1=a1 b@9=b9 ba@5=ba5 ba@0=ba0 c@4=c4 c@2=c2"},
		{"since, inclusive", cf.Filter{Since: 3}, "r a@3=a3 b@9=b9 ba@5=ba5 c@4=c4"},
		{"until, exclusive", cf.Filter{Until: 3}, "r a@2=a2 a@1=a1 ba@0=ba0 c@2=c2"},
		{"since and until", cf.Filter{Since: 2, Until: 5}, "r a@3=a3 a@2=a2 c@4=c4 c@2=c2"},
		{"an empty time range", cf.Filter{Since: 5, Until: 5}, ""},
		{"versions", cf.Filter{Versions: 1}, "r a@3=a3 b@9=b9 ba@5=ba5 c@4=c4"},
		{"versions of those in the time range", cf.Filter{Versions: 1, Until: 3}, "r a@2=a2 ba@0=ba0 c@2=c2"},
		{"cells per row", cf.Filter{CellsPerRow: 4}, "r a@3=a3 a@2=a2 a@1=a1 b@9=b9"},
		{"cells per row, of those that pass", cf.Filter{CellsPerRow: 2, Versions: 1, Until: 5}, "r a@3=a3 ba@0=ba0"},
		{"cells per row, of columns", cf.Filter{CellsPerRow: 4, ColumnsPerRow: 2, Versions: 2}, "r a@3=a3 a@2=a2 b@9=b9"},
		{"columns per row", cf.Filter{ColumnsPerRow: 2}, "r a@3=a3 a@2=a2 a@1=a1 b@9=b9"},
		{"columns per row, of those that pass", cf.Filter{ColumnsPerRow: 2, Until: 5}, "r a@3=a3 a@2=a2 a@1=a1 ba@0=ba0"},
		{"columns per row, of some", cf.Filter{ColumnsPerRow: 1, Qualifiers: []cf.Range{{Start: "aa"}}}, "r b@9=b9"},
		{"as many columns per row as there are", cf.Filter{ColumnsPerRow: 4, Versions: 1}, "r a@3=a3 b@9=b9 ba@5=ba5 c@4=c4"},
		{"count only", cf.Filter{CountOnly: true}, "r #8"},
		{"count only, of what passes", cf.Filter{CountOnly: true, Versions: 1, Until: 5}, "r #3"},
		{"count only, none passes", cf.Filter{CountOnly: true, Since: 10}, ""},
		{"count only and keys only", cf.Filter{CountOnly: true, KeysOnly: true}, "r"},
		{"keys only", cf.Filter{KeysOnly: true}, "r"},
		{"every row, by an earlier column", cf.Filter{EveryRow: true, Qualifiers: []cf.Range{cf.Single("bb")}}, "r"},
		{"every row, by a later column", cf.Filter{EveryRow: true, Qualifiers: []cf.Range{cf.Single("A")}}, "r"},
		{"every row, with its wanted cells", cf.Filter{EveryRow: true, Qualifiers: []cf.Range{cf.Single("ba"), cf.Single("d")}, Versions: 1}, "r ba@5=ba5"},
		{"every row, by an older version", cf.Filter{EveryRow: true, Qualifiers: []cf.Range{cf.Single("A")}, Until: 1}, "r"},
		{"every row, none passes", cf.Filter{EveryRow: true, Qualifiers: []cf.Range{cf.Single("ba")}, Since: 10}, ""},
		{"every row, of what retention keeps", cf.Filter{EveryRow: true, Qualifiers: []cf.Range{cf.Single("A")}, Retention: []cf.Retention{{UpTo: 9}}}, ""},
		{"every row, keys only", cf.Filter{EveryRow: true, KeysOnly: true, Qualifiers: []cf.Range{cf.Single("A")}}, "r"},
		{"every row, count only", cf.Filter{EveryRow: true, CountOnly: true, Qualifiers: []cf.Range{cf.Single("ba")}}, "r #2"},
		{"every row, with a condition", cf.Filter{EveryRow: true, Qualifiers: []cf.Range{cf.Single("ba")}, Where: []cf.RowCondition{{Qualifier: "ba", Values: []cf.Range{{Start: "bb"}}}}}, ""},
		{"keys only, none passes", cf.Filter{KeysOnly: true, Since: 10}, ""},
		{"strip values", cf.Filter{StripValues: true, Versions: 1}, "r a@3= b@9= ba@5= c@4="},
		{"one qualifier", cf.Filter{Qualifiers: []cf.Range{cf.Single("b")}}, "r b@9=b9"},
		{"one qualifier that there is not", cf.Filter{Qualifiers: []cf.Range{cf.Single("bb")}}, ""},
		{"qualifiers with a prefix", cf.Filter{Qualifiers: []cf.Range{cf.Prefix("b")}}, "r b@9=b9 ba@5=ba5 ba@0=ba0"},
		{"a range of qualifiers", cf.Filter{Qualifiers: []cf.Range{{Start: "a\x00", End: "c"}}}, "r b@9=b9 ba@5=ba5 ba@0=ba0"},
		{"an open range of qualifiers", cf.Filter{Qualifiers: []cf.Range{{Start: "ba"}}}, "r ba@5=ba5 ba@0=ba0 c@4=c4 c@2=c2"},
		{"an empty range of qualifiers", cf.Filter{Qualifiers: []cf.Range{{Start: "b", End: "b"}}}, ""},
		{"some qualifiers", cf.Filter{Qualifiers: []cf.Range{cf.Single("a"), cf.Single("aa"), cf.Prefix("c")}, Versions: 1}, "r a@3=a3 c@4=c4"},
		{"retention by versions", cf.Filter{Retention: []cf.Retention{{Versions: 1, UpTo: math.MaxInt64}}}, "r a@3=a3 b@9=b9 ba@5=ba5 c@4=c4"},
		{"retention by age", cf.Filter{Retention: []cf.Retention{{UpTo: 2}}}, "r a@3=a3 b@9=b9 ba@5=ba5 c@4=c4"},
		{"retention by both", cf.Filter{Retention: []cf.Retention{{Versions: 1, UpTo: 1}}}, "r a@3=a3 a@2=a2 b@9=b9 ba@5=ba5 c@4=c4 c@2=c2"},
		{"retention by either", cf.Filter{Retention: []cf.Retention{{Versions: 2, UpTo: math.MaxInt64}, {UpTo: 0}}}, "r a@3=a3 a@2=a2 b@9=b9 ba@5=ba5 c@4=c4 c@2=c2"},
		{"retention counts what the time range leaves out", cf.Filter{Retention: []cf.Retention{{Versions: 2, UpTo: math.MaxInt64}}, Until: 3}, "r a@2=a2 ba@0=ba0 c@2=c2"},
		{"retention before versions", cf.Filter{Retention: []cf.Retention{{Versions: 1, UpTo: math.MaxInt64}}, Until: 4, Versions: 1}, "r a@3=a3"},
	} {
		f.run(test.name, func(f *fixture) {
			snap := f.snapshot()
			for _, s := range []cf.Scan{everything("t"), scanRow("t", "r")} {
				s.Filter = test.filter
				f.expectScan(snap, s, ParseRows(test.want))
				s.Reverse = true // the order within a row stays
				f.expectScan(snap, s, ParseRows(test.want))
			}
		})
	}
}

func testRanges(f *fixture) {
	f.create("t")
	f.write("t", "a q@2=x q@1=y | b q@1=x | c q@1=x | d p@1=x q@1=y | e q@1=x")
	rows := func(ranges ...cf.Range) []cf.Range { return ranges }
	for _, test := range []struct {
		name string
		scan cf.Scan
		want string
	}{
		{"no range", cf.Scan{}, ""},
		{"all", cf.Scan{Rows: rows(cf.Range{})}, "a | b | c | d | e"},
		{"start inclusive, end exclusive", cf.Scan{Rows: rows(cf.Range{Start: "b", End: "d"})}, "b | c"},
		{"no end", cf.Scan{Rows: rows(cf.Range{Start: "d"})}, "d | e"},
		{"no start", cf.Scan{Rows: rows(cf.Range{End: "c"})}, "a | b"},
		{"bounds that are no rows", cf.Scan{Rows: rows(cf.Range{Start: "aa", End: "cc"})}, "b | c"},
		{"an empty range", cf.Scan{Rows: rows(cf.Range{Start: "b", End: "b"})}, ""},
		{"an inverted range", cf.Scan{Rows: rows(cf.Range{Start: "d", End: "b"})}, ""},
		{"beyond the last row", cf.Scan{Rows: rows(cf.Range{Start: "x"})}, ""},
		{"several", cf.Scan{Rows: rows(cf.Range{End: "b"}, cf.Range{Start: "bb", End: "cc"}, cf.Range{Start: "e"})}, "a | c | e"},
		{"several that meet", cf.Scan{Rows: rows(cf.Range{Start: "b", End: "c"}, cf.Range{Start: "c", End: "d"})}, "b | c"},
		{"single rows", cf.Scan{Rows: rows(cf.Single("a"), cf.Single("bb"), cf.Single("c"), cf.Single("e"))}, "a | c | e"},
		{"single rows and ranges", cf.Scan{Rows: rows(cf.Single("a"), cf.Range{Start: "c", End: "e"})}, "a | c | d"},
		{"limit", cf.Scan{Rows: rows(cf.Range{}), Limit: 2}, "a | b"},
		{"limit over ranges", cf.Scan{Rows: rows(cf.Range{End: "b"}, cf.Range{Start: "c"}), Limit: 2}, "a | c"},
		{"limit of single rows", cf.Scan{Rows: rows(cf.Single("b"), cf.Single("c"), cf.Single("d")), Limit: 2}, "b | c"},
		{"limit counts rows that pass", cf.Scan{Rows: rows(cf.Range{}), Limit: 1, Filter: cf.Filter{Qualifiers: []cf.Range{cf.Single("p")}}}, "d"},
		{"limit beyond the rows", cf.Scan{Rows: rows(cf.Range{}), Limit: 9}, "a | b | c | d | e"},
		{"reverse", cf.Scan{Rows: rows(cf.Range{}), Reverse: true}, "e | d | c | b | a"},
		{"reverse, a range", cf.Scan{Rows: rows(cf.Range{Start: "b", End: "d"}), Reverse: true}, "c | b"},
		{"reverse, several", cf.Scan{Rows: rows(cf.Range{End: "b"}, cf.Range{Start: "bb", End: "cc"}, cf.Range{Start: "e"}), Reverse: true}, "e | c | a"},
		{"reverse, single rows", cf.Scan{Rows: rows(cf.Single("a"), cf.Single("bb"), cf.Single("e")), Reverse: true}, "e | a"},
		{"reverse with a limit", cf.Scan{Rows: rows(cf.Range{}), Reverse: true, Limit: 2}, "e | d"},
		{"reverse with a filter", cf.Scan{Rows: rows(cf.Range{}), Reverse: true, Filter: cf.Filter{Since: 2}}, "a"},
	} {
		f.run(test.name, func(f *fixture) {
			test.scan.Family = "t"
			test.scan.Filter.KeysOnly = true
			f.expectScan(f.snapshot(), test.scan, ParseRows(test.want))
			test.scan.Filter.KeysOnly = false
			got, _ := f.scan(f.snapshot(), test.scan)
			for i := range got {
				got[i].Cells = nil
			}
			if got.String() != test.want {
				f.Errorf("with cells: got %s, want %s", got, test.want)
			}
		})
	}
}
