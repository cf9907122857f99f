package pebble

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
)

// A source makes iterators: the database, or a snapshot of it.
type source interface {
	NewIter(*engine.IterOptions) (*engine.Iterator, error)
}

// An iter is an iterator over a family. It implements ordered.Iterator.
type iter struct {
	it      *engine.Iterator
	options engine.IterOptions
	filters [1]engine.BlockPropertyFilter
	lower   []byte
	upper   []byte
	buf     []byte
	prefix  []byte
	row     bool // it reads one row: filters of rows are used
	moves   int
	steps   int    // that Pebble made for them, when they were last looked at
	buried  bool   // keys lie under many that were replaced
	counts  bool   // deleted keys
	seen    []byte // the last key that Pebble looked at in a move
	looks   int64  // at keys in a move
	passed  int64  // deleted keys
	hint    *atomic.Uint32
	hash    uint32 // of the row; equals hint's if the row's keys are buried
	err     error
	read    *atomic.Int64 // bytes of keys and values
}

var iters = sync.Pool{New: func() any { return new(iter) }}

// newIter makes the iterator of a scan. With bounded it does not use filters of rows.
func newIter(from source, f *family, s *cf.Scan, bounded bool) (i *iter, err error) {
	i = iters.Get().(*iter)
	i.prefix, i.row, i.err, i.options = f.prefix, false, nil, engine.IterOptions{}
	i.moves, i.steps, i.buried = 0, 0, false
	i.read = f.read
	if i.counts = s.CountTombstones; i.counts {
		i.passed, i.looks, i.seen = 0, 0, i.seen[:0]
		i.options.SkipPoint = i.look
	}
	if len(s.Rows) == 1 && !s.Reverse {
		row, single := s.Rows[0].Single()
		if i.row = single && !bounded; i.row { // SeekPrefixGE stays in the row
			i.hash = uint32(cf.RowHash(row))
			i.hint = &f.buried[i.hash%uint32(len(f.buried))]
			i.buried = i.hint.Load() == i.hash
			i.options.UseL6Filters = true // most files are there, and a row that is missing is to be cheap
			i.it, err = from.NewIter(&i.options)
			return i, wrap(err)
		}
	}
	i.lower, i.upper = append(i.lower[:0], f.prefix...), append(i.upper[:0], f.prefix...)
	if len(s.Rows) == 0 {
		i.upper = append(i.upper, 0)
	} else {
		first, last := s.Rows[0], s.Rows[len(s.Rows)-1]
		row, single := first.Single()
		q := s.Filter.Qualifiers
		switch {
		case len(s.Rows) == 1 && single && len(q) > 0 && !s.Filter.EveryRow:
			i.lower = cf.AppendRowBound(cf.AppendRowPrefix(i.lower, row), q[0].Start)
			i.upper = q[len(q)-1].AppendEnd(cf.AppendRowPrefix(i.upper, row))
		case len(s.Rows) == 1 && single:
			i.lower = cf.AppendRowPrefix(i.lower, row)
			i.upper = append(cf.AppendRowPrefix(i.upper, row), 0x02)
		default:
			i.lower, i.upper = cf.AppendRowBound(i.lower, first.Start), last.AppendEnd(i.upper)
		}
	}
	if bytes.Compare(i.upper, i.lower) < 0 { // an inverted range; Pebble wants bounds in order
		i.upper = append(i.upper[:0], i.lower...)
	}
	i.options.LowerBound, i.options.UpperBound = i.lower, i.upper
	if least := oldest(&s.Filter); least > 0 {
		i.filters[0] = since(least)
		i.options.PointKeyFilters = i.filters[:]
	}
	i.it, err = from.NewIter(&i.options)
	return i, wrap(err)
}

func (i *iter) full(key []byte) []byte {
	i.buf = append(append(i.buf[:0], i.prefix...), key...)
	return i.buf
}

// look counts a key that Pebble looks at: the key of a cell that is there, or a deleted one.
// Pebble may look at each of its entries.
func (i *iter) look(key []byte) (skip bool) {
	if !bytes.Equal(key, i.seen) {
		i.seen = append(i.seen[:0], key...)
		i.looks++
	}
	return false
}

// moved notes the end of a move.
func (i *iter) moved(there bool) bool {
	if i.counts {
		if there && i.looks > 0 {
			i.looks--
		}
		i.passed += i.looks
		i.looks, i.seen = 0, i.seen[:0]
	}
	return there
}

// Tombstones implements [ordered.Tombstones].
func (i *iter) Tombstones() int64 {
	stats := i.it.Stats()
	return i.passed + int64(stats.InternalStats.PointsCoveredByRangeTombstones)
}

func (i *iter) Seek(_ context.Context, key []byte) bool { return i.seek(i.full(key)) }

func (i *iter) seek(full []byte) bool {
	if i.row {
		return i.moved(i.it.SeekPrefixGE(full))
	}
	return i.moved(i.it.SeekGE(full))
}

func (i *iter) SeekBefore(_ context.Context, key []byte) bool {
	return i.moved(i.it.SeekLT(i.full(key)))
}

func (i *iter) Key() []byte { return i.it.Key()[idLen:] }

// Next passes the older entries of a key one by one, as Pebble does, or by a seek if there
// are many: of a cell that is written often, all are in the memtable until it is flushed.
// The family remembers such rows until then.
func (i *iter) Next(context.Context) bool {
	if i.buried {
		i.buf = append(append(i.buf[:0], i.it.Key()...), 0)
		return i.seek(i.buf)
	}
	there := i.moved(i.it.Next())
	if i.moves++; i.row || i.moves == movesToLook {
		stats := i.it.Stats()
		steps := stats.ForwardStepCount[engine.InternalIterCall]
		i.buried = steps-i.steps > i.moves*stepsOfSeek
		i.moves, i.steps = 0, steps
		if i.row && i.buried {
			i.hint.Store(i.hash)
		}
	}
	return there
}

const (
	movesToLook = 64
	stepsOfSeek = 16 // more take longer than a seek
)

// Near implements [ordered.Near].
func (i *iter) Near() int { return 2 }

func (i *iter) Value() []byte {
	v, err := i.it.ValueAndErr()
	if err != nil {
		i.err = err
		return nil
	}
	return plain(v)
}

func (i *iter) Err() error {
	if i.err != nil {
		return wrap(i.err)
	}
	return wrap(i.it.Error())
}

func (i *iter) Close() {
	if i.it != nil {
		stats := i.it.Stats()
		i.read.Add(int64(stats.InternalStats.KeyBytes + stats.InternalStats.ValueBytes))
		_ = i.it.Close()
		i.it = nil
		iters.Put(i)
	}
}
