package parquetrows_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/parquetrows"
)

// TestRows reads a field, a field twice, and a list, which has no text.
func TestRows(t *testing.T) {
	type row struct {
		A    *int64
		B    float64
		List []string
	}
	one := int64(1)
	var file bytes.Buffer
	if err := parquet.Write(&file, []row{{A: &one, B: 0.5}, {B: 2, List: []string{"x"}}}); err != nil {
		t.Fatal(err)
	}
	f, err := parquetrows.Open(bytes.NewReader(file.Bytes()), int64(file.Len()), cells.Value.String)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fields := f.Fields()
	for name, ok := range map[string]bool{"A": true, "B": true, "List": false} {
		if f.Choose(slices.Index(fields, name)) != ok {
			t.Errorf("%s of %q can be chosen: %t", name, fields, !ok)
		}
	}
	f.Choose(slices.Index(fields, "A"))
	var got []string
	for {
		var texts []string
		err := f.Next(func(_ int, text string) { texts = append(texts, text) })
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(texts)
		got = append(got, fmt.Sprint(f.Row(), texts))
	}
	if want := "1 [0.5 1 1], 2 [2]"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %s", got, want)
	}
}
