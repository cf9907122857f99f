package pebble_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/pebble"
)

// A blob file whose end is damaged, or that is gone, is an error of the reads and compactions
// that need it, and of an open.
func TestADamagedBlobFile(t *testing.T) {
	for name, harm := range map[string]func(*testing.T, *disk, string){
		"flipped": func(t *testing.T, d *disk, path string) {
			data, err := d.files.UnsafeGetFileDataBuffer(path)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)-20] ^= 1
		},
		"cut": func(t *testing.T, d *disk, path string) {
			f, err := d.files.Create(path, "")
			if err == nil {
				err = f.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"gone": func(t *testing.T, d *disk, path string) {
			if err := d.files.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk()
			s := open(t, d, false)
			create(t, s, "t/a")
			if err := s.SetTuning("t/a", cf.Tuning{BlobMinSize: 4096, Compression: "none"}); err != nil {
				t.Fatal(err)
			}
			for i := range 4 {
				_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
					b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("r%06d", i)})
					b.Put("t/a", "q", 1, bytes.Repeat([]byte{byte(i)}, 10_000))
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Flush(t.Context(), "t/a"); err != nil {
				t.Fatal(err)
			}
			names, err := d.files.List("db")
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range names {
				if strings.HasSuffix(n, ".blob") {
					harm(t, d, "db/"+n)
				}
			}
			if err := s.Close(); err != nil { // nothing that was read is in the cache after it
				t.Fatal(err)
			}
			s, err = pebble.Open("db", pebble.Options{FS: d, Memory: 8 << 20})
			if err == nil {
				_, err = cftest.Read(t.Context(), s, cf.Scan{Family: "t/a", Rows: []cf.Range{{}}})
				_ = s.Compact(t.Context(), "t/a", cf.Range{}) // it may not need the file
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			if !errors.Is(err, cf.ErrCorrupt) || !strings.Contains(err.Error(), ".blob") {
				t.Errorf("reading it says %v", err)
			}
		})
	}
}

// A directory of another engine, also one that has lost its CURRENT, is not touched.
func TestAnotherEnginesDirectory(t *testing.T) {
	for _, lost := range []string{"", "CURRENT", "MANIFEST-000005"} {
		for _, o := range []pebble.Options{{}, {ReadOnly: true}, {MustExist: true}} {
			dir, was := t.TempDir(), 0
			for _, name := range []string{"CURRENT", "IDENTITY", "LOCK", "LOG", "MANIFEST-000005", "OPTIONS-000007", "000004.log", "000010.sst", "SYNCED"} {
				if name == lost {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte("MANIFEST-000005\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				was++
			}
			if s, err := pebble.Open(dir, o); err == nil {
				t.Errorf("without %s, %+v: it opens", lost, o)
				_ = s.Close()
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != was {
				t.Errorf("without %s, %+v: the directory has %v, %v", lost, o, left, err)
			}
			for _, e := range left {
				if text, err := os.ReadFile(filepath.Join(dir, e.Name())); err != nil || string(text) != "MANIFEST-000005\n" {
					t.Errorf("without %s, %+v: %s has %q, %v", lost, o, e.Name(), text, err)
				}
			}
		}
	}
}
