//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/rocks"
)

// mixed makes a database with all kinds of data: cells in files of several levels,
// values in blob files, deletes of cells and of ranges, an ingested file, operands of
// merges, and cells in the log alone. It returns what the families t and u have.
func mixed(t *testing.T) (dir string, want map[string]cftest.Rows) {
	t.Helper()
	dir = memoryDir(t)
	s, ctx := open(t, dir, rocks.Options{FileSize: 8 << 10}), context.Background()
	rng := rand.New(rand.NewPCG(*seed, 9))
	text := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('a' + rng.IntN(26))
		}
		return string(b)
	}
	fill := func(from, n, size int) {
		_, err := s.Write(ctx, nil, func(b *cf.Batch) error {
			for i := range n {
				b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("r%05d", from+i)})
				b.Put("t", "q", int64(rng.IntN(3)), []byte(text(size)))
				b.Put("u", "q", 1, []byte(text(200+rng.IntN(100))))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	flush := func() { must(s.Flush(ctx, "t"), s.Flush(ctx, "u")) }
	must(s.CreateFamily(ctx, "t"), s.CreateFamily(ctx, "u"), s.SetTuning("u", cf.Tuning{BlobMinSize: 250}))
	fill(0, 300, 40)
	must(s.Compact(ctx, "t", cf.Range{}), s.Compact(ctx, "u", cf.Range{}))
	fill(100, 100, 30)
	must(s.DropRange(ctx, []string{"t", "u"}, cf.Range{Start: "r00050", End: "r00080"}))
	flush()
	must(s.DropRange(ctx, []string{"t"}, cf.Range{Start: "r00250", End: "r00260"}))
	_, err := s.Write(ctx, nil, func(b *cf.Batch) error {
		for i := range 20 {
			b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("r%05d", 200+i)})
			b.DeleteCell("t", "q", 1)
			b.DeleteRow("u")
		}
		return nil
	})
	must(err)
	flush()
	for i := range 3 { // operands, two of them in one log
		_, err := s.Write(ctx, nil, func(b *cf.Batch) error {
			b.Note([]byte("a note, as a change stream has them"))
			b.Row(cf.RowID{Space: "t", Row: "sum"})
			b.Merge("t", "sum", 0, cf.MergeSum, binary.BigEndian.AppendUint64(nil, uint64(i)))
			return nil
		})
		must(err)
		if i == 0 {
			flush()
		}
	}
	fill(400, 20, 25)
	want = map[string]cftest.Rows{"t": all(t, s, "t"), "u": all(t, s, "u")}
	must(s.Close())
	return dir, want
}

