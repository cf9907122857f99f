package transfer

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

func pathsDB(t *testing.T) *query.DB {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{
		{Name: "any"}, {Name: "i", Type: cells.TypeI32}, {Name: "s", Type: cells.TypeString},
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// cellsOf are the cells of the table; times of the clock are left out.
func cellsOf(t *testing.T, db *query.DB) (list []string) {
	t.Helper()
	for row, err := range db.Table("t").ReadRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for c := range row.Cells() {
			at := ""
			if c.Timestamp < 1000 {
				at = fmt.Sprintf("@%d", c.Timestamp)
			}
			list = append(list, fmt.Sprintf("%s %s:%s=%s %s%s", row.Key(), c.Family, c.Qualifier, c.Value.Type(), c.Value, at))
		}
	}
	return list
}

const trip = `{"id": 7, "to": {"airport": "OSL", "a.b": 1}, "legs": [{"at": 5, "miles": 10}, {"at": 6, "miles": 20, "note": null}], "tags": {"late": true, "load": 0.5, "n": 12, "gate": "C31", "none": null}}` + "\n"

func TestPathsLeadIntoObjects(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want []string
	}{
		{Spec{Key: "{id}#{$.to.airport}", Columns: []Mapping{{Family: "s", Qualifier: "to", Field: "$.to.airport"}, {Family: "any", Qualifier: "ab", Field: `$.to["a.b"]`, Type: cells.TypeI64}}},
			[]string{"7#OSL any:ab=i64 1", "7#OSL s:to=string OSL"}},
		{Spec{Key: "{id}", Columns: []Mapping{{Family: "i", Qualifier: "first", Field: "$.legs[0].miles"}, {Family: "i", Qualifier: "third", Field: "$.legs[2].miles"}}},
			[]string{"7 i:first=i32 10"}},
		{Spec{Key: "{id}", Columns: []Mapping{{Family: "i", Qualifier: "miles", Field: "$.legs[*].miles"}, {Family: "s", Qualifier: "note", Field: "$.legs[*].note"}, {Family: "s", Qualifier: "to", Field: "$.to.airport"}}, Timestamp: "$.legs[*].at"},
			[]string{"7 i:miles=i32 20@6", "7 i:miles=i32 10@5", "7 s:to=string OSL"}},
		{Spec{Key: "{id}", Columns: []Mapping{{Family: "any", Field: "$.tags", All: true}}},
			[]string{"7 any:gate=string C31", "7 any:late=bool true", "7 any:load=f64 0.5", "7 any:n=i64 12"}},
		{Spec{Key: "{id}", Columns: []Mapping{{Family: "s", Field: "$.tags", All: true}}},
			[]string{"7 s:gate=string C31", "7 s:late=string true", "7 s:load=string 0.5", "7 s:n=string 12"}},
	} {
		db := pathsDB(t)
		c.spec.Path, c.spec.Format, c.spec.In = "stdin", "jsonl", strings.NewReader(trip)
		res, err := Import(t.Context(), db, "t", c.spec)
		if err != nil || res.Rows != 1 || int(res.Cells) != len(c.want) {
			t.Errorf("%v: %+v, %v", c.spec.Columns, res, err)
		}
		if got := cellsOf(t, db); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %q, want %q", c.spec.Columns, got, c.want)
		}
	}
}

