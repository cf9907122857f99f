package transfer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/transfer"
)

// formDB has a table of one family and one of two.
func formDB(t *testing.T) *query.DB {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "t", Families: []schema.Family{{Name: "c"}}},
		{Name: "u", Families: []schema.Family{{Name: "c"}, {Name: "d"}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func fileOf(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// value is a cell as text; "-" if there is no such cell.
func value(t *testing.T, db *query.DB, table, key, family, qualifier string) string {
	row, err := db.Table(table).ReadRow(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if row != nil {
		if c, is := row.Cell(family, qualifier); is {
			return c.Value.String()
		}
	}
	return "-"
}

func TestImportWithoutAKeyProposesOne(t *testing.T) {
	db := formDB(t)
	for _, c := range []struct{ text, key, columns, sep string }{
		{"id;name;price\n1;a;1,5\n2;b;2,5\n", "{id}", "name price:f64", ";"},
		{"name,id,n\na,x1,1\na,x2,2\n", "{id}", "name n:i64", ","},
		{"a,b\nx,1\nx,2\ny,1\n", "{a}#{b}", "a b:i64", ","},
		{"a,b\nx,y\nx,y\n", "{a}", "b", ","},
	} {
		_, err := transfer.Import(t.Context(), db, "t", transfer.Spec{Path: fileOf(t, "f.csv", c.text)})
		form, ok := errors.AsType[*transfer.FormError](err)
		if !ok {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		var columns []string
		for _, m := range form.Proposal.Columns {
			name := m.Qualifier
			if m.All {
				name = "*"
			}
			if m.Type != cells.TypeAny {
				name += ":" + m.Type.String()
			}
			columns = append(columns, name)
		}
		p := form.Proposal
		if got := strings.Join(columns, " "); p.Key != c.key || got != c.columns || p.Dialect.Separator != c.sep || p.Family != "c" || p.Unique != (c.columns != "b") {
			t.Errorf("%q: key %s, columns %s, %+v", c.text, p.Key, got, p)
		}
		spec := transfer.Spec{Path: fileOf(t, "g.csv", c.text), Key: p.Key, Columns: p.Columns}
		if _, err := transfer.Import(t.Context(), db, "t", spec); p.Unique && err != nil {
			t.Errorf("%q: the proposal fails: %v", c.text, err)
		}
	}
	_, err := transfer.Import(t.Context(), db, "none", transfer.Spec{Path: fileOf(t, "f.csv", "id,n\n1,2\n")})
	if form, ok := errors.AsType[*transfer.FormError](err); !ok || form.Table == nil || form.Proposal.Family != "" {
		t.Errorf("without a table: %v", err)
	}
}

// A proposal reads on after the beginning of a file: there the day tells lines apart and all
// delays are numbers.
func TestAProposalFitsTheWholeFile(t *testing.T) {
	db := formDB(t)
	var text strings.Builder
	text.WriteString("year,day,from,flight,delay,note\n")
	for i := range 6000 {
		delay := strconv.Itoa(i % 90)
		if i%1000 == 999 {
			delay = "NA"
		}
		fmt.Fprintf(&text, "2014,%d,%s,%d,%s,fine\n", i%5000, []string{"PDX", "SEA"}[i/5000], i%7, delay)
	}
	for _, name := range []string{"f.csv", "f.jsonl"} {
		all := text.String()
		if name == "f.jsonl" {
			var lines strings.Builder
			for _, line := range strings.Split(strings.TrimSpace(all), "\n")[1:] {
				of := strings.Split(line, ",")
				fmt.Fprintf(&lines, `{"year":%s,"day":%s,"from":%q,"flight":%s,"delay":%q}`+"\n", of[0], of[1], of[2], of[3], of[4])
			}
			all = lines.String()
		}
		path := fileOf(t, name, all)
		_, err := transfer.Import(t.Context(), db, "t", transfer.Spec{Path: path})
		form, ok := errors.AsType[*transfer.FormError](err)
		if !ok {
			t.Fatal(err)
		}
		p := form.Proposal
		if p.Key != "{day}#{from}" || p.NA != "NA" || !p.Unique {
			t.Errorf("%s: %+v", name, p)
		}
		cells := int64(6000*6 - 6)
		if name == "f.jsonl" {
			cells -= 6000 // of the note
		}
		res, err := transfer.Import(t.Context(), db, "t", transfer.Spec{Path: path, Key: p.Key, Columns: p.Columns, NA: p.NA, Overlap: true})
		if err != nil || res.Rows != 6000 || res.Cells != cells {
			t.Errorf("%s: the proposal gives %+v, %v", name, res, err)
		}
	}
}

// A proposal names the text fields that lose values to na=: NA is a country, too.
func TestAProposalSaysWhereNAIsText(t *testing.T) {
	db := formDB(t)
	const header, rest = "id,country,other,n\n1,DK,a,1\n", "2,NA,b,NA\n3,SE,c,3\n"
	for text, want := range map[string][]string{header + rest: {"country"}, header + "2,NO,b,NA\n": nil} {
		_, err := transfer.Import(t.Context(), db, "t", transfer.Spec{Path: fileOf(t, "f.csv", text)})
		form, ok := errors.AsType[*transfer.FormError](err)
		if !ok || form.Proposal.NA != "NA" {
			t.Fatalf("%v, %+v", err, form)
		}
		if got := form.Proposal.Missing; !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The first line of a file may be longer than what is looked at of others: a header of ten
// thousand names, a row as scan prints it with many columns, or with one large value.
func TestLongFirstLinesAreSeenWhole(t *testing.T) {
	var header, values, row strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&header, ";column%05d", i)
		fmt.Fprintf(&values, ";%d", i)
		fmt.Fprintf(&row, `,{"c":"c:column%05d","t":"i64","v":"%d","ts":1}`, i, i)
	}
	wide := "key" + header.String() + "\nr1" + values.String() + "\nr2" + values.String() + "\n"
	large := `{"key":"r1","cells":[{"c":"c:column00007","t":"string","v":"7` + strings.Repeat("x", 5<<20) + `","ts":1}]}` + "\n"
	for name, text := range map[string]string{
		"wide.csv": wide, "wide.jsonl": `{"key":"r1","cells":[` + row.String()[1:] + "]}\n", "large.jsonl": large,
	} {
		for _, piped := range []bool{false, true} {
			spec := transfer.Spec{Path: fileOf(t, name, text)}
			if piped {
				spec.In, spec.Format = strings.NewReader(text), strings.TrimLeft(filepath.Ext(name), ".")
			}
			db := formDB(t)
			if _, err := transfer.Import(t.Context(), db, "t", spec); err != nil || value(t, db, "t", "r1", "c", "column00007")[:1] != "7" {
				t.Errorf("%s, piped %v: %.200v", name, piped, err)
			}
		}
	}
}

// What cannot be a column is left out of a proposal, and what is no file of records says so.
func TestAwkwardFilesAreProposedOrExplained(t *testing.T) {
	db := formDB(t)
	_, err := transfer.Import(t.Context(), db, "t", transfer.Spec{Path: fileOf(t, "f.jsonl", `{"id":1,"n":2,"deep":{"a":1}}`+"\n"+`{"id":2,"n":3,"deep":[]}`+"\n")})
	form, ok := errors.AsType[*transfer.FormError](err)
	if !ok || len(form.Proposal.Nested) != 1 || form.Proposal.Nested[0] != "deep" || len(form.Proposal.Columns) != 1 || form.Proposal.Columns[0].Field != "n" {
		t.Errorf("%v, %+v", err, form)
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty.csv":     {"", "empty.csv: the file is empty"},
		"mark.csv":      {"\xef\xbb\xbf", "the file is empty"},
		"nothing.jsonl": {"{}\n", `unknown table "none"`},
		"list.jsonl":    {`[{"id":1},{"id":2}]` + "\n", "list.jsonl:1: is not a JSON object, such as {\"field\": 1}; each line is an object, as jq -c '.[]'"},
		"pretty.jsonl":  {"[\n {\"id\":1}\n]\n", "as jq -c '.[]'"},
		"one.jsonl":     {"{\n \"id\":1\n}\n", "as jq -c . writes it"},
	} {
		if _, err := transfer.Import(t.Context(), db, "none", transfer.Spec{Path: fileOf(t, name, c.text)}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", name, err, c.want)
		}
	}
}

// Three fields, and not two, tell lines apart; a field with gaps is not one of a key.
func TestAProposedKeyHasAsFewFieldsAsItCan(t *testing.T) {
	db := formDB(t)
	for text, want := range map[string]string{
		"a,b,c,d\n1,1,1,1.5\n1,1,2,1.5\n1,2,1,2.5\n2,1,1,1.5\n1,2,2,2.5\n": "{a}#{b}#{c}",
		"gap,a,b\nx,1,1\n,1,2\ny,2,1\nz,2,2\n":                             "{a}#{b}",
		"a,b,c,d\n0,0,0,0\n0,0,0,1\n0,0,1,0\n0,1,0,0\n1,0,0,0\n1,1,1,1\n":  "{a}#{b}#{c}#{d}",
	} {
		_, err := transfer.Import(t.Context(), db, "t", transfer.Spec{Path: fileOf(t, "f.csv", text)})
		if form, ok := errors.AsType[*transfer.FormError](err); !ok || form.Proposal.Key != want || !form.Proposal.Unique {
			t.Errorf("%q: %v, %+v; want %s", text, err, form, want)
		}
	}
}

func TestAWideFileNamesItsColumns(t *testing.T) {
	db := formDB(t)
	for table, text := range map[string]string{
		"t": "key,name,age\nk1,ann,3\n",
		"u": "row,c:name,d:age\nk1,ann,3\n",
	} {
		if _, err := transfer.Import(t.Context(), db, table, transfer.Spec{Path: fileOf(t, "f.csv", text)}); err != nil {
			t.Errorf("%s: %v", table, err)
		}
		if got := value(t, db, table, "k1", "c", "name"); got != "ann" {
			t.Errorf("%s: %s", table, got)
		}
	}
	_, err := transfer.Import(t.Context(), db, "u", transfer.Spec{Path: fileOf(t, "f.csv", "key,name\nk,n\n")})
	if _, ok := errors.AsType[*transfer.FormError](err); !ok {
		t.Errorf("a field without a family in a table of two: %v", err)
	}
}

func TestAllFieldsUnderTheirNames(t *testing.T) {
	db := formDB(t)
	all := []transfer.Mapping{{Family: "d", Qualifier: "age", Field: "age", Type: cells.TypeI64}, {Family: "c", All: true}}
	for name, text := range map[string]string{"f.csv": "id|age|town\n1|7|Oslo\n", "f.jsonl": `{"id":1,"age":7,"town":"Oslo"}` + "\n"} {
		if _, err := transfer.Import(t.Context(), db, "u", transfer.Spec{Path: fileOf(t, name, text), Key: name + "{id}", Columns: all}); err != nil {
			t.Fatal(err)
		}
		row := name + "1"
		if got := value(t, db, "u", row, "c", "town") + value(t, db, "u", row, "c", "age") + value(t, db, "u", row, "c", "id") + value(t, db, "u", row, "d", "age"); got != "Oslo--7" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestSeveralFilesAreImportedTogether(t *testing.T) {
	db, dir := formDB(t), t.TempDir()
	file := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file("a-1.csv", "id,n\n1,x\n2,y\n")
	file("a-2.csv", "id;n\n3;z\n1;again\n")
	spec := transfer.Spec{Path: filepath.Join(dir, "a-*.csv"), Key: "{id}", Columns: []transfer.Mapping{{Family: "c", All: true}}}
	_, err := transfer.Import(t.Context(), db, "t", spec)
	if err == nil || !strings.Contains(err.Error(), `a-2.csv:3: makes the row key "1", which `+filepath.Join(dir, "a-1.csv")+`:2 made`) {
		t.Errorf("a line repeated in another file: %v", err)
	}
	if got := value(t, db, "t", "3", "c", "n"); got != "-" {
		t.Errorf("a part of the files is there: %s", got)
	}
	file("a-2.csv", "id;n\n3;z\n")
	res, err := transfer.Import(t.Context(), db, "t", spec)
	if err != nil || res.Rows != 3 || value(t, db, "t", "3", "c", "n") != "z" {
		t.Errorf("%+v, %v", res, err)
	}
	file("a-3.csv", "id,n,more\n4,w,!\n")
	if _, err = transfer.Import(t.Context(), db, "t", spec); err == nil || !strings.Contains(err.Error(), `a-3.csv: field "more" is not in `) {
		t.Errorf("a field that only one file has: %v", err)
	}
}

func TestBadLinesAreKeptApart(t *testing.T) {
	db := formDB(t)
	bad := filepath.Join(t.TempDir(), "bad.csv")
	text := "id,n\n1,x\n2\n3,\"a\nb\",c\n4,y\n1,again\n"
	spec := transfer.Spec{Path: fileOf(t, "f.csv", text), Key: "{id}", Columns: []transfer.Mapping{{Family: "c", All: true}}, Bad: bad}
	res, err := transfer.Import(t.Context(), db, "t", spec)
	kept, _ := os.ReadFile(bad)
	if err != nil || res.Rows != 2 || res.BadLines != 4 || string(kept) != "id,n\n2\n3,\"a\nb\",c\n1,again\n" {
		t.Errorf("%+v, %v; kept %q", res, err, kept)
	}
	if _, err := transfer.Import(t.Context(), db, "t", spec); err == nil || !strings.Contains(err.Error(), "exists, and is left alone") {
		t.Errorf("over a file: %v", err)
	}
	spec.Bad, spec.BadLines = bad+"2", 1
	if _, err := transfer.Import(t.Context(), db, "t", spec); err == nil {
		t.Error("more bad lines than bad-lines= allows are left out")
	}
	if _, err := os.Stat(bad + "2"); err == nil {
		t.Error("an import that failed leaves a file of bad lines")
	}
}

func TestDecimalCommas(t *testing.T) {
	db := formDB(t)
	spec := transfer.Spec{Path: fileOf(t, "f.csv", "id;n\n1;1.234,5\n2;-3\n"), Key: "{id}", Columns: []transfer.Mapping{{Family: "c", Qualifier: "n", Field: "n", Type: cells.TypeF64}}}
	if _, err := transfer.Import(t.Context(), db, "t", spec); err != nil || value(t, db, "t", "1", "c", "n") != "1234.5" || value(t, db, "t", "2", "c", "n") != "-3" {
		t.Errorf("%v, %s", err, value(t, db, "t", "2", "c", "n"))
	}
	spec.Path, spec.Dialect.Decimal = fileOf(t, "f.csv", "id;n\n1;1.5\n"), ","
	if _, err := transfer.Import(t.Context(), db, "t", spec); err == nil || !strings.Contains(err.Error(), `"1.5" is not a number with a decimal comma`) {
		t.Errorf("a point: %v", err)
	}
}

func TestEncodings(t *testing.T) {
	db := formDB(t)
	for encoding, text := range map[string]string{"latin-1": "id,n\nk,\xe9\x80\n", "windows-1252": "id,n\nk,\xe9\x80\n", "utf-16le": "i\x00d\x00,\x00n\x00\n\x00k\x00,\x00\xe9\x00\n\x00", "utf-16be": "\x00i\x00d\x00,\x00n\x00\n\x00k\x00,\x00\xe9\x00\n"} {
		spec := transfer.Spec{Path: fileOf(t, "f.csv", text), Key: encoding + "{id}", Encoding: encoding, Columns: []transfer.Mapping{{Family: "c", All: true}}}
		want := map[string]string{"latin-1": "é\u0080", "windows-1252": "é€"}[encoding]
		if want == "" {
			want = "é"
		}
		if _, err := transfer.Import(t.Context(), db, "t", spec); err != nil || value(t, db, "t", encoding+"k", "c", "n") != want {
			t.Errorf("%s: %v, %q", encoding, err, value(t, db, "t", encoding+"k", "c", "n"))
		}
	}
	spec := transfer.Spec{Path: fileOf(t, "f.csv", "\xff\xfei\x00d\x00,\x00n\x00\n\x00k\x00,\x00\x00\xd8\n\x00"), Key: "{id}", Columns: []transfer.Mapping{{Family: "c", Qualifier: "n", Field: "n"}}}
	if _, err := transfer.Import(t.Context(), db, "t", spec); err == nil || !strings.Contains(err.Error(), "half of a surrogate pair") {
		t.Errorf("half of a pair: %v", err)
	}
}

// Cells as scan prints them in CSV and TSV come back, and make no columns of that name.
func TestCellsThatScanPrintsComeBack(t *testing.T) {
	for name, text := range map[string]string{
		"f.csv": "key,column,timestamp,type,value\nk,c:a,5,i64,9007199254740993\nk,c:a,4,string,\"old, \"\"and\nolder\"\n\"\"\"\\0\"\"\",\"c:\"\"\\u00e9\\x01\"\"\",6,bytes,AP8=\n",
		"f.tsv": "key\tcolumn\ttimestamp\ttype\tvalue\nk\tc:a\t5\ti64\t9007199254740993\nk\tc:a\t4\tstring\told, \"and\\nolder\n\"\\\\0\"\tc:\"\\\\u00e9\\\\x01\"\t6\tbytes\tAP8=\n",
	} {
		db := formDB(t)
		res, err := transfer.Import(t.Context(), db, "t", transfer.Spec{Path: fileOf(t, name, text)})
		if err != nil || res.Rows != 2 || res.Cells != 3 {
			t.Errorf("%s: %+v, %v", name, res, err)
			continue
		}
		if got := value(t, db, "t", "k", "c", "a") + value(t, db, "t", "\x00", "c", "é\x01"); got != `9007199254740993"\x00\xff"` {
			t.Errorf("%s: %q", name, got)
		}
	}
	db := formDB(t)
	for line, want := range map[string]string{
		"k,a,5,i64,1":          "write family:qualifier",
		`k,"c:""\q""",5,i64,1`: "nothing was written with",
		"k,c:a,5,bytes,%":      "is not base64",
		"k,x:a,5,i64,1":        `is for family "x"`,
	} {
		if _, err := transfer.Import(t.Context(), db, "t", transfer.Spec{Path: fileOf(t, "f.csv", "key,column,timestamp,type,value\n"+line+"\n")}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", line, err, want)
		}
	}
}

// Nothing of how cells are written is seen in them: a key that begins with # was left out as a comment.
func TestCellsThatScanPrintsAreNoComments(t *testing.T) {
	for name, text := range map[string]string{
		"f.csv": "key,column,timestamp,type,value\n# a,c:# a,0,bytes,YQ==\n# b,c:;;;,5,string,\"x;y;z\"\n",
		"f.tsv": "key\tcolumn\ttimestamp\ttype\tvalue\n# a\tc:# a\t0\tbytes\tYQ==\n# b\tc:;;;\t5\tstring\tx;y;z\n",
	} {
		db := formDB(t)
		res, err := transfer.Import(t.Context(), db, "t", transfer.Spec{Path: fileOf(t, name, text)})
		if got := value(t, db, "t", "# a", "c", "# a") + value(t, db, "t", "# b", "c", ";;;"); err != nil || res.Rows != 2 || got != `"a"x;y;z` {
			t.Errorf("%s: %+v, %v, %s", name, res, err, got)
		}
	}
}

func TestRowsThatScanPrintsComeBack(t *testing.T) {
	db := formDB(t)
	text := `{"key":"k","cells":[{"c":"c:a","t":"i64","v":"9007199254740993","ts":5},{"c":"c:a","t":"string","v":"old","ts":4},{"c":"d:","t":"bytes","v_b64":"AP8=","ts":6},{"c":"c:n","t":"f64","v":"-Infinity","ts":7}]}
{"key_b64":"/w==","cells":[{"c":"c:b","t":"bool","v":true,"ts":1}]}
`
	res, err := transfer.Import(t.Context(), db, "u", transfer.Spec{Path: fileOf(t, "f.jsonl", text)})
	if err != nil || res.Rows != 2 || res.Cells != 5 || res.Records != 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := value(t, db, "u", "k", "c", "a") + value(t, db, "u", "k", "c", "n") + value(t, db, "u", "\xff", "c", "b"); got != "9007199254740993-Inftrue" {
		t.Error(got)
	}
	for want, line := range map[string]string{
		"no list of cells":              `{"key":"k","cells":7}`,
		"has no column":                 `{"key":"k","cells":[{"t":"i64","v":"1","ts":1}]}`,
		"has no value":                  `{"key":"k","cells":[{"c":"c:a","t":"i64","ts":1}]}`,
		"has no time":                   `{"key":"k","cells":[{"c":"c:a","t":"i64","v":"1"}]}`,
		"unknown type":                  `{"key":"k","cells":[{"c":"c:a","t":"u64","v":"1","ts":1}]}`,
		"is for family \"x\"":           `{"key":"k","cells":[{"c":"x:a","t":"i64","v":"1","ts":1}]}`,
		"is not a whole":                `{"key":"k","cells":[{"c":"c:a","t":"i64","v":"one","ts":1}]}`,
		"row key of 0 bytes":            `{"key":"","cells":[{"c":"c:a","t":"i64","v":"1","ts":1}]}`,
		"that is not base64":            `{"key":"k","cells":[{"c":"c:a","t":"bytes","v_b64":"%","ts":1}]}`,
		"has an object, a list or null": `{"key":"k","cells":[{"c":"c:a","t":"i64","v":[1],"ts":1}]}`,
		"is negative":                   `{"key":"k","cells":[{"c":"c:a","t":"i64","v":"1","ts":-1}]}`,
	} {
		if _, err := transfer.Import(t.Context(), db, "u", transfer.Spec{Path: fileOf(t, "f.jsonl", line+"\n")}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}
