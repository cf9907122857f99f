package replay

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"

	"github.com/smolwc/smolwc/cf"
)

// A hider takes changes from the newest to the oldest, and finds those that later ones hide. A key
// that is put or deleted later hides its earlier changes. In a family whose readers see one version,
// a newer cell that nothing deletes hides the others of its column. It may miss some, and its memory
// is bounded.
type hider struct {
	latest  table           // by key, and by column with its newest version
	deleted bloom           // keys and rows in which something was deleted
	single  map[string]bool // the families whose readers see one version
	pruned  map[string]bool // the families in which cells were hidden
}

func newHider(single map[string]bool) *hider {
	return &hider{latest: newTable(), single: single, pruned: map[string]bool{}}
}

// hides reports whether a change need not be made.
func (h *hider) hides(op *cf.LoggedOp) bool {
	switch {
	case op.Kind == cf.OpDeleteRange:
		if row := rowOf(op.Key); row != nil && sameRow(row, op.Value) {
			h.deleted.add(h.latest.hash(op.Family, row))
		} // a range of several rows is of whole rows: it deletes the cells that its own hide, too
		return false
	case !h.single[op.Family] || len(op.Key) < cf.VersionLen:
		key := h.latest.hash(op.Family, op.Key)
		if h.latest.get(key) != nil {
			return true
		}
		if op.Kind != cf.OpMerge {
			h.latest.put(key, 0)
		}
		return false
	case op.Kind != cf.OpPut:
		h.deleted.add(h.latest.hash(op.Family, op.Key))
		return false
	}
	column := op.Key[:len(op.Key)-cf.VersionLen]
	age := binary.BigEndian.Uint64(op.Key[len(op.Key)-8:]) // the newest version has the least
	key := h.latest.hash(op.Family, column)
	at := h.latest.get(key)
	if at != nil && *at <= age {
		h.pruned[op.Family] = true
		return true
	}
	if h.stays(op) {
		if at != nil {
			*at = age
		} else {
			h.latest.put(key, age)
		}
	}
	return false
}

// stays reports whether surely nothing later deletes a cell without those that it hides.
func (h *hider) stays(op *cf.LoggedOp) bool {
	row := rowOf(op.Key)
	return row != nil && !h.deleted.has(h.latest.hash(op.Family, op.Key)) && !h.deleted.has(h.latest.hash(op.Family, row))
}

// rowOf is the row prefix of a key, nil if it has none.
func rowOf(key []byte) []byte {
	for at := 1; at < len(key); {
		zero := bytes.IndexByte(key[at:], 0)
		if zero < 0 {
			return nil
		}
		if at += zero + 1; at == len(key) || key[at] != 0xff {
			return key[:at]
		}
		at++
	}
	return nil
}

// sameRow reports whether a range that begins in a row ends there: its end continues the row's
// prefix.
func sameRow(row, end []byte) bool {
	return len(end) > len(row) && bytes.HasPrefix(end, row) && end[len(row)] != 0xff
}

// A table has numbers by hashes of 128 bits. A full one takes no more.
type table struct {
	seeds [2]maphash.Seed
	slots []slot
	used  int
}

type slot struct {
	key hash
	n   uint64
}

type hash [2]uint64

const mostSlots = 1 << 22 // of 24 bytes

func newTable() table {
	return table{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, slots: make([]slot, 1<<10)}
}

// hash is never zero.
func (t *table) hash(family string, key []byte) (h hash) {
	of := maphash.String(t.seeds[1], family)
	h[0] = maphash.Bytes(t.seeds[0], key) ^ of
	h[1] = (maphash.Bytes(t.seeds[1], key) ^ of<<1) | 1
	return h
}

func (t *table) find(key hash) *slot {
	for at := key[0]; ; at++ {
		s := &t.slots[at&uint64(len(t.slots)-1)]
		if s.key == key || s.key == (hash{}) {
			return s
		}
	}
}

func (t *table) get(key hash) *uint64 {
	if s := t.find(key); s.key == key {
		return &s.n
	}
	return nil
}

// put adds a key that is not there.
func (t *table) put(key hash, n uint64) {
	if t.used >= len(t.slots)/4*3 {
		if len(t.slots) == mostSlots {
			return
		}
		old := t.slots
		t.slots = make([]slot, 4*len(old))
		for _, s := range old {
			if s.key != (hash{}) {
				*t.find(s.key) = s
			}
		}
	}
	*t.find(key) = slot{key, n}
	t.used++
}

// A bloom says of a hash that was added that it may be there, and of most others that they are not.
type bloom []uint64

const bloomWords = 1 << 20 // after the first add

func (b *bloom) add(h hash) {
	if *b == nil {
		*b = make(bloom, bloomWords)
	}
	for _, at := range b.places(h) {
		(*b)[at/64] |= 1 << (at % 64)
	}
}

func (b *bloom) has(h hash) bool {
	if *b == nil {
		return false
	}
	for _, at := range b.places(h) {
		if (*b)[at/64]&(1<<(at%64)) == 0 {
			return false
		}
	}
	return true
}

func (*bloom) places(h hash) (at [3]uint64) {
	for i := range at {
		at[i] = (h[0] + uint64(i)*h[1]) % (64 * bloomWords)
	}
	return at
}
