package pebble

import (
	"bytes"
	"hash/maphash"
	"math"
	"strings"
	"sync/atomic"

	"github.com/smolwc/smolwc/cf"
)

// Until a flush Pebble keeps each merge of a cell, and a read adds them all up. So that a
// counter that was just incremented a million times is read at once, a goroutine puts the
// value of cells that are merged often in the place of their merges. These commits have no
// notes: change streams do not show them.
type sums struct {
	merges [1 << 8]atomic.Int32 // of the cells with a hash, since one of them was summed up; negative while one is due
	due    chan mergedCell
}

type mergedCell struct {
	merges *atomic.Int32
	family string
	key    []byte
	rows   []cf.RowID // with its row key: in several spaces if the batch was
}

// pendingMerges is about how many merges of one cell a read finds.
const pendingMerges = 100

var mergeSeed = maphash.MakeSeed()

// merged counts the merges of a batch that was committed. A batch that names no row is of a
// replay: no lock keeps the next one from changing a cell while it is summed up.
func (s *sums) merged(b *cf.Batch) {
	if len(b.Rows()) == 0 {
		return
	}
	ops := b.Ops()
	for i := range ops {
		if op := &ops[i]; op.Kind == cf.OpMerge {
			n := &s.merges[maphash.Bytes(mergeSeed, b.Key(op))%uint64(len(s.merges))]
			if v := n.Add(1); v >= pendingMerges && n.CompareAndSwap(v, math.MinInt32) {
				s.due <- dueCell(n, op.Family, b.Key(op), b.Rows()) // there is room: one of each hash
			}
		}
	}
}

func dueCell(merges *atomic.Int32, family string, key []byte, rows []cf.RowID) mergedCell {
	c := mergedCell{merges: merges, family: family, key: bytes.Clone(key)}
	row, _, _, _ := cf.SplitCellKey(key)
	for _, r := range rows {
		if r.Row == string(row) {
			c.rows = append(c.rows, cf.RowID{Space: strings.Clone(r.Space), Row: strings.Clone(r.Row)})
		}
	}
	return c
}
