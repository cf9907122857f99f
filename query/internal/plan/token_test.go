package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
)

// A token made here is the same in the next version.
func TestTokensAreForever(t *testing.T) {
	for token, p := range map[string]Position{
		"AXIAAAAAAAAAKgNyb3ddOeNE":        {Key: "row", Left: 3},
		"AWMAAAAAAAAAKgAEbWV0YQBx_zpiSv4": {Family: "meta", Qualifier: "\x00q\xff"},
	} {
		kind := PageOfRows
		if p.Key == "" {
			kind = PageOfColumns
		}
		if got := p.Token(kind, 42); got != token {
			t.Errorf("token of %+v is %s, want %s", p, got, token)
		}
		if got, err := ParseToken(token, kind, 42); got != p || err != nil {
			t.Errorf("token %s is of %+v, %v, want %+v", token, got, err, p)
		}
	}
}

func TestFingerprintKnowsEveryOption(t *testing.T) {
	known := strings.Fields("Rows After Sampled Sample Limit Offset Reverse Where Columns Since Until Versions CellsPerRow KeysOnly Filter WideIntegers")
	others := strings.Fields("PageSize PageToken Rejected Cost Lend EveryRow err column") // EveryRow: not with pages
	for f := range reflect.TypeFor[read.Request]().Fields() {
		if !slices.Contains(known, f.Name) && !slices.Contains(others, f.Name) {
			t.Errorf("Request.%s: does it have a part in what is read? Then fingerprint has to cover it", f.Name)
		}
	}
	prints := map[uint64]string{}
	for name, opts := range map[string][]read.Option{
		"none": nil, "key": {read.Key("a")}, "prefix": {read.Prefix("a")}, "after": {read.StartAfter("a")}, "columns": {read.Column("f", "a")},
		"columns of a prefix": {read.ColumnPrefix("f", "a")}, "exists": {read.Exists("f", "a")}, "absent": {read.Absent("f", "a")},
		"since": {read.TimeRange(1, 0)}, "until": {read.TimeRange(0, 1)}, "versions": {read.Versions(1)}, "cells": {read.CellsPerRow(1)},
		"limit": {read.Limit(1)}, "offset": {read.Offset(1)}, "reverse": {read.Reverse()}, "keys": {read.KeysOnly()},
		"sample": {read.SampleByKey(0.5)}, "no sample": {read.SampleByKey(0)}, "filter": {read.Filter(filter.Family("f"))},
		"filter of Bigtable": {read.BigtableFilter(filter.Family("f"))},
	} {
		spec, err := NewPageSpec(opts)
		if err != nil {
			t.Fatal(err)
		}
		print := spec.Fingerprint("t", PageOfRows)
		if other, ok := prints[print]; ok {
			t.Errorf("%s and %s have the same fingerprint", name, other)
		}
		prints[print] = name
	}
}

// A token is valid in the next version too: the same options have the same fingerprint.
// A new option does not change the fingerprint of reads without it.
func TestFingerprintsAreForever(t *testing.T) {
	for _, c := range []struct {
		want uint64
		opts []read.Option
	}{
		{0x18cede74a8b39cd4, nil},
		{0x92e8848d8deb5b70, []read.Option{read.Key("a")}},
		{0xa4a18499be90f257, []read.Option{read.Prefix("a"), read.Range("x", "z")}},
		{0xbc2b86e10c41b1ed, []read.Option{read.StartAfter("a"), read.Reverse()}},
		{0x0b9b4bcd0fcafe6e, []read.Option{read.Column("f", "a"), read.Family("g"), read.ColumnPrefix("h", "p"), read.ColumnRange("i", "a", "b")}},
		{0xa27cb4b7e35c22c, []read.Option{read.Exists("f", "a"), read.Absent("f", "b"), read.Where("f", "c", cells.OpGreaterOrEqual, cells.I64(7))}},
		{0x7b3a540af209a35b, []read.Option{read.TimeRange(1, 9), read.Versions(2), read.CellsPerRow(3), read.Limit(4), read.Offset(5), read.KeysOnly()}},
		{0x5470c5a134e1e2a9, []read.Option{read.SampleByKey(0.5)}},
		{0x11ba45d0324109b, []read.Option{read.SampleByKey(0)}},
		{0x18cede74a8b39cd4, []read.Option{read.SampleByKey(1)}},
		{0xbf560463ec794d96, []read.Option{read.Filter(filter.Chain{
			filter.Family("f"),
			filter.Interleave{filter.RowKey("r"), filter.Condition{If: filter.Column("c"), Then: filter.Latest(1)}},
			filter.ValueRange{From: filter.Including("a"), To: filter.Excluding("b")},
			filter.ColumnRange{Family: "f", From: filter.Including("a")},
			filter.Label("l"),
		})}},
		{0xc5462b2f844c1dac, []read.Option{read.BigtableFilter(filter.Chain{
			filter.ValueCompare{Op: cells.OpLess, Value: cells.String("s")}, filter.ValueBitmask("\x01"), filter.TimestampRange{Since: 1, Until: 2},
			filter.RowSample(0.25), filter.CellsPerRowOffset(1), filter.CellsPerRowLimit(2), filter.StripValue{}, filter.Sink{},
		})}},
	} {
		spec, err := NewPageSpec(c.opts)
		if err != nil {
			t.Fatal(err)
		}
		if got := spec.Fingerprint("t", PageOfRows); got != c.want {
			t.Errorf("the fingerprint of %+v is %#x, want %#x", spec.Request, got, c.want)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(Position{Key: "row", Left: 3}.Token(PageOfRows, 1), PageOfRows)
	f.Add(Position{Family: "f", Qualifier: "q"}.Token(PageOfColumns, 1), PageOfColumns)
	f.Add("", byte(0))
	f.Fuzz(func(t *testing.T, token string, kind byte) {
		p, err := ParseToken(token, kind, 1)
		if err != nil {
			if fault.KindOf(err) != fault.InvalidArgument {
				t.Errorf("token %q: error %v", token, err)
			}
			return
		}
		if again, err := ParseToken(p.Token(kind, 1), kind, 1); err != nil || again != p {
			t.Errorf("token %q is of %+v, which comes back as %+v, %v", token, p, again, err)
		}
	})
}

// FuzzParsePosition skips the checksum, which a fuzzer would not get right.
func FuzzParsePosition(f *testing.F) {
	f.Add([]byte{0, 4, 'm', 'e', 't', 'a', 'q'}, true)
	f.Add([]byte("\x00row"), false)
	f.Fuzz(func(t *testing.T, b []byte, columns bool) {
		kind := PageOfRows
		if columns {
			kind = PageOfColumns
		}
		p, err := parsePosition(b, kind)
		if err != nil {
			return
		}
		if again, err := ParseToken(p.Token(kind, 1), kind, 1); err != nil || again != p {
			t.Errorf("position %+v comes back as %+v, %v", p, again, err)
		}
	})
}
