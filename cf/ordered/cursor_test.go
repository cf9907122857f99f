package ordered_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/ordered"
)

type pair struct{ key, value []byte }

// A list is an iterator over sorted pairs, and a snapshot with one family of them.
type list struct {
	cf.Snapshot
	pairs []pair
	at    int
	calls int
	near  bool // seeks are cheap
}

// A nearList is a list whose seeks are cheap.
type nearList struct{ *list }

func (nearList) Near() int { return 1 }

func (l *list) search(key []byte) int {
	at, _ := slices.BinarySearchFunc(l.pairs, key, func(p pair, key []byte) int { return bytes.Compare(p.key, key) })
	return at
}

func (l *list) move(at int) bool {
	l.calls++
	l.at = at
	return at >= 0 && at < len(l.pairs)
}

func (l *list) Seek(_ context.Context, key []byte) bool       { return l.move(l.search(key)) }
func (l *list) SeekBefore(_ context.Context, key []byte) bool { return l.move(l.search(key) - 1) }
func (l *list) Next(context.Context) bool                     { return l.move(l.at + 1) }
func (l *list) Key() []byte                                   { return l.pairs[l.at].key }
func (l *list) Value() []byte                                 { return l.pairs[l.at].value }
func (l *list) Err() error                                    { return nil }
func (l *list) Close()                                        {}

func (l *list) Scan(_ context.Context, s cf.Scan) (cf.Cursor, error) {
	own := &list{pairs: l.pairs}
	if l.near {
		return ordered.New(nearList{own}, s), nil
	}
	return ordered.New(own, s), nil
}

// within is the list of the pairs that an iterator needs for a scan.
func (l *list) within(s cf.Scan) *list {
	if len(s.Rows) == 0 {
		return new(list)
	}
	start, end := cf.Range{Start: s.Rows[0].Start, End: s.Rows[len(s.Rows)-1].End}.Bounds()
	return &list{pairs: l.pairs[l.search(start):max(l.search(start), l.search(end))]}
}

func (l *list) put(row, qualifier string, ts int64, value string) {
	l.pairs = append(l.pairs, pair{cf.AppendCellKey(nil, row, qualifier, ts), []byte(value)})
}

func (l *list) sort() {
	slices.SortFunc(l.pairs, func(a, b pair) int { return bytes.Compare(a.key, b.key) })
}

var (
	words  = []string{"", "\x00", "\x00\x00", "\x00\xff", "a", "a\x00", "a\x00\x01", "a\xff", "ab", "b", "\xff", "\xff\xff"}
	word   = rapid.SampledFrom(words)
	stamp  = rapid.SampledFrom([]int64{0, 1, 2, 3, 5, 8, 100, 1 << 62, math.MaxInt64 - 1, math.MaxInt64})
	few    = rapid.IntRange(0, 3)
	ranges = rapid.Custom(func(t *rapid.T) []cf.Range {
		var rs []cf.Range
		for range rapid.IntRange(1, 3).Draw(t, "ranges") {
			r := cf.Range{Start: word.Draw(t, "start"), End: word.Draw(t, "end")}
			if rapid.Bool().Draw(t, "one") {
				r = cf.Single(r.Start)
			}
			rs = append(rs, r)
		}
		return cf.MergeRanges(rs)
	})
)

func drawFilter(t *rapid.T) (f cf.Filter) {
	sometimes := func(what string) bool { return rapid.IntRange(0, 3).Draw(t, what) == 0 }
	if sometimes("retention") {
		for range rapid.IntRange(1, 2).Draw(t, "rules") {
			f.Retention = append(f.Retention, cf.Retention{Versions: few.Draw(t, "kept"), UpTo: stamp.Draw(t, "up to")})
		}
	}
	if sometimes("qualifiers") {
		f.Qualifiers = ranges.Draw(t, "qualifiers")
	}
	if sometimes("times") {
		f.Since, f.Until = stamp.Draw(t, "since"), stamp.Draw(t, "until")
	}
	f.Versions = few.Draw(t, "versions")
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		f.Values = ranges.Draw(t, "values")
	case 1:
		for range few.Draw(t, "conditions") {
			c := cf.RowCondition{Qualifier: word.Draw(t, "column")}
			if rapid.Bool().Draw(t, "present") {
				c.Values = ranges.Draw(t, "values")
			}
			f.Where = append(f.Where, c)
		}
		slices.SortStableFunc(f.Where, func(a, b cf.RowCondition) int { return cmp.Compare(a.Qualifier, b.Qualifier) })
		f.CountOnly, f.KeysOnly = rapid.Bool().Draw(t, "count"), sometimes("keys")
	default:
		f.ColumnsPerRow, f.CellsPerRow = few.Draw(t, "columns"), few.Draw(t, "cells")
		f.StripValues, f.CountOnly, f.KeysOnly = sometimes("strip"), sometimes("count"), sometimes("keys")
	}
	f.EveryRow = sometimes("every row")
	return f
}

