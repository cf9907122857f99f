package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cf"
)

// A log that is read while it grows, by any number of bytes at a time, has its records as
// they were written, each once it is whole.
func TestALogThatGrowsIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var log []byte
		var records [][]byte
		var ends []int
		for i := range rapid.IntRange(1, 20).Draw(t, "records") {
			size := rapid.OneOf(rapid.IntRange(0, 200), rapid.IntRange(BlockSize-20, BlockSize+20), rapid.IntRange(0, 4*BlockSize)).Draw(t, "size")
			records = append(records, bytes.Repeat([]byte{byte(i)}, size))
			log = appendRecord(log, records[i])
			ends = append(ends, len(log))
		}
		there, read := 0, 0
		r := &Reader{Number: 7, Read: func(at int64, to []byte) (int, error) {
			return copy(to, log[min(at, int64(there)):there]), nil
		}}
		for read < len(records) {
			switch record, err := r.Next(); {
			case err == nil && there < ends[read]:
				t.Fatalf("record %d ends at %d, and is read when %d bytes are there", read, ends[read], there)
			case err == nil:
				if !bytes.Equal(record, records[read]) {
					t.Fatalf("record %d has %d bytes, and %d were written", read, len(record), len(records[read]))
				}
				read++
			case !errors.Is(err, ErrEnd):
				t.Fatal(err)
			case there >= ends[read]:
				t.Fatalf("record %d ends at %d, and is not read when %d bytes are there", read, ends[read], there)
			default:
				most := len(log) - there
				there += rapid.OneOf(rapid.IntRange(1, min(most, 50)), rapid.IntRange(1, most)).Draw(t, "grows")
			}
		}
		if _, err := r.Next(); !errors.Is(err, ErrEnd) {
			t.Errorf("behind the last record: %v", err)
		}
		at := rapid.IntRange(0, len(log)-1).Draw(t, "damaged")
		log[at] ^= 1
		r = &Reader{Number: 7, Read: r.Read}
		for i := 0; ; i++ {
			record, err := r.Next()
			if errors.Is(err, cf.ErrCorrupt) || errors.Is(err, ErrEnd) {
				return // zeros between blocks have no checksum, and a length may reach beyond the end
			}
			if err != nil || i >= len(records) || !bytes.Equal(record, records[i]) {
				t.Fatalf("with byte %d damaged, record %d has %d bytes: %v", at, i, len(record), err)
			}
		}
	})
}

// appendRecord appends a record to a log as RocksDB does: in fragments that no block's end
// divides.
func appendRecord(log, record []byte) []byte {
	for first := true; ; first = false {
		rest := BlockSize - len(log)%BlockSize
		if rest < HeaderSize {
			log = append(log, make([]byte, rest)...)
			rest = BlockSize
		}
		n := min(len(record), rest-HeaderSize)
		last := n == len(record)
		kind := map[[2]bool]byte{{true, true}: FullRecord, {true, false}: FirstFragment, {false, false}: MiddleFragment, {false, true}: LastFragment}[[2]bool{first, last}]
		sum := crc32.Checksum(append([]byte{kind}, record[:n]...), Castagnoli)
		log = binary.LittleEndian.AppendUint32(log, Masked(sum))
		log = append(binary.LittleEndian.AppendUint16(log, uint16(n)), kind)
		log = append(log, record[:n]...)
		record = record[n:]
		if last {
			return log
		}
	}
}
