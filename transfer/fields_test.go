package transfer_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/transfer"
)

// TestWideBytes: bytes of any kind make files that are UTF-8, with fields that name
// their encoding, and can be imported again by the names of their columns.
func TestWideBytes(t *testing.T) {
	db, ctx, dir := openMemory(t), t.Context(), t.TempDir()
	for row, raw := range map[string]string{"a": "\xff\x00,\"\r\n", "b": "", "c": "text"} {
		m := write.NewMutation()
		m.SetAt("any", "raw", 1, cells.Bytes([]byte(raw)))
		m.SetAt("any", "s", 1, cells.String("é"))
		if err := db.Table("x").Apply(ctx, row, m); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ as, bytes, field, text string }{
		{"csv", "", "any:raw_hex", "row,any:raw_hex,any:s\na,ff002c220d0a,é\nb,,é\nc,74657874,é\n"},
		{"csv", "hex", "any:raw_hex", "row,any:raw_hex,any:s\na,ff002c220d0a,é\nb,,é\nc,74657874,é\n"},
		{"csv", "base64", "any:raw_b64", "row,any:raw_b64,any:s\na,/wAsIg0K,é\nb,,é\nc,dGV4dA==,é\n"},
		{"jsonl", "", "any:raw_b64", `{"row":"a","any:raw_b64":"/wAsIg0K","any:s":"é"}` + "\n" + `{"row":"b","any:raw_b64":"","any:s":"é"}` + "\n" + `{"row":"c","any:raw_b64":"dGV4dA==","any:s":"é"}` + "\n"},
		{"jsonl", "hex", "any:raw_hex", `{"row":"a","any:raw_hex":"ff002c220d0a","any:s":"é"}` + "\n" + `{"row":"b","any:raw_hex":"","any:s":"é"}` + "\n" + `{"row":"c","any:raw_hex":"74657874","any:s":"é"}` + "\n"},
	} {
		path := filepath.Join(dir, "f."+c.as)
		spec := transfer.ExportSpec{Path: path, Bytes: c.bytes, Overwrite: true, Wide: []transfer.Mapping{
			{Family: "any", Qualifier: "raw", Type: cells.TypeBytes}, {Family: "any", Qualifier: "s"}}}
		if _, err := transfer.Export(ctx, db, "x", spec); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != c.text {
			t.Errorf("%s %s: %q, %v, want %q", c.as, c.bytes, text, err, c.text)
		}
		for _, field := range []string{"raw", "any:raw", c.field} {
			into := transfer.Spec{Path: path, Key: "{row}", Columns: []transfer.Mapping{{Family: "any", Qualifier: "raw", Field: field, Type: cells.TypeBytes}}}
			_, err := transfer.Import(ctx, db, "y", into)
			if err := errors.Join(err, sameValue(db, "y", "a", "raw", cells.Bytes([]byte("\xff\x00,\"\r\n"))), sameValue(db, "y", "c", "raw", cells.Bytes([]byte("text")))); err != nil {
				t.Errorf("%s %s under %s: %v", c.as, c.bytes, field, err)
			}
			if err := db.TruncateTable(ctx, "y"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func sameValue(db *query.DB, table, row, qualifier string, want cells.Value) error {
	r, err := db.Table(table).ReadRow(context.Background(), row)
	if err != nil {
		return err
	}
	if c, ok := r.Cell("any", qualifier); !ok || !c.Value.Equal(want) {
		return fmt.Errorf("row %q has %s in %s, want %s", row, c.Value, qualifier, want)
	}
	return nil
}

// TestWideFormIsUTF8AndComesBack: for any keys and values, each row comes back.
func TestWideFormIsUTF8AndComesBack(t *testing.T) {
	db, dir := openMemory(t), t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		if err := errors.Join(db.TruncateTable(ctx, "x"), db.TruncateTable(ctx, "y")); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			m := write.NewMutation()
			m.SetAt("any", "b", 0, cells.Bytes([]byte("x"+anyBytes.Draw(t, "bytes")))) // an empty one makes no cell again
			if err := db.Table("x").Apply(ctx, anyBytes.Filter(plainKey).Draw(t, "key"), m); err != nil {
				t.Fatal(err)
			}
		}
		as := rapid.SampledFrom([]string{"csv", "jsonl"}).Draw(t, "as")
		path := filepath.Join(dir, "f."+as)
		spec := transfer.ExportSpec{Path: path, Overwrite: true, Bytes: rapid.SampledFrom([]string{"", "hex", "base64"}).Draw(t, "form"),
			Wide: []transfer.Mapping{{Family: "any", Qualifier: "b", Type: cells.TypeBytes}}}
		if _, err := transfer.Export(ctx, db, "x", spec); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil || !utf8.Valid(text) {
			t.Fatalf("%q, %v", text, err)
		}
		if len(text) == 0 {
			return
		}
		into := transfer.Spec{Path: path, Key: "{row}", Columns: []transfer.Mapping{{Family: "any", Qualifier: "b", Field: "b", Type: cells.TypeBytes}}}
		if _, err := transfer.Import(ctx, db, "y", into); err != nil {
			t.Fatal(err)
		}
		want, got := contents(t, db, "x"), contents(t, db, "y")
		for i := range want {
			want[i] = untimed(want[i])
		}
		for i := range got {
			got[i] = untimed(got[i])
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	})
}

// plainKey is a key that a wide CSV file keeps: readers of CSV convert all kinds of
// line ends.
func plainKey(s string) bool { return s != "" && !strings.Contains(s, "\r") }

// TestWideKeysThatAreNotUTF8: the first line of a CSV file says that keys are encoded;
// an output whose first line is already written fails.
func TestWideKeysThatAreNotUTF8(t *testing.T) {
	db, ctx, dir := openMemory(t), t.Context(), t.TempDir()
	m := write.NewMutation()
	m.SetAt("any", "n", 1, cells.I64(1))
	if err := errors.Join(db.Table("x").Apply(ctx, "a", m), db.Table("x").Apply(ctx, "\xff", m)); err != nil {
		t.Fatal(err)
	}
	wide := []transfer.Mapping{{Family: "any", Qualifier: "n"}}
	path := filepath.Join(dir, "f.csv")
	res, err := transfer.Export(ctx, db, "x", transfer.ExportSpec{Path: path, Wide: wide})
	text, err2 := os.ReadFile(path)
	if want := "row_hex,any:n\n61,1\nff,1\n"; errors.Join(err, err2) != nil || string(text) != want || res.Rows != 2 || res.Bytes != int64(len(want)) {
		t.Errorf("%q, %+v, %v, %v", text, res, err, err2)
	}
	var out bytes.Buffer
	_, err = transfer.Export(ctx, db, "x", transfer.ExportSpec{Path: "-", Format: "csv", Out: &out, Wide: wide})
	if err == nil || !strings.Contains(err.Error(), `row key "\xff" is not UTF-8`) {
		t.Errorf("to the output: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestFieldsUnderOtherNames: a field with the name itself comes first, then the name
// with an ending, then the name of the column.
func TestFieldsUnderOtherNames(t *testing.T) {
	db, ctx, dir := openMemory(t), t.Context(), t.TempDir()
	for _, c := range []struct{ header, line, want string }{
		{"id,q,q_hex,any:q", "r,plain,6865,column", "plain"},
		{"id,any:q,q_b64", "r,column,aGU=", "he"},
		{"id,q_b64,q_hex", "r,aGU=,6865", "he"},
		{"id,any:q", "r,column", "column"},
		{"id,any:q_hex", "r,6865", "he"},
	} {
		path := filepath.Join(dir, "f.csv")
		if err := os.WriteFile(path, []byte(c.header+"\n"+c.line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		spec := transfer.Spec{Path: path, Key: "{id}", Columns: []transfer.Mapping{{Family: "any", Qualifier: "q", Field: "q"}}}
		_, err := transfer.Import(ctx, db, "y", spec)
		if err := errors.Join(err, sameValue(db, "y", "r", "q", cells.String(c.want))); err != nil {
			t.Errorf("%s: %v", c.header, err)
		}
		names, err := csv.NewReader(strings.NewReader(c.header + "\n" + c.line)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var members []string
		for i, name := range names[0] {
			members = append(members, fmt.Sprintf("%q:%q", name, names[1][i]))
		}
		for range 2 { // in both orders
			slices.Reverse(members)
			spec.Path = filepath.Join(dir, "f.jsonl")
			if err := os.WriteFile(spec.Path, []byte("{"+strings.Join(members, ",")+"}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := transfer.Import(ctx, db, "y", spec)
			if err := errors.Join(err, sameValue(db, "y", "r", "q", cells.String(c.want))); err != nil {
				t.Errorf("%s: %v", members, err)
			}
		}
	}
}

// TestFieldsThatCannotBeDecoded names the field and its line.
func TestFieldsThatCannotBeDecoded(t *testing.T) {
	db, ctx, dir := openMemory(t), t.Context(), t.TempDir()
	for want, text := range map[string]string{
		`f.csv:2: field b: "zz" is not hexadecimal`: "row,b_hex\nr,zz\n",
		`f.csv:2: field b: "%" is not base64`:       "row,b_b64\nr,%\n",
		`f.csv:2: field row: "r" is not hex`:        "row_hex,b\nr,x\n",
	} {
		path := filepath.Join(dir, "f.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		spec := transfer.Spec{Path: path, Key: "{row}", Columns: []transfer.Mapping{{Family: "any", Qualifier: "b", Field: "b", Type: cells.TypeBytes}}}
		if _, err := transfer.Import(ctx, db, "y", spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for want, spec := range map[string]transfer.ExportSpec{
		`bytes=: "octal" is not hex or base64`: {Path: "-", Bytes: "octal"},
		"it is for lines of rows":              {Path: filepath.Join(dir, "f.parquet"), Bytes: "hex", Wide: []transfer.Mapping{{Family: "any"}}},
		"is not UTF-8; name it otherwise":      {Path: "-", Wide: []transfer.Mapping{{Family: "any", Qualifier: "\xff"}}},
		"two fields would be called \"any:b_hex\"": {Path: "-", Format: "csv", Wide: []transfer.Mapping{
			{Family: "any", Qualifier: "b", Type: cells.TypeBytes}, {Family: "any", Qualifier: "b_hex", Type: cells.TypeI64}}},
	} {
		spec.Out = new(bytes.Buffer)
		if _, err := transfer.Export(ctx, db, "x", spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", spec, err, want)
		}
	}
}
