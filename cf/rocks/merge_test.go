//go:build cgo && linux && !norocksdb

package rocks

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/merge"
	"github.com/smolwc/smolwc/cf/rocks/internal/callbacks"
)

// A mergeModel is the merge operator in the simplest form.
type mergeModel struct {
	value   []byte // nil without a value
	pending [][]byte
}

// merged is the value that a read must return: what Go makes of it.
func (m *mergeModel) merged() []byte {
	if len(m.pending) == 0 {
		return m.value
	}
	return merge.Full(m.value, m.pending...)
}

// settle makes the merged value the cell's value, as a compaction to the last level
// does.
func (m *mergeModel) settle() { m.value, m.pending = m.merged(), nil }

// A mergeCell is a store with one cell, and the model of it.
type mergeCell struct {
	t     testing.TB
	store *Store
	row   string
	model mergeModel
}

func mergeStore(t testing.TB) *Store {
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.CreateFamily(context.Background(), "t"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (c *mergeCell) write(f func(b *cf.Batch)) {
	_, err := c.store.Write(context.Background(), nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: c.row})
		f(b)
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *mergeCell) put(value []byte) {
	c.write(func(b *cf.Batch) { b.Put("t", "q", 0, value) })
	c.model = mergeModel{value: value}
}

// merge merges operands, which may be anything, in one batch.
func (c *mergeCell) merge(operands ...[]byte) {
	c.write(func(b *cf.Batch) {
		for _, o := range operands {
			if len(o) == 0 {
				continue
			}
			b.Merge("t", "q", 0, cf.MergeKind(o[0]), o[1:])
			c.model.pending = append(c.model.pending, o)
		}
	})
}

func (c *mergeCell) delete() {
	c.write(func(b *cf.Batch) { b.DeleteCell("t", "q", 0) })
	c.model = mergeModel{}
}

// read is the cell's value, nil when there is no cell.
func (c *mergeCell) read() []byte {
	ctx := context.Background()
	snap, err := c.store.Snapshot(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	defer snap.Close()
	cur, err := snap.Scan(ctx, cf.Scan{Family: "t", Rows: []cf.Range{cf.Single(c.row)}})
	if err != nil {
		c.t.Fatal(err)
	}
	defer cur.Close()
	b, err := cur.Next(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	if b == nil {
		return nil
	}
	return b.Value(&b.Cells[0])
}

func (c *mergeCell) check(when string) {
	c.t.Helper()
	if got, want := c.read(), c.model.merged(); !bytes.Equal(got, want) {
		c.t.Fatalf("%s: the cell is %s, want %s", when, clip(got), clip(want))
	}
}

func clip(b []byte) string {
	if len(b) > 200 {
		return fmt.Sprintf("%x… (%d bytes)", b[:200], len(b))
	}
	return hex.EncodeToString(b)
}

func (c *mergeCell) maintain(compact bool) {
	ctx := context.Background()
	if err := c.store.Flush(ctx, "t"); err != nil {
		c.t.Fatal(err)
	}
	if !compact {
		return
	}
	if err := c.store.Compact(ctx, "t", cf.Range{}); err != nil {
		c.t.Fatal(err)
	}
	c.model.settle()
}

// Operands, values and their results, as bytes.
func TestMergedBytes(t *testing.T) {
	const most, least = "7fffffffffffffff", "8000000000000000"
	for _, test := range []struct{ what, put, merge, want string }{
		{"one", "", "01 06 0000000000000005", "06 0000000000000005"},
		{"sum", "06 0000000000000001", "01 06 0000000000000005 | 01 06 fffffffffffffffe", "06 0000000000000004"},
		{"wide", "", "01 06 " + most + " | 01 06 0000000000000001", "01 00000000000000008000000000000000"},
		{"wide below", "", "01 06 " + least + " | 01 06 " + least, "01 ffffffffffffffff0000000000000000"},
		{"narrow again", "01 00000000000000008000000000000000", "01 06 ffffffffffffffff", "06 " + most},
		{"min", "06 0000000000000001", "02 06 0000000000000005 | 02 06 fffffffffffffffe", "06 fffffffffffffffe"},
		{"max", "06 0000000000000001", "03 06 0000000000000005 | 03 06 fffffffffffffffe", "06 0000000000000005"},
		{"union", "010100 0000000000000007", "04 010100 0000000000000003ffffffffffffffff | 04 010100 0000000000000007",
			"010100 0000000000000003 0000000000000007 ffffffffffffffff"},

		{"unknown kind", "", "05 06 0000000000000005", "00 0000000a 05060000000000000005"},
		{"kinds differ", "06 0000000000000001", "01 06 0000000000000005 | 02", "00 00000009 060000000000000001 0000000a 01060000000000000005 00000001 02"},
		{"another type", "02 61", "01 06 0000000000000005", "00 00000002 0261 0000000a 01060000000000000005"},
		{"too short", "", "01 06 00", "00 00000003 010600"},
		{"wide for no reason", "", "01 01 00000000000000000000000000000001", "00 00000012 010100000000000000000000000000000001"},
		{"beyond 128 bits", "", strings.Repeat("01 01 7fffffffffffffffffffffffffffffff | ", 2), "00" + strings.Repeat("00000012 01017fffffffffffffffffffffffffffffff", 2)},
		{"no extreme is wide", "", "02 01 00000000000000008000000000000000", "00 00000012 020100000000000000008000000000000000"},
		{"empty value", "", "04", "00 00000001 04"},
		{"no hash", "", "04 010100", "00 00000004 04010100"},
		{"half a hash", "", "04 010100 00000000", "00 00000008 04010100 00000000"},
		{"hashes out of order", "", "04 010100 0000000000000003 0000000000000003", "00 00000014 04010100 0000000000000003 0000000000000003"},
		{"another version", "", "04 010200 0000000000000003", "00 0000000c 04010200 0000000000000003"},
		{"another form", "", "04 010102 0000000000000003", "00 0000000c 04010102 0000000000000003"},
		{"too few registers", "", "04 010101 00", "00 00000005 0401010100"},
		{"again", "00 00000001 05", "01 06 0000000000000005", "00 00000001 05 0000000a 01060000000000000005"},
	} {
		t.Run(test.what, func(t *testing.T) {
			c := &mergeCell{t: t, store: mergeStore(t), row: "r"}
			if test.put != "" {
				c.put(unhex(t, test.put))
			}
			for o := range strings.SplitSeq(test.merge, "|") {
				c.merge(unhex(t, o))
			}
			c.check("model")
			for _, when := range []string{"in memory", "flushed", "compacted"} {
				if got, want := c.read(), unhex(t, test.want); !bytes.Equal(got, want) {
					t.Errorf("%s: %x, want %x", when, got, want)
				}
				c.maintain(when == "flushed")
			}
			c.merge(unhex(t, "01 06 0000000000000001")) // later merges are kept too
			c.check("once more")
		})
	}
}

// anyOperand draws operands of one kind, now and then a bad one.
func anyOperand(kind cf.MergeKind) *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		if rapid.IntRange(0, 400).Draw(t, "bad") == 0 {
			return rapid.SliceOfN(rapid.Byte(), 1, 30).Draw(t, "operand")
		}
		if kind != cf.MergeDistinct {
			return binary.BigEndian.AppendUint64([]byte{byte(kind), 6}, uint64(rapid.Int64().Draw(t, "n")))
		}
		// Hashes in a run, so that a few draws make many and some in common.
		o := []byte{byte(kind), 1, 1, 0}
		step := uint64(0x9e3779b97f4a7c15)
		first := rapid.Uint64Range(0, 3000).Draw(t, "first")
		var hashes []uint64
		for i := range rapid.SampledFrom([]uint64{1, 1, 3, 700, 2048}).Draw(t, "n") {
			hashes = append(hashes, (first+i)*step)
		}
		slices.Sort(hashes)
		for _, h := range hashes {
			o = binary.BigEndian.AppendUint64(o, h)
		}
		return o
	})
}

