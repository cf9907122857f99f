package plumbing

import (
	"context"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// Standbys connects package standby with a database that is opened for writing: it is an
// option of Open.
type Standbys struct {
	// Begin is called with the directory of a database before its store is opened; nil is
	// allowed. It ends a promotion that was interrupted.
	Begin func(dir string) error
	// Wrap is given the store before the database uses it, and returns the store to use.
	Wrap func(cf.Store) (cf.Store, error)
	// Raise is set by Open. It gives the database format 5, which it needs before its
	// first standby.
	Raise func(context.Context) error
	// Dated is set by Open. It gives the database format 7, which it needs before its log says
	// when records were written, and returns the clock for that.
	Dated func(context.Context) (clock func() time.Time, err error)
	// Settled is set by Open. It is a time in microseconds such that all commits of tables
	// with change streams that have earlier timestamps have been made, and no later one will
	// have an earlier one; 0 if that is not known now. It does not wait.
	Settled func() int64
	// Flush is set by Open. It writes the deferred writes that wait.
	Flush func(context.Context) error
	// Opened is called when the database is open, before Open returns; nil is allowed.
	Opened func()
	// Store is the store if it is open already; nil makes Open open it.
	Store cf.Store
}

// StandbyFile is the name of a file in the directory of a database that follows another
// one. Package standby keeps it. While it is there, Open opens the database only for
// reading.
const StandbyFile = "STANDBY"

// CopyingSuffix is added to the name of a directory with a standby for the copy by which it
// is replaced. While a whole copy is there, Open makes no database in its place.
const CopyingSuffix = ".copying"

// FencedFile is the name of a file in the directory of a database that was a primary until
// a standby took its place. While it is there, Open opens the database only for reading.
const FencedFile = "FENCED"

// PromotedFile is the name of a file in the directory of a standby that was promoted, until
// the database enters its new epoch. Then only package standby opens it for writing.
const PromotedFile = "PROMOTED"
