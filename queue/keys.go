package queue

import (
	"strings"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/rowmap"
	"github.com/smolwc/smolwc/tuple"
)

// keys is the prefix of a queue's row keys. Behind it is a packed tuple, which begins
// with the kind of the row. Times and durations are in microseconds.
type keys string

// The kinds of rows: the further elements of the key, and of the value after the format's
// version. Ids have 16 bytes. A value is a cell without a qualifier at timestamp 0. Before
// the bounds in zoneRow and in the pointerRow without a zone there are only deleted rows;
// scans begin there.
const (
	zoneRow     = iota // zone: weight, limit, per key, paused, floor, first lease, quiet, (priority, first item)…
	pointerRow         // zone: due, empty; or no zone: first pointer, floor
	dueRow             // time, zone: pointers in the order in which they are due
	readyRow           // zone, priority, vesting time, id: type, attempts, taken, moved
	leaseRow           // zone, expiry, id: type, attempts, taken, moved, tell
	blockedRow         // zone, key, priority, vesting time, id: as readyRow, of items that wait for their key
	keyRow             // zone, key: how many items with the key are leased
	itemRow            // zone, id: type, payload, priority, vesting time, enqueued, key, unique key, its duration, attempts, keep
	stateRow           // zone, id: state, time, attempts, last error, unless they follow from itemRow
	resultRow          // zone, id: the result of a done item
	deadRow            // zone, time, id: type, attempts, taken, moved of dead letters
	uniqueRow          // zone, unique key: id, until
	expiryRow          // time, kind, zone, id or unique key: rows to be removed then
	scheduleRow        // name: a schedule
	clockRow           // the queue's time, at most a second ago, for a restart after the wall clock was set back
)

func (k keys) row(kind int, elems ...any) string {
	b, err := tuple.AppendPack([]byte(k), append(tuple.Tuple{kind}, elems...))
	if err != nil {
		panic(err) // every name was checked
	}
	return string(b)
}

// all are the rows of a kind whose further elements begin with these.
func (k keys) all(kind int, elems ...any) read.RowSet {
	prefix := k.row(kind, elems...)
	return read.Range(prefix+"\x00", prefix+"\xff")
}

// between are the rows of a kind and the elements, whose next element is a time from
// since, inclusive, to until, inclusive.
func (k keys) between(since, until int64, kind int, elems ...any) read.RowSet {
	begin := k.row(kind, append(elems, since)...)
	return read.Range(begin, max(begin, k.row(kind, append(elems, until+1)...)))
}

// after are the rows of a kind and the elements, whose next element is a time from
// since, inclusive.
func (k keys) after(since int64, kind int, elems ...any) read.RowSet {
	return read.Range(k.row(kind, append(elems, since)...), k.row(kind, elems...)+"\xff")
}

// behind are the rows of a kind and the elements that come after a key.
func (k keys) behind(key string, kind int, elems ...any) read.RowSet {
	return read.Range(key+"\x00", k.row(kind, elems...)+"\xff")
}

// parse gives the elements of a key behind its kind.
func (k keys) parse(key string, kind, n int) (tuple.Tuple, error) {
	t, err := tuple.Unpack([]byte(strings.TrimPrefix(key, string(k))))
	if err != nil || len(t) != n+1 || t[0] != int64(kind) {
		return nil, rowmap.Fault(query.KindCorruption, "row %x is not one of the queue's", key)
	}
	return t[1:], nil
}

// The rows of an item.

func (k keys) item(zone string, id ID) string   { return k.row(itemRow, zone, id[:]) }
func (k keys) state(zone string, id ID) string  { return k.row(stateRow, zone, id[:]) }
func (k keys) result(zone string, id ID) string { return k.row(resultRow, zone, id[:]) }

func (k keys) ready(i *item, vests int64) string {
	return k.row(readyRow, i.zone, i.priority, vests, i.id[:])
}

func (k keys) blocked(i *item, vests int64) string {
	return k.row(blockedRow, i.zone, i.key, i.priority, vests, i.id[:])
}

func (k keys) lease(zone string, expires int64, id ID) string {
	return k.row(leaseRow, zone, expires, id[:])
}

func (k keys) dead(zone string, at int64, id ID) string { return k.row(deadRow, zone, at, id[:]) }
