//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
)

// overlappingFiles makes a family of several files whose rows interleave, so
// that only the bloom filters tell which file has a row.
func overlappingFiles(t *testing.T) *Store {
	t.Helper()
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := s.CreateFamily(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	for file := range 3 {
		var rows strings.Builder
		for i := range 2000 {
			fmt.Fprintf(&rows, "| r%05d q@1=%d", 4*i+file, file)
		}
		putCells(t, s, rows.String())
		if err := s.Flush(ctx, "t"); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// filters are the engine's tickers of its filters.
func filters(t *testing.T, s *Store) cf.FilterStats {
	t.Helper()
	stats, err := s.Stats(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return stats.Engine.Filters
}

// TestSingleRowsUseThePrefixBloomFilter: reads of rows that are in no file read hardly
// any block.
func TestSingleRowsUseThePrefixBloomFilter(t *testing.T) {
	s := overlappingFiles(t)
	defer s.Close()
	snap, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	const absent = 50
	var rows []cf.Range
	for i := range absent {
		rows = append(rows, cf.Single(fmt.Sprintf("r%05d", 4*(10*i)+3)))
	}
	before := filters(t, s)
	if got, err := scanFor(t, snap, cf.Scan{Rows: rows}); err != nil || len(got) != 0 {
		t.Errorf("absent rows: %s, %v", got, err)
	}
	after := filters(t, s)
	if checked, useful := after.Checked-before.Checked, after.Useful-before.Useful; checked < absent*3 || useful < absent*2 {
		t.Errorf("of %d rows in 3 files the filters were asked %d times and excluded %d", absent, checked, useful)
	}
	for i := range 3 {
		row := fmt.Sprintf("r%05d", 400+i)
		got, err := scanFor(t, snap, cf.Scan{Rows: []cf.Range{cf.Single(row)}})
		if want := fmt.Sprintf("%s q@1=%d", row, i); err != nil || got.String() != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

// TestScansOfManyRowsAreComplete, although with a prefix extractor RocksDB by itself
// promises only the rows of one prefix.
func TestScansOfManyRowsAreComplete(t *testing.T) {
	s := overlappingFiles(t)
	defer s.Close()
	snap, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, reverse := range []bool{false, true} {
		for _, test := range []struct {
			rows []cf.Range
			want int
		}{
			{[]cf.Range{{}}, 6000},
			{[]cf.Range{{Start: "r00", End: "r01"}}, 750},
			{[]cf.Range{{Start: "r000", End: "r001"}, {Start: "r002", End: "r003"}}, 150},
			{[]cf.Range{cf.Single("r00000"), {Start: "r002", End: "r003"}}, 76},
		} {
			got, _, err := cftest.Collect(context.Background(), snap, cf.Scan{Family: "t", Rows: test.rows, Reverse: reverse})
			if err != nil || len(got) != test.want {
				t.Errorf("%+v, reverse %t: %d rows, %v, want %d", test.rows, reverse, len(got), err, test.want)
			}
		}
	}
}
