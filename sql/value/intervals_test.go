package value

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func drawInterval(t *rapid.T, name string) Interval {
	near := rapid.Bool().Draw(t, "near "+name)
	part := func(of string, most, some int64) int64 {
		if near {
			most = some
		}
		return rapid.Int64Range(-most, most).Draw(t, of+" of "+name)
	}
	return Interval{int32(part("months", mostMonths, 3)), int32(part("days", mostDays, 90)), part("micros", mostMicros, 3*microsPerDay)}
}

// An INTERVAL is the same after a temporary file of a query, and as text.
func TestIntervalsAreReadAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := drawInterval(t, "i")
		b, err := Append(nil, i)
		if err != nil {
			t.Fatal(err)
		}
		if again, rest, err := Cut(b); again != i || len(rest) > 0 || err != nil {
			t.Fatalf("%v is %v, %d bytes, %v in a file", i, again, len(rest), err)
		}
		for _, text := range []string{i.String(), i.ISO()} {
			if again, err := ReadInterval(text); again != i || err != nil {
				t.Fatalf("%s is %v, %v", text, again, err)
			}
		}
		if again, err := ReadIntervalParts(i.String(), "YEAR", "SECOND"); again != i || err != nil {
			t.Fatalf("%v is %v, %v as a literal", i, again, err)
		}
	})
}

// Sums, differences and what is justified agree with the total of an INTERVAL, by which it is
// compared and grouped.
func TestIntervalsAgreeWithTheirTotals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawInterval(t, "a"), drawInterval(t, "b")
		if sum, err := a.Plus(b); err == nil && sum.Total() != a.Total()+b.Total() {
			t.Fatalf("%v and %v are %v", a, b, sum)
		}
		if back, err := a.Plus(a.Negated()); back != (Interval{}) || err != nil {
			t.Fatalf("%v without itself is %v, %v", a, back, err)
		}
		for _, of := range [][2]bool{{true, false}, {false, true}, {true, true}} {
			j, err := a.Justified(of[0], of[1])
			if err == nil && j.Total() != a.Total() {
				t.Fatalf("%v justified is %v", a, j)
			}
			if err == nil && of[0] && of[1] && (j.Months > 0 && (j.Days < 0 || j.Micros < 0) || j.Months < 0 && (j.Days > 0 || j.Micros > 0) || j.Days > 29 || j.Micros >= microsPerDay) {
				t.Fatalf("%v justified is %v, with two signs", a, j)
			}
		}
		n := rapid.Int64Range(1, 1000).Draw(t, "n")
		if times, err := a.Times(n); err == nil {
			if back, err := times.Over(n); back != a || err != nil {
				t.Fatalf("%v times %d is %v, and divided %v, %v", a, n, times, back, err)
			}
		}
		if got, want := bytes.Equal(AppendKey(nil, a), AppendKey(nil, b)), Order(a, b) == 0; got != want {
			t.Fatalf("the keys of %v and %v are equal: %t", a, b, got)
		}
		if j, err := b.Justified(true, true); err == nil && (Equal(b, j) != true || !bytes.Equal(AppendKey(nil, b), AppendKey(nil, j))) {
			t.Fatalf("%v is not %v", b, j)
		}
	})
}

// Any text is an INTERVAL, whose text is one, or an error.
func FuzzInterval(f *testing.F) {
	for _, s := range []string{"1-2 -3 4:5:6.7", "P-1Y2M3W4DT5H6M7,8S", "PT", "P", "1.5", "-.5", "0:0:.1", "-1 2 -3:4", "99999999999999999999-1", "PT1S1S"} {
		f.Add(s, uint8(0), uint8(5))
	}
	f.Fuzz(func(t *testing.T, s string, from, to uint8) {
		parts := append([]string{"", "QUARTER", "WEEK", "FORTNIGHT"}, fieldsOfIntervals...)
		first, last := parts[int(from)%len(parts)], parts[int(to)%len(parts)]
		for i, read := range []func() (Interval, error){
			func() (Interval, error) { return ReadInterval(s) },
			func() (Interval, error) { return ReadIntervalParts(s, first, last) },
		} {
			got, err := read()
			if err != nil {
				continue
			}
			if again, err := ReadInterval(got.String()); again != got || err != nil {
				t.Fatalf("%q by %d, %s, %s is %v, and then %v, %v", s, i, first, last, got, again, err)
			}
		}
	})
}
