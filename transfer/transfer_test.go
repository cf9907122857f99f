package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// fleet is the table that the tests import into.
var fleet = schema.Table{Name: "fleet", Families: []schema.Family{
	{Name: "meta"}, {Name: "loc", Type: cells.TypeString}, {Name: "delay", Type: cells.TypeI32},
}}

// A list is a sink that keeps the written rows.
type list struct {
	rows   []row
	writes int
	fail   func(write int, r row) error // for one row
	broken func(write int) error        // for a whole write
}

func (l *list) write(ctx context.Context, rows []row) ([]error, error) {
	l.writes++
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l.broken != nil {
		if err := l.broken(l.writes); err != nil {
			return nil, err
		}
	}
	var errs []error
	for i, r := range rows {
		if l.fail != nil {
			if err := l.fail(l.writes, r); err != nil {
				if errs == nil {
					errs = make([]error, len(rows))
				}
				errs[i] = err
				continue
			}
		}
		l.rows = append(l.rows, r)
	}
	return errs, nil
}

func (l *list) timesOf(context.Context, row) ([]cells.Timestamp, error) { return nil, nil }

// run imports into a sink.
func run(ctx context.Context, s Spec, table schema.Table, to sink) (Result, error) {
	im, err := newImporter(scratch(), s, table)
	if err != nil {
		return Result{}, err
	}
	im.sink = to
	return im.run(ctx)
}

// scratch is a database that keeps the accounts of imports into lists.
var scratch = sync.OnceValue(func() *query.DB {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		panic(err)
	}
	return db
})

