package replay

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/keysort"
)

// An arena holds changes in memory, by family in the order in which they came: the oldest first, or
// backward.
type arena struct {
	backward bool

	data    []byte
	entries map[string][]keysort.Entry
	count   int
}

const (
	arenaHead = 1 + 4 + 4 // kind, lengths of key and value
	entrySize = 16
)

func newArena(backward bool) *arena {
	return &arena{backward: backward, entries: map[string][]keysort.Entry{}}
}

func (a *arena) size() int { return len(a.data) + a.count*entrySize }

func (a *arena) add(family string, kind cf.OpKind, key, value []byte) {
	a.entries[family] = append(a.entries[family], a.put(kind, key, value))
	a.count++
}

func (a *arena) put(kind cf.OpKind, key, value []byte) keysort.Entry {
	at := uint64(len(a.data))
	a.data = append(a.data, byte(kind))
	a.data = binary.LittleEndian.AppendUint32(a.data, uint32(len(key)))
	a.data = binary.LittleEndian.AppendUint32(a.data, uint32(len(value)))
	a.data = append(append(a.data, key...), value...)
	if a.backward {
		at = ^at // so that the newest of equal keys is the first
	}
	return keysort.Entry{At: at}
}

// place is where in data the change of an entry begins.
func (a *arena) place(at uint64) uint32 {
	if a.backward {
		at = ^at
	}
	return uint32(at)
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
	keysort.Sort(ctx, all, func(at uint64) []byte { return a.key(a.place(at)) }, nil)
	if err := ctx.Err(); err != nil {
		return err
	}
	f := fold{ctx: ctx, give: give}
	for _, e := range all {
		if err := f.take(a.change(a.place(e.At))); err != nil {
			return err
		}
	}
	return f.end()
}
