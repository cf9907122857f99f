package cf_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cf"
)

// The keys of a range that a batch deletes say what was deleted.
func TestDeletedRangesAreTakenApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.StringN(0, 4, 8).Draw(t, "row") + rapid.SampledFrom([]string{"", "\x00", "\x00\xff", "\x01", "a"}).Draw(t, "end")
		qualifier := rapid.SampledFrom([]string{"", "q", "\x00", "a\x00b"}).Draw(t, "qualifier")
		var b cf.Batch
		want := cf.DeletedRange{Rows: cf.Single(row)}
		b.Row(cf.RowID{Space: "t", Row: row})
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			b.DeleteRow("t/f")
		case 1:
			want.Column, want.Qualifier = true, qualifier
			want.Since, want.Until = rapid.Int64Range(0, 5).Draw(t, "since"), rapid.SampledFrom([]int64{0, 6, 1 << 62}).Draw(t, "until")
			b.DeleteVersions("t/f", qualifier, want.Since, want.Until)
		case 2:
			want.Rows = cf.Range{Start: row, End: rapid.SampledFrom([]string{"", row + "\x00\x00", row + "b"}).Draw(t, "rows' end")}
			b.DeleteRows("t/f", want.Rows)
		}
		op := &b.Ops()[len(b.Ops())-1]
		got, err := cf.SplitDeletedRange(b.Key(op), b.Value(op))
		if err != nil || got != want {
			t.Fatalf("%+v, %v; want %+v", got, err, want)
		}
	})
}

func FuzzSplitDeletedRange(f *testing.F) {
	f.Add([]byte{1, 'a', 0}, []byte{1, 'a', 0, 2})
	f.Add([]byte{1, 'a'}, []byte{2})
	f.Add(cf.AppendCellKey(nil, "r", "q", 7), cf.AppendCellKey(nil, "r", "q", 3))
	f.Fuzz(func(t *testing.T, from, to []byte) {
		_, _ = cf.SplitDeletedRange(from, to) // any bytes give a range or an error
	})
}