// A cursor yields what the documentation of package cf says, by the naive model.
func TestScansMatchTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var model cftest.Model
		model.CreateFamily("f")
		all, there := new(list), map[string]bool{}
		for range rapid.IntRange(0, 60).Draw(t, "cells") {
			c := cftest.Change{Kind: cftest.Put, Family: "f", Row: word.Draw(t, "row"), Qualifier: word.Draw(t, "qualifier"), Timestamp: stamp.Draw(t, "ts"), Value: word.Draw(t, "value")}
			if id := fmt.Sprintf("%q %q %d", c.Row, c.Qualifier, c.Timestamp); !there[id] {
				there[id] = true
				model.Apply(c)
				all.put(c.Row, c.Qualifier, c.Timestamp, c.Value)
			}
		}
		all.sort()
		for range 20 {
			s := cf.Scan{Family: "f", Rows: ranges.Draw(t, "rows"), Reverse: rapid.Bool().Draw(t, "reverse"), Filter: drawFilter(t), Limit: few.Draw(t, "limit")}
			if few.Draw(t, "sampled") == 0 {
				s.Sample = math.MaxUint64 / 2
			}
			s.Lend, s.Hint = rapid.Bool().Draw(t, "lend"), few.Draw(t, "hint")
			from, held := all, new(counted)
			if rapid.Bool().Draw(t, "bounded") {
				from = all.within(s)
			}
			from.near = rapid.Bool().Draw(t, "near")
			got, _, err := cftest.Collect(cf.WithHolding(context.Background(), held), from, s)
			if want := model.Scan(s); err != nil || !got.Equal(want) {
				t.Fatalf("scan %+v: %v\n got %s\nwant %s", s, err, got, want)
			}
			if held.bytes != 0 || (held.most > 0) != (len(got) > 0) {
				t.Fatalf("scan %+v: of %d bytes, %d are held at the end", s, held.most, held.bytes)
			}
		}
	})
}

// A counted is a [cf.Holding] with a bound, 0 for none.
type counted struct{ bytes, most, bound int }

var errFull = errors.New("full")

func (c *counted) Hold(n int, _ bool) error {
	if n > 0 && c.bound > 0 && c.bytes+n > c.bound {
		return errFull
	}
	c.bytes += n
	c.most = max(c.most, c.bytes)
	return nil
}

func (c *counted) Room() (n int, alone bool) { return c.bound - c.bytes, false }
func (c *counted) Refusal(int) error         { return errFull }

