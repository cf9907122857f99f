package jsonapi_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/server"
)

// A given is a cell with its row.
type given struct {
	key string
	cells.Cell
}

// aValue is any value.
func aValue(t *rapid.T) cells.Value {
	switch rapid.IntRange(1, 8).Draw(t, "type") {
	case 1:
		return cells.Bytes(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	case 2:
		return cells.String(rapid.String().Draw(t, "string"))
	case 3:
		return cells.Bool(rapid.Bool().Draw(t, "bool"))
	case 4:
		return cells.Byte(rapid.Byte().Draw(t, "byte"))
	case 5:
		return cells.I32(rapid.Int32().Draw(t, "i32"))
	case 6:
		return cells.I64(rapid.Int64().Draw(t, "i64"))
	case 7:
		return cells.F32(float32(aFloat(t)))
	}
	return cells.F64(aFloat(t))
}

func aFloat(t *rapid.T) float64 {
	return rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)})).Draw(t, "float")
}

var someBytes = rapid.OneOf(rapid.StringN(0, 6, 40), rapid.Custom(func(t *rapid.T) string {
	return string(rapid.SliceOfN(rapid.Byte(), 0, 6).Draw(t, "bytes"))
}))

// someTime is any timestamp that the API can name: all but those of Bigtable's first
// 115 days, which it takes for numbers of versions, are times of day.
var someTime = rapid.OneOf(rapid.Int64Range(0, 5), rapid.Int64Range(0, math.MaxInt64), rapid.Int64Range(1e13-2, 1e13+2))

func someCells(t *rapid.T) []given {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) given {
		key := rapid.SampledFrom([]string{"a", "a#1", "a1", "b:c", "\xff\x00"}).Draw(t, "key")
		return given{key, cells.Cell{
			Family: rapid.SampledFrom([]string{"f", "g"}).Draw(t, "family"), Qualifier: someBytes.Draw(t, "qualifier"),
			Timestamp: cells.Timestamp(someTime.Draw(t, "time")), Value: aValue(t),
		}}
	}), 1, 12).Draw(t, "cells")
}

// asJSON is a cell in a body of the API. It prefers text to base64 where both can be used.
func asJSON(g given) map[string]any {
	c := map[string]any{"type": g.Value.Type().String(), "time": jsonTime(g.Timestamp)}
	column := g.Family + ":" + g.Qualifier
	if utf8.ValidString(column) {
		c["column_key"] = column
	} else {
		c["column_key_bytes"] = []byte(column)
	}
	switch v := g.Value.Any().(type) {
	case bool:
		c["type"], c["value"] = "boolean", v
	case float32:
		c["value"] = jsonFloat(float64(v))
	case float64:
		c["value"] = jsonFloat(v)
	default:
		c["value"] = v // []byte becomes base64
	}
	item := map[string]any{"cells": []any{c}}
	if utf8.ValidString(g.key) {
		item["row_key"] = g.key
	} else {
		item["row_key_bytes"] = []byte(g.key)
	}
	return item
}

func jsonTime(ts cells.Timestamp) json.Number {
	if ts < 1e13 {
		return json.Number(strconv.FormatInt(int64(ts), 10))
	}
	return json.Number(strconv.FormatInt(int64(ts), 10) + "000")
}

func jsonFloat(f float64) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return map[bool]string{true: "Infinity", false: "-Infinity"}[f > 0]
	}
	return f
}

