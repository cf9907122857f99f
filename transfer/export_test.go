package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/transfer"
)

func ExampleExport() {
	ctx := context.Background()
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "fleet", Families: []schema.Family{{Name: "meta"}}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	m := write.NewMutation()
	m.SetAt("meta", "model", 1, cells.String("Boeing 757-256"))
	m.SetAt("meta", "miles", 1, cells.I64(51_000_000))
	if err := db.Table("fleet").Apply(ctx, "plane#TF-FIR", m); err != nil {
		log.Fatal(err)
	}
	res, err := transfer.Export(ctx, db, "fleet", transfer.ExportSpec{Path: "-", Format: "csv", Out: os.Stdout})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Rows, "row,", res.Cells, "cells")
	// Output:
	// row,family,qualifier,timestamp,type,value
	// plane#TF-FIR,meta,miles,1,i64,51000000
	// plane#TF-FIR,meta,model,1,string,Boeing 757-256
	// 1 row, 2 cells
}

func openMemory(t testing.TB) *query.DB {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{GCInterval: -1, Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "x", Families: []schema.Family{{Name: "any"}, {Name: "i32", Type: cells.TypeI32}, {Name: "two", GC: &schema.Rule{MaxVersions: 2}}}},
		{Name: "y", Families: []schema.Family{{Name: "any"}, {Name: "i32", Type: cells.TypeI32}, {Name: "two", GC: &schema.Rule{MaxVersions: 2}}}},
		{Name: "agg", Families: []schema.Family{{Name: "sum", Aggregate: schema.AggregateSum}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

type tb interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func contents(t tb, db *query.DB, table string) (all []string) {
	t.Helper()
	for row, err := range db.Table(table).ReadRows(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for c := range row.Cells() {
			all = append(all, fmt.Sprintf("%q %s:%q @%d %x", row.Key(), c.Family, c.Qualifier, c.Timestamp, cells.AppendValue(nil, c.Value)))
		}
	}
	return all
}

// anyText is text with all characters that are special in some format.
var anyText = rapid.OneOf(
	rapid.SampledFrom([]string{"", "a", "NA", "null", "NaN", `\`, `\n`, `\x00`, `"`, `""`, ",", " ", " a ", "a,b", "a\"b", "\r\n", "\n", "\r", "\t", "\x00", "\ufeff", "\u2028", "\x7f", "é", "{}", "=1", "'", "`", `\u0000`}),
	rapid.String(),
)

var anyBytes = rapid.OneOf(
	anyText,
	rapid.SampledFrom([]string{"\x00", "\xff", "a\x00", "a\x00\xff", "\xc3", "\xed\xa0\x80", "\x01\x00"}),
	rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), func(b []byte) string { return string(b) }),
)

var anyFloat64 = rapid.OneOf(
	rapid.Map(rapid.Uint64(), math.Float64frombits),
	rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64,
		math.Float64frombits(0x7ff8000000000000), math.Float64frombits(0xfff8000000000001), math.Float64frombits(0x7ff0000000000001)}),
)

var anyFloat32 = rapid.OneOf(
	rapid.Map(rapid.Uint32(), math.Float32frombits),
	rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)),
		math.Float32frombits(0x7fc00001), math.Float32frombits(0xffc00000), math.Float32frombits(0x7f800001)}),
)

var anyValue = rapid.Custom(func(t *rapid.T) cells.Value {
	switch rapid.IntRange(0, 7).Draw(t, "type") {
	case 0:
		return cells.String(strings.ToValidUTF8(anyText.Draw(t, "text"), "?"))
	case 1:
		return cells.Bytes([]byte(anyBytes.Draw(t, "bytes")))
	case 2:
		return cells.Bool(rapid.Bool().Draw(t, "bool"))
	case 3:
		return cells.Byte(rapid.Byte().Draw(t, "byte"))
	case 4:
		return cells.I32(rapid.Int32().Draw(t, "i32"))
	case 5:
		return cells.I64(rapid.Int64().Draw(t, "i64"))
	case 6:
		return cells.F32(anyFloat32.Draw(t, "f32"))
	default:
		return cells.F64(anyFloat64.Draw(t, "f64"))
	}
})