// All bytes of blocks count: of one that the caller has, of one that is complete, and of
// one that grows with a row that is not judged yet.
func TestBytesAreCounted(t *testing.T) {
	all := new(list)
	for n := range 10_000 {
		all.put("large", fmt.Sprintf("q%05d", n), 1, strings.Repeat("v", 100))
	}
	all.put("large", "z", 1, strings.Repeat("v", 5<<20))
	all.sort()
	never := cf.RowCondition{Qualifier: "zz", Values: []cf.Range{{}}}
	for _, s := range []cf.Scan{{}, {Lend: true}, {Reverse: true}, {Filter: cf.Filter{Where: []cf.RowCondition{never}}}} {
		s.Family, s.Rows = "f", []cf.Range{{}}
		for _, bound := range []int{0, 1 << 20, 4 << 20} {
			held := &counted{bound: bound}
			ctx := cf.WithHolding(t.Context(), held)
			c, _ := all.Scan(ctx, s)
			b, err := c.Next(ctx)
			for ; b != nil && err == nil; b, err = c.Next(ctx) {
				if n := cap(b.Data) + 16*cap(b.Rows) + 24*cap(b.Cells); held.bytes < n {
					t.Errorf("scan %+v: %d bytes held, for a block of %d", s, held.bytes, n)
				}
				if s.Lend {
					b.Release()
				}
			}
			c.Close()
			if want := bound > 0; errors.Is(err, errFull) != want || !want && err != nil {
				t.Errorf("scan %+v within %d bytes: %v", s, bound, err)
			}
			if held.bytes != 0 || bound == 0 && held.most < 5<<20 {
				t.Errorf("scan %+v: of %d bytes, %d are held at the end", s, held.most, held.bytes)
			}
		}
	}
}

// A plain scan looks at each byte once.
func TestBytesScanned(t *testing.T) {
	all, want := new(list), int64(0)
	for n := range 5000 {
		all.put(fmt.Sprintf("r%d", n/7), fmt.Sprintf("q%d", n%7), 1, strings.Repeat("v", n%50))
	}
	all.sort()
	for _, p := range all.pairs {
		want += int64(len(p.key) + len(p.value))
	}
	_, cost, err := cftest.Collect(t.Context(), all, cf.Scan{Family: "f", Rows: []cf.Range{{}}})
	if err != nil || cost.BytesScanned != want || cost.CellsScanned != 5000 {
		t.Errorf("%v, cost %+v, want %d bytes", err, cost, want)
	}
}

// Rows with conditions stay whole until they are judged, however large they are.
func TestALargeRowThatIsRejected(t *testing.T) {
	all := new(list)
	for n := range 10_000 {
		all.put("large", fmt.Sprintf("q%05d", n), 1, strings.Repeat("v", 100))
	}
	all.put("large", "z", 1, "no")
	all.put("next", "z", 1, "yes")
	all.sort()
	s := cf.Scan{Family: "f", Rows: []cf.Range{{}}, Filter: cf.Filter{Where: []cf.RowCondition{{Qualifier: "z", Values: []cf.Range{cf.Single("yes")}}}}}
	got, cost, err := cftest.Collect(t.Context(), all, s)
	if err != nil || len(got) != 1 || got[0].Key != "next" || cost.Cells != 1 {
		t.Errorf("%d rows, %+v, %v", len(got), cost, err)
	}
}

// A key that is no cell's ends the scan with an error that has it.
func TestAKeyThatIsNoCell(t *testing.T) {
	for _, damage := range []string{"", "x", "\x01a", "\x01a\x00", "\x01a\x00\x01q\x00", "\x01a\x00\x01q\x00\x1c", "\x01a\x00\x01q\x00\x1d12345678", "\x01a\x00\x01q\x00\x1c\xff2345678", "\x01a\x00\x01q\x00\x1c123456789", "\x01a\x00\x00", "\x01a\x00\x1c12345678"} {
		for _, more := range []bool{false, true} {
			all := &list{pairs: []pair{{key: []byte(damage)}}}
			if more {
				all.put("a", "q", 1, "v")
				all.put("a", "p", 1, "v")
			}
			all.sort()
			for _, reverse := range []bool{false, true} {
				s := cf.Scan{Family: "f", Rows: []cf.Range{{Start: "", End: "b"}}, Reverse: reverse}
				_, _, err := cftest.Collect(t.Context(), all, s)
				var e *cf.CorruptCell
				seen := damage >= "\x01" && damage < "\x01b" // within the bounds of the rows
				if seen && (!errors.As(err, &e) || string(e.Key) != damage) || !seen && err != nil && !errors.As(err, &e) {
					t.Errorf("%q, reverse %t: %v", damage, reverse, err)
				}
			}
		}
	}
}

