package run

import (
	"sync"
	"sync/atomic"

	"github.com/smolwc/smolwc/sql/value"
)

// A Size counts the constants and searches of a plan.
type Size struct{ Constants, Searches int }

// A running is the queries in expressions of a run.
type running struct {
	x       *execution
	rows    func(at int, held bool, x *execution, emit func([]any) error) error // of a query by its number
	nothing func(at int, x *execution, emit func([]any) error) error            // of one that is held, if its last groups are of no row
	of      []queried
}

// A queried is the answers of a query.
type queried struct {
	making  sync.Mutex // the table, or the only answer
	held    atomic.Pointer[heldAnswers]
	spoiled atomic.Bool // the table could not be made
	runs    atomic.Int64

	mu   sync.Mutex // of the fields below
	kept map[string]*answer
	size int // bytes
}

// A heldAnswers is the answers by the values of the keys.
type heldAnswers struct {
	byKey map[string]*answer
	other *answer
}

// An answer is made of the rows of a query.
type answer struct {
	value any             // of a query as a value
	set   map[string]bool // of IN: its values as keys
	null  bool            // and whether NULL is one
	some  bool            // there is a row
	rows  uint64          // LIMIT counts them
	err   error           // for a row around that needs it
}

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
