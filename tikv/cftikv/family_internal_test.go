package cftikv

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cf"
)

// drops hide the same cells as a map from each key to the epoch of its newest drop.
func TestDropsAreAMapOfKeys(t *testing.T) {
	key := rapid.Map(rapid.IntRange(0, 12), func(i int) string { return string(rune('a' + i)) })
	rapid.Check(t, func(t *rapid.T) {
		var d drops
		model := map[string]uint64{}
		steps := rapid.IntRange(1, 12).Draw(t, "steps")
		for epoch := range uint64(steps) {
			start, end := key.Draw(t, "start"), key.Draw(t, "end")
			inside := func(k string, _ uint64) bool { return k >= start && k < end }
			if rapid.Bool().Draw(t, "forget") {
				d = d.without(start, end)
				maps.DeleteFunc(model, inside)
			} else if start < end {
				d = d.add(drop{start, end, epoch + 1})
				for k := start; k < end; k = string(rune(k[0] + 1)) {
					model[k] = epoch + 1
				}
			}
		}
		if !d.valid(uint64(steps)) {
			t.Fatalf("drops are not sorted and disjoint: %v", d)
		}
		for k := 'a'; k < 'p'; k++ {
			for epoch := range uint64(steps + 2) {
				if got, want := d.hide([]byte(string(k)), epoch), epoch < model[string(k)]; got != want {
					t.Fatalf("%c of epoch %d: hidden %t, want %t; drops %v", k, epoch, got, want, d)
				}
			}
			if got, want := d.since(3, span{string(k), string(k + 1)}), model[string(k)] > 3; got != want {
				t.Fatalf("%c: dropped since 3 %t, want %t; drops %v", k, got, want, d)
			}
		}
	})
}

// What is decoded is encoded to the same bytes, and other bytes are refused as corrupt.
func FuzzDescriptor(f *testing.F) {
	whole := family{id: 7, epoch: 3, drops: drops{{"a", "c", 3}, {"c", "d\x00", 1}}}
	f.Add(whole.append(nil))
	f.Add((&family{}).append(nil))
	f.Add([]byte{0, 0, 0, 1, 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, value []byte) {
		decoded, err := decodeFamily("f", value)
		if err != nil {
			if !errors.Is(err, cf.ErrCorrupt) {
				t.Errorf("the error is %v", err)
			}
			return
		}
		again, err := decodeFamily("f", decoded.append(nil))
		if err != nil || again.id != decoded.id || again.epoch != decoded.epoch || !slices.Equal(again.drops, decoded.drops) {
			t.Errorf("%+v comes back as %+v, %v", decoded, again, err)
		}
	})
}

// Rows of different spaces, and rows whose keys begin alike, have different sentinels in
// the order of the rows, within the bounds of their ranges.
func TestSentinels(t *testing.T) {
	k, err := newKeyspace("n")
	if err != nil {
		t.Fatal(err)
	}
	text := rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xff}), 0, 3).Draw(t, "bytes"))
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := cf.RowID{Space: text.Draw(t, "space"), Row: text.Draw(t, "row")}, cf.RowID{Space: text.Draw(t, "space"), Row: text.Draw(t, "row")}
		order := slices.Compare([]string{a.Space, a.Row}, []string{b.Space, b.Row})
		if got := bytes.Compare(k.sentinel(a), k.sentinel(b)); got != order {
			t.Fatalf("sentinels of %q and %q compare as %d, want %d", a, b, got, order)
		}
		rows := cf.Range{Start: text.Draw(t, "start"), End: text.Draw(t, "end")}
		start, end := k.sentinels(b.Space, rows)
		inside := bytes.Compare(k.sentinel(a), start) >= 0 && bytes.Compare(k.sentinel(a), end) < 0
		if want := a.Space == b.Space && rows.Contains(a.Row); inside != want {
			t.Fatalf("the sentinel of %q is in the bounds of %q of %q: %t, want %t", a, rows, b.Space, inside, want)
		}
	})
}

func TestNamesOfStores(t *testing.T) {
	for name, good := range map[string]bool{"a": true, "Ü 1": true, "": false, "a/b": false, string(make([]byte, 201)): false} {
		if _, err := newKeyspace(name); (err == nil) != good {
			t.Errorf("the name %.10q: error %v", name, err)
		}
	}
}