var exportNames = []string{"f.csv", "f.jsonl", "f.parquet", "f.csv.gz", "f.csv.zst", "f.jsonl.gz", "f.ndjson.zst"}

// fill writes some cells of any kind into table x.
func fill(t *rapid.T, db *query.DB, rows int) {
	stamp := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, int64(cells.MaxTimestamp)), rapid.Just(int64(cells.MaxTimestamp)))
	for range rapid.IntRange(0, rows).Draw(t, "rows") {
		key := anyBytes.Filter(func(s string) bool { return s != "" }).Draw(t, "key")
		m := write.NewMutation()
		for range rapid.IntRange(1, 8).Draw(t, "cells") {
			ts := cells.Timestamp(stamp.Draw(t, "ts"))
			switch rapid.IntRange(0, 4).Draw(t, "family") {
			case 0:
				m.SetAt("i32", anyBytes.Draw(t, "qualifier"), ts, cells.I32(rapid.Int32().Draw(t, "n")))
			case 1:
				m.SetAt("two", "q", ts, anyValue.Draw(t, "value"))
			default:
				m.SetAt("any", anyBytes.Draw(t, "qualifier"), ts, anyValue.Draw(t, "value"))
			}
		}
		if rapid.IntRange(0, 5).Draw(t, "delete") == 0 {
			m.DeleteCellsInFamily("i32")
		}
		if err := db.Table("x").Apply(context.Background(), key, m); err != nil {
			t.Fatal(err)
		}
	}
}

// TestImportOfExportIsTheSame: in each form, every cell comes back with the same bits.
func TestImportOfExportIsTheSame(t *testing.T) {
	db, dir := openMemory(t), t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		for _, table := range []string{"x", "y"} {
			if err := db.TruncateTable(ctx, table); err != nil {
				t.Fatal(err)
			}
		}
		fill(t, db, 20)
		want := contents(t, db, "x")
		path := filepath.Join(dir, rapid.SampledFrom(exportNames).Draw(t, "file"))
		res, err := transfer.Export(ctx, db, "x", transfer.ExportSpec{Path: path, Overwrite: true})
		if err != nil || res.Cells != int64(len(want)) {
			t.Fatalf("exported %+v, %v; there are %d cells", res, err, len(want))
		}
		back, err := transfer.Import(ctx, db, "y", transfer.Spec{Path: path, Batch: rapid.IntRange(1, 10).Draw(t, "batch")})
		if err != nil || back.Rows != res.Rows || back.Cells != res.Cells {
			t.Fatalf("exported %+v, imported %+v, %v", res, back, err)
		}
		if got := contents(t, db, "y"); !slices.Equal(got, want) {
			t.Fatalf("exported\n%s\nimported\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
		}
	})
}

