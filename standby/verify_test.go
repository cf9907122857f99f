//go:build cgo

package standby_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/standby"
)

// forge replaces the first one of each text in the log of a closed database, with checksums
// that fit: as if the memory of the machine had changed the bytes.
func forge(t *testing.T, dir string, texts ...string) {
	t.Helper()
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for i := 0; i < len(texts); i += 2 {
		found := false
		for _, path := range logs {
			log, err := os.ReadFile(path)
			must(t, err)
			if at := bytes.Index(log, []byte(texts[i])); at >= 0 && !found {
				found = true
				copy(log[at:], texts[i+1])
				sumAgain(log, at)
				must(t, os.WriteFile(path, log, 0o644))
			}
		}
		if !found {
			t.Fatalf("%q is not in the log", texts[i])
		}
	}
}

// sumAgain corrects the checksum of the fragment of a record around a place.
func sumAgain(log []byte, place int) {
	const block, header = 32 << 10, 7
	for at := place / block * block; at < len(log); {
		end := at + header + int(binary.LittleEndian.Uint16(log[at+4:]))
		if place < end {
			sum := crc32.Checksum(log[at+6:end], crc32.MakeTable(crc32.Castagnoli))
			binary.LittleEndian.PutUint32(log[at:], (sum>>15|sum<<17)+0xa282ead8)
			return
		}
		at = end
	}
}

// put writes a cell with a timestamp.
func putAt(t *testing.T, db *query.DB, table, row, value string, at cells.Timestamp) {
	t.Helper()
	m := write.NewMutation()
	m.SetAt("f", "q", at, cells.String(value))
	must(t, db.Table(table).Apply(t.Context(), row, m))
}

// verify verifies a standby that is equal.
func verify(t *testing.T, s *standby.Standby) *standby.Verification {
	t.Helper()
	v, err := s.Verify(t.Context(), nil)
	must(t, err)
	if !v.Equal() {
		t.Fatalf("%s; the tables are %+v", v.Difference(), v.Tables)
	}
	return v
}

// A standby is compared with its primary while both are written, loaded, and change their
// tables.
func TestVerifyUnderLoad(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	sums := schema.Table{Name: "sums", Families: []schema.Family{{Name: "n", Aggregate: schema.AggregateSum}, {Name: "u", Aggregate: schema.AggregateHLL}}}
	declare(t, p.db, table("a", "f", "g"), sums)
	s := follow(t, filepath.Join(t.TempDir(), "standby"), p.addr)
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	for w := range 3 {
		writing.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				row, m, n := fmt.Sprintf("%03d", (i*7+w)%200), write.NewMutation(), write.NewMutation()
				m.Set("f", "q", cells.String(fmt.Sprint(w, i)))
				m.Set("g", "q", cells.String("v"))
				if i%11 == 0 {
					m.DeleteRow()
				}
				n.AddAt("n", "q", 60_000_000, cells.I64(int64(i)))
				n.AddAt("u", "q", 60_000_000, cells.I64(int64(i)))
				if err := errors.Join(p.db.Table("a").Apply(t.Context(), row, m), p.db.Table("sums").Apply(t.Context(), row[:2], n)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writing.Go(func() {
		for i := 0; ctx.Err() == nil && i < 6; i++ {
			load(t, p.db, "a", 300+10*i, 310+10*i, "loaded")
			declare(t, p.db, table("a", "f", "g"), sums, table(fmt.Sprint("t", i), "f"))
			if err := p.db.Table("sums").Flush(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	last := uint64(0)
	for range 12 {
		v := verify(t, s)
		if v.Position < last {
			t.Errorf("position %d after %d", v.Position, last)
		}
		last = v.Position
	}
	stop()
	writing.Wait()
	v := verify(t, s)
	for _, name := range []string{"", "a", "sums"} {
		if i := indexOf(v, name); i < 0 || v.Tables[i].Here.Cells == 0 || v.Tables[i].Here != v.Tables[i].Primary || v.Tables[i].Here.Rows == 0 {
			t.Errorf("table %q: %+v", name, v.Tables)
		}
	}
}

func indexOf(v *standby.Verification, table string) int {
	for i, t := range v.Tables {
		if t.Name == table {
			return i
		}
	}
	return -1
}

// A cell that was changed in the files of a standby is found by its key, wherever it is;
// so are rows that are missing, and rows that only the standby has. The standby is copied
// anew then, and its files stay.
func TestVerifyFindsADifference(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, row, difference string
		texts                 []string
	}{
		{"a flipped cell", "row0777", "has other cells", []string{"value of row 777", "valve of row 777"}},
		{"the first row", "row0000", "has other cells", []string{"value of row 0", "valve of row 0"}},
		{"a lost row", "row0500", "is missing", []string{"row0500", "row0501"}},
		{"a row of the standby's own", "row0250~", "is not in the primary", []string{"row0251~", "row0250~"}},
		{"the last row", "row1999", "is missing", []string{"row1999", "row1998"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			p := newPrimary(t, 0)
			declare(t, p.db, table("a", "f"))
			dir := filepath.Join(t.TempDir(), "standby")
			s := follow(t, dir, p.addr)
			b := write.NewBatch()
			for i := range 2000 {
				value, m := "value", write.NewMutation()
				if i%777 == 0 {
					value = fmt.Sprintf("value of row %d", i)
				}
				m.SetAt("f", "q", 1000, cells.String(value))
				b.Add("a", fmt.Sprintf("row%04d", i), m)
			}
			must(t, p.db.Apply(t.Context(), b))
			for range 2 { // of which one can be changed into another row
				putAt(t, p.db, "a", "row0251~", "v", 1000)
			}
			awaitEqual(t, p.db, s)
			verify(t, s)
			must(t, s.Close())
			forge(t, dir, c.texts...)
			s = follow(t, dir, p.addr)
			v, err := s.Verify(t.Context(), nil)
			must(t, err)
			if i := indexOf(v, "a"); v.Equal() || i < 0 || v.Tables[i].Row != c.row || v.Tables[i].Difference != c.difference {
				t.Fatalf("%s; want %s of row %s", v.Difference(), c.difference, c.row)
			}
			s = rebuild(t, s, c.row)
			verify(t, s)
			if why, err := os.ReadFile(filepath.Join(dir+".diverged", "DIVERGED")); err != nil || !strings.Contains(string(why), c.row) {
				t.Errorf("DIVERGED is %q, %v", why, err)
			}
		})
	}
}
