//go:build cgo

package rocks

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/lock"
)

// rowLocks serialise updates of rows. Rows share stripes by hash: an update
// that reads before it writes holds its rows' stripes exclusively, a blind
// write holds them shared, so that it cannot fall between the two.
type rowLocks struct {
	seed    maphash.Seed
	stripes [stripes]lock.RW
}

const stripes = 256

func newRowLocks() (l rowLocks) {
	l.seed = maphash.MakeSeed()
	for i := range l.stripes {
		l.stripes[i] = lock.NewRW()
	}
	return l
}

// A stripeSet is the stripes of some rows. Stripes are always taken in
// ascending order, so no two updates wait for each other.
type stripeSet [stripes / 64]uint64

var allStripes = stripeSet{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}

func (l *rowLocks) setOf(rows []cf.RowID) (set stripeSet) {
	var space uint64
	for i := range rows {
		if i == 0 || rows[i].Space != rows[i-1].Space {
			space = l.hash(rows[i].Space)
		}
		set.add(stripeOf(space, l.hash(rows[i].Row)))
	}
	return set
}

func (set *stripeSet) add(stripe uint64) { set[stripe/64] |= 1 << (stripe % 64) }

func (l *rowLocks) stripe(r cf.RowID) uint64 { return stripeOf(l.hash(r.Space), l.hash(r.Row)) }

func (l *rowLocks) hash(s string) uint64 { return maphash.String(l.seed, s) }

func stripeOf(space, row uint64) uint64 { return (space*31 + row) % stripes }

// each calls f for the stripes in their order, until it returns an error.
func (set *stripeSet) each(f func(stripe int) error) error {
	for word, w := range set {
		for ; w != 0; w &= w - 1 {
			if err := f(word*64 + bits.TrailingZeros64(w)); err != nil {
				return err
			}
		}
	}
	return nil
}

// lock takes stripes exclusively, and rlock shared: all of them, or none and an
// error when the context ends before.
func (l *rowLocks) lock(ctx context.Context, set stripeSet) error {
	return l.take(set, func(i int) error { return l.stripes[i].Lock(ctx) }, l.unlock)
}

func (l *rowLocks) rlock(ctx context.Context, set stripeSet) error {
	return l.take(set, func(i int) error { return l.stripes[i].RLock(ctx) }, l.runlock)
}

func (l *rowLocks) take(set stripeSet, get func(int) error, giveBack func(stripeSet)) error {
	var held stripeSet
	return set.each(func(i int) error {
		if err := get(i); err != nil {
			giveBack(held)
			return fmt.Errorf("nothing was written; waiting for other writes of the same rows: %w", err)
		}
		held.add(uint64(i))
		return nil
	})
}

func (l *rowLocks) unlock(set stripeSet) {
	_ = set.each(func(i int) error { l.stripes[i].Unlock(); return nil })
}

func (l *rowLocks) runlock(set stripeSet) {
	_ = set.each(func(i int) error { l.stripes[i].RUnlock(); return nil })
}

// checkStripes refuses a batch that touches rows whose locks are not held.
func checkStripes(locked, touched stripeSet) error {
	for i := range touched {
		if touched[i]&^locked[i] != 0 {
			return errors.New("write of a row that it did not name")
		}
	}
	return nil
}