// TestNaNs: quiet NaNs without a payload are NaN for other programs, in every text, and
// any NaN comes back with the same bits from the long form.
func TestNaNs(t *testing.T) {
	db, ctx, dir := openMemory(t), t.Context(), t.TempDir()
	for i, c := range []struct {
		value      cells.Value
		long, wide string
	}{
		{cells.F64(math.Float64frombits(0x7ff8000000000000)), "NaN", "NaN"},
		{cells.F64(math.Float64frombits(0xfff8000000000000)), "-NaN", "NaN"},
		{cells.F64(math.NaN()), "NaN(0x7ff8000000000001)", "NaN"},
		{cells.F64(math.Float64frombits(0x7ff8000020000000)), "NaN(0x7ff8000020000000)", "NaN(0x7ff8000020000000)"},
		{cells.F64(math.Float64frombits(0x7ff0000000000001)), "NaN(0x7ff0000000000001)", "NaN(0x7ff0000000000001)"},
		{cells.F32(math.Float32frombits(0x7fc00000)), "NaN", "NaN"},
		{cells.F32(math.Float32frombits(0xffc00000)), "-NaN", "NaN"},
		{cells.F32(math.Float32frombits(0x7fc00001)), "NaN(0x7fc00001)", "NaN(0x7fc00001)"},
		{cells.F32(math.Float32frombits(0xff800001)), "NaN(0xff800001)", "NaN(0xff800001)"},
	} {
		m := write.NewMutation()
		m.SetAt("any", "q", 1, c.value)
		if err := errors.Join(db.TruncateTable(ctx, "x"), db.Table("x").Apply(ctx, "r", m)); err != nil {
			t.Fatal(err)
		}
		want := contents(t, db, "x")
		for _, ext := range []string{"csv", "jsonl"} {
			path := filepath.Join(dir, fmt.Sprint(i, ".", ext))
			_, err := transfer.Export(ctx, db, "x", transfer.ExportSpec{Path: path})
			err2 := db.TruncateTable(ctx, "y")
			_, err3 := transfer.Import(ctx, db, "y", transfer.Spec{Path: path})
			if err := errors.Join(err, err2, err3); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(strings.ReplaceAll(string(text), `"`, "")+",", ","+c.long+"\n") && !strings.Contains(string(text), `"`+c.long+`"`) {
				t.Errorf("%s: %q, %v, want %s", want, text, err, c.long)
			}
			if got := contents(t, db, "y"); !slices.Equal(got, want) {
				t.Errorf("%s of %s imported as %s", path, want, got)
			}
			var wide bytes.Buffer
			spec := transfer.ExportSpec{Path: "-", Format: ext, Out: &wide, Wide: []transfer.Mapping{{Family: "any", Qualifier: "q", Field: "f"}}}
			if _, err := transfer.Export(ctx, db, "x", spec); err != nil {
				t.Fatal(err)
			}
			if line := map[string]string{"csv": "row,f\nr," + c.wide + "\n", "jsonl": `{"row":"r","f":"` + c.wide + "\"}\n"}[ext]; wide.String() != line {
				t.Errorf("%s: %q, want %q", want, &wide, line)
			}
		}
	}
}

// TestWideParquetComesBack: the newest cell of each column, of every type; null and
// empty are distinguished.
func TestWideParquetComesBack(t *testing.T) {
	db, ctx := openMemory(t), t.Context()
	types := []cells.Value{
		cells.String(""), cells.Bytes(nil), cells.Bool(false), cells.Byte(255), cells.I32(math.MinInt32), cells.I64(math.MinInt64),
		cells.F32(math.Float32frombits(0xffc00001)), cells.F64(math.Copysign(0, -1)), cells.F64(math.Float64frombits(0x7ff8000000000123)), cells.String("NA"),
	}
	var wide, back []transfer.Mapping
	for i, v := range types {
		m := write.NewMutation()
		m.SetAt("any", fmt.Sprint("c", i), 5, v)
		m.SetAt("any", fmt.Sprint("c", i), 4, cells.String("older"))
		m.SetAt("any", "not exported", 4, cells.String("x"))
		if err := db.Table("x").Apply(ctx, fmt.Sprint("row", i%3), m); err != nil {
			t.Fatal(err)
		}
		wide = append(wide, transfer.Mapping{Family: "any", Qualifier: fmt.Sprint("c", i)})
		back = append(back, transfer.Mapping{Family: "any", Qualifier: fmt.Sprint("c", i), Field: fmt.Sprint("any:c", i), Type: v.Type()})
	}
	path := filepath.Join(t.TempDir(), "wide.parquet")
	if _, err := transfer.Export(ctx, db, "x", transfer.ExportSpec{Path: path, Wide: wide}); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Import(ctx, db, "y", transfer.Spec{Path: path, Key: "{row}", Columns: back}); err != nil {
		t.Fatal(err)
	}
	for i, v := range types {
		row, err := db.Table("y").ReadRow(ctx, fmt.Sprint("row", i%3))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := row.Cell("any", fmt.Sprint("c", i)); !ok || !got.Value.Equal(v) {
			t.Errorf("column %d: %s %v, want %s %v", i, got.Value.Type(), got.Value, v.Type(), v)
		}
	}
}

