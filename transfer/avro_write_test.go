package transfer

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// An export to Avro is the dump that Bigtable's import takes: a record for each row, with
// values in Bigtable's encoding, timestamps in milliseconds, and the newest cell of each
// millisecond.
func TestExportToAvro(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.CreateTable(t.Context(), schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "n", Aggregate: schema.AggregateSum}}}); err != nil {
		t.Fatal(err)
	}
	m := write.NewMutation()
	m.SetAt("f", "s", 7_001_999, cells.String("newest"))
	m.SetAt("f", "s", 7_001_000, cells.String("hidden"))
	m.SetAt("f", "s", 6_999_999, cells.String("old"))
	m.SetAt("f", "", 0, cells.Bytes([]byte{0xff, 0}))
	m.SetAt("f", "b", 1000, cells.Bool(true))
	m.SetAt("f", "d", 1000, cells.F64(1))
	m.Add("n", "i", cells.I64(-2))
	other := write.NewMutation()
	other.SetAt("f", "s", 7_001_000, cells.String("another row"))
	if err := db.Apply(t.Context(), write.NewBatch().Add("t", "r1", m).Add("t", "r2", other)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "t.avro")
	res, err := Export(t.Context(), db, "t", ExportSpec{Path: path})
	if err != nil || res.Rows != 2 || res.Cells != 7 {
		t.Errorf("%+v, %v", res, err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `r1: f:"" 0 "\xff\x00", f:"b" 1000 "\x01", f:"d" 1000 "?\xf0\x00\x00\x00\x00\x00\x00", f:"s" 7001000 "newest", f:"s" 6999000 "old", n:"i" 0 "\xff\xff\xff\xff\xff\xff\xff\xfe"
r2: f:"s" 7001000 "another row"
`
	if got := readAvro(t, b); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for _, c := range []struct{ spec, want string }{{"x.avro.gz", "export writes .csv, .jsonl, .parquet and .avro"}, {"-", ""}} {
		if _, err := Export(t.Context(), db, "t", ExportSpec{Path: c.spec, Format: "", Out: io.Discard}); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.spec, err)
		}
	}
	if _, err := Export(t.Context(), db, "t", ExportSpec{Path: "x.avro", Wide: []Mapping{{Family: "f", Qualifier: "s"}}}); err == nil || !strings.Contains(err.Error(), "an Avro file has whole rows") {
		t.Error(err)
	}
}

// readAvro reads a file by the specification of Avro, and nothing of the writer.
func readAvro(t *testing.T, b []byte) string {
	t.Helper()
	long := func(b *[]byte) int64 {
		n, size := binary.Varint(*b)
		if size <= 0 {
			t.Fatal("a number is cut off")
		}
		*b = (*b)[size:]
		return n
	}
	text := func(b *[]byte) string {
		n := long(b)
		s := string((*b)[:n])
		*b = (*b)[n:]
		return s
	}
	if !bytes.HasPrefix(b, []byte("Obj\x01")) {
		t.Fatalf("the file begins with %q", b[:4])
	}
	b = b[4:]
	meta := map[string]string{}
	for n := long(&b); n > 0; n-- {
		key := text(&b)
		meta[key] = text(&b)
	}
	if long(&b) != 0 || meta["avro.codec"] != "deflate" || !json.Valid([]byte(meta["avro.schema"])) {
		t.Fatalf("the file says %q", meta)
	}
	sync := string(b[:16])
	var out strings.Builder
	for b = b[16:]; len(b) > 0; b = b[16:] {
		records, block := long(&b), text(&b)
		plain, err := io.ReadAll(flate.NewReader(strings.NewReader(block)))
		if err != nil || string(b[:16]) != sync {
			t.Fatalf("a block: %v, %q", err, b[:16])
		}
		for ; records > 0; records-- {
			fmt.Fprintf(&out, "%s:", text(&plain))
			n := long(&plain)
			for i := range n {
				family, qualifier, ts := text(&plain), text(&plain), long(&plain)
				fmt.Fprintf(&out, " %s:%q %d %q", family, qualifier, ts, text(&plain))
				if i < n-1 {
					out.WriteString(",")
				}
			}
			if long(&plain) != 0 {
				t.Fatal("the cells do not end")
			}
			out.WriteString("\n")
		}
		if len(plain) > 0 {
			t.Fatalf("%d bytes too many", len(plain))
		}
	}
	return out.String()
}
