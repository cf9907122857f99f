package transfer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// csvOf reads all records of a text.
func csvOf(text string, size int) (records [][]string, err error) {
	c := newCSVRecords(&textLines{in: bufio.NewReaderSize(strings.NewReader(text), size)}, "", &Dialect{})
	for {
		fields, err := c.read()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		records = append(records, slices.Clone(fields))
	}
}

// TestCSVKeepsEveryByte: what is written comes back, whatever ends the lines, and wherever
// a buffer ends.
func TestCSVKeepsEveryByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.StringOfN(rapid.RuneFrom([]rune("a,\"\r\n\t \x00é#'\\")), 0, 6, -1)
		want := rapid.SliceOfN(rapid.SliceOfN(field, 2, 4), 0, 6).Draw(t, "records")
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"})
		var text strings.Builder
		for i, record := range want {
			for j, f := range record {
				if j > 0 {
					text.WriteByte(',')
				}
				if strings.ContainsAny(f, ",\"\r\n") || rapid.Bool().Draw(t, "quoted") {
					f = `"` + strings.ReplaceAll(f, `"`, `""`) + `"`
				}
				text.WriteString(f)
			}
			if i < len(want)-1 || rapid.Bool().Draw(t, "an end") {
				text.WriteString(end.Draw(t, "end"))
			}
		}
		got, err := csvOf(text.String(), rapid.IntRange(16, 40).Draw(t, "buffer"))
		if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%q\nread %q, %v\nwant %q", text.String(), got, err, want)
		}
	})
}

// TestCSVLikeTheStandardLibrary: without CR, what encoding/csv reads are the same records.
// It refuses quotes within a field and after a space, which are text or quotes here.
func TestCSVLikeTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab,\"\n ")), 0, 20, -1).Draw(t, "text")
		in := csv.NewReader(strings.NewReader(text))
		in.FieldsPerRecord = -1
		want, wantErr := in.ReadAll()
		got, err := csvOf(text, 16)
		if wantErr == nil && (err != nil || !slices.EqualFunc(got, want, slices.Equal)) {
			t.Fatalf("%q\nread %q, %v\nwant %q, %v", text, got, err, want, wantErr)
		}
	})
}