// The whole object, without the members that other fields use.
func TestTheRestOfAnObject(t *testing.T) {
	db := pathsDB(t)
	lines := `{"id": 1, "a": "x", "b": {"c": 2}, "d": 3}` + "\n" + `{"id": 2, "e": false}` + "\n"
	spec := Spec{Path: "stdin", Format: "jsonl", In: strings.NewReader(lines), Key: "{id}", Columns: []Mapping{
		{Family: "any", Field: "$", All: true}, {Family: "i", Qualifier: "c", Field: "$.b.c"},
	}}
	if _, err := Import(t.Context(), db, "t", spec); err != nil {
		t.Fatal(err)
	}
	want := []string{"1 any:a=string x", "1 any:d=i64 3", "1 i:c=i32 2", "2 any:e=bool false"}
	if got := cellsOf(t, db); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMistakesInPaths(t *testing.T) {
	for _, c := range []struct{ field, ts, line, want string }{
		{"$.", "", "{}", "is not a path, from byte 2 on"},
		{"$.a[x]", "", "{}", "is not a path, from byte 4 on"},
		{"$.a[1", "", "{}", "is not a path, from byte 4 on"},
		{"$[0]", "", "{}", "does not begin with a name"},
		{"$[*].a", "", "{}", "does not begin with a name"},
		{"$.a[*].b[*]", "", "{}", "has [*] twice"},
		{"$.a[*]", "", "{}", "need times of their own"},
		{"$.a.b", "", `{"a": 1}`, `has no object here in which "b" could be`},
		{"$.a[0]", "", `{"a": {}}`, "has no list here whose element 0 could be taken"},
		{"$.a", "", `{"a": {}}`, "is an object or a list here"},
		{"$.a.b", "", `{"a": {"b": 1, "b": 2}}`, "occurs twice"},
		{"$.a.b", "", `{"a": {"b": 1}, "a": {"b": 2}}`, "occurs twice"},
		{"$.a[*]", "$.t[*]", `{"a": [1, 2], "t": [5]}`, "has 2 elements, and ts= has 1 times"},
		{"$.a[*]", "$.t[*]", `{"a": [1, 2], "t": [5, 5]}`, "already made, at the same time"},
		{"$.a[*]", "$.t[*]", `{"a": [[1]], "t": [5]}`, "lead the path into it"},
		{"$.a[*]", "$.t[*]", `{"a": 1, "t": [5]}`, "is not a list here"},
		{"$.a[*]", "$.t[*]", `{"a": [1], "t": [null]}`, "has no timestamp in one of its elements"},
		{"$.nothing", "", `{"a": 1}`, `there is no field "$.nothing"`},
	} {
		spec := Spec{Path: "stdin", Format: "jsonl", In: strings.NewReader(`{"id": 1, ` + strings.TrimPrefix(c.line, "{") + "\n"), Key: "{id}", Timestamp: c.ts,
			Columns: []Mapping{{Family: "any", Qualifier: "x", Field: c.field}}}
		if c.line == "{}" {
			spec.In = strings.NewReader(`{"id": 1}` + "\n")
		}
		db := pathsDB(t)
		_, err := Import(t.Context(), db, "t", spec)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: %v, want %s", c.field, c.line, err, c.want)
		}
		if got := cellsOf(t, db); len(got) > 0 {
			t.Errorf("%s of %s: %q", c.field, c.line, got)
		}
	}
}

