package rocks_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// logOfChanges makes a database that has kept its changes in several logs, of writes
// by several at once too, and returns where they begin and what they are.
func logOfChanges(t *testing.T) (dir string, begin cf.Position, want []string) {
	t.Helper()
	dir = memoryDir(t)
	s := open(t, dir, rocks.Options{Async: true})
	if err := errors.Join(s.CreateFamily(t.Context(), "t"), s.KeepChanges(time.Now())); err != nil {
		t.Fatal(err)
	}
	starts, err := s.ChangeStarts()
	if err != nil || len(starts) == 0 {
		t.Fatal(starts, err)
	}
	begin = starts[len(starts)-1]
	for round := range 4 {
		var writers sync.WaitGroup
		for w := range 4 {
			writers.Go(func() {
				for i := range 5 {
					_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
						row := fmt.Sprintf("%d-%d-%d", round, w, i)
						b.Note([]byte(row))
						b.Row(cf.RowID{Space: "t", Row: row})
						b.Put("t", "q", 1, []byte(strings.Repeat(row, 1+i*i*100))) // up to records of two blocks
						b.DeleteCell("t", "p", 2)
						b.DeleteVersions("t", "p", 3, 4)
						b.Merge("t", "sum", 0, cf.MergeSum, make([]byte, 8))
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
		if err := s.Flush(t.Context(), "t"); err != nil { // it begins another log
			t.Fatal(err)
		}
	}
	if want, err = changesOf(t, s, begin); err != nil || len(want) != 80 {
		t.Fatalf("%d changes, %v", len(want), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, begin, want
}

// changesOf are the changes from a position on as text, up to the first error.
func changesOf(t *testing.T, s *rocks.Store, begin cf.Position) (all []string, err error) {
	t.Helper()
	c, err := s.Changes(begin)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for {
		k, err := c.Next(t.Context())
		if k == nil || err != nil {
			return all, err
		}
		all = append(all, fmt.Sprintf("%d %q", k.At, fmt.Sprint(k.Ops)))
	}
}

// One byte of a log that is kept for its changes is another one: then the changes
// are right, or there is an error of the kind ErrCorrupt that names the log, behind
// changes that are right.
func TestAFlippedByteInTheLogOfChanges(t *testing.T) {
	pristine, begin, want := logOfChanges(t)
	logs, _ := filepath.Glob(filepath.Join(pristine, "archive", "*.log"))
	if len(logs) < 3 {
		t.Fatalf("%d logs are kept", len(logs))
	}
	rng := rand.New(rand.NewPCG(*seed, 10))
	reported := 0
	for range 60 * *long {
		dir := filepath.Join(memoryDir(t), "db")
		if err := os.CopyFS(dir, os.DirFS(pristine)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "archive", filepath.Base(logs[rng.IntN(len(logs))]))
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) == 0 {
			continue
		}
		at, bits := rng.IntN(len(b)), byte(1)<<rng.IntN(8)
		b[at] ^= bits
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("seed %d: %s, byte %d of %d xor %02x", *seed, filepath.Base(path), at, len(b), bits)
		s := open(t, dir, rocks.Options{})
		got, err := changesOf(t, s, begin)
		switch {
		case err == nil && !slices.Equal(got, want):
			t.Errorf("%s: %d other changes for %d, and no error", what, len(got), len(want))
		case err != nil && (!errors.Is(err, cf.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(path))):
			t.Errorf("%s: not a kind of damage, or of another file: %v", what, err)
		case err != nil && !slices.Equal(got, want[:min(len(got), len(want))]):
			t.Errorf("%s: other changes before the error", what)
		case err != nil:
			reported++
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		os.RemoveAll(filepath.Dir(dir))
	}
	t.Logf("%d of %d reported", reported, 60**long)
	if reported == 0 {
		t.Error("no damage was found")
	}
}

// A length that is too long makes a record look cut off, as the last one that a crash
// left. Behind it are others, and so it is damage: of the first record, of one in the
// middle, and of the last.
func TestALengthThatIsTooLongIsDamage(t *testing.T) {
	pristine, begin, want := logOfChanges(t)
	logs, _ := filepath.Glob(filepath.Join(pristine, "archive", "*.log"))
	if len(logs) < 3 {
		t.Fatalf("%d logs are kept", len(logs))
	}
	const block, header = 32 << 10, 7
	for _, log := range logs[1 : len(logs)-1] {
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		var records []int
		for at := 0; at+header <= len(b); {
			if rest := block - at%block; rest < header {
				at += rest
				continue
			}
			records = append(records, at)
			at += header + int(binary.LittleEndian.Uint16(b[at+4:]))
		}
		for _, at := range []int{records[0], records[len(records)/2], records[len(records)-1]} {
			dir := filepath.Join(memoryDir(t), "db")
			if err := os.CopyFS(dir, os.DirFS(pristine)); err != nil {
				t.Fatal(err)
			}
			damaged := slices.Clone(b)
			damaged[at+5] |= 0x80
			if err := os.WriteFile(filepath.Join(dir, "archive", filepath.Base(log)), damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, dir, rocks.Options{})
			got, err := changesOf(t, s, begin)
			if !errors.Is(err, cf.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(log)) {
				t.Errorf("%s, byte %d: %d changes of %d, %v", filepath.Base(log), at, len(got), len(want), err)
			}
			if !slices.Equal(got, want[:min(len(got), len(want))]) {
				t.Errorf("%s, byte %d: other changes before the error", filepath.Base(log), at)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			os.RemoveAll(filepath.Dir(dir))
		}
	}
}
