package transfer

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	meta "github.com/parquet-go/parquet-go/format"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/parquetrows"
)

var parquetFiles = flag.Int("parquet-files", 120, "how many Parquet files TestParquetOfOthersAtRandom reads")

// A parquetWant is what a Parquet file has: the names of its columns and their types,
// and the values of its rows, each as its type and its bytes in hexadecimal, or nil.
type parquetWant struct {
	columns [][2]string
	rows    [][]*string
}

// wanted reads another program's description of a file.
func wanted(t *testing.T, path string) (w parquetWant) {
	t.Helper()
	f, err := os.Open(strings.TrimSuffix(path, ".parquet") + ".want")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := json.NewDecoder(f)
	for err = d.Decode(&w.columns); err == nil; {
		var row []*string
		if err = d.Decode(&row); err == nil {
			w.rows = append(w.rows, row)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatalf("%s: %v", f.Name(), err)
	}
	return w
}

// readParquet reads columns of a file as an import does.
func readParquet(path string, columns [][2]string) (rows [][]*string, err error) {
	var names fieldNames
	for _, c := range columns {
		names.add(c[0], "columns", "")
	}
	src, err := openSource(context.Background(), path, nil, format{parquet: true}, nil)
	if err != nil {
		return nil, err
	}
	defer src.close()
	r, err := openRecords(format{parquet: true}, Dialect{}, path, src, &names)
	if err != nil {
		return nil, err
	}
	rec := &record{file: path, names: names.names, fields: make([]field, len(names.names))}
	for {
		switch err := r.next(rec); {
		case errors.Is(err, io.EOF):
			return rows, r.close()
		case err != nil:
			return rows, errors.Join(err, r.close())
		}
		row := make([]*string, len(columns))
		for i, f := range rec.fields {
			if f.state == absent {
				continue
			}
			typ, err := cells.ParseType(columns[i][1])
			if err != nil {
				return rows, err
			}
			v, problem := convert(f.text, typ)
			if problem != "" {
				return rows, rec.fault(i, "%s", problem)
			}
			text := hex.EncodeToString(cells.AppendValue(nil, v))
			row[i] = &text
		}
		rows = append(rows, row)
	}
}

// sameRows compares every value.
func sameRows(got [][]*string, want parquetWant) error {
	if len(got) != len(want.rows) {
		return fmt.Errorf("read %d rows, want %d", len(got), len(want.rows))
	}
	text := func(v *string) string {
		if v == nil {
			return "null"
		}
		return *v
	}
	for i, row := range want.rows {
		for c, v := range row {
			if g := got[i][c]; text(g) != text(v) {
				return fmt.Errorf("row %d, column %s: %s, want %s", i+1, want.columns[c][0], text(g), text(v))
			}
		}
	}
	return nil
}

// checkParquetFiles reads the files of a directory and compares every value.
func checkParquetFiles(t *testing.T, dir string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		if strings.Contains(path, "corrupt") {
			continue
		}
		want := wanted(t, path)
		got, err := readParquet(path, want.columns)
		if err == nil {
			err = sameRows(got, want)
		}
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}

// Python is a Python with pyarrow, from the environment or the system.
func Python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("SMOLWC_TEST_PYTHON"), "python3"} {
		if name != "" && exec.Command(name, "-c", "import pyarrow.parquet").Run() == nil {
			return name
		}
	}
	t.Skip("no Python with pyarrow, which knows Parquet independently of us; SMOLWC_TEST_PYTHON names one")
	return ""
}

const testFiles = "testdata/parquet"

// TestParquetOfOthers: files of other programs give the values that these programs
// read. The README of testdata names the programs.
func TestParquetOfOthers(t *testing.T) { checkParquetFiles(t, testFiles) }

// TestParquetOfOthersInEveryForm: every codec, encoding and page version, written by
// pyarrow, and by Polars and DuckDB if Python has them.
func TestParquetOfOthersInEveryForm(t *testing.T) { checkParquetFiles(t, madeFiles(t, "all")) }

