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

// Locks serialise changes of rows. Rows share stripes by hash. See [Hold].
type Locks struct {
	seed    maphash.Seed
	all     lock.Lock // exclusive for all rows, shared for some
	stripes [stripeCount]lock.Lock
}

const stripeCount = 1024

// Init makes the zero Locks usable.
func (l *Locks) Init() { l.seed = maphash.MakeSeed() }

// Stripes is the stripes of some rows.
type Stripes [stripeCount / 64]uint64

// A Hold says which rows are locked, and how.
type Hold struct {
	// All locks all rows, exclusively.
	All bool
	// Updates are locked exclusively: an update reads them before it writes.
	Updates Stripes
	// Writes are shared by blind writes. So a blind write cannot fall between the read
	// and the write of an update.
	Writes Stripes
	// Reads are shared by transactions that have read these rows and do not write
	// them. So nothing can be written between a transaction's check and its write,
	// while transactions that have read the same rows do not wait for each other.
	Reads Stripes
}

// SetOf is the stripes of rows.
func (l *Locks) SetOf(rows []cf.RowID) (set Stripes) {
	var space uint64
	for i := range rows {
		if i == 0 || rows[i].Space != rows[i-1].Space {
			space = l.hash(rows[i].Space)
		}
		set.add(stripeOf(space, l.hash(rows[i].Row)))
	}
	return set
}

// Read adds a row to those that a transaction has read.
func (l *Locks) Read(h *Hold, r cf.RowID) { h.Reads.add(stripeOf(l.hash(r.Space), l.hash(r.Row))) }

func (set *Stripes) add(stripe uint64) { set[stripe/64] |= 1 << (stripe % 64) }

func (l *Locks) hash(s string) uint64 { return maphash.String(l.seed, s) }

func stripeOf(space, row uint64) uint64 { return (space*31 + row) % stripeCount }

// Lock takes the locks of a hold, stripes in ascending order, so that no two holds wait
// for each other. If the context ends before it has all, it returns an error and holds
// nothing.
func (l *Locks) Lock(ctx context.Context, h *Hold) error {
	mode := lock.Shared
	if h.All {
		mode = lock.Exclusive
	}
	if err := l.all.Acquire(ctx, mode); err != nil {
		return waiting(err)
	}
	if h.All {
		return nil
	}
	var held Hold
	err := h.each(func(stripe int, m lock.Mode) error {
		err := l.stripes[stripe].Acquire(ctx, m)
		if err == nil {
			held.Updates.add(uint64(stripe)) // whatever the mode: it is for Unlock
		}
		return err
	})
	if err != nil {
		l.Unlock(&held)
		return waiting(err)
	}
	return nil
}

func waiting(err error) error {
	return fmt.Errorf("nothing was written; waiting for other writes of the same rows: %w", err)
}

// Unlock ends a hold.
func (l *Locks) Unlock(h *Hold) {
	if !h.All {
		_ = h.each(func(stripe int, _ lock.Mode) error { l.stripes[stripe].Release(); return nil })
	}
	l.all.Release()
}

// each calls f for the stripes in their order, until it returns an error.
func (h *Hold) each(f func(stripe int, m lock.Mode) error) error {
	for i := range h.Updates {
		for w := h.Updates[i] | h.Writes[i] | h.Reads[i]; w != 0; w &= w - 1 {
			bit := w & -w
			mode := lock.Joint
			switch {
			case h.Updates[i]&bit != 0, h.Writes[i]&h.Reads[i]&bit != 0:
				mode = lock.Exclusive
			case h.Writes[i]&bit != 0:
				mode = lock.Shared
			}
			if err := f(i*64+bits.TrailingZeros64(w), mode); err != nil {
				return err
			}
		}
	}
	return nil
}

// Covers is an error if a batch touches rows that may not be written under the hold.
func (h *Hold) Covers(touched Stripes) error {
	for i := range touched {
		if !h.All && touched[i]&^(h.Updates[i]|h.Writes[i]) != 0 {
			return errors.New("write of a row that it did not name")
		}
	}
	return nil
}
