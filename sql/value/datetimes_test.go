package value

import (
	"testing"

	"pgregory.net/rapid"
)

// A DATETIME is the same after a temporary file of a query, and as text.
func TestDatetimesAreReadAgain(t *testing.T) {
	first, last := must(ReadDatetime("0001-01-01")), must(ReadDatetime("9999-12-31 23:59:59.999999"))
	rapid.Check(t, func(t *rapid.T) {
		d := Datetime(rapid.Int64Range(int64(first), int64(last)).Draw(t, "datetime"))
		b, err := Append(nil, d)
		if err != nil {
			t.Fatal(err)
		}
		if again, rest, err := Cut(b); again != d || len(rest) > 0 || err != nil {
			t.Fatalf("%v is %v, %d bytes, %v in a file", d, again, len(rest), err)
		}
		if again, err := ReadDatetime(d.String()); again != d || err != nil {
			t.Fatalf("%v is %v, %v as text", d, again, err)
		}
	})
}

func must(d Datetime, err error) Datetime {
	if err != nil {
		panic(err)
	}
	return d
}
