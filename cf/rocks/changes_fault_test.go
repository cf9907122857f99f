//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// A write that failed on a full disk may be in the log, with numbers that are reused. A
// reading of the log returns the acknowledged changes in their order, and nothing else
// that is not in the tables.
func TestChangesOfAFullDiskAreThoseThatWereMade(t *testing.T) {
	disk := smallDisk(t, 24)
	o := rocks.Options{Memory: 16 << 20}
	s := open(t, filepath.Join(disk, "db"), o)
	defer func() { s.Close() }()
	if err := errors.Join(s.CreateFamily(t.Context(), "t"), s.KeepChanges(time.Now())); err != nil {
		t.Fatal(err)
	}
	starts, err := s.ChangeStarts()
	if err != nil {
		t.Fatal(err)
	}
	begin := starts[len(starts)-1]
	n, acknowledged := 0, map[string]bool{}
	put := func(size int) error {
		row := fmt.Sprintf("%06d", n)
		n++
		_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			b.Note([]byte(row))
			b.Row(cf.RowID{Space: "t", Row: row})
			b.Put("t", "q", 1, bytes.Repeat([]byte("x"), size))
			b.Put("t", "p", 1, []byte("y"))
			return nil
		})
		if err == nil {
			acknowledged[row] = true
		}
		return err
	}
	ballast := filepath.Join(disk, "ballast")
	for round := range 2 {
		if err := fillDisk(ballast, 4<<20); err != nil {
			t.Fatal(err)
		}
		for i := 0; err == nil && i < 20_000; i++ {
			err = put(100 + i*37%3000)
		}
		if !errors.Is(err, cf.ErrUnavailable) {
			t.Fatalf("round %d: a full disk: %v after %d writes", round, err, n)
		}
		if err = os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		expectResumed(t, put)
		// A flush may have failed before there was room.
		expectResumed(t, func(int) error { return s.Flush(t.Context(), "t") })
	}
	there := map[string]bool{}
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	cursor, err := snap.Scan(t.Context(), cf.Scan{Family: "t", Rows: []cf.Range{{}}, Filter: cf.Filter{KeysOnly: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	for {
		b, err := cursor.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			break
		}
		for i := range b.Rows {
			there[b.RowKey(&b.Rows[i])] = true
		}
	}
	c, err := s.Changes(begin)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	last, at := "", cf.Position(0)
	for {
		k, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if k == nil {
			break
		}
		row := string(k.Ops[0].Value)
		if row <= last || k.Before < at {
			t.Errorf("%s at %d comes after %s at %d", row, k.Before, last, at)
		}
		last, at = row, k.At
		if !there[row] {
			t.Errorf("the change of row %s is told, and it is not there", row)
		}
		delete(there, row)
	}
	for row := range there {
		t.Errorf("row %s is there, acknowledged %t, and its change is not told", row, acknowledged[row])
	}
}
