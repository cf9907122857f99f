//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

var (
	seed = flag.Uint64("seed", 1, "seed of the tests of damage")
	long = flag.Int("long", 1, "how many times as long the tests of damage are")
)

// logged makes a database as a kill leaves it. Its cells are in the log alone, in two
// families, a batch for each line. It returns the log.
func logged(t *testing.T, lines ...string) (dir, log string) {
	t.Helper()
	dir = memoryDir(t)
	s, ctx := open(t, dir, rocks.Options{}), context.Background()
	if err := errors.Join(s.CreateFamily(ctx, "t"), s.CreateFamily(ctx, "u")); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if err := putTwice(s, line); err != nil {
			t.Fatal(err)
		}
	}
	crashed := filepath.Join(memoryDir(t), "db")
	if err := errors.Join(os.CopyFS(crashed, os.DirFS(dir)), s.Close()); err != nil {
		t.Fatal(err)
	}
	dir = crashed
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	if len(logs) != 1 {
		t.Fatalf("logs %q", logs)
	}
	return dir, logs[0]
}

// putTwice puts a row into both families.
func putTwice(s cf.Store, value string) error {
	_, err := s.Write(context.Background(), nil, func(b *cf.Batch) error {
		for _, f := range []string{"t", "u"} {
			b.Row(cf.RowID{Space: f, Row: value[:min(len(value), 10)]})
			b.Put(f, "q", 1, []byte(value))
		}
		return nil
	})
	return err
}

// values are the values of a family.
func values(t *testing.T, s cf.Store, family string) (all []string) {
	t.Helper()
	snap, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	c, err := snap.Scan(context.Background(), cf.Scan{Family: family, Rows: []cf.Range{{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for {
		b, err := c.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			return all
		}
		for i := range b.Cells {
			all = append(all, string(b.Value(&b.Cells[i])))
		}
	}
}

func lines(n, size int) (all []string) {
	rng := rand.New(rand.NewPCG(*seed, 3))
	for i := range n {
		text := make([]byte, size)
		for j := range text {
			text[j] = byte(rng.Uint32())
		}
		all = append(all, fmt.Sprintf("%010d", i)+string(text))
	}
	return all
}

// If any byte of the log is changed, also in the last record, the open fails and names
// the file.
func TestADamagedLogIsAnError(t *testing.T) {
	for _, of := range []struct {
		lines []string
		step  int // between damages
	}{
		{lines(5, 20), 2},
		{lines(40, 900), 83}, // over several blocks
		{lines(2, 70_000), 1999},
	} {
		dir, log := logged(t, of.lines...)
		pristine, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(*seed, 1))
		for at := rng.IntN(of.step); at < len(pristine); at += 1 + rng.IntN(2*of.step) / *long {
			b := append([]byte(nil), pristine...)
			bit := byte(1) << rng.IntN(8)
			if rng.IntN(2) == 0 {
				bit = byte(1 + rng.IntN(255))
			}
			b[at] ^= bit
			if err := os.WriteFile(log, b, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := rocks.Open(dir, rocks.Options{})
			if err == nil {
				s.Close()
				t.Fatalf("seed %d: a log of %d bytes with byte %d xor %02x was opened", *seed, len(b), at, bit)
			}
			if !errors.Is(err, cf.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(log)) {
				t.Fatalf("seed %d: a log of %d bytes with byte %d xor %02x: %v", *seed, len(b), at, bit, err)
			}
		}
	}
}

// A log may end anywhere after a crash: exactly the whole batches are there, in both
// families.
func TestATornLogIsNone(t *testing.T) {
	all := lines(4, 20)
	dir, log := logged(t, all...)
	pristine := memoryDir(t)
	if err := os.CopyFS(pristine, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	had := -1
	for size := 0; size <= len(whole); size++ {
		dir := filepath.Join(memoryDir(t), "db")
		if err := os.CopyFS(dir, os.DirFS(pristine)); err != nil {
			t.Fatal(err)
		}
		// The log is allocated ahead: bytes that were not written are zeros.
		tail := whole[:size:size]
		if size%3 == 1 {
			tail = append(tail, make([]byte, 100+size)...)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(log)), tail, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := rocks.Open(dir, rocks.Options{})
		if err != nil {
			t.Fatalf("of %d bytes %d: %v", len(whole), size, err)
		}
		got := values(t, s, "t")
		if other := values(t, s, "u"); len(other) != len(got) {
			t.Errorf("of %d bytes %d: %d rows in one family and %d in the other", len(whole), size, len(got), len(other))
		}
		for i, v := range got {
			if v != all[i] {
				t.Errorf("of %d bytes %d: row %d is %q", len(whole), size, i, v)
			}
		}
		if len(got) < had {
			t.Errorf("of %d bytes %d: %d rows, fewer than before", len(whole), size, len(got))
		}
		had = len(got)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		os.RemoveAll(dir)
	}
	if had != len(all) {
		t.Errorf("the whole log has %d rows", had)
	}
}

// If later writes are in the next log, a crash cannot have cut off the first log.
func TestALogThatEndsTooSoonIsAnError(t *testing.T) {
	dir, log := logged(t, lines(3, 50)...)
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var number int
	if _, err := fmt.Sscanf(filepath.Base(log), "%d.log", &number); err != nil {
		t.Fatal(err)
	}
	next := filepath.Join(dir, fmt.Sprintf("%06d.log", number+1))
	// The next log begins with the last record of a longer log.
	_, other := logged(t, lines(4, 50)...)
	longer, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(next, longer[len(whole):], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, whole[:len(whole)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	expectOpenError(t, dir, rocks.Options{}, cf.ErrCorrupt)
	if err := os.WriteFile(log, append(whole, longer[len(whole):len(longer)-9]...), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, rocks.Options{}) // nothing is missing between them
	if n := len(values(t, s, "t")); n != 4 {
		t.Errorf("%d rows", n)
	}
	s.Close()
}
