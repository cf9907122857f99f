package schema_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/schema"
)

// fleetEntry is on disk in every format 1 database with this table: it never changes.
const fleetEntry = `{"name":"fleet","families":[{"name":"meta","gc":{"max_versions":1}},{"name":"time","type":"i32"},` +
	`{"name":"notes","gc":{"any":[{"max_versions":3},{"all":[{"max_versions":1},{"max_age":"30d"}]}]}},` +
	`{"name":"landings","aggregate":"sum"}]}`

const fleetYAML = `tables: [{name: fleet, families: [{name: meta, max_versions: 1}, {name: time, type: i32},
	{name: notes, gc: {any: [{max_versions: 3}, {all: [{max_versions: 1}, {max_age: 30d}]}]}},
	{name: landings, aggregate: sum}]}]`

func TestCatalogEntry(t *testing.T) {
	table := mustParse(t, fleetYAML).Tables[0]
	got, err := table.MarshalCatalog()
	if err != nil || string(got) != fleetEntry {
		t.Errorf("got %s, %v\nwant %s", got, err, fleetEntry)
	}
	if table := (schema.Table{Name: "a b"}); func() error { _, err := table.MarshalCatalog(); return err }() == nil {
		t.Error("an invalid table has an entry")
	}
}

func TestCatalogRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySchema().Draw(t, "schema")
		for i := range s.Tables {
			entry, err := s.Tables[i].MarshalCatalog()
			if err != nil {
				t.Fatal(err)
			}
			table, err := schema.UnmarshalCatalog(entry)
			if err != nil {
				t.Fatalf("%s: %v", entry, err)
			}
			one := &schema.Schema{Tables: s.Tables[i : i+1]}
			if !same(one, &schema.Schema{Tables: []schema.Table{*table}}) {
				t.Fatalf("%s\nreads as %v", entry, *table)
			}
		}
	})
}

func TestUnmarshalCatalogRefuses(t *testing.T) {
	for entry, want := range map[string]string{
		``:                                "EOF",
		`null`:                            "the name is missing",
		`[]`:                              "cannot unmarshal array",
		`{"name":"fleet"`:                 "unexpected EOF",
		`{"name":"fleet"} {}`:             "something follows the entry at byte",
		`{"name":"fleet"}x`:               "something follows the entry at byte",
		`{"name":"a b"}`:                  `' ' is not allowed at byte 1`,
		`{"name":"fleet","keys":"tuple"}`: `unknown field "keys"`,
		`{"name":"t","families":[{}]}`:    "table(t).families[0].name: the name is missing",
		`{"name":"t","families":[{"name":"f","type":"i128"}]}`:                                                                     `family "f": unknown type "i128"`,
		`{"name":"t","families":[{"name":"f","aggregate":"none"}]}`:                                                                `family "f": unknown aggregate "none"`,
		`{"name":"t","families":[{"name":"f","aggregate":"sum","type":"i32"}]}`:                                                    "reads as is i64, not i32",
		`{"name":"t","families":[{"name":"f","gc":{}}]}`:                                                                           "this rule is empty",
		`{"name":"t","families":[{"name":"f","gc":{"any":[null]}}]}`:                                                               "gc.any[0]: this rule is empty",
		`{"name":"t","families":[{"name":"f","gc":{"max_age":"-1d"}}]}`:                                                            "an age cannot be negative",
		`{"name":"t","families":[{"name":"f","gc":{"max_versions":-1}}]}`:                                                          "-1 versions cannot be kept",
		`{"name":"t","families":[{"name":"f","gc":` + strings.Repeat(`{"any":[`, 1000) + `{}` + strings.Repeat(`]}`, 1000) + `}]}`: "nested more than 16 deep",
	} {
		table, err := schema.UnmarshalCatalog([]byte(entry))
		if table != nil || !errors.Is(err, schema.ErrCatalog) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: got %v, %v; want an ErrCatalog with %s", entry, table, err, want)
		}
	}
}

// FuzzUnmarshalCatalog: no bytes panic, and a decoded entry encodes to the same bytes.
func FuzzUnmarshalCatalog(f *testing.F) {
	f.Add([]byte(fleetEntry))
	f.Add([]byte(`{"name":"t","families":[{"name":"f","type":"i32","gc":{"all":[{"max_age":"2w"}]}}]}`))
	f.Add([]byte(`{"name":"t","families":null}`))
	f.Add([]byte(`{"name":"t","families":[{"name":"f","gc":{"any":[null]}}]}`))
	f.Fuzz(func(t *testing.T, entry []byte) {
		table, err := schema.UnmarshalCatalog(entry)
		if err != nil {
			return
		}
		again, err := table.MarshalCatalog()
		if err != nil {
			t.Fatalf("%s is read, not written: %v", entry, err)
		}
		if _, err := schema.UnmarshalCatalog(again); err != nil {
			t.Fatalf("%s is written and not read: %v", again, err)
		}
	})
}

func TestAgesBelowAMicrosecondAreRefused(t *testing.T) {
	table := schema.Table{Name: "t", Families: []schema.Family{{Name: "f", GC: schema.MaxAge(time.Nanosecond)}}}
	want := "table(t).families[0](f).max_age: 1ns is not whole microseconds, the unit of timestamps"
	if _, err := table.MarshalCatalog(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