// String has a line for each row: its key, then its cells.
func (l *list) String() string {
	var b strings.Builder
	for _, r := range l.rows {
		fmt.Fprintf(&b, "%q", r.key)
		for _, c := range r.cells {
			fmt.Fprintf(&b, " %s=%s(%s)", c.Column(), c.Value.Type(), c.Value)
			if c.Timestamp != serverTime {
				fmt.Fprintf(&b, "@%d", c.Timestamp)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// tempFile puts a file into the test's folder.
func tempFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// spec is a spec for a file: the key, then columns as fam:qual=field[:type].
func spec(t *testing.T, path, key string, columns ...string) Spec {
	t.Helper()
	s := Spec{Path: path, Key: key}
	for _, c := range columns {
		col, fieldName, _ := strings.Cut(c, "=")
		family, qualifier, _ := strings.Cut(col, ":")
		fieldName, typ, typed := strings.Cut(fieldName, ":")
		m := Mapping{Family: family, Qualifier: qualifier, Field: fieldName}
		if typed {
			var err error
			if m.Type, err = cells.ParseType(typ); err != nil {
				t.Fatal(err)
			}
		}
		s.Columns = append(s.Columns, m)
	}
	return s
}

// says checks that there is an error and that it contains these texts.
func says(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want %q", want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

const flights = `tailnum,year,month,day,carrier,flight,origin,dest,dep_delay
TF-FIR,2024,1,25,FI,318,KEF,OSL,-3
TF-FIR,2024,1,25,FI,319,OSL,KEF,NA
TF-ISX,2024,12,5,FI,1204,KEF,CPH,
`

func TestImport(t *testing.T) {
	for _, c := range []struct {
		name, file, content string
		spec                func(Spec) Spec
		key                 string
		columns             []string
		want                string
	}{
		{
			name: "flights", file: "flights.csv", content: flights,
			key:     "flight#{tailnum}#{year}-{month:02}-{day:02}#{carrier}{flight:03}",
			columns: []string{"loc:dest=dest", "delay:dep=dep_delay", "meta:flight=flight:i64"},
			spec:    func(s Spec) Spec { s.NA = "NA"; return s },
			want: `"flight#TF-FIR#2024-01-25#FI318" loc:dest=string(OSL) delay:dep=i32(-3) meta:flight=i64(318)
"flight#TF-FIR#2024-01-25#FI319" loc:dest=string(KEF) meta:flight=i64(319)
"flight#TF-ISX#2024-12-05#FI1204" loc:dest=string(CPH) meta:flight=i64(1204)
`,
		},
		{
			name: "CRLF, byte order mark, quotes, blank lines, line breaks in fields", file: "x.CSV",
			content: "\xef\xbb\xbfid,text\r\n\r\n1,\"a \"\"b\"\", c\"\r\n2,\"two\r\nlines\"\r\n",
			key:     "{id}", columns: []string{"meta:t=text"},
			want: `"1" meta:t=string(a "b", c)` + "\n" + `"2" meta:t=string(two` + "\r\n" + `lines)` + "\n",
		},
		{
			name: "no newline at the end", file: "x.csv", content: "id,n\n1,2",
			key: "{id}", columns: []string{"delay:n=n"}, want: `"1" delay:n=i32(2)` + "\n",
		},
		{
			name: "NA is only what was said, and stands in keys as written", file: "x.csv", content: "id,a,b\nNA,NA,x\n",
			key: "k#{id}#{a}", columns: []string{"meta:a=a", "meta:b=b"}, spec: func(s Spec) Spec { s.NA = "NA"; return s },
			want: `"k#NA#NA" meta:b=string(x)` + "\n",
		},
		{
			name: "an empty field in a key, braces", file: "x.csv", content: "id,a\n,1\n",
			key: "{{{id}}}#", columns: []string{"meta:a=a"}, want: `"{}#" meta:a=string(1)` + "\n",
		},
		{
			name: "every type", file: "x.csv", content: "id,s,b,t,i,l,f,d\n1,é,\xff,TRUE,2147483647,-9223372036854775808,1.5,1e300\n",
			key: "{id}", columns: []string{"meta:s=s", "meta:b=b:bytes", "meta:t=t:bool", "meta:y=id:byte", "meta:i=i:i32", "meta:l=l:i64", "meta:f=f:f32", "meta:d=d:f64"},
			want: `"1" meta:s=string(é) meta:b=bytes("\xff") meta:t=bool(true) meta:y=byte(1) meta:i=i32(2147483647) meta:l=i64(-9223372036854775808) meta:f=f32(1.5) meta:d=f64(1e+300)` + "\n",
		},
		{
			name: "whole numbers written as floats, and with spaces", file: "x.csv", content: "id,n\n1,12.0\n2, 7 \n",
			key: "{id}", columns: []string{"delay:n=n"}, want: "\"1\" delay:n=i32(12)\n\"2\" delay:n=i32(7)\n",
		},
		{
			name: "timestamps", file: "x.csv", content: "id,t\n1,1706140800000000\n2,2024-01-25\n3,2024-01-25T01:00:00.5+01:00\n4,2024-01-25 00:00:00\n4,0\n",
			key: "{id}", columns: []string{"meta:id=id"}, spec: func(s Spec) Spec { s.Timestamp = "t"; return s },
			want: `"1" meta:id=string(1)@1706140800000000
"2" meta:id=string(2)@1706140800000000
"3" meta:id=string(3)@1706140800500000
"4" meta:id=string(4)@1706140800000000
"4" meta:id=string(4)@0
`,
		},
		{
			name: "JSON lines", file: "x.ndjson",
			content: "\xef\xbb\xbf" + `{"id": 7, "big": 9223372036854775807, "s": "a\u00e9\ud83d\ude00\"", "t": true, "f": 1.5e2, "unused": {"a": [1, "}\""]}, "n": null}` + "\r\n\n" +
				`{"f":-0.5,"n":-1,"id":"x","un,used":[]}`,
			key: "{id}", columns: []string{"meta:big=big:i64", "meta:s=s", "meta:t=t:bool", "meta:f=f:f64", "delay:n=n"},
			want: `"7" meta:big=i64(9223372036854775807) meta:s=string(aé😀") meta:t=bool(true) meta:f=f64(150)
"x" meta:f=f64(-0.5) delay:n=i32(-1)
`,
		},
		{
			name: "JSON numbers as strings keep their digits", file: "x.jsonl", content: `{"id":123456789012345678901234567890,"v":1.10}`,
			key: "{id:032}", columns: []string{"meta:v=v:string"}, want: `"00123456789012345678901234567890" meta:v=string(1.10)` + "\n",
		},
		{
			name: "TSV, quotes and escapes", file: "x.tsv", content: "id\ta\tb\r\n\r\n1\t\"x\" y\tC:\\\\new\\tz\\q\\\r\n2\t\\u00fc\\x41\\xzz\t",
			key: "{id}", columns: []string{"meta:a=a", "meta:b=b"},
			want: `"1" meta:a=string("x" y) meta:b=string(C:\new` + "\tz" + `\q\)` + "\n" + `"2" meta:a=string(üA\xzz)` + "\n",
		},
		{
			name: "JSON gives values their types", file: "x.jsonl", content: `{"id":1,"n":7,"f":1.5,"b":true,"s":"7","e":"","o":null,"big":12345678901234567890}`,
			key: "{id}", columns: []string{"meta:n=n", "meta:f=f", "meta:b=b", "meta:s=s", "meta:e=e", "meta:o=o", "meta:big=big"},
			want: `"1" meta:n=i64(7) meta:f=f64(1.5) meta:b=bool(true) meta:s=string(7) meta:big=string(12345678901234567890)` + "\n",
		},
		{
			name: "a JSON number beyond f64 is text", file: "x.jsonl", content: `{"id":1,"n":1e400,"o":{"m":-1.5E999}}`,
			key: "{id}", columns: []string{"meta:n=n", "meta:o=$.o.m"}, want: `"1" meta:n=string(1e400) meta:o=string(-1.5E999)` + "\n",
		},
		{
			name: "a header alone", file: "x.csv", content: "id,a\n", key: "{id}", columns: []string{"meta:a=a"},
		},
		{
			name: "an empty JSON file", file: "x.jsonl", content: "", key: "{id}", columns: []string{"meta:a=a"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := spec(t, tempFile(t, c.file, c.content), c.key, c.columns...)
			if c.spec != nil {
				s = c.spec(s)
			}
			var to list
			res, err := run(t.Context(), s, fleet, &to)
			if err != nil {
				t.Fatal(err)
			}
			if got := to.String(); got != c.want {
				t.Errorf("imported\n%swant\n%s", got, c.want)
			}
			if res.Records != int64(len(to.rows)) {
				t.Errorf("result %+v for %d rows", res, len(to.rows))
			}
		})
	}
}

func TestSpecsThatCannotBe(t *testing.T) {
	path := tempFile(t, "f.csv", "id,tailnum,tailnum,dep_delay\n1,a,b,2\n")
	good := spec(t, path, "{id}", "delay:dep=dep_delay")
	with := func(f func(*Spec)) Spec { s := good; f(&s); return s }
	for _, c := range []struct {
		name string
		spec Spec
		want []string
	}{
		{"unknown field in the key", with(func(s *Spec) { s.Key = "{idd}" }), []string{"key=", `"idd"`, `did you mean "id"`}},
		{"unknown field in a column", spec(t, path, "{id}", "delay:dep=depdelay"), []string{"columns=", `"depdelay"`, `did you mean "dep_delay"`, "id, tailnum, tailnum, dep_delay"}},
		{"unknown timestamp field", with(func(s *Spec) { s.Timestamp = "when" }), []string{"ts=", `"when"`}},
		{"field that is there twice", with(func(s *Spec) { s.Key = "{tailnum}" }), []string{`"tailnum" twice`, "fields 2 and 3"}},
		{"no key", with(func(s *Spec) { s.Key = "" }), []string{"key=", "no field"}},
		{"constant key", with(func(s *Spec) { s.Key = "plane" }), []string{"names no field"}},
		{"open brace", with(func(s *Spec) { s.Key = "a{id" }), []string{"{ without }", "byte 2"}},
		{"brace in a brace", with(func(s *Spec) { s.Key = "a{i{d}" }), []string{"{ without }"}},
		{"closing brace", with(func(s *Spec) { s.Key = "a}{id}" }), []string{"} without {", "byte 2"}},
		{"empty braces", with(func(s *Spec) { s.Key = "a{}" }), []string{"{} names no field"}},
		{"padding without zero", with(func(s *Spec) { s.Key = "{id:2}" }), []string{"{id:2}", "{id:02}"}},
		{"padding too wide", with(func(s *Spec) { s.Key = "{id:0999}" }), []string{"{id:0999}", "32"}},
		{"padding of nothing", with(func(s *Spec) { s.Key = "{:02}" }), []string{"names no field"}},
		{"no columns", with(func(s *Spec) { s.Columns = nil }), []string{"columns="}},
		{"unknown family", spec(t, path, "{id}", "dlay:dep=dep_delay"), []string{`no family "dlay"`, `did you mean "delay"`}},
		{"type against the declared one", spec(t, path, "{id}", "delay:dep=dep_delay:i64"), []string{"delay:dep", "i64", "i32"}},
		{"column twice", spec(t, path, "{id}", "meta:a=id", "meta:a=dep_delay"), []string{"meta:a", "two fields"}},
		{"column of no field", spec(t, path, "{id}", "meta:a="), []string{"meta:a", "no field"}},
		{"qualifier too long", spec(t, path, "{id}", "meta:"+strings.Repeat("q", cells.MaxQualifier+1)+"=id"), []string{"16385", "16384"}},
		{"unknown format", with(func(s *Spec) { s.Path = "f.parquet.gz" }), []string{"f.parquet.gz", ".csv"}},
		{"negative tolerance", with(func(s *Spec) { s.BadLines = -1 }), []string{"bad-lines=", "-1"}},
		{"negative batch", with(func(s *Spec) { s.Batch = -1 }), []string{"batch=", "-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var to list
			_, err := run(t.Context(), c.spec, fleet, &to)
			says(t, err, c.want...)
			if _, ok := errors.AsType[*SpecError](err); !ok {
				t.Errorf("error %v is a %T", err, err)
			}
			if to.writes != 0 {
				t.Error("something was written")
			}
		})
	}
}

func TestJSONFieldThatNoLineHas(t *testing.T) {
	path := tempFile(t, "f.jsonl", `{"id":1,"model":"a"}`+"\n"+`{"id":2,"seats":9}`+"\n")
	var to list
	_, err := run(t.Context(), spec(t, path, "{id}", "meta:m=modell"), fleet, &to)
	says(t, err, "columns=", `"modell"`, `did you mean "model"`, "(the fields are id, model, seats)") // as the file has them
	_, err = run(t.Context(), spec(t, path, "{ix}", "meta:m=model"), fleet, &to)
	says(t, err, "key=", `"ix"`, `did you mean "id"`)
	if to.writes != 0 {
		t.Error("something was written")
	}
}

// Each file has a bad line, or is wrong as a whole; the good lines before it must not
// be written either.
func TestBadLines(t *testing.T) {
	for _, c := range []struct {
		name, file, content, want string // want follows the path
	}{
		{"not a number", "f.csv", "id,n\n1,1\n2,x\n3,3\n", `:3: field n: "x" is not a whole number; i32 is -2147483648 to 2147483647 (for delay:n); nothing was imported`},
		{"too large", "f.csv", "id,n\n1,1\n2,2147483648\n", `:3: field n: "2147483648" does not fit i32, which is -2147483648 to 2147483647`},
		{"far too large", "f.csv", "id,n\n1,99999999999999999999\n", `:2: field n: "99999999999999999999" does not fit i32`},
		{"a fraction", "f.csv", "id,n\n1,1.5\n", `:2: field n: "1.5" is not a whole number`},
		{"too few fields", "f.csv", "id,n\n1,1\n2\n", ":3: has 1 field, the header has 2"},
		{"too many fields", "f.csv", "id,n\n1,1,1\n", ":2: has 3 fields, the header has 2"},
		{"text after a quote", "f.csv", "id,n\n1,1\n\"2\"x,1\n", ":3: a quote that is not closed, or text after the closing one, at byte 3"},
		{"quote not closed", "f.csv", "id,n\n1,1\n\"2,1\n3,1\n4,1\n", ":3: a quote that is opened here is closed wrongly or not at all, up to line"},
		{"line after a field of two lines", "f.csv", "id,n,s\n1,1,\"a\nb\"\n2,x,\n", ":4: field n:"},
		{"empty key", "f.csv", "id,n\n1,1\n,2\n", ":3: makes a row key of 0 bytes; a row key has 1 to 4096"},
		{"long key", "f.csv", "id,n\n" + strings.Repeat("k", 4097) + ",2\n", ":2: makes a row key of 4097 bytes"},
		{"same key again", "f.csv", "id,n\n1,1\n2,2\n1,3\n", `:4: makes the row key "1", which line 2 made`},
		{"invalid UTF-8", "f.csv", "id,n,s\n1,1,\xff\n", `:2: field s: "\xff" is not valid UTF-8`},
		{"JSON cut short", "f.jsonl", `{"id":1,"n":1}` + "\n" + `{"id":2,`, ":2: is not JSON: unexpected end of JSON input, at byte 8"},
		{"JSON list", "f.jsonl", "[1,2]\n", ":1: is not a JSON object"},
		{"two objects on a line", "f.jsonl", `{"id":1}{"id":2}`, ":1: is not JSON"},
		{"JSON nested", "f.jsonl", `{"id":1,"n":{"a":1}}`, ":1: field n: is an object or a list here; delay:n takes i32"},
		{"JSON nested in the key", "f.jsonl", `{"id":[1],"n":1}`, ":1: field id: is an object or a list here"},
		{"JSON null in the key", "f.jsonl", `{"id":1,"n":1}` + "\n" + `{"id":null,"n":1}`, ":2: field id: has no value here"},
		{"JSON name twice", "f.jsonl", `{"id":1,"n":1,"n":2}`, ":1: field n: occurs twice"},
		{"JSON big number", "f.jsonl", `{"id":1,"n":9007199254740993}`, `:1: field n: "9007199254740993" does not fit i32`},
		{"JSON invalid UTF-8", "f.jsonl", "{\"id\":1,\"n\":\"\xff\"}", ":1: is not valid UTF-8"},
		{"JSON half a surrogate pair", "f.jsonl", `{"id":"\ud83d","n":1}`, ":1: field id: has half of a surrogate pair"},
		{"empty file", "f.csv", "", ": the file is empty; the first line of a CSV or TSV file names its fields"},
		{"UTF-16 without a mark", "f.csv", "i\x00d\x00\n\x00", ": the file is UTF-16LE; encoding=utf-16le reads it"},
		{"bad header", "f.csv", "id,\"n\nx", ":1: a quote that is opened here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := tempFile(t, c.file, c.content)
			s := spec(t, path, "{id}", "delay:n=n")
			if strings.HasPrefix(c.content, "id,n,s\n") {
				s = spec(t, path, "{id}", "delay:n=n", "meta:s=s")
			}
			s.Batch = 1
			var to list
			_, err := run(t.Context(), s, fleet, &to)
			says(t, err, path+c.want, "; nothing was imported")
			if to.writes != 0 {
				t.Error("something was written")
			}
		})
	}
}

func TestPaddingTakesDigits(t *testing.T) {
	for _, v := range []string{"x", "-1", "", "NA", "1.0"} {
		path := tempFile(t, "f.csv", "id,n\n"+v+",1\n")
		_, err := run(t.Context(), spec(t, path, "{id:03}", "delay:n=n"), fleet, &list{})
		says(t, err, path+":2: field id: ", fmt.Sprintf("%q cannot be padded to 3 digits", v))
	}
}

func TestToleratedBadLines(t *testing.T) {
	path := tempFile(t, "f.csv", "id,n\n1,1\n2,x\n3\n4,4\n1,9\n")
	s := spec(t, path, "{id}", "delay:n=n")
	s.BadLines = 2
	var warnings bytes.Buffer
	s.Warn = &warnings
	var to list
	_, err := run(t.Context(), s, fleet, &to)
	says(t, err, ":6: makes the row key", "one of 3 bad lines; bad-lines=3", "nothing was imported")
	if e, ok := errors.AsType[*LineError](err); !ok || e.Line != 6 {
		t.Errorf("cause %#v", e)
	}
	if to.writes != 0 {
		t.Error("something was written")
	}
	warnings.Reset()
	s.BadLines = 3
	res, err := run(t.Context(), s, fleet, &to)
	if err != nil || res.Rows != 2 || res.BadLines != 3 || res.Cells != 2 {
		t.Errorf("result %+v, %v", res, err)
	}
	if got, want := to.String(), "\"1\" delay:n=i32(1)\n\"4\" delay:n=i32(4)\n"; got != want {
		t.Errorf("imported %s", got)
	}
	for _, w := range []string{":3: field n:", ":4: has 1 field", ":6: makes the row key"} {
		if strings.Count(warnings.String(), path+w) != 1 {
			t.Errorf("warnings %q lack %q", &warnings, w)
		}
	}
}

// A quote that is not closed takes the rest of the file with it, so it must
// not count as one bad line.
func TestOpenQuoteCountsEveryLineItTakes(t *testing.T) {
	path := tempFile(t, "f.csv", "id,n\n\"1,1\n2,2\n3,3\n4,4\n")
	s := spec(t, path, "{id}", "delay:n=n")
	s.BadLines = 1
	_, err := run(t.Context(), s, fleet, &list{})
	says(t, err, ":2: a quote that is opened here", "nothing was imported")
}

func TestLinesWithoutCells(t *testing.T) {
	path := tempFile(t, "f.csv", "id,n\n1,NA\n2,2\n3,\n")
	s := spec(t, path, "{id}", "delay:n=n")
	s.NA = "NA"
	var to list
	res, err := run(t.Context(), s, fleet, &to)
	if err != nil || res.Rows != 1 || res.NoCells != 2 || res.BadLines != 0 {
		t.Errorf("result %+v, %v", res, err)
	}
}

func TestCompression(t *testing.T) {
	pack := map[string]func(io.Writer) io.WriteCloser{
		".gz":  func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		".zst": func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
	}
	var text strings.Builder
	text.WriteString("id,n\n")
	for i := range 20_000 {
		fmt.Fprintf(&text, "%d,%d\n", i, i*7919%100_003)
	}
	for ext, newWriter := range pack {
		var packed bytes.Buffer
		w := newWriter(&packed)
		if _, err := io.WriteString(w, text.String()); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		load := func(content string) (Result, int, error) {
			var to list
			s := spec(t, tempFile(t, "f.csv"+ext, content), "{id}", "delay:n=n")
			res, err := run(t.Context(), s, fleet, &to)
			return res, to.writes, err
		}
		if res, _, err := load(packed.String()); err != nil || res.Rows != 20_000 {
			t.Errorf("%s: %+v, %v", ext, res, err)
		}
		for _, cut := range []int{0, 1, 5, packed.Len() / 2, packed.Len() - 1} {
			_, writes, err := load(packed.String()[:cut])
			says(t, err, "f.csv"+ext+": ", "nothing was imported")
			if writes != 0 {
				t.Errorf("%s cut at %d: something was written", ext, cut)
			}
		}
		_, _, err := load(packed.String()[:packed.Len()/2])
		says(t, err, "is cut off after line")
		_, _, err = load(text.String())
		says(t, err, "is not ", " data")
		damaged := bytes.Clone(packed.Bytes())
		damaged[len(damaged)/2] ^= 0x55
		_, writes, err := load(string(damaged))
		says(t, err, "nothing was imported")
		if writes != 0 {
			t.Errorf("%s damaged: something was written", ext)
		}
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "d.csv"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := run(t.Context(), spec(t, filepath.Join(dir, "d.csv"), "{id}", "meta:a=a"), fleet, &list{})
	says(t, err, "d.csv: is a directory")
	_, err = run(t.Context(), spec(t, filepath.Join(dir, "no.csv"), "{id}", "meta:a=a"), fleet, &list{})
	says(t, err, "no.csv: no such file")
	if !errors.Is(err, os.ErrNotExist) {
		t.Error("not os.ErrNotExist")
	}
}

// A pipe is read once: rows written before the bad line stay, and the error has their
// number.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.csv")
	if err := Mkfifo(path); err != nil {
		t.Skip("no named pipes here:", err)
	}
	feed := func(text string) {
		go func() {
			if err := os.WriteFile(path, []byte(text), 0); err != nil {
				t.Error(err)
			}
		}()
	}
	s := spec(t, path, "{id}", "delay:n=n")
	s.Batch = 2
	feed("id,n\n1,1\n2,2\n3,3\n")
	var to list
	if res, err := run(t.Context(), s, fleet, &to); err != nil || res.Rows != 3 {
		t.Fatalf("%+v, %v", res, err)
	}
	feed("id,n\n1,1\n2,2\n3,3\n4,x\n5,5\n")
	to = list{}
	res, err := run(t.Context(), s, fleet, &to)
	says(t, err, ":5: field n:", "the 2 rows imported before it stay")
	if res.Rows != 2 || len(to.rows) != 2 {
		t.Errorf("result %+v for %d rows", res, len(to.rows))
	}
	if e, ok := errors.AsType[*Error](err); !ok || e.Rows != 2 {
		t.Errorf("error %#v", err)
	}
}

func TestWriteFailures(t *testing.T) {
	var text strings.Builder
	text.WriteString("id,n\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "%d,%d\n", i, i)
	}
	path := tempFile(t, "f.csv", text.String())
	s := spec(t, path, "{id}", "delay:n=n")
	s.Batch = 10
	broken := errors.New("disk full")
	to := list{broken: func(n int) error {
		if n == 4 {
			return broken
		}
		return nil
	}}
	res, err := run(t.Context(), s, fleet, &to)
	says(t, err, "disk full", "the 30 rows imported before it stay")
	if !errors.Is(err, broken) || res.Rows != 30 || to.writes != 4 {
		t.Errorf("%+v after %d writes", res, to.writes)
	}
	to = list{fail: func(_ int, r row) error {
		if r.key == "25" {
			return broken
		}
		return nil
	}}
	res, err = run(t.Context(), s, fleet, &to)
	says(t, err, path+":27: disk full", "the 29 rows imported before it stay")
	if res.Rows != 29 {
		t.Errorf("%+v", res)
	}
}

func TestBatches(t *testing.T) {
	var text strings.Builder
	text.WriteString("id,v\n")
	for i := range 9 {
		fmt.Fprintf(&text, "%d,%s\n", 9-i, strings.Repeat("x", 3<<20))
	}
	to := list{}
	if _, err := run(t.Context(), spec(t, tempFile(t, "f.csv", text.String()), "{id}", "meta:v=v"), fleet, &to); err != nil {
		t.Fatal(err)
	}
	if to.writes != 3 {
		t.Errorf("27 MiB in %d writes", to.writes)
	}
	var keys string
	for _, r := range to.rows {
		keys += r.key
	}
	if keys != "789456123" {
		t.Errorf("keys in the order %s: not sorted in batches of three", keys)
	}
}

func TestCancel(t *testing.T) {
	path := tempFile(t, "f.csv", flights)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := run(ctx, spec(t, path, "{flight}", "loc:dest=dest"), fleet, &list{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	s := spec(t, path, "{flight}", "loc:dest=dest")
	s.Batch = 1
	to := list{fail: func(n int, _ row) error {
		if n == 1 {
			cancel()
		}
		return nil
	}}
	_, err = run(ctx, s, fleet, &to)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	says(t, err, "rows imported before it stay")
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	s := spec(t, tempFile(t, "f.csv", flights), "{flight}", "loc:dest=dest")
	s.Progress = &out
	if _, err := run(t.Context(), s, fleet, &list{}); err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"checking", "importing"} {
		if !strings.Contains(out.String(), w) {
			t.Errorf("progress %q lacks %q", &out, w)
		}
	}
}

// No bytes may panic the reader or pass it without checks.
func FuzzImport(f *testing.F) {
	f.Add("f.csv", []byte(flights))
	f.Add("f.csv", []byte("tailnum,dest\n\"a\"\"\",\"b\nc\"\n"))
	f.Add("f.jsonl", []byte(`{"tailnum":"a\u00e9","dest":[{}],"x":{"y":"\\\""}, "z" : -1e5 }`))
	f.Add("f.csv.gz", []byte("\x1f\x8b\x08\x00"))
	f.Add("f.csv.zst", []byte("\x28\xb5\x2f\xfd"))
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		if _, err := formatOf(name); err != nil || strings.ContainsAny(name, "/\x00") || len(name) > 100 {
			return
		}
		s := spec(t, tempFile(t, name, string(content)), "{tailnum}", "loc:dest=dest", "delay:d=dep_delay")
		s.BadLines = len(content)
		var to list
		if _, err := run(t.Context(), s, fleet, &to); err != nil && to.writes > 0 {
			t.Fatalf("%v after %d writes", err, to.writes)
		}
		for _, r := range to.rows {
			for _, c := range r.cells {
				if err := c.Value.Check(); err != nil {
					t.Fatalf("%s: %v", r.key, err)
				}
			}
		}
	})
}

// No bytes of a long form, in particular of Parquet's many forms, may panic the reader
// or pass it without checks.
func FuzzImportCells(f *testing.F) {
	p := newParquetCells()
	var file bytes.Buffer
	c := newChunk()
	for i, v := range []cells.Value{cells.String("a\x00"), cells.Bytes([]byte{0xff}), cells.Bool(true), cells.Byte(1), cells.I32(-1), cells.I64(1), cells.F32(1), cells.F64(math.NaN())} {
		c.keys = append(c.keys, "row")
		c.cells = append(c.cells, cells.Cell{Family: "meta", Qualifier: fmt.Sprint(i), Timestamp: 1, Value: v})
	}
	err := p.begin(&file)
	out, err2 := p.encode(c)
	if err := errors.Join(err, err2, p.write(out), p.end()); err != nil {
		f.Fatal(err)
	}
	f.Add("f.parquet", file.Bytes())
	f.Add("f.csv", []byte("row,family,qualifier,timestamp,type,value\nr,meta,q\\x00,1,f64,NaN(0x7ff8000000000123)\nr,meta,b,0,bytes,\\xff\n"))
	f.Add("f.jsonl", []byte(`{"row_b64":"/w==","family":"meta","qualifier":"q","timestamp":1,"type":"bytes","value_b64":"AP8="}`+"\n"))
	f.Add("f.jsonl", []byte(`{"row":"r","family":"meta","qualifier":"q","timestamp":1,"type":"i64","value":"-9223372036854775808"}`+"\n"))
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		if name != "f.parquet" && name != "f.csv" && name != "f.jsonl" {
			return
		}
		var to list
		s := Spec{Path: tempFile(t, name, string(content)), BadLines: len(content)}
		if _, err := run(t.Context(), s, fleet, &to); err != nil && to.writes > 0 {
			t.Fatalf("%v after %d writes", err, to.writes)
		}
		for _, r := range to.rows {
			for _, c := range r.cells {
				if err := errors.Join(c.Value.Check(), c.Timestamp.Check()); err != nil {
					t.Fatalf("%s: %v", r.key, err)
				}
			}
		}
	})
}
