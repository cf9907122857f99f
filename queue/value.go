package queue

import (
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/rowmap"
	"github.com/smolwc/smolwc/tuple"
)

// Values of rows are packed tuples, which begin with the version of the format.
const formatNow = 1

func encode(elems ...any) string {
	return tuple.Key(append([]any{formatNow}, elems...)...)
}

// A decoder takes the elements of a value one by one. Its error is about the first
// element that is missing or of another type.
type decoder struct {
	key  string
	rest tuple.Tuple
	err  error
}

func decode(key, value string) *decoder {
	d := &decoder{key: key}
	t, err := tuple.Unpack([]byte(value))
	if err != nil || len(t) == 0 {
		d.fail()
		return d
	}
	d.rest = t
	if version := d.int(); d.err == nil && version != formatNow {
		d.err = rowmap.Fault(query.KindFailedPrecondition, "row %x has version %d of the queue's format; this program knows version %d", key, version, formatNow)
	}
	return d
}

func (d *decoder) fail() {
	if d.err == nil {
		d.err = rowmap.Fault(query.KindCorruption, "row %x: not a value of the queue's", d.key)
	}
}

func next[T any](d *decoder) (v T) {
	if d.err != nil {
		return v
	}
	if len(d.rest) > 0 {
		if v, ok := d.rest[0].(T); ok {
			d.rest = d.rest[1:]
			return v
		}
	}
	d.fail()
	return v
}

func (d *decoder) int() int64 { return next[int64](d) }

// maxCount bounds the counts in values.
const maxCount = 1<<31 - 1

// bounded is a number from 0 to most.
func (d *decoder) bounded(most int64) int64 {
	n := d.int()
	if d.err == nil && (n < 0 || n > most) {
		d.fail()
	}
	return n
}

func (d *decoder) count() int64 { return d.bounded(maxCount) }

// time is a time or a duration: lastTime, and some hundred years for sums.
func (d *decoder) time() int64 { return d.bounded(2 * lastTime) }

func (d *decoder) str() string   { return next[string](d) }
func (d *decoder) bytes() []byte { return next[[]byte](d) }
func (d *decoder) bool() bool    { return next[bool](d) }

func (d *decoder) id() (id ID) {
	b := d.bytes()
	if d.err == nil && len(b) != len(id) {
		d.fail()
	}
	copy(id[:], b)
	return id
}

// end fails if there are further elements.
func (d *decoder) end() error {
	if d.err == nil && len(d.rest) > 0 {
		d.fail()
	}
	return d.err
}

// place is the decoder of the elements of a key.
func (k keys) place(key string, kind, n int) *decoder {
	t, err := k.parse(key, kind, n)
	return &decoder{key: key, rest: t, err: err}
}