// A dry run counts, shows types, and writes nothing.
func TestDryRun(t *testing.T) {
	db := pathsDB(t)
	lines := "id,n,f,code,none\n1,5,1,007,\n2,6,2.5,12,\n2,6,2.5,12,\n"
	spec := Spec{Path: "stdin", Format: "csv", DryRun: true, In: strings.NewReader(lines), Key: "{id}", BadLines: 1, Columns: []Mapping{
		{Family: "any", Qualifier: "n", Field: "n"}, {Family: "any", Qualifier: "f", Field: "f"}, {Family: "s", Qualifier: "code", Field: "code"}, {Family: "i", Qualifier: "n", Field: "n"},
	}}
	res, err := Import(t.Context(), db, "t", spec)
	if err != nil || res.Rows != 2 || res.Cells != 8 || res.BadLines != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	want := []FieldReport{
		{Family: "any", Qualifier: "n", Type: cells.TypeString, Fits: cells.TypeI64, Values: 2, Example: "5"},
		{Family: "any", Qualifier: "f", Type: cells.TypeString, Fits: cells.TypeF64, Values: 2, Example: "1"},
		{Family: "s", Qualifier: "code", Type: cells.TypeString, Fits: cells.TypeString, Values: 2, Example: "007"},
		{Family: "i", Qualifier: "n", Type: cells.TypeI32, Fits: cells.TypeI32, Values: 2, Example: "5"},
	}
	if !reflect.DeepEqual(res.Fields, want) {
		t.Errorf("%+v, want %+v", res.Fields, want)
	}
	res, err = Import(t.Context(), db, "t", Spec{Path: "stdin", Format: "jsonl", DryRun: true, In: strings.NewReader(trip)})
	if err != nil || res.Records != 1 || len(res.Fields) != 8 || res.Fields[1].Field != "$.to.airport" || res.Fields[2].Field != `$.to["a.b"]` || res.Fields[3].Fits != cells.TypeAny {
		t.Errorf("%+v, %v", res, err)
	}
	if got := cellsOf(t, db); len(got) > 0 {
		t.Errorf("a dry run wrote %q", got)
	}
	if _, err := Import(t.Context(), db, "t", Spec{Path: "stdin", In: strings.NewReader("a\n"), Key: "{a}", Columns: spec.Columns}); err == nil || !strings.Contains(err.Error(), "as csv, as tsv or as jsonl") {
		t.Errorf("without a format: %v", err)
	}
}

// Records name their columns: by the fields of a line, or of each element of a list.
func TestQualifiersOfFields(t *testing.T) {
	links := `{"id": "a", "at": 5, "links": [{"href": "x", "text": "one"}, {"href": "y", "text": null}, {"href": "z", "text": 3}, {"href": "x", "text": "again"}]}` + "\n"
	list := Mapping{Family: "any", Template: "{at}-{$.links[*].href}", Field: "$.links[*].text"}
	for _, c := range []struct {
		format, text string
		of           Mapping
		rows, cells  int64
		want         string // cells, or a part of the error
	}{
		{"csv", "id,from,text\na,x,one\na,y,two\nb,x,three\na,x,four\n", Mapping{Family: "any", Template: "{from}", Field: "text"}, 2, 3, `[a any:x=four a any:y=two b any:x=three]`},
		{"csv", "id,from,n\na,7,1\n", Mapping{Family: "i", Template: "day {from:03}", Field: "n"}, 1, 1, `[a i:day 007=1]`},
		{"csv", "id,n\na,1\n", Mapping{Family: "i", Template: "{{n}}", Field: "n"}, 1, 1, `[a i:{n}=1]`},
		{"jsonl", links, list, 1, 2, `[a any:5-x=again a any:5-z=3]`},
		{"csv", "id,n\na,1\n", Mapping{Family: "any", Template: "{n", Field: "n"}, 0, 0, "{ without }"},
		{"csv", "id,n\na,1\n", Mapping{Family: "any", Template: "{n}", Field: "{n}"}, 0, 0, "no field is named"},
		{"csv", "id,n\na,1\n", Mapping{Family: "any", Template: "{m}", Field: "n"}, 0, 0, `no field "m"`},
		{"jsonl", `{"id": "a", "links": [{"text": 1}]}` + "\n", Mapping{Family: "any", Template: "{$.links[*].href}", Field: "$.links[*].text"}, 0, 0, "the qualifier needs one"},
		{"jsonl", links, Mapping{Family: "any", Template: "{$.links[*].href}", Field: "at"}, 0, 0, "not in the same elements"},
		{"jsonl", links, Mapping{Family: "any", Template: "{$.other[*].href}", Field: "$.links[*].text"}, 0, 0, "not in the same elements"},
		{"jsonl", links, Mapping{Family: "any", Template: "{$.links[*]}", Field: "$.links[*].text"}, 0, 0, "takes text, numbers and booleans"},
	} {
		db := pathsDB(t)
		res, err := Import(t.Context(), db, "t", Spec{Path: "stdin", Format: c.format, In: strings.NewReader(c.text), Key: "{id}", Columns: []Mapping{c.of}})
		if c.rows == 0 {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s of %s: %v, want %s", c.of.Template, c.text, err, c.want)
			}
			continue
		}
		if err != nil || res.Rows != c.rows || res.Cells != c.cells {
			t.Errorf("%s of %s: %+v, %v", c.of.Template, c.text, res, err)
		}
		if all := cellsOf(t, db); len(all) != int(c.cells) { // a name that comes twice makes one version
			t.Errorf("%s of %s: %d cells are counted, %q are there", c.of.Template, c.text, c.cells, all)
		}
		if got := newestOf(t, db); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.of.Template, c.text, got, c.want)
		}
	}
}