// TestParquetOfManyChunks: columns that are null in whole chunks, in some of one, and
// in none come back, each value in its row.
func TestParquetOfManyChunks(t *testing.T) {
	db, ctx, dir := openMemory(t), t.Context(), t.TempDir()
	var batch write.Batch
	const rows = 10_000
	for i := range rows {
		m := write.NewMutation()
		m.SetAt("any", "always", 1, cells.I64(int64(i)))
		if i > 9_000 {
			m.SetAt("any", "late", 1, cells.String(fmt.Sprint(i)))
		}
		if i%3 == 0 {
			m.SetAt("any", "third", 1, cells.F64(float64(i)))
		}
		batch.Add("x", fmt.Sprintf("%05d", i), m)
	}
	if err := db.Apply(ctx, &batch); err != nil {
		t.Fatal(err)
	}
	want := contents(t, db, "x")
	var wide, back []transfer.Mapping
	for q, typ := range map[string]cells.Type{"always": cells.TypeI64, "late": cells.TypeString, "third": cells.TypeF64} {
		wide = append(wide, transfer.Mapping{Family: "any", Qualifier: q, Field: q})
		back = append(back, transfer.Mapping{Family: "any", Qualifier: q, Field: q, Type: typ})
	}
	for _, name := range []string{"long", "wide"} {
		var into transfer.Spec
		spec := transfer.ExportSpec{Path: filepath.Join(dir, name+".parquet")}
		if name == "wide" {
			spec.Wide, into.Key, into.Columns = wide, "{row}", back
		}
		if res, err := transfer.Export(ctx, db, "x", spec); err != nil || res.Rows != rows {
			t.Fatalf("%s: %+v, %v", name, res, err)
		}
		if err := db.TruncateTable(ctx, "y"); err != nil {
			t.Fatal(err)
		}
		into.Path = spec.Path
		if _, err := transfer.Import(ctx, db, "y", into); err != nil {
			t.Fatal(err)
		}
		got := contents(t, db, "y")
		if name == "wide" { // which has no timestamps
			for i := range got {
				got[i] = untimed(got[i])
			}
			for i := range want {
				want[i] = untimed(want[i])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: other cells came back", name)
		}
	}
}

var timestamp = regexp.MustCompile(` @\d+ `)

func untimed(cell string) string { return timestamp.ReplaceAllString(cell, " ") }

func TestExportRefusals(t *testing.T) {
	db, ctx, dir := openMemory(t), t.Context(), t.TempDir()
	m := write.NewMutation()
	m.SetAt("any", "a", 1, cells.I64(1))
	m.SetAt("any", "b", 1, cells.String("x"))
	n := write.NewMutation()
	n.SetAt("any", "a", 1, cells.String("text"))
	if err := errors.Join(db.Table("x").Apply(ctx, "r1", m), db.Table("x").Apply(ctx, "r2", n)); err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(dir, "there.csv")
	if err := os.WriteFile(there, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	column := func(q string) []transfer.Mapping { return []transfer.Mapping{{Family: "any", Qualifier: q}} }
	for want, spec := range map[string]transfer.ExportSpec{
		"only replaced when overwrite":      {Path: there},
		"cannot be told from its name":      {Path: filepath.Join(dir, "f.xls")},
		"export writes no TSV":              {Path: filepath.Join(dir, "f.tsv.gz")}, // it wrote commas
		"the name":                          {Path: filepath.Join(dir, "f.csv"), Format: "parquet"},
		"no such file or directory":         {Path: filepath.Join(dir, "none", "f.csv")},
		"is a directory":                    {Path: dir, Format: "csv"},
		"has no family":                     {Path: filepath.Join(dir, "f.csv"), Wide: []transfer.Mapping{{Family: "nope"}}},
		"two fields would be called":        {Path: filepath.Join(dir, "f.csv"), Wide: append(column("a"), column("a")...)},
		"is to be string, but family":       {Path: filepath.Join(dir, "f.csv"), Wide: []transfer.Mapping{{Family: "i32", Qualifier: "q", Type: cells.TypeString}}},
		`row "r2" has string in "any:a"`:    {Path: filepath.Join(dir, "f.csv"), Wide: column("a")},
		"there is no output":                {Path: "-"},
		"compressed inside; name it f.parq": {Path: filepath.Join(dir, "f.parquet.zst")},
	} {
		_, err := transfer.Export(ctx, db, "x", spec)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", spec, err, want)
		}
	}
	if text, err := os.ReadFile(there); err != nil || string(text) != "mine" {
		t.Errorf("the file that was there has %q, %v", text, err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := transfer.Export(cancelled, db, "x", transfer.ExportSpec{Path: filepath.Join(dir, "g.csv")}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if _, err := transfer.Export(ctx, db, "x", transfer.ExportSpec{Path: there, Overwrite: true}); err != nil {
		t.Error(err)
	}
}

func TestCellImportRefusals(t *testing.T) {
	db, ctx, dir := openMemory(t), t.Context(), t.TempDir()
	const head = "row,family,qualifier,timestamp,type,value\n"
	for want, text := range map[string]string{
		"does not say which fields are the key and the columns": "a,b\n1,2\n",
		"is for family \"nope\", which table y":                 head + "r,nope,q,1,i64,1\n",
		"has type i64, and family i32 is declared":              head + "r,i32,q,1,i64,1\n",
		"has the unknown type \"int\"":                          head + "r,any,q,1,int,1\n",
		"has a row key of 0 bytes":                              head + ",any,q,1,i64,1\n",
		"stands for nothing":                                    head + `r,any,q,1,string,\q` + "\n",
		"ends in a backslash":                                   head + `r,any,q,1,string,a\` + "\n",
		"two hexadecimal digits":                                head + `r,any,q,1,bytes,\x0` + "\n",
		"is not a whole number":                                 head + "r,any,q,1,i64,one\n",
		"is not valid UTF-8":                                    head + `r,any,q,1,string,\xff` + "\n",
		"is out of range":                                       head + "r,any,q,99999999999999999999,i64,1\n",
		"one of them is enough":                                 `{"row":"r","row_b64":"cg==","family":"any","qualifier":"q","timestamp":1,"type":"i64","value":1}`,
		"field row: is missing":                                 `{"family":"any","qualifier":"q","timestamp":1,"type":"i64","value":1}`,
		"field value_b64: is not base64":                        `{"row":"r","family":"any","qualifier":"q","timestamp":1,"type":"bytes","value_b64":"%"}`,
		"is for family \"sum\", which table y":                  head + "r,sum,,0,i64,1\n",
	} {
		path := filepath.Join(dir, "f.csv")
		if text[0] == '{' {
			path = filepath.Join(dir, "f.jsonl")
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := transfer.Import(ctx, db, "y", transfer.Spec{Path: path})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	path := filepath.Join(dir, "agg.csv")
	if err := os.WriteFile(path, []byte(head+"r,sum,,0,i64,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Import(ctx, db, "agg", transfer.Spec{Path: path}); err == nil || !strings.Contains(err.Error(), "which aggregates and cannot be set") {
		t.Errorf("into an aggregate: %v", err)
	}
}

// TestExportIsOneMoment exports while another goroutine writes pairs: no pair is torn,
// and rows that are larger than the part of a row that is held are whole.
func TestExportIsOneMoment(t *testing.T) {
	db, ctx := openMemory(t), t.Context()
	stop, done := make(chan struct{}), make(chan struct{})
	write := func(n int64) {
		m := write.NewMutation()
		m.SetAt("any", "n", 0, cells.I64(n))
		if err := db.Apply(ctx, write.NewBatch().Add("x", "a", m).Add("x", "z", m)); err != nil {
			t.Error(err)
		}
	}
	write(0)
	go func() {
		defer close(done)
		for n := int64(1); ; n++ {
			select {
			case <-stop:
				return
			default:
				write(n)
			}
		}
	}()
	for range 50 {
		var out bytes.Buffer
		if _, err := transfer.Export(ctx, db, "x", transfer.ExportSpec{Path: "-", Format: "csv", Out: &out}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 3 || strings.TrimPrefix(lines[1], "a") != strings.TrimPrefix(lines[2], "z") {
			t.Fatalf("exported %q", lines)
		}
	}
	close(stop)
	<-done
}

// TestParquetReadByOthers makes pyarrow read both forms, print every cell, and filter
// by the statistics.
func TestParquetReadByOthers(t *testing.T) {
	py := transfer.Python(t)
	db, ctx, dir := openMemory(t), t.Context(), t.TempDir()
	values := []cells.Value{
		cells.String("Ísafjörður"), cells.String(""), cells.Bytes([]byte{0, 255}), cells.Bool(true), cells.Byte(255), cells.I32(-5), cells.I64(math.MaxInt64),
		cells.F32(1.5), cells.F64(math.Inf(-1)), cells.F64(math.NaN()), cells.F64(math.Copysign(0, -1)), cells.F64(7), cells.F32(float32(math.NaN())),
	}
	for i, v := range values {
		m := write.NewMutation()
		m.SetAt("any", "q", cells.Timestamp(i), v)
		m.SetAt("i32", "n", 1, cells.I32(int32(i)))
		m.SetAt("any", "f", 1, cells.F64(float64(i)/2))
		if i == 3 {
			m.SetAt("any", "f", 1, cells.F64(math.NaN()))
		}
		if err := db.Table("x").Apply(ctx, fmt.Sprintf("row\x00%02d", i), m); err != nil {
			t.Fatal(err)
		}
	}
	long, wide := filepath.Join(dir, "long.parquet"), filepath.Join(dir, "wide.parquet")
	_, err := transfer.Export(ctx, db, "x", transfer.ExportSpec{Path: long})
	_, err2 := transfer.Export(ctx, db, "x", transfer.ExportSpec{Path: wide, Wide: []transfer.Mapping{
		{Family: "i32", Qualifier: "n"}, {Family: "any", Qualifier: "f", Field: "half"}, {Family: "any", Qualifier: "absent", Type: cells.TypeString},
	}})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "read.py")
	if err := os.WriteFile(script, []byte(readParquet), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(py, script, long, wide).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var want strings.Builder
	for row, err := range db.Table("x").ReadRows(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		for c := range row.Cells() {
			fmt.Fprintf(&want, "%x %s %x %d %x\n", row.Key(), c.Family, c.Qualifier, c.Timestamp, cells.AppendValue(nil, c.Value))
		}
	}
	want.WriteString("zstd RLE_DICTIONARY\nstatistics True\n")
	// Half of them are at least 3; the NaN is not.
	fmt.Fprintf(&want, "wide ['row', 'i32:n', 'half', 'any:absent'] int32 double string %d absent %d\n", len(values), len(values))
	want.WriteString("half >= 3: 7, < 1: 2, i32:n == 5: 1\n")
	if string(out) != want.String() {
		t.Errorf("read\n%s\nwant\n%s", out, want.String())
	}
}

const readParquet = `
import struct, sys
import pyarrow as pa, pyarrow.parquet as pq, pyarrow.compute as pc

tags = {"bytes": 1, "string": 2, "bool": 3, "byte": 4, "i32": 5, "i64": 6, "f32": 7, "f64": 8}
codes = {"bool": ">?", "byte": ">B", "i32": ">i", "i64": ">q", "f32": ">f", "f64": ">d"}
f = pq.ParquetFile(sys.argv[1])
t = f.read()
assert t.schema.field("timestamp").type == pa.timestamp("us", tz="UTC"), t.schema
stamps = t.column("timestamp").cast(pa.int64()).to_pylist()
rows = t.drop(["timestamp"]).to_pylist()
for ts, r in zip(stamps, rows):
    v = r["value_" + r["type"]]
    assert sum(r["value_" + n] is not None for n in tags) == 1, r
    if r["type"] == "bytes": raw = v
    elif r["type"] == "string": raw = v.encode()
    else: raw = struct.pack(codes[r["type"]], v)
    print(r["row"].hex(), r["family"], r["qualifier"].hex(), ts, bytes([tags[r["type"]]]).hex() + raw.hex())
c = f.metadata.row_group(0).column(0)
print(c.compression.lower(), "RLE_DICTIONARY" if "RLE_DICTIONARY" in c.encodings else c.encodings)
print("statistics", c.is_stats_set and c.statistics.has_min_max)

w = pq.read_table(sys.argv[2])
print("wide", w.schema.names, w.schema.field("i32:n").type, w.schema.field("half").type, w.schema.field("any:absent").type, w.num_rows, "absent", w.column("any:absent").null_count)
n = lambda flt: pq.read_table(sys.argv[2], filters=flt).num_rows
print("half >= 3: %d, < 1: %d, i32:n == 5: %d" % (n([("half", ">=", 3)]), n([("half", "<", 1)]), n([("i32:n", "==", 5)])))
`

// BenchmarkExport: rows with a whole number, a fraction, a word and a sentence.
func BenchmarkExport(b *testing.B) {
	db, ctx := openMemory(b), context.Background()
	const rows = 100_000
	for i := 0; i < rows; {
		var batch write.Batch
		for range 1000 {
			m := write.NewMutation()
			m.Set("any", "n", cells.I64(int64(i*i)))
			m.Set("any", "f", cells.F64(float64(i)/7))
			m.Set("any", "word", cells.String([]string{"KEF", "CPH", "OSL", "JFK"}[i%4]))
			m.Set("any", "text", cells.String(fmt.Sprintf("the flight number %d was %d minutes late", i*31%9973, i%97)))
			batch.Add("x", fmt.Sprintf("flight#TF-%03d#%08d", i%500, i), m)
			i++
		}
		if err := db.Apply(ctx, &batch); err != nil {
			b.Fatal(err)
		}
	}
	wide := []transfer.Mapping{{Family: "any", Qualifier: "n"}, {Family: "any", Qualifier: "f"}, {Family: "any", Qualifier: "word"}, {Family: "any", Qualifier: "text"}}
	for _, format := range []string{"parquet", "csv", "jsonl"} {
		for form, wide := range map[string][]transfer.Mapping{"long": nil, "wide": wide} {
			b.Run(format+"/"+form, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					res, err := transfer.Export(ctx, db, "x", transfer.ExportSpec{Path: "-", Format: format, Wide: wide, Out: io.Discard})
					if err != nil || res.Rows != rows {
						b.Fatal(res, err)
					}
					b.SetBytes(res.Bytes)
					b.ReportMetric(float64(res.Cells)/res.Elapsed.Seconds()/1e6, "Mcells/s")
				}
			})
		}
	}
}

// A line for each row has the newest value of each of its columns, under the column's
// name, whatever the bytes of keys and qualifiers.
func TestExportOfAllColumns(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "a"}, {Name: "b"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	m := write.NewMutation()
	m.SetAt("a", "n", 1, cells.I64(1))
	m.SetAt("a", "n", 2, cells.I64(-1<<53))
	m.Set("a", "large", cells.I64(1<<53+1))
	m.Set("a", "small", cells.I32(-7))
	m.Set("a", "nan", cells.F64(math.NaN()))
	m.Set("a", "f", cells.F32(0.5))
	m.Set("b", "", cells.Bool(true))
	m.Set("b", "x\xff\"y", cells.String("é\n<\""))
	m.Set("b", "raw", cells.Bytes([]byte("\x00\xff")))
	for _, key := range []string{"k", "\xff"} {
		if err := db.Table("t").Apply(t.Context(), key, m); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	res, err := transfer.Export(t.Context(), db, "t", transfer.ExportSpec{Path: "-", Out: &out, AllWide: true})
	if err != nil || res.Rows != 2 || res.Cells != 16 {
		t.Fatalf("%+v, %v", res, err)
	}
	const members = `,"a:f":0.5,"a:large":"9007199254740993","a:n":-9007199254740992,"a:nan":"NaN","a:small":-7,"b:":true,"b:raw_b64":"AP8=","b:x\\xff\"y":"é\n\u003c\""}` + "\n"
	if want := `{"row":"k"` + members + `{"row_b64":"/w=="` + members; out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	for _, as := range []string{"csv", "parquet"} {
		_, err := transfer.Export(t.Context(), db, "t", transfer.ExportSpec{Path: "-", Out: io.Discard, AllWide: true, Format: as})
		if _, ok := errors.AsType[*transfer.SpecError](err); !ok {
			t.Errorf("as %s: %v", as, err)
		}
	}
}

// No two columns of a row have one name in the JSON of all columns.
func TestAllWideGivesEachColumnAName(t *testing.T) {
	db := openMemory(t)
	export := func(key, bytes string, set func(*write.Mutation)) (string, error) {
		m := write.NewMutation()
		set(m)
		if err := db.Table("x").Apply(t.Context(), key, m); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		_, err := transfer.Export(t.Context(), db, "x", transfer.ExportSpec{Path: "-", Out: &out, AllWide: true, Bytes: bytes, Options: []read.Option{read.Key(key)}})
		return out.String(), err
	}
	got, err := export("escaped", "", func(m *write.Mutation) {
		m.Set("any", `\xff`, cells.I32(1))
		m.Set("any", "\xff", cells.I32(2))
	})
	if want := `{"row":"escaped","any:\\\\xff":1,"any:\\xff":2}` + "\n"; got != want || err != nil {
		t.Errorf("got %s%v, want %s", got, err, want)
	}
	ending := func(m *write.Mutation) {
		m.Set("any", "photo", cells.Bytes([]byte("x")))
		m.Set("any", "photo_b64", cells.String("text"))
		m.Set("two", "photo_b64", cells.String("of another family"))
	}
	got, err = export("ending", "", ending)
	if bad, ok := errors.AsType[*transfer.SpecError](err); !ok || !strings.Contains(bad.Problem, `row "ending"`) || !strings.Contains(bad.Problem, "bytes=hex") {
		t.Errorf("got %s%v", got, err)
	}
	got, err = export("ending", "hex", ending)
	if want := `{"row":"ending","any:photo_hex":"78","any:photo_b64":"text","two:photo_b64":"of another family"}` + "\n"; got != want || err != nil {
		t.Errorf("got %s%v, want %s", got, err, want)
	}
}

// TestWideCSVComesBack: every text and every number is the same after a wide export and an
// import, line ends and quotes too.
func TestWideCSVComesBack(t *testing.T) {
	db, ctx := openMemory(t), t.Context()
	text := rapid.StringOfN(rapid.RuneFrom([]rune("a,\"\r\n\t #\x00é\\")), 1, 6, -1)
	value := rapid.OneOf(
		rapid.Map(text, cells.String),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 4), cells.Bytes),
		rapid.Map(rapid.Bool(), cells.Bool), rapid.Map(rapid.Int64(), cells.I64), rapid.Map(rapid.Float64(), cells.F64), rapid.Map(rapid.Float32(), cells.F32),
	)
	rapid.Check(t, func(t *rapid.T) {
		if err := errors.Join(db.TruncateTable(ctx, "x"), db.TruncateTable(ctx, "y")); err != nil {
			t.Fatal(err)
		}
		var wide, back []transfer.Mapping
		m := write.NewMutation()
		for i, v := range rapid.SliceOfN(value, 1, 4).Draw(t, "values") {
			m.SetAt("any", fmt.Sprint(i), 1, v)
			wide = append(wide, transfer.Mapping{Family: "any", Qualifier: fmt.Sprint(i), Field: fmt.Sprint("f", i)})
			back = append(back, transfer.Mapping{Family: "any", Qualifier: fmt.Sprint(i), Field: fmt.Sprint("f", i), Type: v.Type()})
		}
		key := text.Draw(t, "key")
		if err := db.Table("x").Apply(ctx, key, m); err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if _, err := transfer.Export(ctx, db, "x", transfer.ExportSpec{Path: "-", Format: "csv", Out: &file, Wide: wide}); err != nil {
			t.Fatal(err)
		}
		exported := file.String()
		if _, err := transfer.Import(ctx, db, "y", transfer.Spec{Path: "stdin", Format: "csv", In: &file, Key: "{row}", Columns: back}); err != nil {
			t.Fatalf("%q: %v", exported, err)
		}
		values := func(table string) (all []string) {
			row, err := db.Table(table).ReadRow(ctx, key)
			if err != nil || row == nil {
				t.Fatalf("%s has row %v, %v", table, row, err)
			}
			for i := range wide {
				for v := range row.Versions("any", fmt.Sprint(i)) {
					all = append(all, fmt.Sprint(v.Value.Type(), cells.AppendValue(nil, v.Value)))
				}
			}
			return all
		}
		if got, want := values("y"), values("x"); !slices.Equal(got, want) {
			t.Fatalf("%q: imported %v, want %v", exported, got, want)
		}
	})
}

// A file that an export wrote is read as it writes: a key that is a quote says nothing about the file. Cells were
// lost when ' was taken for the quote.
func TestAnExportIsNotGuessedAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.csv")
	text := "row,family,qualifier,timestamp,type,value\n',any,a,0,bytes,\n',two,q,1,bytes,x\nk,any,a,2,f32,7.1e-43\nk,any,b,12154,i64,37462020656\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := transfer.Import(t.Context(), openMemory(t), "y", transfer.Spec{Path: path}); err != nil || got.Rows != 2 || got.Cells != 4 {
		t.Errorf("imported %+v, %v", got, err)
	}
}
