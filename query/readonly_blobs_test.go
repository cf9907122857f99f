package query_test

import (
	"bytes"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A reader beside a writer can read values in blob files even after the writer has
// replaced them and removed the files.
func TestAReaderKeepsLargeValues(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	w := openAt(t, dir, query.Options{Schema: declare(schema.Family{Name: "f", GC: schema.MaxVersions(1), Tuning: schema.Tuning{BlobMinSize: 1024}})})
	write := func(fill byte) {
		t.Helper()
		for _, key := range []string{"a", "b", "c"} {
			if err := w.Table("t").Apply(ctx, key, mutate(set("f", "q", cells.Bytes(bytes.Repeat([]byte{fill}, 5000))))); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Table("t").Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	write(1)
	r, err := query.OpenReadOnly(dir, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read := func(want byte) {
		t.Helper()
		for row, err := range r.Table("t").ReadRows(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if v, _ := row.Bytes("f", "q"); len(v) != 5000 || v[4999] != want {
				t.Errorf("row %s has %d bytes of %v", row.Key(), len(v), v[:1])
			}
		}
	}
	for n := byte(2); n < 5; n++ {
		write(n)
		if _, err := w.GC(ctx, "t", query.GCOptions{Compact: true}); err != nil {
			t.Fatal(err)
		}
		if n > 2 { // before Refresh it reads the values of the time when it was opened
			read(n - 1)
		} else {
			read(1)
		}
		if err := r.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
