package moments

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"testing"

	"github.com/smolwc/smolwc/archive"
)

// randomBlocks are blocks that follow each other.
func randomBlocks(r *rand.Rand, n int) (all []*block) {
	h := header{Number: 1, Database: "d", Engine: "rocksdb", extent: extent{History: "h", Epoch: 1, After: 10, Last: 10, Since: 100, Begins: "the archive begins"}}
	for range n {
		b := &block{header: h}
		for range r.IntN(4) {
			x := record{after: b.Last, last: b.Last + 1 + r.Uint64N(5), time: r.Int64N(300), data: bytes.Repeat([]byte("data"), r.IntN(50))}
			b.Last = x.last
			b.records = append(b.records, x)
		}
		if r.IntN(3) == 0 {
			b.Bases = []base{{Generation: 1 + r.IntN(5), From: b.After, UpTo: b.Last, At: b.Since}}
			b.Loads = []load{{ID: "l", Files: []loadFile{{Name: "f", Size: 3, Sum: archive.Sum{1}}}}}
		}
		b.setTimes(h.Since+r.Int64N(20), r.IntN(2) == 0)
		if _, err := b.encode(); err != nil {
			panic(err)
		}
		h = header{Number: h.Number + 1, Database: "d", Engine: "rocksdb", extent: extent{History: "h", Epoch: h.Epoch, After: b.Last, Last: b.Last, Since: b.Until}, Prev: b.sum}
		if r.IntN(5) == 0 && b.Last > 11 { // a promotion
			h.Epoch, h.EpochID, h.After, h.Last = h.Epoch+1, "e", b.Last-1, b.Last-1
		}
		if r.IntN(6) == 0 {
			h.Begins = "a gap"
		}
		all = append(all, b)
	}
	return all
}

// What was encoded is decoded, merged or not, and a changed byte is an error.
func TestASegmentIsDecodedAsItWas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		blocks := randomBlocks(r, 1+r.IntN(8))
		text, s, err := encodeSegment(blocks)
		if err != nil {
			t.Fatal(err)
		}
		got, gotSummary, err := decodeSegment(text)
		if err != nil || len(got) != len(blocks) || gotSummary.Sum != s.Sum || got[len(got)-1].sum != blocks[len(blocks)-1].sum {
			t.Fatalf("%d blocks, %v", len(got), err)
		}
		again, _, err := encodeSegment(got)
		if err != nil || !bytes.Equal(again, text) {
			t.Fatalf("encoded again it differs: %v", err)
		}
		at := r.IntN(len(text))
		text[at] ^= 1 << r.IntN(8)
		if _, _, err := decodeSegment(text); err == nil {
			t.Fatalf("byte %d of %d was changed without an error", at, len(text))
		}
	}
}

// Blocks in another order, or of another chain, do not make a segment.
func TestASegmentHasAChain(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		blocks := randomBlocks(r, 4)
		i := r.IntN(3)
		blocks[i], blocks[i+1] = blocks[i+1], blocks[i]
		if _, _, err := encodeSegment(blocks); err == nil {
			t.Fatal("swapped blocks were encoded")
		}
		a, b := randomBlocks(r, 3), randomBlocks(r, 3)
		if _, _, err := encodeSegment([]*block{a[0], b[1]}); err == nil && a[0].sum != b[0].sum {
			t.Fatal("blocks of two chains were encoded")
		}
	}
}

// FuzzDecode: bytes of any kind are decoded or refused, and what is decoded is encoded to the same.
func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 5 {
		text, _, err := encodeSegment(randomBlocks(r, 3))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text[:len(text)-sha256.Size])
	}
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _, _ = decodeSummary(body)
		raw := bytes.Clone(body)
		if b, err := decodeBlock(&raw); err == nil && b == nil {
			t.Error("there is neither a block nor an error")
		}
		sum := sha256.Sum256(body)
		blocks, s, err := decodeSegment(append(bytes.Clone(body), sum[:]...))
		if err != nil {
			return
		}
		_, again, err := encodeSegment(blocks)
		if err != nil || again.Sum != s.Sum {
			t.Errorf("decoded blocks are encoded to others: %v", err)
		}
	})
}