// TestParquetOfOthersAtRandom: random data, with pages and row groups of random sizes.
func TestParquetOfOthersAtRandom(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Log("seed", seed)
	checkParquetFiles(t, madeFiles(t, "random", fmt.Sprint(*parquetFiles), fmt.Sprint(seed)))
}

// TestParquetTesting: of each file of apache/parquet-testing all values are those that
// pyarrow reads, and what pyarrow refuses is refused. SMOLWC_TEST_PARQUET names a copy of
// it.
func TestParquetTesting(t *testing.T) {
	files := os.Getenv("SMOLWC_TEST_PARQUET")
	if files == "" {
		t.Skip("SMOLWC_TEST_PARQUET names no copy of github.com/apache/parquet-testing")
	}
	var paths []string
	for _, dir := range []string{"data", "data/geospatial", "bad_data"} {
		more, err := filepath.Glob(filepath.Join(files, dir, "*.parquet"))
		if err != nil || len(more) == 0 {
			t.Fatalf("%s has %d files, %v", filepath.Join(files, dir), len(more), err)
		}
		paths = append(paths, more...)
	}
	alone := map[string]bool{ // valid, and pyarrow does not read their maps, or a time beyond 2262
		"incorrect_map_schema.parquet": true, "large_string_map.brotli.parquet": true, "int96_from_spark.parquet": true,
	}
	with := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return alone[filepath.Base(path)] })
	said, refused := runMake(t, append([]string{"try"}, with...)...)
	for _, path := range paths {
		name := filepath.Base(path)
		got, err := readParquet(path, everyColumn(path)) // lists and groups too
		bad := slices.Contains(strings.Fields(refused), name)
		if (err != nil || everyColumn(path) == nil) != bad {
			t.Errorf("%s: read %d rows, %v; pyarrow refuses it: %t", name, len(got), err, bad)
		}
		if bad || alone[name] {
			continue
		}
		want := wanted(t, filepath.Join(said, name))
		if len(want.columns) == 0 {
			continue
		}
		got, err = readParquet(path, want.columns)
		if err == nil {
			err = sameRows(got, want)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// everyColumn names the fields of a file, if it can be opened.
func everyColumn(path string) (columns [][2]string) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	file, err := parquetrows.Open(bytes.NewReader(content), int64(len(content)), plainText)
	if err != nil {
		return nil
	}
	for _, name := range file.Fields() {
		columns = append(columns, [2]string{name, "bytes"})
	}
	return columns
}

// madeFiles runs make.py to make files.
func madeFiles(t *testing.T, args ...string) (dir string) {
	t.Helper()
	dir, said := runMake(t, args...)
	t.Log(said)
	return dir
}

// runMake runs make.py for a new directory, and returns what it prints.
func runMake(t *testing.T, args ...string) (dir, said string) {
	t.Helper()
	dir = t.TempDir()
	cmd := exec.Command(Python(t), append([]string{filepath.Join(testFiles, "make.py"), dir}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir, string(out)
}

// TestParquetChecksums: a flipped byte of a page that has a checksum is an error that
// names the file, and its values are not returned.
func TestParquetChecksums(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(testFiles, "pyarrow-*-*.parquet"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := wanted(t, path)
		damaged := filepath.Join(t.TempDir(), filepath.Base(path))
		for _, page := range pagesOf(t, content, len(want.columns)) {
			at := page[0] + (page[1]-page[0])/2
			content[at] ^= 1
			if err := os.WriteFile(damaged, content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := readParquet(damaged, want.columns)
			says(t, err, damaged+": ", "its checksum is", "the data is damaged")
			content[at] ^= 1
		}
	}
	_, err = readParquet(filepath.Join(testFiles, "rle-dict-uncompressed-corrupt-checksum.parquet"), [][2]string{{"long_field", "i64"}})
	says(t, err, "its checksum is")
}

// pagesOf are the places of the data of a file's pages, for the first columns.
func pagesOf(t *testing.T, content []byte, columns int) (pages [][2]int) {
	t.Helper()
	file, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	for _, chunk := range file.Metadata().RowGroups[0].Columns[:columns] {
		md := chunk.MetaData
		at := int(md.DataPageOffset)
		if d := int(md.DictionaryPageOffset); d > 0 {
			at = d
		}
		for end := at + int(md.TotalCompressedSize); at < end; {
			var h meta.PageHeader
			r := new(thrift.CompactProtocol).NewReaderFromBytes(content[at:end])
			if err := thrift.NewDecoder(r).Decode(&h); err != nil {
				t.Fatal(err)
			}
			if h.CRC == 0 {
				t.Fatal("a page has no checksum")
			}
			at += r.BytesRead()
			if h.CompressedPageSize > 0 {
				pages = append(pages, [2]int{at, at + int(h.CompressedPageSize)})
			}
			at += int(h.CompressedPageSize)
		}
	}
	return pages
}

// TestParquetRowGroups: each row group has its own codecs, and the number of values in
// its metadata.
func TestParquetRowGroups(t *testing.T) {
	type line struct{ N int64 }
	var file bytes.Buffer
	var all meta.FileMetaData
	for i, codec := range []compress.Codec{&parquet.Snappy, &parquet.Uncompressed, &parquet.Zstd} {
		var one bytes.Buffer
		w := parquet.NewGenericWriter[line](&one, parquet.Compression(codec))
		_, err := w.Write([]line{{int64(i)}, {int64(i) + 10}})
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		pf, err := parquet.OpenFile(bytes.NewReader(one.Bytes()), int64(one.Len()))
		if err != nil {
			t.Fatal(err)
		}
		group := pf.Metadata().RowGroups[0]
		group.Columns[0].MetaData.DataPageOffset += int64(file.Len())
		groups := append(all.RowGroups, group)
		all = *pf.Metadata()
		all.RowGroups = groups
		file.Write(one.Bytes())
	}
	read := func(change func(*meta.FileMetaData)) (rows []string, err error) {
		changed := all
		changed.RowGroups = slices.Clone(all.RowGroups)
		change(&changed)
		footer, err := thrift.Marshal(new(thrift.CompactProtocol), &changed)
		if err != nil {
			t.Fatal(err)
		}
		content := append(slices.Clone(file.Bytes()), footer...)
		content = append(binary.LittleEndian.AppendUint32(content, uint32(len(footer))), "PAR1"...)
		got, err := readParquet(tempFile(t, "f.parquet", string(content)), [][2]string{{"N", "string"}})
		for _, r := range got {
			rows = append(rows, strings.TrimPrefix(*r[0], "02"))
		}
		return rows, err
	}
	rows, err := read(func(*meta.FileMetaData) {})
	if want := []string{"30", "3130", "31", "3131", "32", "3132"}; err != nil || !slices.Equal(rows, want) {
		t.Errorf("read %q, %v", rows, err)
	}
	_, err = read(func(m *meta.FileMetaData) { m.RowGroups[1].NumRows = 3 })
	says(t, err, `f.parquet: the Parquet data cannot be read after row 4: column "N": its values end before the row group does`)
	_, err = read(func(m *meta.FileMetaData) { m.RowGroups[1].NumRows = 1 })
	says(t, err, `column "N": page 1: it has more values than the row group has rows`)
	if rows, err := read(func(m *meta.FileMetaData) { m.RowGroups[1].NumRows = 0 }); err != nil || len(rows) != 4 {
		t.Errorf("an empty row group: %q, %v", rows, err)
	}
	chunk := func(change func(*meta.ColumnChunk)) func(*meta.FileMetaData) {
		return func(m *meta.FileMetaData) {
			m.RowGroups[0].Columns = slices.Clone(m.RowGroups[0].Columns)
			change(&m.RowGroups[0].Columns[0])
		}
	}
	_, err = read(chunk(func(c *meta.ColumnChunk) { c.MetaData.TotalCompressedSize-- }))
	says(t, err, "page 1: its header is damaged")
	_, err = read(chunk(func(c *meta.ColumnChunk) { c.MetaData.TotalCompressedSize = 1 << 40 }))
	says(t, err, "are not in the file")
	_, err = read(chunk(func(c *meta.ColumnChunk) { c.MetaData.Codec = meta.LZO }))
	says(t, err, "its compression LZO is not supported")
	_, err = read(chunk(func(c *meta.ColumnChunk) { c.FilePath = "other" }))
	says(t, err, `it is in another file, "other"`)
}

// TestParquetFieldsOfOneName are told apart by their places, and one without a name too.
func TestParquetFieldsOfOneName(t *testing.T) {
	type line struct{ A, B, C int64 }
	var file bytes.Buffer
	if err := parquet.Write(&file, []line{{1, 2, 3}}); err != nil {
		t.Fatal(err)
	}
	pf, err := parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	all := *pf.Metadata()
	all.Schema[2].Name, all.Schema[3].Name = "A", ""
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &all)
	if err != nil {
		t.Fatal(err)
	}
	content := append(file.Bytes(), footer...)
	content = append(binary.LittleEndian.AppendUint32(content, uint32(len(footer))), "PAR1"...)
	path := tempFile(t, "f.parquet", string(content))
	res, err := Import(t.Context(), pathsDB(t), "nowhere", Spec{Path: path, DryRun: true})
	if err != nil || len(res.Fields) != 3 || res.Fields[0].Field != "#1" || res.Fields[1].Field != "#2" || res.Fields[2].Field != "column3" {
		t.Errorf("%+v, %v", res.Fields, err)
	}
	rows, err := readParquet(path, [][2]string{{"#2", "string"}, {"column3", "string"}})
	if err != nil || len(rows) != 1 || *rows[0][0] != "0232" || *rows[0][1] != "0233" {
		t.Errorf("%v, %v", rows, err)
	}
	_, err = readParquet(path, [][2]string{{"A", "string"}})
	says(t, err, `field "A" twice, as fields 1 and 2`, "write #1 or #2")
}

// TestParquetFooterThatIsTooLarge: a list of two thousand million elements is refused
// before memory is allocated for them.
func TestParquetFooterThatIsTooLarge(t *testing.T) {
	many := []byte{0xfc, 0xff, 0xff, 0xff, 0xff, 0x07} // structs
	for name, footer := range map[string][]byte{
		"list":   append([]byte{0x15, 0x02, 0x19}, many...),
		"nested": append([]byte{0x15, 0x02, 0x19, 0x1c, 0x19}, many...),
		"text":   {0x15, 0x02, 0x28, 0xff, 0xff, 0xff, 0xff, 0x07},
		"deep":   bytes.Repeat([]byte{0x1c}, 1000),
		"cut":    {0x15},
		"map":    {0x1b, 0x01, 0x55, 0x00, 0x00},
	} {
		content := append([]byte("PAR1"), footer...)
		content = append(binary.LittleEndian.AppendUint32(content, uint32(len(footer))), "PAR1"...)
		_, err := readParquet(tempFile(t, "f.parquet", string(content)), [][2]string{{"a", "i64"}})
		says(t, err, "f.parquet: is not a Parquet file, or damaged: its footer is damaged")
		if t.Failed() {
			t.Fatal(name)
		}
	}
	_, err := readParquet(tempFile(t, "f.parquet", "PAR1\x08\x00\x00\xa2PAR1"), [][2]string{{"a", "i64"}})
	says(t, err, "its footer has 2717909000 bytes, and the file 12")
	_, err = readParquet(tempFile(t, "f.parquet", "PAR1"), [][2]string{{"a", "i64"}})
	says(t, err, "it is too short")
}

// FuzzParquet: no bytes may panic the reader.
func FuzzParquet(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join(testFiles, "*.parquet"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		path := tempFile(t, "f.parquet", string(content))
		columns := everyColumn(path)
		if columns == nil {
			return
		}
		if _, err := readParquet(path, columns); err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("%v does not name the file", err)
		}
	})
}