func FuzzKeysOfAnyBytes(f *testing.F) {
	f.Add([]byte("\x01a\x00\x01q\x00\x1c12345678"), []byte("\x01a\x00\xff\x00"), false)
	f.Fuzz(func(t *testing.T, a, b []byte, reverse bool) {
		all := &list{pairs: []pair{{key: a}, {key: b}}}
		all.put("a", "q", 1, "v")
		all.sort()
		s := cf.Scan{Family: "f", Rows: []cf.Range{{}}, Reverse: reverse, Filter: cf.Filter{Versions: 1}}
		c := ordered.New(all, s)
		defer c.Close()
		for {
			b, err := c.Next(t.Context())
			var e *cf.CorruptCell
			if err != nil && !errors.As(err, &e) {
				t.Fatal(err)
			}
			if b == nil || err != nil {
				return
			}
		}
	})
}

// After the newest version of a column, the others are not read.
func TestOldVersionsAreNotRead(t *testing.T) {
	all := new(list)
	for ts := range int64(1000) {
		all.put("a", "q", ts, "v")
	}
	all.sort()
	c := ordered.New(all, cf.Scan{Family: "f", Rows: []cf.Range{{}}, Filter: cf.Filter{Versions: 1}})
	defer c.Close()
	if b, err := c.Next(t.Context()); err != nil || len(b.Cells) != 1 {
		t.Fatal(b, err)
	}
	if b, err := c.Next(t.Context()); b != nil || err != nil || all.calls > 12 {
		t.Errorf("%d calls of the iterator, %v, %v", all.calls, b, err)
	}
}

// Columns with many versions are passed by a seek each, if seeks are cheap.
func TestOldVersionsArePassedBySeeks(t *testing.T) {
	const columns, versions = 100, 10
	calls := func(near bool) int {
		all := new(list)
		for q := range columns {
			for ts := range int64(versions) {
				all.put("a", fmt.Sprintf("q%03d", q), ts, "v")
			}
		}
		all.sort()
		s := cf.Scan{Family: "f", Rows: []cf.Range{{}}, Filter: cf.Filter{Versions: 1}}
		c := ordered.New(all, s)
		if near {
			c = ordered.New(nearList{all}, s)
		}
		if cost := readAll(t, c); cost.Cells != columns {
			t.Fatalf("%d cells", cost.Cells)
		}
		return all.calls
	}
	if far, near := calls(false), calls(true); near > 3*columns || far < near {
		t.Errorf("%d calls of the iterator, %d without cheap seeks", near, far)
	}
}

// A context that is done while the scan reads ends it: later calls do not take the end of
// the iterator for the end of the cells.
func TestAContextThatIsDoneEndsTheScan(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	all := new(list)
	all.put("r", "q", 1, "")
	all.put("r", "q", 0, "")
	all.sort()
	c := ordered.New(&failing{all, cancel}, cf.Scan{Family: "f", Rows: []cf.Range{{}}})
	defer c.Close()
	for _, ctx := range []context.Context{ctx, t.Context()} {
		if b, err := c.Next(ctx); b != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v", b, err)
		}
	}
}