// TestLinesThatEndInCR: files of old Macs have rows, and so have those with several ends.
func TestLinesThatEndInCR(t *testing.T) {
	for _, c := range []struct{ name, file, content, want string }{
		{"CR", "f.csv", "id,a\r1,x\r2,y\r", "1=x 2=y"},
		{"CR, no end", "f.csv", "id,a\r1,x\r2,y", "1=x 2=y"},
		{"mixed", "f.csv", "id,a\n1,x\r2,y\r\n3,z", "1=x 2=y 3=z"},
		{"CR before CRLF", "f.csv", "id,a\r\r\n1,x\r\r\n2,y\r\r\n", "1=x 2=y"},
		{"CR and quotes", "f.csv", "id,\"a\"\r1,\"x\ry\"\r\"2\",\"\"\"\r\"\r", "1=x\ry 2=\"\r"},
		{"CRLF in quotes", "f.csv", "id,a\r\n1,\"x\r\ny\"\r\n", "1=x\r\ny"},
		{"LF in quotes, CRLF outside", "f.csv", "id,a\r\n1,\"x\ny\"\r\n", "1=x\ny"},
		{"TSV", "f.tsv", "id\ta\r1\tx\r2\ty\\r\r", "1=x 2=y\r"},
		{"TSV, mixed", "f.tsv", "id\ta\r\n1\tx\n2\ty\r", "1=x 2=y"},
	} {
		var to list
		if _, err := run(t.Context(), spec(t, tempFile(t, c.file, c.content), "{id}", "meta:a=a"), fleet, &to); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var got []string
		for _, r := range to.rows {
			text, _ := r.cells[0].Value.AsString()
			got = append(got, r.key+"="+text)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	_, err := run(t.Context(), spec(t, tempFile(t, "f.csv", "id,a\r1,x\r2\r"), "{id}", "meta:a=a"), fleet, &list{})
	says(t, err, "f.csv:3: has 1 field, the header has 2")
	_, err = run(t.Context(), spec(t, tempFile(t, "f.jsonl", "{\"id\":1,\"a\":\"x\"}\r{\"id\":2}\r"), "{id}", "meta:a=a"), fleet, &list{})
	says(t, err, "f.jsonl:1: ")
}

// TestNamesOfFields: a field without a name, or with that of another, has a name of its own
// in a dry run, which the import takes, and any field may be named by its place.
func TestNamesOfFields(t *testing.T) {
	db := pathsDB(t)
	for header, names := range map[string][]string{
		"a,,":            {"a", "column2", "column3"},
		",name,x":        {"column1", "name", "x"},
		",,":             {"column1", "column2", "column3"},
		`"","a",""`:      {"column1", "a", "column3"},
		"a,a,b":          {"#1", "#2", "b"},
		"a,a,a":          {"#1", "#2", "#3"},
		"column2,,x":     {"column2", "#2", "x"},
		"#2,,column2":    {"#2", "##2", "column2"},
		"a,a,#1":         {"##1", "#2", "#1"},
		"#2,#1,x":        {"#2", "#1", "x"},
		"a b,c:02,{d}":   {"a b", "c:02", "{d}"},
		" , a ,\u00a0":   {" ", " a ", "\u00a0"},
		"\xef\xbb\xbf,,": {"column1", "column2", "column3"},
	} {
		text := header + "\nk,2,3\n"
		look := Spec{Path: "stdin", Format: "csv", DryRun: true, In: strings.NewReader(text)}
		res, err := Import(t.Context(), db, "nowhere", look)
		var listed []string
		for _, f := range res.Fields {
			listed = append(listed, f.Field)
		}
		if err != nil || !slices.Equal(listed, names) {
			t.Errorf("%q lists %q, %v; want %q", header, listed, err, names)
			continue
		}
		for i, name := range names[1:] {
			var to list
			s := Spec{Path: "stdin", Format: "csv", In: strings.NewReader(text), Key: "{" + names[0] + "}", Columns: []Mapping{{Family: "meta", Qualifier: "q", Field: name}}}
			if _, err := run(t.Context(), s, fleet, &to); err != nil || to.String() != fmt.Sprintf("\"k\" meta:q=string(%d)\n", i+2) {
				t.Errorf("%q, field %q: %s, %v", header, name, &to, err)
			}
		}
	}
	var to list
	s := Spec{Path: "stdin", Format: "csv", In: strings.NewReader("a,a,\nk,2,3\n"), Key: "{#1}-{#3:03}", Columns: []Mapping{{Family: "meta", Qualifier: "q", Field: "#2"}}}
	if _, err := run(t.Context(), s, fleet, &to); err != nil || to.String() != "\"k-003\" meta:q=string(2)\n" {
		t.Errorf("by places: %s, %v", &to, err)
	}
	for field, want := range map[string]string{"a": `field "a" twice, as fields 1 and 2; it is not clear which one is meant; write #1 or #2`, "#4": `there is no field "#4"`, "#0": `there is no field "#0"`, "": "names no field"} {
		s := Spec{Path: "stdin", Format: "csv", In: strings.NewReader("a,a,\nk,2,3\n"), Key: "{" + field + "}", Columns: []Mapping{{Family: "meta", Qualifier: "q", Field: "#2"}}}
		_, err := run(t.Context(), s, fleet, &list{})
		says(t, err, want)
	}
	res, err := Import(t.Context(), db, "nowhere", Spec{Path: "stdin", Format: "jsonl", DryRun: true, In: strings.NewReader(`{"id":"k","":7,"$.x":8}` + "\n")})
	if err != nil || len(res.Fields) != 3 || res.Fields[1].Field != `$[""]` || res.Fields[2].Field != `$["$.x"]` {
		t.Errorf("%+v, %v", res.Fields, err)
	}
	to = list{}
	s = Spec{Path: "stdin", Format: "jsonl", In: strings.NewReader(`{"id":"k","":7,"$.x":8}` + "\n"), Key: "{id}", Columns: []Mapping{{Family: "meta", Qualifier: "q", Field: `$[""]`}, {Family: "meta", Qualifier: "r", Field: `$["$.x"]`}}}
	if _, err := run(t.Context(), s, fleet, &to); err != nil || to.String() != "\"k\" meta:q=i64(7) meta:r=i64(8)\n" {
		t.Errorf("of JSON: %s, %v", &to, err)
	}
}

// TestADryRunOfBadLines fails as the import would, with or without columns.
func TestADryRunOfBadLines(t *testing.T) {
	db := pathsDB(t)
	for format, text := range map[string]string{
		"csv":   "id,n\n1\n2\n3,4,5\n",
		"tsv":   "id\tn\n1\n2\n3\t4\t5\n",
		"jsonl": "{\n[]\n1\n",
	} {
		for _, key := range []string{"", "{id}"} {
			s := Spec{Path: "f." + format, Format: format, DryRun: true, In: strings.NewReader(text), Key: key}
			if key != "" {
				s.Columns = []Mapping{{Family: "any", Qualifier: "n", Field: "n"}}
			}
			_, err := Import(t.Context(), db, "t", s)
			says(t, err, "f."+format+":", "one of 3 bad lines; bad-lines=3 would leave them out", "nothing was imported")
			s.In, s.BadLines = strings.NewReader(text), 3
			if res, err := Import(t.Context(), db, "t", s); format != "jsonl" && (err != nil || res.BadLines != 3) {
				t.Errorf("%s with bad-lines=3: %+v, %v", format, res, err)
			}
		}
	}
}

// TestOtherEncodings are named, with and without a byte order mark.
func TestOtherEncodings(t *testing.T) {
	utf16s := func(text string, big bool) (b []byte) {
		for _, u := range utf16.Encode([]rune(text)) {
			if big {
				b = append(b, byte(u>>8), byte(u))
			} else {
				b = append(b, byte(u), byte(u>>8))
			}
		}
		return b
	}
	utf32s := func(text string, big bool) (b []byte) {
		for _, r := range text {
			if big {
				b = append(b, 0, byte(r>>16), byte(r>>8), byte(r))
			} else {
				b = append(b, byte(r), byte(r>>8), byte(r>>16), 0)
			}
		}
		return b
	}
	for _, text := range []string{"id,name\n1,x\n", "номер,имя\n1,Анна\n", "番号,名,x\n1,二\n", "i", "{\"id\":1}\n", "id,😀\n"} {
		for _, mark := range []string{"", "\ufeff"} {
			for _, c := range []struct {
				content []byte
				want    string
			}{
				{utf16s(mark+text, false), "UTF-16"}, {utf16s(mark+text, true), "UTF-16"}, {utf32s(mark+text, false), "UTF-32"}, {utf32s(mark+text, true), "UTF-32"},
			} {
				if got := wideEncoding(c.content); mark == "" && c.want == "UTF-16" && !strings.Contains(text, "id") && text != "i" {
					continue // few characters of ASCII, and no mark
				} else if !strings.HasPrefix(got, c.want) {
					t.Errorf("%q of %q is %q, want %s", c.content, mark+text, got, c.want)
				}
			}
		}
		if got := wideEncoding([]byte(text)); got != "" {
			t.Errorf("%q is %s", text, got)
		}
	}
	for _, text := range []string{"", "\x00", "id,a\x00b,name\n", "\ufeffid", "id,name\n\x00,\x00\n"} {
		if got := wideEncoding([]byte(text)); got != "" && text != "\x00" {
			t.Errorf("%q is %s", text, got)
		}
	}
	_, err := run(t.Context(), spec(t, tempFile(t, "f.csv", string(utf32s("\ufeffid,a\n1,2\n", false))), "{id}", "meta:a=a"), fleet, &list{})
	says(t, err, "f.csv: the file is UTF-32; convert it to UTF-8 first, as with iconv -f UTF-32 -t UTF-8")
	_, err = run(t.Context(), spec(t, tempFile(t, "f.jsonl", string(utf16s("{\"id\":1}\n", true))), "{id}", "meta:a=a"), fleet, &list{})
	says(t, err, "f.jsonl: the file is UTF-16BE")
}

// TestGzipWithZerosAfterIt: padding after and between the members is passed over; other
// bytes, and a member that is cut, are errors.
func TestGzipWithZerosAfterIt(t *testing.T) {
	member := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	zeros := strings.Repeat("\x00", 70_000)
	first, second := member("id,a\n1,x\n"), member("2,y\n")
	for name, content := range map[string]string{
		"after one": first + second[:0] + zeros, "after both": first + second + "\x00", "between": first + zeros + second + zeros, "none": first + second, "an empty one": first + member("") + second,
	} {
		var to list
		want := "\"1\" meta:a=string(x)\n"
		if name != "after one" {
			want += "\"2\" meta:a=string(y)\n"
		}
		if _, err := run(t.Context(), spec(t, tempFile(t, "f.csv.gz", content), "{id}", "meta:a=a"), fleet, &to); err != nil || to.String() != want {
			t.Errorf("%s: %s, %v", name, &to, err)
		}
	}
	for name, content := range map[string]string{"text after it": first + zeros + "x", "cut": first + second[:len(second)-9], "cut after zeros": first + zeros + second[:5]} {
		_, err := run(t.Context(), spec(t, tempFile(t, "f.csv.gz", content), "{id}", "meta:a=a"), fleet, &list{})
		says(t, err, "f.csv.gz: the gzip data is ")
		if t.Failed() {
			t.Fatal(name)
		}
	}
}