// newestOf are the newest cells of the table of pathsDB.
func newestOf(t *testing.T, db *query.DB) string {
	var all []string
	for row, err := range db.Table("t").ReadRows(t.Context(), read.Versions(1)) {
		if err != nil {
			t.Fatal(err)
		}
		for c := range row.Cells() {
			text, ok := c.Value.AsString()
			if !ok {
				text = c.Value.String()
			}
			all = append(all, row.Key()+" "+c.Family+":"+c.Qualifier+"="+text)
		}
	}
	return fmt.Sprint(all)
}

// A dry run shows the members of an object by one line if there are many.
func TestManyMembersHaveOneReport(t *testing.T) {
	var line strings.Builder
	line.WriteString(`{"id": "a", "few": {"x": 1}, "many": {`)
	for i := range maxMembers + 5 {
		fmt.Fprintf(&line, `"m%d": %d, `, i, i)
	}
	line.WriteString(`"last": 1.5}, "end": true}` + "\n")
	for _, columns := range [][]Mapping{nil, {{Family: "any", Field: "$.many", All: true}}} {
		spec := Spec{Path: "stdin", Format: "jsonl", In: strings.NewReader(line.String()), DryRun: true, Columns: columns}
		if columns != nil {
			spec.Key = "{id}"
		}
		res, err := Import(t.Context(), pathsDB(t), "t", spec)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range res.Fields {
			got = append(got, fmt.Sprint(f.Field, f.Family, f.Many, f.Fits, f.Values))
		}
		want := []string{"idfalse string 1", "$.few.xfalse i64 1", "$.manytrue f64 56", "endfalse bool 1"}
		if columns != nil {
			want = []string{"anytrue any 56"}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Paths and JSON from outside never panic, and a path gives what encoding/json gives.
func FuzzPath(f *testing.F) {
	f.Add("$.to.airport", trip)
	f.Add(`$.to["a.b"]`, trip)
	f.Add("$.legs[1].miles", trip)
	f.Add("$.legs[*].miles", `{"legs":[]}`)
	f.Add("$", "{}")
	f.Fuzz(func(t *testing.T, text, line string) {
		var object map[string]any
		line = strings.TrimSpace(line)
		if !isPath(text) || checkObject(line, &record{}) != nil || json.Unmarshal([]byte(line), &object) != nil {
			return
		}
		p, err := parsePath(text)
		if err != nil {
			return
		}
		raw, problem := follow(line, p.steps)
		if problem != "" {
			return
		}
		var want any = object
		for _, s := range p.steps {
			switch v := want.(type) {
			case map[string]any:
				want = v[s.name]
			case []any:
				want = nil
				if s.index < len(v) {
					want = v[s.index]
				}
			default:
				want = nil
			}
		}
		var got any
		if raw != "" && json.Unmarshal([]byte(raw), &got) != nil {
			t.Fatalf("%q of %q is %q, which is no JSON", text, line, raw)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q of %q is %v, want %v", text, line, got, want)
		}
		if p.list && raw != "" && raw[0] == '[' {
			eachElement(raw, func(value string) { _, _ = follow(value, p.each) })
		}
	})
}
