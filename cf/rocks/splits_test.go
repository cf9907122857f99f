//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// Files of more than a few MiB are divided by their index: the parts have about the
// same size, for any form of row keys.
func TestSplitsOfFilesAreEven(t *testing.T) {
	const rows, valueLen, n = 24_000, 500, 10
	s := open(t, "", rocks.Options{InMemory: true})
	defer s.Close()
	ctx := context.Background()
	random := rand.NewChaCha8([32]byte{1})
	for family, key := range map[string]func(int) string{
		"t/padded":  func(i int) string { return fmt.Sprintf("a-long-common-prefix#%010d", i) },
		"t/skewed":  func(i int) string { return fmt.Sprintf("%c#%d", 'a'+i*i*20/(rows*rows), i) },
		"t/binary":  func(i int) string { return string([]byte{0, byte(i >> 16), byte(i >> 8), byte(i), 0xff}) },
		"t/longtie": func(i int) string { return fmt.Sprintf("x%020d%020d", i%3, i) },
	} {
		if err := s.CreateFamily(ctx, family); err != nil {
			t.Fatal(err)
		}
		counts := map[string]bool{}
		for i := 0; i < rows; i += 1000 {
			_, err := s.Write(ctx, nil, func(b *cf.Batch) error {
				for j := i; j < i+1000; j++ {
					value := make([]byte, valueLen)
					random.Read(value)
					counts[key(j)] = true
					b.Row(cf.RowID{Space: "t", Row: key(j)})
					b.Put(family, "q", 1, value)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Flush(ctx, family); err != nil {
			t.Fatal(err)
		}
		parts, err := s.Splits(ctx, []string{family}, cf.Range{}, n)
		if err != nil {
			t.Fatal(err)
		}
		if len(parts) != n {
			t.Fatalf("%s: %d parts, want %d", family, len(parts), n)
		}
		start := ""
		for _, p := range parts {
			in := 0
			for k := range counts {
				if k >= start && (p.End == "" || k < p.End) {
					in++
				}
			}
			if in < rows/n/2 || in > rows/n*2 {
				t.Errorf("%s: %d rows from %q to %q, want about %d", family, in, start, p.End, rows/n)
			}
			if p.End != "" && !counts[p.End] {
				t.Errorf("%s: %q is no row", family, p.End)
			}
			start = p.End
		}
	}
}
