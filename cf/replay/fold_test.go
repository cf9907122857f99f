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
	"github.com/smolwc/smolwc/cf/merge"
)

// apply is the naive model: it changes cells one by one.
func apply(cells map[string]string, c change) {
	switch key := string(c.key); c.kind {
	case cf.OpPut:
		cells[key] = string(c.value)
	case cf.OpDelete:
		delete(cells, key)
	case cf.OpDeleteRange:
		maps.DeleteFunc(cells, func(k, _ string) bool { return k >= key && k < string(c.value) })
	case cf.OpMerge:
		var existing []byte
		if v, ok := cells[key]; ok {
			existing = []byte(v)
		}
		cells[key] = string(merge.Full(existing, c.value))
	}
}

// The rest of changes, in one arena or in several that are merged, leaves that all of
// them leave one by one, whatever was there before: ranges first, and then the rest.
func TestWhatIsLeftIsAll(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[ab]{0,2}[0-3]`)
		number := func(n int) []byte { return []byte{6, 0, 0, 0, 0, 0, 0, 0, byte(n)} }
		want, got := map[string]string{}, map[string]string{}
		for _, k := range rapid.SliceOfN(key, 0, 8).Draw(t, "before") {
			want[k], got[k] = string(number(200)), string(number(200))
		}
		var sources []source
		memory := newArena(false)
		for i := range rapid.IntRange(1, 3).Draw(t, "arenas") {
			a := newArena(false)
			for range rapid.IntRange(0, 12).Draw(t, "changes") {
				k, v := key.Draw(t, "key"), number(rapid.IntRange(0, 9).Draw(t, "value"))
				kind := rapid.SampledFrom([]cf.OpKind{cf.OpPut, cf.OpPut, cf.OpMerge, cf.OpMerge, cf.OpDelete, cf.OpDeleteRange}).Draw(t, "kind")
				switch kind {
				case cf.OpMerge:
					v = append([]byte{byte(cf.MergeSum)}, v...)
				case cf.OpDelete:
					v = nil
				case cf.OpDeleteRange:
					if v = []byte(key.Draw(t, "end")); string(v) <= k {
						continue
					}
				}
				a.add("f/f", kind, []byte(k), v)
				apply(want, change{kind: kind, key: []byte(k), value: v})
			}
			if memory = a; i == 2 { // the last one stays in memory
				break
			}
			s, err := a.spillTo(dir)
			if err != nil {
				t.Fatal(err)
			}
			from, err := s.source("f/f")
			if err != nil {
				t.Fatal(err)
			}
			defer from.close()
			sources, memory = append(sources, from), newArena(false)
		}
		left := new(memorySource)
		collect := func(c change) error { left.left = append(left.left, c); return nil }
		if err := memory.sorted(context.Background(), "f/f", collect); err != nil {
			t.Fatal(err)
		}
		last := left
		left = new(memorySource)
		if err := mergeSources(context.Background(), append(sources, last), collect); err != nil {
			t.Fatal(err)
		}
		before := change{}
		for i, c := range left.left {
			if order := bytes.Compare(before.key, c.key); i > 0 && (order > 0 || order == 0 && (before.kind != cf.OpDeleteRange || c.kind == cf.OpDeleteRange)) {
				t.Errorf("%q is given after %q", c.key, before.key)
			}
			before = c
		}
		for _, ranges := range []bool{true, false} {
			for _, c := range left.left {
				if (c.kind == cf.OpDeleteRange) == ranges {
					apply(got, c)
				}
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("what is left gives %v; want %v", texts(got), texts(want))
		}
	})
}

func texts(cells map[string]string) (all []string) {
	for _, k := range slices.Sorted(maps.Keys(cells)) {
		all = append(all, fmt.Sprintf("%s=%x", k, cells[k]))
	}
	return all
}

// Ranges that lie in one another take bounded memory.
func TestRangesInOneAnother(t *testing.T) {
	var r ranges
	var err error
	n := 0
	for ; err == nil; n++ {
		err = r.add([]byte(fmt.Sprintf("%09d", 1<<20-n)), uint64(n+1))
	}
	if err != ErrUnfit || n != mostRanges+1 {
		t.Errorf("%v after %d", err, n)
	}
}