// However little of what it reads is wanted, a scan ends soon after its context.
func TestAnUnwantedScanEndsSoon(t *testing.T) {
	const rows = 50_000
	all := new(list)
	var none []cf.Range
	for row := range rows {
		all.put(fmt.Sprintf("r%06d", row), "q", 1, "v")
		none = append(none, cf.Single(fmt.Sprintf("r%06d.", row)))
	}
	long := new(list)
	for ts := range int64(rows) {
		long.put("r", "q", ts, "v")
	}
	long.sort()
	large := new(list)
	for row := range rows {
		large.pairs = append(large.pairs, pair{cf.AppendCellKey(nil, fmt.Sprintf("r%06d", row), "q", 1), largeValue})
	}
	every, x := []cf.Range{{}}, []cf.Range{cf.Single("x")}
	for name, test := range map[string]struct {
		cells *list
		scan  cf.Scan
		moves int // after the context has ended
	}{
		"no row of the sample":     {all, cf.Scan{Rows: every, Sample: 1}, 10_000},
		"no row of a list":         {all, cf.Scan{Rows: none}, 10_000},
		"no row by its conditions": {all, cf.Scan{Rows: every, Filter: cf.Filter{Where: []cf.RowCondition{{Qualifier: "x", Values: x}}}}, 10_000},
		"no column":                {all, cf.Scan{Rows: every, Filter: cf.Filter{Qualifiers: x}}, 10_000},
		"no value":                 {all, cf.Scan{Rows: every, Filter: cf.Filter{Values: x, EveryRow: true}}, 10_000},
		"no large value":           {large, cf.Scan{Rows: every, Filter: cf.Filter{Values: x}}, 100},
		"no time":                  {all, cf.Scan{Rows: every, Filter: cf.Filter{Since: 2}}, 10_000},
		"no version":               {long, cf.Scan{Rows: every, Filter: cf.Filter{Until: 1, Retention: []cf.Retention{{Versions: rows, UpTo: 9}}}}, 10_000},
		"only a number":            {long, cf.Scan{Rows: every, Filter: cf.Filter{CountOnly: true}}, 10_000},
		"a row that may be wanted": {long, cf.Scan{Rows: every, Filter: cf.Filter{Where: []cf.RowCondition{{Qualifier: "x"}}}}, 10_000},
	} {
		for _, reverse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, reverse=%t", name, reverse), func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				it := &ending{list: list{pairs: test.cells.pairs}, after: 1000, cancel: cancel}
				test.scan.Family, test.scan.Reverse = "f", reverse
				c := ordered.New(it, test.scan)
				defer c.Close()
				b, err := c.Next(ctx)
				for b != nil && err == nil {
					b, err = c.Next(ctx)
				}
				if !errors.Is(err, context.Canceled) || it.calls > it.after+test.moves {
					t.Errorf("%d moves, %v", it.calls, err)
				}
			})
		}
	}
}

// Cursors of a snapshot that has many of them have small blocks, and lend none, which would
// keep memory for full ones. What they read is the same.
func TestManyCursorsShareMemory(t *testing.T) {
	const cells = 10_000
	l := &list{}
	for i := range cells {
		l.pairs = append(l.pairs, pair{cf.AppendCellKey(nil, fmt.Sprintf("r%06d", i), "q", 1), []byte("a value")})
	}
	largest := func(uses int64, lend bool) (most int) {
		t.Helper()
		var all atomic.Int64
		all.Store(uses)
		c := ordered.New(&list{pairs: l.pairs}, cf.Scan{Family: "f", Rows: []cf.Range{{}}, Lend: lend})
		defer c.Close()
		c.Among(&all)
		n := 0
		for {
			b, err := c.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			for i := range b.Rows {
				if got, want := b.RowKey(&b.Rows[i]), fmt.Sprintf("r%06d", n); got != want {
					t.Fatalf("row %s, want %s", got, want)
				}
				n++
			}
			most = max(most, cap(b.Data)+cap(b.Rows)*16+cap(b.Cells)*24)
			b.Release()
		}
		if n != cells {
			t.Errorf("%d of %d rows", n, cells)
		}
		return most
	}
	for _, lend := range []bool{false, true} {
		if few, many := largest(8, lend), largest(200, lend); few < 100_000 || many > 10_000 {
			t.Errorf("lent %v: blocks of %d bytes with few cursors, of %d with many", lend, few, many)
		}
	}
}

var largeValue = make([]byte, 1<<20)

// An ending iterator ends a context after a number of moves.
type ending struct {
	list
	after  int
	cancel context.CancelFunc
}

func (e *ending) count(there bool) bool {
	if e.calls == e.after {
		e.cancel()
	}
	return there
}

func (e *ending) Seek(ctx context.Context, key []byte) bool { return e.count(e.list.Seek(ctx, key)) }
func (e *ending) Next(ctx context.Context) bool             { return e.count(e.list.Next(ctx)) }
func (e *ending) SeekBefore(ctx context.Context, key []byte) bool {
	return e.count(e.list.SeekBefore(ctx, key))
}

// A failing iterator ends its context at its second key.
type failing struct {
	*list
	cancel context.CancelFunc
}

func (f *failing) Next(context.Context) bool {
	f.cancel()
	f.at = len(f.pairs)
	return false
}

func (f *failing) Err() error {
	if f.at == len(f.pairs) {
		return context.Canceled
	}
	return nil
}
