//go:build cgo && linux && !norocksdb

package docs_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
	"github.com/smolwc/smolwc/schema"
)

// The engine merges the operands on the page to the values on the page.
func TestMergedBytes(t *testing.T) {
	ctx := context.Background()
	store, err := rocks.Open("", rocks.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.CreateFamily(ctx, "f"); err != nil {
		t.Fatal(err)
	}
	kinds := map[byte]bool{}
	for _, b := range blocks(t, formatPage, "merge") {
		for i, line := range b.lines {
			operands, want, _ := strings.Cut(line, " = ")
			_, err := store.Write(ctx, nil, func(batch *cf.Batch) error {
				batch.Row(cf.RowID{Row: line})
				for o := range strings.SplitSeq(operands, "|") {
					o := unhex(t, o)
					kinds[o[0]] = true
					batch.Merge("f", "", 0, cf.MergeKind(o[0]), o[1:])
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := onlyValue(t, store, line); !bytes.Equal(got, unhex(t, want)) {
				t.Errorf("%s:%d: %s\n\tthe engine makes %x", b.page, b.line+i, line, got)
			}
		}
	}
	if len(kinds) != 4 {
		t.Errorf("examples of %d kinds, want 4", len(kinds))
	}
}

func unhex(t *testing.T, s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func onlyValue(t *testing.T, store cf.Store, row string) []byte {
	ctx := context.Background()
	snap, err := store.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	c, err := snap.Scan(ctx, cf.Scan{Family: "f", Rows: []cf.Range{cf.Single(row)}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, err := c.Next(ctx)
	if err != nil || b == nil {
		t.Fatalf("no value: %v", err)
	}
	return b.Value(&b.Cells[0])
}

// The schema on the page is valid, and has every aggregate.
func TestAggregatesOnThePage(t *testing.T) {
	for _, b := range blocks(t, "docs/aggregates.md", "yaml") {
		s, err := schema.Parse([]byte(b.text()))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[schema.Aggregate]bool{}
		for _, f := range s.Tables[0].Families {
			seen[f.Aggregate] = true
		}
		if len(seen) != 4 {
			t.Errorf("%s: %d aggregates, want 4", b.page, len(seen))
		}
	}
}
