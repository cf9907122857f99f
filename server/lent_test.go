package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
)

// A filter of qualifiers judges the qualifiers of the row, not what a row before had in
// memory that has been used again.
func TestAFilterForgetsTheQualifiersOfLentRows(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	qualifier := map[string]string{}
	var keys []string
	var ms []*bigtable.Mutation
	random := uint32(1)
	for i := range 10_000 { // all of one size: each block has its rows where those before had theirs
		random = random*1664525 + 1013904223
		key := fmt.Sprintf("%05d", i)
		qualifier[key] = []string{"aa", "bb"}[random>>31]
		m := bigtable.NewMutation()
		m.Set("f", qualifier[key], 1000, []byte(strings.Repeat("v", 5000)))
		keys, ms = append(keys, key), append(ms, m)
	}
	for i := range slices.Collect(slices.Chunk(keys, 500)) {
		_, err := tab.ApplyBulk(r.ctx(), keys[500*i:500*i+500], ms[500*i:500*i+500])
		r.must(err)
	}
	few := regexOf("row", ".*00")
	for name, f := range map[string]*rowFilter{
		"chain":      chain(few, regexOf("qualifier", ".a")),
		"condition":  conditionOf(few, regexOf("qualifier", ".a"), nil),
		"interleave": interleave(chain(few, regexOf("qualifier", ".a")), constantOf("block", true)),
		"range":      conditionOf(few, columns("f", "a", "ab"), conditionOf(regexOf("row", "x"), constantOf("pass", true), nil)),
	} {
		var want, got []string
		for _, key := range keys {
			if strings.HasSuffix(key, "00") && qualifier[key] == "aa" {
				want = append(want, key)
			}
		}
		messages, err := r.tryRead(&bigtablepb.ReadRowsRequest{TableName: parent + "/tables/t", Filter: f})
		r.must(err)
		for _, m := range messages {
			for _, c := range m.GetChunks() {
				got = append(got, string(c.GetRowKey()))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, want %d: got %q, want %q", name, len(got), len(want), got[:min(8, len(got))], want[:8])
		}
	}
}
