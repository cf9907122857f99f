package value

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
)

func anyValue(t *rapid.T, kind int) any {
	switch kind {
	case 0:
		return rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 'a', 0xfe, 0xff}), 0, 4).Draw(t, "bytes")
	case 1:
		return rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 'a', 'b', 'ÿ'}), 0, 4, -1).Draw(t, "string")
	case 2:
		return rapid.OneOf(rapid.Int64(), rapid.Int64Range(-70000, 70000), rapid.Int64Range(-70, 70)).Draw(t, "int")
	case 3:
		return rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Inf(1), math.Inf(-1), -1.5})).Draw(t, "float")
	case 4:
		return rapid.Bool().Draw(t, "bool")
	}
	return cells.Timestamp(rapid.Int64Min(0).Draw(t, "timestamp"))
}

// Row keys sort as their values do, and differ if these do.
func TestRowKeysSortLikeTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 3).Draw(t, "kinds")
		a, b := make([]any, len(kinds)), make([]any, len(kinds))
		order := 0
		for i, k := range kinds {
			a[i], b[i] = anyValue(t, k), anyValue(t, k)
			if rapid.Bool().Draw(t, "same") {
				b[i] = a[i]
			}
			if order == 0 {
				order, _ = Compare(a[i], b[i])
			}
		}
		x, okX := RowKey(a)
		y, okY := RowKey(b)
		if okX && okY && cmp.Compare(strings.Compare(x, y), 0) != order {
			t.Fatalf("%v is %q, %v is %q", a, x, b, y)
		}
		if prefix, ok := RowKeyPrefix(a[:1]); ok && len(kinds) > 1 && okX && !strings.HasPrefix(x, prefix) {
			t.Fatalf("%v is %q, which does not begin with %q", a, x, prefix)
		}
	})
}

func TestRowKeysOfStructs(t *testing.T) {
	for _, c := range []struct {
		values []any
		want   string
	}{
		{[]any{"a\x00b"}, "a\x00b"},
		{[]any{"", ""}, "\x00\x00"},
		{[]any{"", "B"}, "\x00\x00\x00\x01B"},
		{[]any{"A", ""}, "A"},
		{[]any{"A", "", "C"}, "A\x00\x01\x00\x00\x00\x01C"},
		{[]any{"A\x00", "C"}, "A\x00\xff\x00\x01C"},
		{[]any{int64(5)}, "\x85"},
		{[]any{int64(300)}, "\xc1\x2c"},
		{[]any{int64(-300)}, "\x3e\xd4"},
	} {
		if got, ok := RowKey(c.values); got != c.want || !ok {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
	for _, none := range [][]any{{nil}, {"a", nil}, {""}, {[]byte{}}} {
		if key, ok := RowKey(none); ok {
			t.Errorf("%v has the key %q", none, key)
		}
	}
}

func TestRecordsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var values []any
		for _, k := range rapid.SliceOfN(rapid.IntRange(0, 10), 0, 5).Draw(t, "kinds") {
			switch k {
			case 6:
				values = append(values, nil)
			case 7:
				values = append(values, Datetime(rapid.Int64().Draw(t, "datetime")))
			case 8:
				values = append(values, drawNumeric(t, "numeric"))
			case 10:
				values = append(values, JSON(rapid.SampledFrom([]string{"null", `{"a":1.5}`, "[]"}).Draw(t, "json")))
			case 9:
				values = append(values, drawInterval(t, "interval"))
			default:
				values = append(values, anyValue(t, k))
			}
		}
		record := AppendRecord(nil, values)
		got, err := ReadRecord(record)
		if err != nil || len(got) != len(values) || !bytes.Equal(AppendRecord(nil, got), record) || fmt.Sprint(got) != fmt.Sprint(values) {
			t.Fatalf("%v comes back as %v, %v", values, got, err)
		}
	})
}

func FuzzReadRecord(f *testing.F) {
	f.Add(AppendRecord(nil, []any{"a", []byte("b"), int64(1), 2.5, true, nil, cells.Timestamp(3), Date(4), Datetime(5), NumericOf(6), Interval{Months: 7, Days: -8, Micros: 9}, JSON("[10]")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		values, err := ReadRecord(b)
		if err != nil {
			return
		}
		if again, err := ReadRecord(AppendRecord(nil, values)); err != nil || len(again) != len(values) {
			t.Errorf("%v: %v, %v", values, again, err)
		}
	})
}
