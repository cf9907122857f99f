package run

import (
	"sync"
	"sync/atomic"

	"github.com/smolwc/smolwc/sql/value"
)

// A Size counts the constants and searches of a plan.
type Size struct{ Constants, Searches int }

// Constants are what runs of a plan have computed once: the values of expressions that are
// the same for every row, and values that are sorted for searches. The plan itself never
// changes. Runs may share it.
type Constants struct {
	kept     atomic.Int64 // bytes
	values   []atomic.Pointer[constant]
	searches []sorting
}

type constant struct {
	v    any
	made int
}

// A sorting is the values of a search, once they are sorted.
type sorting struct {
	mu     sync.Mutex
	sorted atomic.Pointer[sortedValues]
}

func newConstants(s Size) *Constants {
	return &Constants{values: make([]atomic.Pointer[constant], s.Constants), searches: make([]sorting, s.Searches)}
}

// maxKept bounds the bytes of values that are remembered.
const maxKept = 32 << 20

// keeps reports whether there is room to remember a value.
func (c *Constants) keeps(size int) bool {
	if c.kept.Add(int64(size)) <= maxKept {
		return true
	}
	c.kept.Add(-int64(size))
	return false
}

// Remembered computes the value of an expression, which is the same for every row, only
// once: it is the constant number i of the plan. Each row counts what was made of it. placed
// gives an error its place; nil stays nil.
func Remembered(i int, of Eval, placed func(error) error) Eval {
	return func(t *Tuple) (any, error) {
		if t == nil {
			t = &Tuple{}
		}
		known := t.constants()
		var k *constant
		if known != nil {
			k = known.values[i].Load()
		}
		if k == nil {
			alone := t.Alone()
			v, err := of(alone)
			if err != nil {
				return nil, err
			}
			k = &constant{v, alone.made}
			if known != nil && known.keeps(value.Size(v)) {
				known.values[i].Store(k)
			}
		}
		return k.v, placed(t.count(k.made))
	}
}