// A cell is the merge of all its operands, for any flushes, compactions and snapshots
// between them.
func TestMergesInAnyGrouping(t *testing.T) {
	s := mergeStore(t)
	row := 0
	rapid.Check(t, func(rt *rapid.T) {
		row++
		c := &mergeCell{t: t, store: s, row: fmt.Sprint(row)}
		kind := cf.MergeKind(rapid.IntRange(1, 4).Draw(rt, "kind"))
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"merge", "merge", "merge", "merge", "delete", "flush", "flush", "compact", "snapshot"}).Draw(rt, "step") {
			case "merge":
				c.merge(rapid.SliceOfN(anyOperand(kind), 1, 4).Draw(rt, "operands")...)
			case "delete":
				c.delete()
			case "flush":
				c.maintain(false)
			case "compact":
				c.maintain(true)
			case "snapshot":
				snap, err := s.Snapshot(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				defer snap.Close()
			}
			got, want := c.read(), c.model.merged()
			if len(want) > 0 && want[0] == 0 {
				// Compactions may have merged the operands in any portions.
				if len(got) == 0 || got[0] != 0 {
					t.Fatalf("the cell is %s; want %s", clip(got), clip(want))
				}
				return
			}
			c.check("then")
		}
	})
}

// A write carries pending merges out, which changes nothing.
func TestManyMergesOfOneCell(t *testing.T) {
	c := &mergeCell{t: t, store: mergeStore(t), row: "r"}
	for i := range 3*callbacks.MaxPendingMerges + 7 {
		c.merge(binary.BigEndian.AppendUint64([]byte{1, 6}, uint64(i)))
	}
	c.check("after many")
	c.maintain(true)
	c.check("compacted")
}

// FuzzMerge: no operands crash the operator or make it lose data, and it agrees with
// the operator in Go.
func FuzzMerge(f *testing.F) {
	f.Add([]byte{}, []byte("\x01\x06\x00\x00\x00\x00\x00\x00\x00\x01"), []byte("\x01\x06\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte("\x06\x00\x00\x00\x00\x00\x00\x00\x09"), []byte("\x02\x06\x00\x00\x00\x00\x00\x00\x00\x01"), []byte{})
	f.Add([]byte("\x01\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), []byte("\x01\x06\x00\x00\x00\x00\x00\x00\x00\x01"), []byte("\x01"))
	f.Add([]byte("\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x07"), []byte("\x04\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x07"), []byte("\x04\x01\x01\x01\x00"))
	f.Add([]byte("\x00\x00\x00"), []byte("\x04"), append([]byte{4, 1, 1, 1}, bytes.Repeat([]byte{51}, 16384)...))
	f.Add([]byte{}, append([]byte{4, 1, 1, 1}, bytes.Repeat([]byte{52}, 16384)...), []byte("\x04\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x07"))
	s := mergeStore(f)
	row := 0
	f.Fuzz(func(t *testing.T, put, a, b []byte) {
		row++
		c := &mergeCell{t: t, store: s, row: fmt.Sprint(row)}
		if len(put) > 0 {
			c.put(put)
		}
		c.merge(a)
		c.merge(b)
		c.check("in memory")
	})
}
