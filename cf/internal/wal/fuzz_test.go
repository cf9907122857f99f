package wal

import (
	"bytes"
	"errors"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

// Any bytes of a log or a manifest, of either engine, are judged without a panic: sound, torn
// or damaged. A reader of the same bytes ends, and has no record that the judge has not.
func FuzzLog(f *testing.F) {
	log := appendRecord(appendRecord(nil, bytes.Repeat([]byte{1}, 40)), bytes.Repeat([]byte{2}, 300))
	f.Add(log, true)
	f.Add(log[:len(log)-3], false)
	f.Add(append(log, make([]byte, 600)...), true)
	f.Add([]byte{0, 0, 0, 0, 0, 0, firstRecycled, 8, 0, 0, 0}, true)
	f.Fuzz(func(t *testing.T, data []byte, pebble bool) {
		layout := RocksDB
		if pebble {
			layout = Pebble
		}
		state := State{Path: "000007.log", Layout: layout, Unwritten: -1, Synced: -1}
		err := state.CheckFrom(bytes.NewReader(data), int64(len(data)))
		if err != nil && !errors.Is(err, cf.ErrCorrupt) {
			t.Fatal(err)
		}
		r := &Reader{Number: 7, Layout: layout, Read: func(at int64, to []byte) (int, error) {
			return copy(to, data[min(at, int64(len(data))):]), nil
		}}
		n := 0
		for {
			if _, rerr := r.Next(); rerr != nil {
				if !errors.Is(rerr, ErrEnd) && !errors.Is(rerr, cf.ErrCorrupt) {
					t.Fatal(rerr)
				}
				break
			}
			n++
		}
		if err == nil && layout == Pebble && !state.Torn && n > state.Records {
			t.Errorf("%d records are read, %d judged", n, state.Records)
		}
	})
}
