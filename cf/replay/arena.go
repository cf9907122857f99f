package replay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/smolwc/smolwc/cf"
)

// An arena holds changes in memory, by family in the order in which they came: the oldest first, or
// backward.
type arena struct {
	backward bool

	data    []byte
	entries map[string][]entry
	count   int
}

// An entry is the place of a change. word is a part of its key for comparisons.
type entry struct {
	word uint64
	at   uint32
}

const (
	arenaHead = 1 + 4 + 4 // kind, lengths of key and value
	entrySize = 16
)

func newArena(backward bool) *arena { return &arena{backward: backward, entries: map[string][]entry{}} }

func (a *arena) size() int { return len(a.data) + a.count*entrySize }

func (a *arena) add(family string, kind cf.OpKind, key, value []byte) {
	a.entries[family] = append(a.entries[family], a.put(kind, key, value))
	a.count++
}

func (a *arena) put(kind cf.OpKind, key, value []byte) entry {
	at := len(a.data)
	a.data = append(a.data, byte(kind))
	a.data = binary.LittleEndian.AppendUint32(a.data, uint32(len(key)))
	a.data = binary.LittleEndian.AppendUint32(a.data, uint32(len(value)))
	a.data = append(append(a.data, key...), value...)
	return entry{at: uint32(at)}
}

func (a *arena) reset() {
	a.data, a.count = a.data[:0], 0
	for family, all := range a.entries {
		a.entries[family] = all[:0]
	}
}

func (a *arena) key(at uint32) []byte {
	n := binary.LittleEndian.Uint32(a.data[at+1:])
	return a.data[at+arenaHead : at+arenaHead+n]
}

func (a *arena) change(at uint32) change {
	k, v, seq := binary.LittleEndian.Uint32(a.data[at+1:]), binary.LittleEndian.Uint32(a.data[at+5:]), 1+uint64(at)
	if a.backward {
		seq = math.MaxUint64 - seq
	}
	at += arenaHead
	return change{kind: cf.OpKind(a.data[at-arenaHead]), key: a.data[at : at+k : at+k], value: a.data[at+k : at+k+v : at+k+v], seq: seq}
}

// sorted gives the rest of the changes of a family, in the order of their keys.
func (a *arena) sorted(ctx context.Context, family string, give func(change) error) error {
	all := a.entries[family]
	if len(all) == 0 {
		return nil
	}
	shared := a.shared(all)
	for i := range all {
		all[i].word = wordAt(a.key(all[i].at), shared)
	}
	slices.SortFunc(all, func(x, y entry) int {
		switch {
		case x.word < y.word:
			return -1
		case x.word > y.word:
			return 1
		}
		if c := bytes.Compare(a.key(x.at)[shared:], a.key(y.at)[shared:]); c != 0 {
			return c
		}
		if a.backward {
			return cmp.Compare(y.at, x.at)
		}
		return cmp.Compare(x.at, y.at)
	})
	f := fold{ctx: ctx, give: give}
	for _, e := range all {
		if err := f.take(a.change(e.at)); err != nil {
			return err
		}
	}
	return f.end()
}

// shared is the length of the beginning that all keys have.
func (a *arena) shared(all []entry) int {
	first := a.key(all[0].at)
	n := len(first)
	for _, e := range all[1:] {
		key := a.key(e.at)
		if n <= len(key) && bytes.Equal(key[:n], first[:n]) {
			continue
		}
		n = min(n, len(key))
		for i := range n {
			if key[i] != first[i] {
				n = i
				break
			}
		}
	}
	return n
}

// wordAt is the eight bytes of a key from a place on, with zeros after its end. It sorts like
// them.
func wordAt(key []byte, from int) uint64 {
	var word [8]byte
	copy(word[:], key[from:])
	return binary.BigEndian.Uint64(word[:])
}
