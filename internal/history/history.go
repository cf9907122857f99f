// Package history says what a database went through since its first standby: the epochs
// that promotions began, and so which places in a log of changes are its own.
package history

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
)

// Key is the entry of the catalog with a [History], as JSON. On a standby it is as of its
// position.
const Key = "note/standbys"

// A History is the list of a database's epochs. The zero History is for a database that
// never had a standby.
type History struct {
	// ID is new when a database gets its first standby, and when its log was not kept for
	// standbys meanwhile: it is a copy, or was restored. Its positions may then mean other
	// records for standbys.
	ID string `json:"id"`
	// First is the first ID of the database; "" is ID.
	First string `json:"first,omitempty"`
	// Epoch grows with each promotion, and Epochs lists them, ascending.
	Epoch  int64   `json:"epoch"`
	Epochs []Epoch `json:"epochs,omitempty"`
}

// An Epoch begins with a promotion. The first one is only a number.
type Epoch struct {
	Number int64  `json:"epoch"`
	ID     string `json:"id"`     // two standbys may have been promoted to the same number
	After  uint64 `json:"after"`  // the last position of the epoch before
	Leader string `json:"leader"` // the address of the server that was promoted
}

// A Mark names an epoch in few bytes.
type Mark struct {
	Number int64
	Sum    uint64 // of the epoch's ID
}

func markOf(number int64, id string) Mark {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(id)) // it never fails
	return Mark{number, sum.Sum64()}
}

// Numbered is the epoch with a number.
func (h History) Numbered(number int64) Epoch {
	for _, e := range h.Epochs {
		if e.Number == number {
			return e
		}
	}
	return Epoch{Number: number}
}

// Current is the epoch of the next change.
func (h History) Current() Epoch { return h.Numbered(h.Epoch) }

// Begin adds an epoch. If a promotion was begun twice it is there already.
func (h History) Begin(e Epoch) History {
	if h.Epoch < e.Number {
		h.Epoch, h.Epochs = e.Number, append(slices.Clone(h.Epochs), e)
	}
	return h
}

// Anew is the history of the database when its log is kept for standbys from now on. Its
// epochs stay, as its changes do.
func (h History) Anew() History {
	return History{ID: rand.Text(), First: cmp.Or(h.First, h.ID), Epoch: max(1, h.Epoch), Epochs: h.Epochs}
}

// first names the epoch before all promotions.
func (h History) first() Mark {
	number := int64(1)
	if len(h.Epochs) == 0 {
		number = h.Epoch
	}
	return markOf(number, cmp.Or(h.First, h.ID))
}

// Of names the epoch of the change at a position. The last position of an epoch belongs to
// it: a server that was promoted there holds that change too.
func (h History) Of(position uint64) Mark {
	for _, e := range slices.Backward(h.Epochs) {
		if e.After < position {
			return markOf(e.Number, e.ID)
		}
	}
	return h.first()
}

// ErrLater matches the error for an epoch later than the database's.
var ErrLater = errors.New("another server was promoted in the place of this one; ask that one")

// Check returns an error if the database does not have the change that was at a position of
// an epoch. An error that does not match [ErrLater] is final.
func (h History) Check(of Mark, position uint64) error {
	later := h.Epochs
	if of.Sum != h.first().Sum {
		i := slices.IndexFunc(h.Epochs, func(e Epoch) bool { return markOf(e.Number, e.ID).Sum == of.Sum })
		switch {
		case h.ID == "":
			return fmt.Errorf("the database has never had a standby, and does not have position %d of epoch %d", position, of.Number)
		case i < 0 && of.Number > h.Epoch:
			return fmt.Errorf("position %d is of epoch %d, and this database is in epoch %d: %w", position, of.Number, h.Epoch, ErrLater)
		case i < 0:
			return fmt.Errorf("position %d is of another epoch %d than that of this database", position, of.Number)
		}
		later = h.Epochs[i+1:]
	}
	for _, next := range later {
		if next.After < position {
			return fmt.Errorf("the change at position %d of epoch %d is lost: %s was promoted without it (epoch %d, after position %d)", position, of.Number, next.Leader, next.Number, next.After)
		}
	}
	return nil
}
