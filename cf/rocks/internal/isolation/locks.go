// Package isolation keeps writers of the same rows apart. Updates lock rows;
// transactions look for conflicts in a log of commits.
package isolation

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/lock"
)

// Locks serialise updates of rows. Rows share stripes by hash. An update that reads
// before it writes holds its rows' stripes exclusively. A blind write holds them
// shared: it cannot fall between the read and the write of an update.
type Locks struct {
	seed    maphash.Seed
	stripes [stripeCount]lock.RW
}

const stripeCount = 256

func NewLocks() (l Locks) {
	l.seed = maphash.MakeSeed()
	for i := range l.stripes {
		l.stripes[i] = lock.NewRW()
	}
	return l
}

// A Stripes is the stripes of some rows. Stripes are always taken in
// ascending order, so no two updates wait for each other.
type Stripes [stripeCount / 64]uint64

var AllStripes = Stripes{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}

func (l *Locks) SetOf(rows []cf.RowID) (set Stripes) {
	var space uint64
	for i := range rows {
		if i == 0 || rows[i].Space != rows[i-1].Space {
			space = l.hash(rows[i].Space)
		}
		set.Add(stripeOf(space, l.hash(rows[i].Row)))
	}
	return set
}

func (set *Stripes) Add(stripe uint64) { set[stripe/64] |= 1 << (stripe % 64) }

func (l *Locks) StripeOf(r cf.RowID) uint64 { return stripeOf(l.hash(r.Space), l.hash(r.Row)) }

func (l *Locks) hash(s string) uint64 { return maphash.String(l.seed, s) }

func stripeOf(space, row uint64) uint64 { return (space*31 + row) % stripeCount }

// each calls f for the stripes in their order, until it returns an error.
func (set *Stripes) each(f func(stripe int) error) error {
	for word, w := range set {
		for ; w != 0; w &= w - 1 {
			if err := f(word*64 + bits.TrailingZeros64(w)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Lock takes stripes exclusively, and RLock takes them shared. If the context ends
// before they have all stripes, they return an error and hold no stripe.
func (l *Locks) Lock(ctx context.Context, set Stripes) error {
	return l.take(set, func(i int) error { return l.stripes[i].Lock(ctx) }, l.Unlock)
}

func (l *Locks) RLock(ctx context.Context, set Stripes) error {
	return l.take(set, func(i int) error { return l.stripes[i].RLock(ctx) }, l.RUnlock)
}

func (l *Locks) take(set Stripes, get func(int) error, giveBack func(Stripes)) error {
	var held Stripes
	return set.each(func(i int) error {
		if err := get(i); err != nil {
			giveBack(held)
			return fmt.Errorf("nothing was written; waiting for other writes of the same rows: %w", err)
		}
		held.Add(uint64(i))
		return nil
	})
}

func (l *Locks) Unlock(set Stripes) {
	_ = set.each(func(i int) error { l.stripes[i].Unlock(); return nil })
}

func (l *Locks) RUnlock(set Stripes) {
	_ = set.each(func(i int) error { l.stripes[i].RUnlock(); return nil })
}

// CheckStripes refuses a batch that touches a row whose lock is not held.
func CheckStripes(locked, touched Stripes) error {
	for i := range touched {
		if touched[i]&^locked[i] != 0 {
			return errors.New("write of a row that it did not name")
		}
	}
	return nil
}