// inAnswer are the cells of an answer to rows or scan, asked for with strings.
func inAnswer(t testing.TB, result map[string]any) map[string]string {
	found := map[string]string{}
	text := func(encoded any) string {
		b, err := base64.StdEncoding.DecodeString(encoded.(string))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, r := range result["rows"].([]any) {
		row := r.(map[string]any)
		key, ok := row["row_key"].(string)
		if !ok {
			key = text(row["row_key_bytes"])
		}
		for _, part := range []string{"columns", "columns_bytes"} {
			families, _ := row[part].(map[string]any)
			for family, columns := range families {
				for qualifier, versions := range columns.(map[string]any) {
					if part == "columns_bytes" {
						qualifier = text(qualifier)
					}
					for _, v := range versions.([]any) {
						c := v.(map[string]any)
						found[fmt.Sprintf("%q %s:%q @%s", key, family, qualifier, c["time"])] = fmt.Sprintf("%s %v", c["type"], c["value"])
					}
				}
			}
		}
	}
	return found
}

// expected is a cell as inAnswer has it.
func expected(g given) (at, value string) {
	at = fmt.Sprintf("%q %s:%q @%s", g.key, g.Family, g.Qualifier, jsonTime(g.Timestamp))
	name := g.Value.Type().String()
	switch v := g.Value.Any().(type) {
	case []byte:
		return at, "bytes " + base64.StdEncoding.EncodeToString(v)
	case bool:
		return at, fmt.Sprintf("boolean %v", v)
	case float32:
		return at, name + " " + shownFloat(float64(v), 32)
	case float64:
		return at, name + " " + shownFloat(v, 64)
	default:
		return at, fmt.Sprintf("%s %v", name, v)
	}
}

func shownFloat(f float64, bits int) string {
	if s, ok := jsonFloat(f).(string); ok {
		return s
	}
	s := strconv.FormatFloat(f, 'g', -1, bits)
	if _, err := strconv.ParseInt(s, 10, 64); err == nil || s == "-0" {
		s += ".0"
	}
	return s
}

// Cells that are written through the API read back equal through package query and
// through the API, and so do cells that are written through package query.
func TestWhatIsWrittenReadsBack(t *testing.T) {
	r := newRig(t, server.Options{})
	tables := 0
	rapid.Check(t, func(t *rapid.T) {
		tables++
		name := fmt.Sprintf("t%d", tables)
		r.result("PUT", "/v1/table/"+name, "")
		r.result("POST", "/v1/table/"+name+"/column-family", `{"column_families":[{"name":"f"},{"name":"g"}]}`)
		all := someCells(t)
		over := rapid.Bool().Draw(t, "written over JSON")
		want := map[string]string{}
		var items []any
		batch := write.NewBatch()
		for _, g := range all {
			at, value := expected(g)
			want[at] = value
			items = append(items, asJSON(g))
			m := write.NewMutation()
			m.SetAt(g.Family, g.Qualifier, g.Timestamp, g.Value)
			batch.Add(name, g.key, m)
		}
		if over {
			body, err := json.Marshal(map[string]any{"items": items})
			if err != nil {
				t.Fatal(err)
			}
			r.result("POST", "/v1/table/"+name+"/write", string(body))
		} else if err := r.db.Apply(r.t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		direct := map[string]string{}
		for c, err := range r.db.Table(name).ScanCells(r.t.Context(), read.Prefix("")) {
			if err != nil {
				t.Fatal(err)
			}
			at, value := expected(given{c.Key, c.Cell})
			direct[at] = value
		}
		same(t, "package query", direct, want)
		same(t, "a scan", inAnswer(r.t, r.result("POST", "/v1/table/"+name+"/scan?numbers=strings", `{"row":{"prefix":""}}`)), want)
		var keys []any
		for _, key := range []string{"a", "a#1", "a1", "b:c"} {
			keys = append(keys, map[string]any{"row": map[string]any{"key": key}})
		}
		keys = append(keys, map[string]any{"row": map[string]any{"key_bytes": []byte("\xff\x00")}})
		body, err := json.Marshal(map[string]any{"items": keys})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "rows", inAnswer(r.t, r.result("POST", "/v1/table/"+name+"/rows?numbers=strings", string(body))), want)
		r.result("DELETE", "/v1/table/"+name, "")
	})
}

func same(t *rapid.T, what string, got, want map[string]string) {
	for at, value := range want {
		if got[at] != value {
			t.Errorf("%s: %s is %q, want %q", what, at, got[at], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s has %d cells, want %d", what, len(got), len(want))
	}
}

// Rows of one request are those of a request for each item: in the order of the items,
// with the limits and columns of each, whether rows are small or too large to be read at once.
func TestRowsAreThoseOfTheirItems(t *testing.T) {
	r := newRig(t, server.Options{})
	r.result("PUT", "/v1/table/t", "")
	r.result("POST", "/v1/table/t/column-family", `{"column_families":[{"name":"f"},{"name":"g"}]}`)
	large := strings.Repeat("x", 600<<10)
	for i, key := range []string{"a", "b", "c", "large1", "large2"} {
		m := write.NewMutation()
		for n := range 3 {
			m.SetAt("f", "x", cells.Timestamp(n), cells.I64(int64(10*i+n)))
			m.SetAt("g", fmt.Sprint(n), cells.Timestamp(n), cells.String(large[:n*i]))
		}
		if i > 2 {
			m.SetAt("f", "y", 1, cells.String(large))
		}
		if err := r.db.Table("t").Apply(t.Context(), key, m); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(items ...string) []any {
		return r.result("POST", "/v1/table/t/rows", `{"items":[`+strings.Join(items, ",")+`]}`)["rows"].([]any)
	}
	alone := map[string][]any{} // answers to requests for one item: nobody writes
	rapid.Check(t, func(rt *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf(`{"row":{"key":%q%s}%s}`,
				rapid.SampledFrom([]string{"c", "b", "a", "c", "b", "a", "none", "b", "a", "large1", "large2"}).Draw(t, "key"),
				rapid.SampledFrom([]string{"", "", `,"cell_limit":2`}).Draw(t, "limit"),
				rapid.SampledFrom([]string{"", "", `,"column":{"key":"f:x"}`, `,"column":{"cell_limit":1}`}).Draw(t, "column"))
		}), 1, 8).Draw(rt, "items")
		var want []any
		for _, item := range items {
			if _, asked := alone[item]; !asked {
				alone[item] = ask(item)
			}
			want = append(want, alone[item]...)
		}
		if got := ask(items...); len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			rt.Errorf("%s\nare %.500v,\nwant %.500v", items, got, want)
		}
	})
}
