package cf_test

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tuple"
)

// The bytes with a meaning in physical keys, and some others.
var (
	anyKey = rapid.OneOf(
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte{0x00, 0x01, 0x02, 0x1c, 'a', 0xff}), 0, 4), bytesToString),
		rapid.Map(rapid.SliceOf(rapid.Byte()), bytesToString),
	)
	anyTimestamp = rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, math.MaxInt64), rapid.SampledFrom([]int64{1<<62 - 1, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}))
)

func bytesToString(b []byte) string { return string(b) }

type cell struct {
	row, qualifier string
	ts             int64
}

var anyCell = rapid.Custom(func(t *rapid.T) cell {
	return cell{anyKey.Draw(t, "row"), anyKey.Draw(t, "qualifier"), anyTimestamp.Draw(t, "timestamp")}
})

func (c cell) key() []byte { return cf.AppendCellKey(nil, c.row, c.qualifier, c.ts) }

func TestKeysSortByRowThenQualifierThenNewestFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyCell.Draw(t, "a"), anyCell.Draw(t, "b")
		if rapid.Bool().Draw(t, "same row") {
			b.row = a.row
			if rapid.Bool().Draw(t, "same column") {
				b.qualifier = a.qualifier
			}
		}
		want := cmp.Or(strings.Compare(a.row, b.row), strings.Compare(a.qualifier, b.qualifier), cmp.Compare(b.ts, a.ts))
		if got := bytes.Compare(a.key(), b.key()); got != want {
			t.Fatalf("%+v is %x\n%+v is %x\nthe keys compare as %d, want %d", a, a.key(), b, b.key(), got, want)
		}
	})
}

func TestSplitCellKeyIsTheInverseOfAppendCellKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyCell.Draw(t, "cell")
		row, qualifier, ts, err := cf.SplitCellKey(c.key())
		if got := (cell{string(row), string(qualifier), ts}); err != nil || got != c {
			t.Fatalf("%+v is %x, which splits into %+v, %v", c, c.key(), got, err)
		}
	})
}

func TestCellKeysInHex(t *testing.T) {
	for _, test := range []struct {
		cell cell
		want string
	}{
		{cell{"a", "b", 0}, "01 61 00 | 01 62 00 | 1c 7fffffffffffffff"},
		{cell{"a", "b", 1<<62 - 1}, "01 61 00 | 01 62 00 | 1c 4000000000000000"},
		{cell{"a", "b", 1 << 62}, "01 61 00 | 01 62 00 | 1c 3fffffffffffffff"},
		{cell{"a", "b", math.MaxInt64}, "01 61 00 | 01 62 00 | 1c 0000000000000000"},
		{cell{"a\x00", "", 1}, "01 61 00 ff 00 | 01 00 | 1c 7ffffffffffffffe"},
		{cell{"", "\x00\xff", 1}, "01 00 | 01 00 ff ff 00 | 1c 7ffffffffffffffe"},
	} {
		if want := unhex(test.want); !bytes.Equal(test.cell.key(), want) {
			t.Errorf("%+v is %x, want %x", test.cell, test.cell.key(), want)
		}
	}
}

// The tuple layer writes integers in as few bytes as they take, and package tuple
// accepts nothing else. A key is such a tuple unless its timestamp is among the last.
func TestKeysAreTuplesUpToALateTimestamp(t *testing.T) {
	const last = math.MaxInt64 - 1<<56
	for _, ts := range []int64{0, 1<<62 - 1, 1 << 62, last} {
		want := tuple.Tuple{[]byte("a"), []byte("b"), math.MaxInt64 - ts}
		if got, err := tuple.Unpack(cell{"a", "b", ts}.key()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("@%d: %v, %v; want %v", ts, got, err, want)
		}
	}
	for _, ts := range []int64{last + 1, math.MaxInt64} {
		if got, err := tuple.Unpack(cell{"a", "b", ts}.key()); err == nil {
			t.Errorf("@%d: %v, no error", ts, got)
		}
	}
}

func TestMalformedKeysAreRefused(t *testing.T) {
	for _, test := range []struct{ key, why string }{
		{"", "no row"},
		{"02 61 00 | 01 62 00 | 1c 7fffffffffffffff", "not a byte string"},
		{"01 61", "row not terminated"},
		{"01 61 00", "no qualifier"},
		{"01 61 00 | 02 62 00 | 1c 7fffffffffffffff", "qualifier is a text string"},
		{"01 61 00 | 01 62 00", "no version"},
		{"01 61 00 | 01 62 00 | 1c 7fffffffffffff", "version too short"},
		{"01 61 00 | 01 62 00 | 1c 7fffffffffffffff 00", "bytes behind the version"},
		{"01 61 00 | 01 62 00 | 1b 7fffffffffffffff", "not a positive integer of eight bytes"},
		{"01 61 00 | 01 62 00 | 1c 8000000000000000", "timestamp -1"},
		{"01 61 00 | 01 62 00 | 1c ffffffffffffffff", "timestamp -2^63"},
		{"01 61 00 | 01 62 00 | 14", "the shortest form of 2^63-1-timestamp"},
	} {
		_, _, _, err := cf.SplitCellKey(unhex(test.key))
		if !errors.Is(err, cf.ErrMalformedKey) {
			t.Errorf("%s (%s): error %v, want %v", test.key, test.why, err, cf.ErrMalformedKey)
		}
	}
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "|", "").Replace(s))
	if err != nil {
		panic(err)
	}
	return b
}

