package pebble

import (
	"encoding/binary"
	"io"
	"slices"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf/merge"
)

// Pebble does not say whether the oldest of the values that it merges is a value that was
// put or an operand. So operands begin with a byte of their own, and a value that begins
// with it, or with the escape, is escaped. No value of smolwc begins with either, so
// nothing is copied for it.
const (
	markEscape   = 0xfe
	markOperands = 0xff // then each operand after its length
)

func appendOperand(dst, operand []byte) []byte {
	if len(dst) == 0 {
		dst = append(dst, markOperands)
	}
	return append(binary.AppendUvarint(dst, uint64(len(operand))), operand...)
}

// stored is a value as it is stored; plain is its inverse.
func escaped(value []byte) bool { return len(value) > 0 && value[0] >= markEscape }

func plain(stored []byte) []byte {
	if len(stored) == 0 || stored[0] < markEscape {
		return stored
	}
	return plainMarked(stored)
}

func plainMarked(stored []byte) []byte {
	if stored[0] == markEscape {
		return stored[1:]
	}
	return merge.Full(nil, operandsOf(stored)...)
}

func operandsOf(stored []byte) [][]byte { return appendOperandsOf(nil, stored) }

func appendOperandsOf(operands [][]byte, stored []byte) [][]byte {
	for rest := stored[min(1, len(stored)):]; len(rest) > 0; {
		n, k := binary.Uvarint(rest)
		if k <= 0 || n > uint64(len(rest)-k) {
			return append(operands, rest) // damaged: it becomes a value that no reader takes
		}
		operands = append(operands, rest[k:k+int(n)])
		rest = rest[k+int(n):]
	}
	return operands
}

var merger = &engine.Merger{
	Name: "smolwc.merger.v1",
	Merge: func(_, value []byte) (engine.ValueMerger, error) {
		m := new(merging)
		return m, m.MergeOlder(value)
	},
}

// A merging collects operands, and perhaps a value below them.
type merging struct {
	older  [][]byte // the newest first
	newer  [][]byte // than all of these, the oldest first
	memory []byte   // of copies
	base   []byte
	based  bool
	apart  bool // the operands cannot be joined
}

// mostOperands are joined before there are more.
const mostOperands = 100

func (m *merging) clone(value []byte) []byte {
	from := len(m.memory)
	m.memory = append(m.memory, value...)
	return m.memory[from:len(m.memory):len(m.memory)]
}

func (m *merging) MergeNewer(value []byte) error {
	value = m.clone(value)
	if len(value) > 0 && value[0] == markOperands {
		m.newer = appendOperandsOf(m.newer, value)
	} else { // cannot be: a put hides the entries below it
		m.older, m.newer, m.base, m.based = nil, nil, plain(value), true
	}
	if len(m.newer) > mostOperands {
		m.join()
	}
	return nil
}

func (m *merging) MergeOlder(value []byte) error {
	value = m.clone(value)
	if len(value) == 0 || value[0] != markOperands {
		m.base, m.based = plain(value), true
		return nil
	}
	from := len(m.older)
	m.older = appendOperandsOf(m.older, value)
	slices.Reverse(m.older[from:])
	if len(m.older) > mostOperands {
		m.join()
	}
	return nil
}

// operands are all operands, the oldest first.
func (m *merging) operands() [][]byte {
	slices.Reverse(m.older)
	m.older, m.newer = nil, append(m.older, m.newer...)
	return m.newer
}

func (m *merging) join() {
	if m.apart {
		return
	}
	one, ok := merge.Operands(m.operands()...)
	if m.apart = !ok; ok {
		m.newer, m.memory = [][]byte{one}, nil
	}
}

func (m *merging) Finish(includesBase bool) ([]byte, io.Closer, error) {
	if includesBase || m.based {
		full := m.base
		if operands := m.operands(); len(operands) > 0 {
			full = merge.Full(m.base, operands...)
		}
		if escaped(full) {
			full = append([]byte{markEscape}, full...)
		}
		return full, nil, nil
	}
	m.join()
	var all []byte
	for _, o := range m.operands() {
		all = appendOperand(all, o)
	}
	return all, nil, nil
}
