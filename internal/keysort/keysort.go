// Package keysort sorts keys that lie in an arena or a block of memory, by entries of 16 bytes
// that say where they are.
package keysort

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"
)

// An Entry stands for a key while keys are sorted.
type Entry struct {
	// At is the caller's place of the key. Of equal keys the one with the least At is first.
	At   uint64
	word uint64 // the eight bytes of the key that are compared now
}

const (
	// fewEntries are sorted by comparisons.
	fewEntries = 128
	// entriesBetween are looked at between two looks at the context.
	entriesBetween = 1 << 14
)

// Sort sorts entries by the bytes of their keys in place. key gives the key of an entry, which must
// not change. equal is called once for each run of two and more equal keys; it may change them,
// and may be nil. When the context ends, Sort stops, and the entries are in any order.
//
// It compares words of eight bytes, the first ones behind the beginning that all keys share,
// and fetches the next eight bytes of a key only if others are equal so far.
func Sort(ctx context.Context, entries []Entry, key func(at uint64) []byte, equal func([]Entry)) {
	s := sorter{ctx, key, equal}
	if len(entries) > 1 {
		s.sort(entries, s.shared(entries))
	}
}

type sorter struct {
	ctx   context.Context
	key   func(at uint64) []byte
	equal func([]Entry)
}

func (s *sorter) ended(i int) bool { return i%entriesBetween == 0 && s.ctx.Err() != nil }

// shared is the length of the beginning that all keys have.
func (s *sorter) shared(all []Entry) int {
	first := s.key(all[0].At)
	n := len(first)
	for i := 1; i < len(all) && n > 0; i++ {
		if s.ended(i) {
			return 0
		}
		key := s.key(all[i].At)
		if n <= len(key) && bytes.Equal(key[:n], first[:n]) {
			continue
		}
		n = min(n, len(key))
		for k := range n {
			if key[k] != first[k] {
				n = k
				break
			}
		}
	}
	return n
}

// sort sorts entries whose keys share their first depth bytes. It calls itself only for a part of
// them, so that long keys take no stack.
func (s *sorter) sort(all []Entry, depth int) {
	for {
		inOrder, alike, before := true, true, Entry{}
		for i := range all {
			if s.ended(i + 1) {
				return
			}
			e := &all[i]
			e.word = wordAt(s.key(e.At), depth)
			inOrder = inOrder && (e.word > before.word || e.word == before.word && e.At >= before.At)
			alike = alike && e.word == all[0].word
			before = *e
		}
		if alike && s.ctx.Err() == nil && s.longer(all, depth+8) {
			depth += 8
			continue
		}
		if !inOrder {
			s.radix(all, 0)
		}
		break
	}
	for from, to := 0, 0; from < len(all); from = to {
		for to = from + 1; to < len(all) && all[to].word == all[from].word; to++ {
		}
		if to == from+1 {
			continue
		}
		if s.ctx.Err() != nil {
			return
		}
		run := all[from:to]
		if s.longer(run, depth+8) {
			s.sort(run, depth+8)
		} else {
			s.same(run)
		}
	}
}

// longer reports whether keys that are equal up to depth go on. Zeros behind the end of the others
// sort these first.
func (s *sorter) longer(all []Entry, depth int) bool {
	return slices.ContainsFunc(all, func(e Entry) bool { return len(s.key(e.At)) > depth })
}

// same sorts keys that are equal but for zeros at their ends.
func (s *sorter) same(all []Entry) {
	size := func(e Entry) int { return len(s.key(e.At)) }
	if first := size(all[0]); slices.ContainsFunc(all, func(e Entry) bool { return size(e) != first }) {
		slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Compare(size(a), size(b)) })
	}
	if s.equal == nil {
		return
	}
	for from, to := 0, 0; from < len(all); from = to {
		for to = from + 1; to < len(all) && size(all[to]) == size(all[from]); to++ {
		}
		if to > from+1 {
			s.equal(all[from:to])
		}
	}
}

// radix sorts entries by their words and then by At, from a digit of these 16 bytes on.
func (s *sorter) radix(all []Entry, digit int) {
	if len(all) <= fewEntries || digit == 16 {
		slices.SortFunc(all, compare)
		return
	}
	var next, end [256]int
	for ; digit < 16; digit++ {
		if s.ctx.Err() != nil {
			return
		}
		clear(end[:])
		for i := range all {
			end[all[i].digit(digit)]++
		}
		if end[all[0].digit(digit)] < len(all) {
			break
		}
	}
	if digit == 16 { // the same entry twice
		return
	}
	at := 0
	for d, n := range end {
		next[d], end[d] = at, at+n
		at += n
	}
	for d := range end {
		for next[d] < end[d] {
			e := all[next[d]]
			for to := int(e.digit(digit)); to != d; to = int(e.digit(digit)) {
				e, all[next[to]] = all[next[to]], e
				next[to]++
			}
			all[next[d]] = e
			next[d]++
		}
	}
	from := 0
	for _, to := range end {
		if to-from > 1 {
			s.radix(all[from:to], digit+1)
		}
		from = to
	}
}

func (e *Entry) digit(i int) byte {
	if i < 8 {
		return byte(e.word >> (56 - 8*i))
	}
	return byte(e.At >> (120 - 8*i))
}

func compare(a, b Entry) int {
	switch {
	case a.word < b.word:
		return -1
	case a.word > b.word:
		return 1
	}
	return cmp.Compare(a.At, b.At)
}

// wordAt is the eight bytes of a key from a place on, with zeros after its end, as a number that
// sorts like them.
func wordAt(key []byte, from int) uint64 {
	if from+8 <= len(key) {
		return binary.BigEndian.Uint64(key[from:])
	}
	var word [8]byte
	if from < len(key) {
		copy(word[:], key[from:])
	}
	return binary.BigEndian.Uint64(word[:])
}
