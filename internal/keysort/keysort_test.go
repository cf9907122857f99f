package keysort_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/internal/keysort"
)

// sorted are the numbers of keys in their order, and equal ones in a line.
func sorted(ctx context.Context, keys [][]byte) (order []int, equal [][]int) {
	entries := make([]keysort.Entry, len(keys))
	for i := range keys {
		entries[i].At = uint64(i)
	}
	keysort.Sort(ctx, entries, func(at uint64) []byte { return keys[at] }, func(run []keysort.Entry) { equal = append(equal, numbers(run)) })
	return numbers(entries), equal
}

func numbers(entries []keysort.Entry) (all []int) {
	for _, e := range entries {
		all = append(all, int(e.At))
	}
	return all
}

// Keys are in the order of a stable sort by their bytes, also keys that begin others, and keys
// with zeros.
func TestSortIsAStableSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := []byte(rapid.SampledFrom([]string{"\x00a", "ab", "\x00\x01\xff"}).Draw(t, "letters"))
		shared := rapid.SliceOfN(rapid.SampledFrom(letters), 0, 20).Draw(t, "shared")
		part := rapid.SliceOfN(rapid.SampledFrom(letters), 0, 20)
		keys := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) []byte { return append(slices.Clone(shared), part.Draw(t, "key")...) }), 0, 300).Draw(t, "keys")
		if rapid.Bool().Draw(t, "many") { // more than are sorted by comparisons
			for i := range keys {
				keys = append(keys, keys[i], keys[len(keys)-1-i])
			}
		}
		want := make([]int, len(keys))
		for i := range want {
			want[i] = i
		}
		slices.SortStableFunc(want, func(a, b int) int { return bytes.Compare(keys[a], keys[b]) })
		var runs [][]int
		for from, to := 0, 0; from < len(want); from = to {
			for to = from + 1; to < len(want) && bytes.Equal(keys[want[from]], keys[want[to]]); to++ {
			}
			if to > from+1 {
				runs = append(runs, want[from:to])
			}
		}
		got, equal := sorted(context.Background(), keys)
		if !slices.Equal(got, want) || fmt.Sprint(equal) != fmt.Sprint(runs) {
			t.Fatalf("of %q: %v with %v equal, want %v with %v", keys, got, equal, want, runs)
		}
	})
}

// Long equal keys take no stack: a call for each eight bytes of two texts ended the process.
func TestLongEqualKeysTakeNoStack(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(4 << 20))
	long := bytes.Repeat([]byte("a"), 1<<20)
	got, equal := sorted(t.Context(), [][]byte{append(slices.Clone(long), 0), long, long, []byte("b")})
	if want := []int{1, 2, 0, 3}; !slices.Equal(got, want) || fmt.Sprint(equal) != "[[1 2]]" {
		t.Errorf("%v with %v equal; want %v", got, equal, want)
	}
}

// A sort whose context ends leaves all entries, in any order.
func TestAStoppedSortLosesNoEntry(t *testing.T) {
	var keys [][]byte
	for i := range 50_000 {
		keys = append(keys, fmt.Append(nil, i*7919%50_000))
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	entries := make([]keysort.Entry, len(keys))
	for i := range entries {
		entries[i].At = uint64(i)
	}
	keysort.Sort(ctx, entries, func(at uint64) []byte {
		if calls++; calls == 60_000 {
			cancel()
		}
		return keys[at]
	}, nil)
	if calls > 80_000 {
		t.Errorf("the keys were looked at %d times after the end", calls-60_000)
	}
	all := numbers(entries)
	slices.Sort(all)
	for i, n := range all {
		if i != n {
			t.Fatalf("entry %d is not there", i)
		}
	}
}