func all(t *testing.T, s cf.Reader, family string) cftest.Rows {
	t.Helper()
	rows, err := read(s, family)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func read(s cf.Reader, family string) (cftest.Rows, error) {
	snap, err := s.Snapshot(context.Background())
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	rows, _, err := cftest.Collect(context.Background(), snap, cf.Scan{Family: family, Rows: []cf.Range{{}}})
	return rows, err
}

// One byte of any file is changed. Then reads are right, or there is an error of the
// kind ErrCorrupt that names a file or a family.
func TestAFlippedByteIsNeverAWrongAnswer(t *testing.T) {
	pristine, want := mixed(t)
	for kind, places := range map[string]int{"*.sst": 50, "*.blob": 16, "MANIFEST-*": 24, "CURRENT": 8, "OPTIONS-*": 4, "*.log": 8, "IDENTITY": 2} {
		t.Run(strings.Trim(kind, "*-."), func(t *testing.T) {
			t.Parallel()
			files, _ := filepath.Glob(filepath.Join(pristine, kind))
			if len(files) == 0 {
				t.Fatalf("there is no %s", kind)
			}
			rng := rand.New(rand.NewPCG(*seed, uint64(len(kind))))
			reported := 0
			for range places * *long {
				if flip(t, rng, pristine, files[rng.IntN(len(files))], want) {
					reported++
				}
			}
			t.Logf("%d of %d reported", reported, places**long)
		})
	}
}

// flip changes a byte of a file in a copy and reads everything.
func flip(t *testing.T, rng *rand.Rand, pristine, file string, want map[string]cftest.Rows) (reported bool) {
	t.Helper()
	dir := filepath.Join(memoryDir(t), "db")
	defer os.RemoveAll(filepath.Dir(dir))
	if err := os.CopyFS(dir, os.DirFS(pristine)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(file)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at, bits := rng.IntN(len(b)), byte(1)<<rng.IntN(8)
	if rng.IntN(2) == 0 { // in the part that describes the rest
		at = max(0, len(b)-1-rng.IntN(2500))
	}
	b[at] ^= bits
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
	what := fmt.Sprintf("seed %d: %s, byte %d of %d xor %02x", *seed, name, at, len(b), bits)
	return opened(t, dir, name, what, want)
}

func opened(t *testing.T, dir, name, what string, want map[string]cftest.Rows) (reported bool) {
	t.Helper()
	inFamily := strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
	judge := func(err error, family string) {
		t.Helper()
		reported = true
		if !errors.Is(err, cf.ErrCorrupt) {
			t.Errorf("%s: not a kind of damage: %v", what, err)
		}
		text := err.Error()
		if !slices.ContainsFunc([]string{".sst", ".blob", ".log", "MANIFEST", "CURRENT"}, func(s string) bool { return strings.Contains(text, s) }) {
			t.Errorf("%s: names no file: %v", what, err)
		}
		if inFamily && (!strings.Contains(text, name) || !strings.Contains(text, family)) {
			t.Errorf("%s: names another file or family than %s: %v", what, family, err)
		}
	}
	s, err := rocks.Open(dir, rocks.Options{})
	if err != nil {
		judge(err, "")
		return reported
	}
	defer s.Close()
	checked(t, s, name, inFamily, what)
	if have := s.Families(); !slices.Equal(have, []string{"t", "u"}) {
		t.Errorf("%s: families %q", what, have)
		return reported
	}
	for family, rows := range want {
		got, err := read(s, family)
		if err != nil {
			judge(err, "family "+family)
		} else if !got.Equal(rows) {
			t.Errorf("%s: family %s has other cells, %d rows for %d, and no error", what, family, len(got), len(rows))
		}
		n := 0
		var a cf.Answer
		err = s.Read(context.Background(), &cf.Scan{Family: family, Rows: []cf.Range{{}}}, &a)
		for b := range a.Blocks() {
			if n += len(b.Rows); b.Continued {
				n--
			}
		}
		if err != nil {
			judge(err, "family "+family)
		} else if n != len(rows) {
			t.Errorf("%s: family %s has %d rows for %d when read at once, and no error", what, family, n, len(rows))
		}
	}
	return reported
}

// checked expects that a check finds the damage of a table or blob file: it compares
// every byte with a meaning, even if no read needs it.
func checked(t *testing.T, s *rocks.Store, name string, inFamily bool, what string) {
	t.Helper()
	var found []string
	err := s.CheckFiles(context.Background(), func(f cf.CheckedFile) error {
		if f.Err != nil {
			found = append(found, f.Name)
			if inFamily && (f.Family != "t" && f.Family != "u" || !errors.Is(f.Err, cf.ErrCorrupt)) {
				t.Errorf("%s: a check finds %v in the family %q", what, f.Err, f.Family)
			}
		}
		return nil
	})
	if err != nil || len(found) > 1 || len(found) == 1 && found[0] != name {
		t.Errorf("%s: a check finds damage in %v, %v", what, found, err)
	}
	if strings.HasSuffix(name, ".blob") && len(found) == 0 {
		t.Errorf("%s: a check does not find it", what)
	}
}

// The last bit of a table file's properties says how to read them. RocksDB uses it
// before it compares their checksum, and would end the process. The same holds when the
// file is checked and ingested.
func TestADamagedKindOfPropertiesIsDamage(t *testing.T) {
	pristine, want := mixed(t)
	files, _ := filepath.Glob(filepath.Join(pristine, "*.sst"))
	if len(files) == 0 {
		t.Fatal("there is no table file")
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// The footer has the beginning of the list of blocks, after the kind of
		// checksum. The properties and their trailer of 5 bytes come before the list.
		list, _ := binary.Uvarint(b[len(b)-52:])
		b[list-6] ^= 0x80
		dir := filepath.Join(memoryDir(t), "db")
		if err := os.CopyFS(dir, os.DirFS(pristine)); err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if !opened(t, dir, name, name, want) {
			t.Errorf("%s: nothing is reported", name)
		}
		if _, err := rocks.Open(dir, rocks.Options{}); err == nil || strings.Contains(err.Error(), "MANIFEST") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