func FuzzSplitCellKey(f *testing.F) {
	f.Add(cell{"a", "b", 0}.key())
	f.Add(cell{"", "", 1<<62 - 1}.key())
	f.Add(cell{"", "", math.MaxInt64}.key())
	f.Add(cell{"a\x00", "\x00\xff", 1}.key())
	f.Add(unhex("01 61 00"))
	f.Add(unhex("01 61 00 ff 00 | 01 00 | 1c 3fffffffffffffff"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, key []byte) {
		row, qualifier, ts, err := cf.SplitCellKey(key)
		switch {
		case err != nil && !errors.Is(err, cf.ErrMalformedKey):
			t.Errorf("%x: error %v is no %v", key, err, cf.ErrMalformedKey)
		case err == nil && ts < 0:
			t.Errorf("%x: timestamp %d", key, ts)
		case err == nil && !bytes.Equal(cf.AppendCellKey(nil, string(row), string(qualifier), ts), key):
			t.Errorf("%x splits, but AppendCellKey does not write it", key)
		}
	})
}

func TestPrefixSuccessor(t *testing.T) {
	for _, test := range []struct {
		prefix, want string
		ok           bool
	}{
		{"a", "b", true},
		{"a\x00", "a\x01", true},
		{"a\xff\xff", "b", true},
		{"\xfe\xff", "\xff", true},
		{"", "", false},
		{"\xff\xff", "", false},
	} {
		if got, ok := cf.PrefixSuccessor(test.prefix); got != test.want || ok != test.ok {
			t.Errorf("PrefixSuccessor(%q) = %q, %t, want %q, %t", test.prefix, got, ok, test.want, test.ok)
		}
	}
}

func TestPrefixSuccessorEndsThePrefixRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix, key := anyKey.Draw(t, "prefix"), anyKey.Draw(t, "key")
		if rapid.Bool().Draw(t, "has prefix") {
			key = prefix + key
		}
		end, ok := cf.PrefixSuccessor(prefix)
		if got, want := key >= prefix && (!ok || key < end), strings.HasPrefix(key, prefix); got != want {
			t.Fatalf("%q in [%q, %q, %t): %t, want %t", key, prefix, end, ok, got, want)
		}
	})
}

// Mistakes are most likely at keys at and around the bounds of a range.
func near(t *rapid.T, bounds ...string) string {
	keys := []string{""}
	for _, b := range bounds {
		keys = append(keys, b, b+"\x00", b+"\x00\xff", b+"\xff", b+"\x01", b[:len(b)/2])
	}
	return rapid.OneOf(rapid.SampledFrom(slices.Clip(keys)), anyKey).Draw(t, "key")
}

func TestARowLiesInARangeExactlyWhenItsCellsLieInTheBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := cf.Range{Start: anyKey.Draw(t, "start"), End: anyKey.Draw(t, "end")}
		if rapid.Bool().Draw(t, "single") {
			r = cf.Single(r.Start)
		}
		c := anyCell.Draw(t, "cell")
		c.row = near(t, r.Start, r.End)
		start, end := r.Bounds()
		got := bytes.Compare(start, c.key()) <= 0 && bytes.Compare(c.key(), end) < 0
		want := c.row >= r.Start && (r.End == "" || c.row < r.End)
		if got != want {
			t.Fatalf("row %q in %+q: want %t; key %x in [%x, %x): %t", c.row, r, want, c.key(), start, end, got)
		}
		if want && r.Empty() {
			t.Fatalf("row %q lies in %+q, which says that it is empty", c.row, r)
		}
	})
}

func TestSingleRowHoldsOneRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := anyKey.Draw(t, "row")
		r := cf.Single(row)
		if got, ok := r.Single(); !ok || got != row {
			t.Fatalf("Single(%q).Single() = %q, %t", row, got, ok)
		}
		if key := near(t, row); key != row && key >= r.Start && key < r.End {
			t.Fatalf("Single(%q) holds %q too", row, key)
		}
	})
	for _, r := range []cf.Range{{}, {Start: "a"}, {Start: "a", End: "b"}, {Start: "a", End: "b\x00"}, {Start: "a", End: "a\x01"}, {End: "a"}} {
		if row, ok := r.Single(); ok {
			t.Errorf("%+q.Single() = %q", r, row)
		}
	}
}

func TestAQualifierLiesInARangeExactlyWhenItsCellsLieInTheBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start, end := anyKey.Draw(t, "start"), anyKey.Draw(t, "end")
		r := rapid.SampledFrom([]cf.Range{
			{Start: start, End: end}, {Start: start}, cf.Single(start), cf.Prefix(start),
		}).Draw(t, "range")
		c := anyCell.Draw(t, "cell")
		c.qualifier = near(t, r.Start, r.End)
		suffix := c.key()[len(cf.AppendRowPrefix(nil, c.row)):]
		from, to := cf.AppendRowBound(nil, r.Start), r.AppendEnd(nil)
		got := bytes.Compare(from, suffix) <= 0 && bytes.Compare(suffix, to) < 0
		want := c.qualifier >= r.Start && (r.End == "" || c.qualifier < r.End)
		if got != want {
			t.Fatalf("qualifier %q in %+v: want %t; suffix %x in [%x, %x): %t", c.qualifier, r, want, suffix, from, to, got)
		}
	})
}

func TestCorruptCellIsCorruptAndTellsWhy(t *testing.T) {
	_, _, _, cause := cf.SplitCellKey(unhex("01 61"))
	err := fmt.Errorf("scan: %w", &cf.CorruptCell{Family: "t/f", Key: unhex("01 61"), Err: cause})
	for _, kind := range []error{cf.ErrCorrupt, cf.ErrMalformedKey} {
		if !errors.Is(err, kind) {
			t.Errorf("%v is no %v", err, kind)
		}
	}
	if text := err.Error(); !strings.Contains(text, "family t/f, key 0161") {
		t.Errorf("error %q does not say where", text)
	}
}
