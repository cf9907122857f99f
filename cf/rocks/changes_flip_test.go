//go:build cgo && linux && !norocksdb

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
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/rocks"
)

// logOfChanges makes a database with changes in several logs, some of them by
// concurrent writers. It returns where they begin, and the changes.
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

// One byte of a log that is kept for its changes is changed. A reading then gives the
// right changes, or right changes and then an error of the kind ErrCorrupt that names
// the log.
func TestAFlippedByteInTheLogOfChanges(t *testing.T) {
	pristine, begin, want := logOfChanges(t)
	logs, _ := filepath.Glob(filepath.Join(pristine, "archive", "*.log"))
	if len(logs) < 3 {
		t.Fatalf("%d logs are kept", len(logs))
	}
	rng := rand.New(rand.NewPCG(*seed, 10))
	reported := 0
	for range 20 * *long {
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
	t.Logf("%d of %d reported", reported, 20**long)
	if reported == 0 {
		t.Error("no damage was found")
	}
}

// A length that is too long makes a record look cut off, like the last one before a
// crash. Since other records follow, it is damage: in the first record, in one in the
// middle, and in the last.
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

// The log that is being written is damaged at a place that was not read yet. A length
// that is too long, or zeros, look like the end of the log; but the writer knows how
// far it has written.
func TestADamagedEndOfTheLogThatIsWrittenIsDamage(t *testing.T) {
	for name, damage := range map[string]func(record []byte){
		"a length that is too long": func(record []byte) { record[5] |= 0x80 },
		"zeros":                     func(record []byte) { clear(record) },
	} {
		for _, damaged := range []int{0, 2, 4} { // of five records
			t.Run(fmt.Sprintf("%s in record %d", name, damaged), func(t *testing.T) {
				dir := memoryDir(t)
				s := open(t, dir, rocks.Options{Async: true})
				defer s.Close()
				if err := errors.Join(s.CreateFamily(t.Context(), "t", "u"), s.KeepChanges(time.Now())); err != nil {
					t.Fatal(err)
				}
				note := func(i int) {
					t.Helper()
					_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
						b.Note(fmt.Append(nil, i))
						b.Row(cf.RowID{Space: "t", Row: "r"})
						b.Put("t", "q", int64(i), nil)
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				note(-1)
				if err := s.Flush(t.Context(), "t"); err != nil {
					t.Fatal(err)
				}
				starts, err := s.ChangeStarts()
				if err != nil {
					t.Fatal(err)
				}
				begin := starts[len(starts)-1]
				under, err := s.Changes(begin) // under way
				if err != nil {
					t.Fatal(err)
				}
				defer under.Close()
				if k, err := under.Next(t.Context()); k != nil || err != nil {
					t.Fatal(k, err)
				}
				logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
				path := slices.Max(logs)
				var at []int64
				for i := range 5 {
					info, err := os.Stat(path)
					if err != nil {
						t.Fatal(err)
					}
					at = append(at, info.Size())
					note(i)
				}
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				end := len(b)
				if damaged < 4 {
					end = int(at[damaged+1])
				}
				damage(b[at[damaged]:end])
				file, err := os.OpenFile(path, os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := file.WriteAt(b, 0); err != nil {
					t.Fatal(err)
				}
				if err := file.Close(); err != nil {
					t.Fatal(err)
				}
				if late, err := s.Changes(begin); err == nil {
					late.Close()
				} else if damaged > 0 || !errors.Is(err, cf.ErrCorrupt) && !errors.Is(err, cf.ErrTrimmed) {
					t.Errorf("a reading that begins: %v", err)
				}
				before := under.Position()
				for read := 0; ; read++ {
					k, err := under.Next(t.Context())
					if err == nil && k != nil {
						before = k.At
						continue
					}
					if !errors.Is(err, cf.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), filepath.Base(path)) || read != damaged {
						t.Errorf("a reading under way ends with %v, %v, after %d changes", k, err, read)
					}
					break
				}
				if p := under.Position(); p != before || p > begin+cf.Position(damaged) {
					t.Errorf("the reading stands at %d, behind %d", p, begin)
				}
			})
		}
	}
}

// The sequence numbers of loads are not in the logs. A reading beside writers, loads
// and flushes does not report them as damage.
func TestLoadsAreNoDamageOfTheLog(t *testing.T) {
	s := open(t, memoryDir(t), rocks.Options{Async: true})
	defer s.Close()
	if err := errors.Join(s.CreateFamily(t.Context(), "t", "u"), s.KeepChanges(time.Now())); err != nil {
		t.Fatal(err)
	}
	c, err := s.Changes(cf.Position(0))
	if errors.Is(err, cf.ErrTrimmed) {
		starts, _ := s.ChangeStarts()
		c, err = s.Changes(starts[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const each = 60
	var working sync.WaitGroup
	for w := range 3 {
		working.Go(func() {
			for i := range each {
				_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
					b.Note([]byte{byte(w)})
					b.Row(cf.RowID{Space: "t", Row: fmt.Sprint(w)})
					b.Put("t", "q", int64(i), make([]byte, 1000*(i%30)))
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	working.Go(func() {
		for i := range 15 {
			if err := cftest.LoadCell(t.Context(), s, "u", fmt.Sprint(i), "q", "loaded"); err != nil {
				t.Error(err)
			}
			if i%5 == 0 {
				if err := s.Flush(t.Context(), "t"); err != nil {
					t.Error(err)
				}
			}
		}
	})
	done := make(chan struct{})
	go func() { working.Wait(); close(done) }()
	for n, ended := 0, false; ; {
		k, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if k != nil {
			n++
			continue
		}
		if ended {
			if n != 3*each {
				t.Errorf("%d changes", n)
			}
			return
		}
		select {
		case <-done:
			ended = true
		default:
		}
	}
}
