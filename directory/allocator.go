package directory

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/rowmap"
	"github.com/smolwc/smolwc/tuple"
)

// An allocator gives each number at most once over all transactions, and transactions
// that allocate at the same time seldom conflict. It is FoundationDB's high-contention
// allocator. Numbers are drawn at random from a window, which moves up when it is half
// used. The state is two maps: from the window's start to the count of numbers used,
// and from each used number to an empty value.
//
// Two transactions at the same time may raise the count by one only, because it is set
// and not added to. The window is then used further before it moves. It moves at the
// latest when maxDraws numbers in a row are taken.
type allocator struct {
	*work
	space string
}

const maxDraws = 16

// allocate returns the packed form of a number that no other call returns.
func (a *allocator) allocate() (string, error) {
	start, count, err := a.window()
	if err != nil {
		return "", err
	}
	for {
		if start, err = a.reserve(start, count+1); err != nil {
			return "", err
		}
		number, ok, err := a.draw(start, start+windowSize(start))
		if ok || err != nil {
			return number, err
		}
		count = windowSize(start) // reserve moves to the next window
	}
}

// windowSize makes the first numbers short: one byte, then two, then three.
func windowSize(start int64) int64 {
	switch {
	case start < 255:
		return 64
	case start < 65535:
		return 1024
	}
	return 8192
}

func (a *allocator) counters() string { return a.space + tuple.Key(0) }
func (a *allocator) recent() string   { return a.space + tuple.Key(1) }

func packed(n int64) string { return tuple.Key(n) }

// window returns the start of the newest window, and the count of its used numbers. The
// commit does not depend on it: a number of an older window is as good.
func (a *allocator) window() (start, count int64, err error) {
	rows := a.cell(within(a.counters()))
	for row, err := range a.tx.PeekRows(a.ctx, a.table(), append(rows, read.Reverse(), read.Limit(1))...) {
		if err != nil {
			return 0, 0, err
		}
		t, err := tuple.Unpack([]byte(row.Key()[len(a.counters()):]))
		value, valueErr := a.value(row)
		if err == nil && valueErr == nil && len(t) == 1 && len(value) == 8 {
			start, ok := t[0].(int64)
			count := int64(binary.LittleEndian.Uint64([]byte(value)))
			if ok && start >= 0 && start < 1<<62 && count >= 0 && count < 1<<62 {
				return start, count, nil
			}
		}
		return 0, 0, rowmap.Fault(query.KindCorruption, "table %s, row %x: not a counter of the allocator of prefixes", a.table(), row.Key())
	}
	return 0, 0, nil
}

// reserve counts one more number in the window, or in the next window if this one is
// half used, and returns the start of that window.
func (a *allocator) reserve(start, count int64) (int64, error) {
	if 2*count >= windowSize(start) {
		start, count = start+windowSize(start), 1
		if err := a.forget(start); err != nil {
			return 0, err
		}
	}
	value := binary.LittleEndian.AppendUint64(nil, uint64(count))
	return start, a.set(a.counters()+packed(start), string(value))
}

// forget deletes the state of the windows before start. A transaction that still draws
// from such a window began before the deletion, so its snapshot contains the whole
// state.
func (a *allocator) forget(start int64) error {
	for _, space := range []string{a.counters(), a.recent()} {
		rows := read.Range(space+"\x00", space+packed(start))
		keys, err := keysOf(a.tx.PeekRows(a.ctx, a.table(), rows, read.KeysOnly()))
		if err != nil {
			return err
		}
		if err := a.delete(a.table(), keys...); err != nil {
			return err
		}
	}
	return nil
}

// draw takes an unused number; ok is false when it found none. If two transactions take
// the same number, the second to commit conflicts: it read the row that the first
// wrote.
func (a *allocator) draw(start, end int64) (number string, ok bool, err error) {
	pick := a.pick
	if pick == nil {
		pick = func(start, end int64) int64 { return start + rand.Int64N(end-start) }
	}
	for range maxDraws {
		number := packed(pick(start, end))
		_, used, err := a.get(a.recent() + number)
		if err != nil {
			return "", false, err
		}
		if !used {
			return number, true, a.set(a.recent()+number, "")
		}
	}
	return "", false, nil
}
