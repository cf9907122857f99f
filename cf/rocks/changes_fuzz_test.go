//go:build cgo && linux && !norocksdb

package rocks

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
	"github.com/smolwc/smolwc/cf/rocks/internal/scan"
)

// seedRecord is a record of two batches, one with notes, as the engine joins them.
func seedRecord(t testing.TB) []byte {
	var plain, noted cf.Batch
	plain.PutMeta("k", []byte("v"))
	noted.Row(cf.RowID{Space: "t", Row: "r"})
	noted.Note([]byte("note"))
	noted.Put("t/f", "q", 1, []byte("x"))
	noted.DeleteRow("t/f")
	noted.DeleteCell("t/f", "q", 2)
	noted.Merge("t/f", "n", 0, cf.MergeSum, []byte("1"))
	open := families{"t/f": &family{Family: scan.Family{Name: "t/f"}, id: 7}}
	a, err := new(rep).append(nil, &plain, open, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := new(rep).append(nil, &noted, open, 0)
	if err != nil {
		t.Fatal(err)
	}
	record := append(a, b[wal.RepHeader:]...)
	binary.LittleEndian.PutUint64(record, 100)
	binary.LittleEndian.PutUint32(record[8:], 5)
	return record
}

func familySeven(id uint32) string {
	if id == 7 {
		return "t/f"
	}
	return ""
}

func TestARecordOfTwoBatchesIsTakenApart(t *testing.T) {
	commits, err := wal.ParseRecord(seedRecord(t), familySeven)
	if err != nil || len(commits) != 1 {
		t.Fatalf("%d commits, %v", len(commits), err)
	}
	c := commits[0]
	var kinds []cf.OpKind
	for _, op := range c.Ops {
		kinds = append(kinds, op.Kind)
	}
	want := []cf.OpKind{cf.OpNote, cf.OpPut, cf.OpDeleteRange, cf.OpDelete, cf.OpMerge}
	if c.Before != 100 || c.At != 104 || !bytes.Equal(opBytes(kinds), opBytes(want)) {
		t.Errorf("from behind %d to %d, kinds %v", c.Before, c.At, kinds)
	}
}

func opBytes(kinds []cf.OpKind) (b []byte) {
	for _, k := range kinds {
		b = append(b, byte(k))
	}
	return b
}

func FuzzLogRecord(f *testing.F) {
	seed := seedRecord(f)
	f.Add(seed)
	for i := wal.RepHeader; i < len(seed); i += 3 {
		f.Add(seed[:i])
	}
	f.Add([]byte{})
	f.Add(append(make([]byte, wal.RepHeader), wal.RepLogData, 1, wal.FrameEnd))
	f.Add(append(make([]byte, wal.RepHeader), wal.RepLogData, 1, wal.FrameBegin))
	f.Add(append(make([]byte, wal.RepHeader), wal.RepFamilyPut, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01))
	f.Fuzz(func(t *testing.T, record []byte) {
		commits, err := wal.ParseRecord(record, familySeven)
		if err != nil {
			if !errors.Is(err, cf.ErrCorrupt) {
				t.Errorf("error %v is not one of corruption", err)
			}
			return
		}
		for _, c := range commits {
			if c.At < c.Before {
				t.Errorf("a commit from behind %d to %d", c.Before, c.At)
			}
		}
	})
}

// FuzzLogReader reads a log of any bytes, in one go and as it grows.
func FuzzLogReader(f *testing.F) {
	var log []byte
	for _, data := range [][]byte{seedRecord(f), bytes.Repeat([]byte("large"), 20_000), []byte("small")} {
		log = appendLog(log, data)
	}
	f.Add(log, 100)
	f.Add(log[:50], 7)
	f.Add(log[:len(log)-3], 32<<10)
	f.Add([]byte{}, 1)
	f.Fuzz(func(t *testing.T, log []byte, grow int) {
		if grow <= 0 || len(log)/grow > 100 {
			return
		}
		whole := readAll(t, log, len(log)+1)
		if parts := readAll(t, log, grow); len(parts) > len(whole) {
			t.Errorf("%d records as the log grows, %d of the whole", len(parts), len(whole))
		}
	})
}

func TestALogIsReadAsItGrows(t *testing.T) {
	var log []byte
	var want [][]byte
	for i := range 300 {
		data := bytes.Repeat([]byte{byte(i)}, i*37%1500*(1+i%7/6*60))
		log = appendLog(log, data)
		want = append(want, data)
	}
	for _, grow := range []int{1 + len(log), 1000, 4099} {
		got := readAll(t, log, grow)
		if len(got) != len(want) {
			t.Fatalf("growing by %d: %d records, want %d", grow, len(got), len(want))
		}
		for i := range got {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("growing by %d: record %d is another", grow, i)
			}
		}
	}
}

// readAll is the records of a log that grows, up to the end or the first damage.
func readAll(t *testing.T, log []byte, grow int) (records [][]byte) {
	size := 0
	r := wal.Reader{Read: func(at int64, to []byte) (int, error) {
		if at >= int64(size) {
			return 0, nil
		}
		n, err := bytes.NewReader(log[:size]).ReadAt(to, at)
		if err == io.EOF {
			err = nil
		}
		return n, err
	}}
	for {
		record, err := r.Next()
		switch {
		case err == nil:
			records = append(records, record)
		case errors.Is(err, cf.ErrCorrupt):
			return records
		case !errors.Is(err, wal.ErrEnd):
			t.Fatal(err)
		case size == len(log):
			return records
		default:
			size = min(size+grow, len(log))
		}
	}
}

// appendLog writes a record as the engine does.
func appendLog(log, data []byte) []byte {
	for first := true; ; first = false {
		if rest := wal.BlockSize - len(log)%wal.BlockSize; rest < wal.HeaderSize {
			log = append(log, make([]byte, rest)...)
		}
		n := min(len(data), wal.BlockSize-len(log)%wal.BlockSize-wal.HeaderSize)
		last := n == len(data)
		kind := byte(wal.MiddleFragment)
		switch {
		case first && last:
			kind = wal.FullRecord
		case first:
			kind = wal.FirstFragment
		case last:
			kind = wal.LastFragment
		}
		log = appendFragment(log, kind, data[:n])
		if data = data[n:]; last {
			return log
		}
	}
}

func appendFragment(log []byte, kind byte, data []byte) []byte {
	at := len(log)
	log = append(log, 0, 0, 0, 0, byte(len(data)), byte(len(data)>>8), kind)
	log = append(log, data...)
	sum := crc32.Checksum(log[at+6:], wal.Castagnoli)
	binary.LittleEndian.PutUint32(log[at:], (sum>>15|sum<<17)+0xa282ead8)
	return log
}
