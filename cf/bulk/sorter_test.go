package bulk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
)

// addUp merges operands that are single bytes, led by a kind.
func addUp(operands [][]byte) ([]byte, bool) {
	n := byte(0)
	for _, o := range operands {
		n += o[1]
	}
	return []byte{1, n}, true
}

// sorted is the sorter's output for a family, one cell in each line, read in parts.
func sorted(t *rapid.T, s *bulk.Sorted, workers, family int) (lines []string) {
	var last []byte
	for _, part := range s.Parts(workers) {
		if part.Family != family {
			continue
		}
		err := part.Each(context.Background(), func(c cf.CellGroups) error {
			for _, r := range bulk.Rows(c) {
				next := r.Cells()
				for cell, ok := next(); ok; cell, ok = next() {
					key := cf.AppendVersion(append(cf.AppendRowPrefix(nil, r.Row), cell.Column...), cell.Timestamp)
					if bytes.Compare(last, key) >= 0 {
						t.Fatalf("key %x after %x", key, last)
					}
					last = key
					lines = append(lines, fmt.Sprintf("%x=%x", key, cell.Value))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

// A sorter gives the same result as a map and a sort, in memory and through files.
func TestSorter(t *testing.T) {
	dir := t.TempDir()
	row := rapid.OneOf(
		rapid.StringMatching(`[ab\x00\xff]{1,3}`),
		rapid.StringMatching(`commonprefix[0-9]{0,2}x[ab\x00]{0,12}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		memory := rapid.SampledFrom([]int64{1, 200, 2000, 1 << 20}).Draw(t, "memory")
		s := bulk.NewSorter(2, memory, dir, addUp)
		defer s.Close()
		want := [2]map[string][]byte{{}, {}}
		for range rapid.IntRange(0, 60).Draw(t, "rows") {
			r := row.Draw(t, "row")
			s.Row(r)
			for family := range 2 {
				n := rapid.IntRange(0, 4).Draw(t, "cells")
				if n == 0 {
					continue
				}
				s.Group(family)
				for range n {
					q, ts := rapid.StringMatching(`[x\x00]{0,2}`).Draw(t, "qualifier"), rapid.Int64Range(0, 2).Draw(t, "ts")
					v := rapid.Byte().Draw(t, "value")
					key := string(cf.AppendCellKey(nil, r, q, ts))
					if family == 1 { // operands
						s.Value(append(s.Cell(q, ts), 1, v), true)
						if was := want[1][key]; was != nil {
							v += was[1]
						}
						want[1][key] = []byte{1, v}
						continue
					}
					value := bytes.Repeat([]byte{v}, int(v))
					s.Value(append(s.Cell(q, ts), value...), false)
					want[0][key] = value
				}
				s.EndGroup()
			}
		}
		out, err := s.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for family := range 2 {
			var lines []string
			for key, value := range want[family] {
				lines = append(lines, fmt.Sprintf("%x=%x", key, value))
			}
			slices.Sort(lines)
			if got := sorted(t, out, 1, family); !slices.Equal(got, lines) {
				t.Fatalf("family %d, spilled %d times:\n%s\nwant\n%s", family, s.Spilled(), strings.Join(got, "\n"), strings.Join(lines, "\n"))
			}
		}
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// A row that is added piece by piece and is far larger than memory and than a group.
func TestSorterOfOneWideRow(t *testing.T) {
	const cells = 40_000
	for _, memory := range []int64{1 << 18, 1 << 30} {
		s := bulk.NewSorter(1, memory, t.TempDir(), addUp)
		defer s.Close()
		for i := range cells {
			s.Row("wide")
			s.Group(0)
			s.Value(append(s.Cell(fmt.Sprintf("%06d", i*7919%cells), 1), "some value that takes room"...), false)
			s.EndGroup()
		}
		out, err := s.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, part := range out.Parts(3) {
			err := part.Each(t.Context(), func(c cf.CellGroups) error {
				for _, r := range bulk.Rows(c) {
					next := r.Cells()
					for cell, ok := next(); ok; cell, ok = next() {
						if want := cf.AppendQualifier(nil, fmt.Sprintf("%06d", n)); !bytes.Equal(cell.Column, want) {
							t.Fatalf("cell %d is of %q", n, cell.Column)
						}
						n++
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if n != cells {
			t.Errorf("%d cells with %d bytes of memory, want %d", n, memory, cells)
		}
	}
}

// Parts of a large family follow one another and have all rows.
func TestSorterParts(t *testing.T) {
	const rows = 60_000
	for _, memory := range []int64{1 << 20, 1 << 30} {
		s := bulk.NewSorter(1, memory, t.TempDir(), addUp)
		defer s.Close()
		for i := range rows {
			s.Row(fmt.Sprintf("row%06d", i*7919%rows))
			s.Group(0)
			s.Value(append(s.Cell("q", 1), strings.Repeat("v", 200)...), false)
			s.EndGroup()
		}
		out, err := s.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		parts, n, first := out.Parts(3), 0, []int{}
		for _, part := range parts {
			first = append(first, n)
			err := part.Each(t.Context(), func(c cf.CellGroups) error {
				for _, r := range bulk.Rows(c) {
					if want := fmt.Sprintf("row%06d", n); r.Row != want {
						t.Fatalf("row %s, want %s", r.Row, want)
					}
					n++
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if n != rows || len(parts) != 3 || first[1] < rows/4 || first[2]-first[1] < rows/4 || rows-first[2] < rows/4 {
			t.Errorf("%d rows in parts that begin at %v", n, first)
		}
	}
}

func TestSorterWhoseFilesCannotBeWritten(t *testing.T) {
	s := bulk.NewSorter(1, 1, t.TempDir()+"/none", addUp)
	defer s.Close()
	for range 3 {
		s.Row("r")
		s.Group(0)
		s.Value(append(s.Cell("q", 1), 'v'), false)
		s.EndGroup()
	}
	if _, err := s.Finish(t.Context()); !errors.Is(err, cf.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}
