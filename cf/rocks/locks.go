package rocks

import (
	"errors"
	"hash/maphash"
	"math/bits"
	"sync"

	"github.com/smolwc/smolwc/cf"
)

// rowLocks serialise updates of rows. Rows share stripes by hash: an update
// that reads before it writes holds its rows' stripes exclusively, a blind
// write holds them shared, so that it cannot fall between the two.
type rowLocks struct {
	seed    maphash.Seed
	stripes [stripes]sync.RWMutex
}

const stripes = 256

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

func (set *stripeSet) each(f func(stripe int)) {
	for word, w := range set {
		for ; w != 0; w &= w - 1 {
			f(word*64 + bits.TrailingZeros64(w))
		}
	}
}

func (l *rowLocks) lock(set stripeSet)    { set.each(func(i int) { l.stripes[i].Lock() }) }
func (l *rowLocks) unlock(set stripeSet)  { set.each(func(i int) { l.stripes[i].Unlock() }) }
func (l *rowLocks) rlock(set stripeSet)   { set.each(func(i int) { l.stripes[i].RLock() }) }
func (l *rowLocks) runlock(set stripeSet) { set.each(func(i int) { l.stripes[i].RUnlock() }) }

// checkStripes refuses a batch that touches rows whose locks are not held.
func checkStripes(locked, touched stripeSet) error {
	for i := range touched {
		if touched[i]&^locked[i] != 0 {
			return errors.New("write of a row that it did not name")
		}
	}
	return nil
}
