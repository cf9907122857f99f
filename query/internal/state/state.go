// Package state is an open database below its API: the store, the schema in force,
// the clock, and the times of changes; and the entries of the catalog that belong to
// the database as a whole.
package state

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/lock"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/changes"
	"github.com/smolwc/smolwc/query/internal/clock"
)

// A DB is an open database below its API: its store, the schema in force, its
// clock, and the times of its changes.
type DB struct {
	Reader  cf.Reader // the store that was opened; it may implement more interfaces
	Store   cf.Store  // the same, or a wrapper of Reader that refuses writes or checks them
	Shared  cf.Shared // the same, if several processes may write it; otherwise nil
	Catalog atomic.Pointer[catalog.Catalog]
	Clock   clock.Clock
	Changes changes.Times
	Marked  Marked
	Flow    Flow // of writes
	Logger  *slog.Logger

	UUID            uuid.UUID
	origin          string // the identity in the files, if the database is to get another one
	Format          atomic.Int32
	Raising         lock.RW // held while the format is raised
	ReadOnly        bool
	Dir             string        // absolute; "" without one
	SchemaLock      schemaLock    // LockSchema also excludes other processes
	process         string        // the mark of this process, while it changes the schema
	ahead           atomic.Int64  // how far the store's clock is before the machine's, in microseconds
	KeepDeleted     time.Duration // how long deleted tables are kept; less than 0: not at all
	DeletedFamilies int           // the most families that they may have together
	DeletedBytes    int64         // the most bytes; 0 is no bound
	// A tail of up to this many cells is deleted cell by cell; 0 is the number of other
	// deletes.
	TailDeletes int
}

// Options say how a database is opened.
type Options struct {
	GoesBack  bool             // the clock may be set back, and timestamps follow it
	Wall      func() time.Time // nil: the machine's, or the store's if several processes write it
	Logger    *slog.Logger
	ReadOnly  bool
	MustExist bool // a store without a database is an error
	Format    int  // of a new database; 0 is [catalog.FormatOfNew]
	// Identity replaces the one in the files when the database is next opened for writing;
	// "" if it keeps that.
	Identity string

	KeepDeleted     time.Duration
	DeletedFamilies int
	DeletedBytes    int64
}

// Open opens the database of a store. When Open fails, the store still belongs to the
// caller.
func Open(ctx context.Context, reader cf.Reader, o Options) (*DB, error) {
	db := &DB{Reader: reader, Store: storeOf(reader, o.ReadOnly), Logger: o.Logger, ReadOnly: o.ReadOnly,
		KeepDeleted: o.KeepDeleted, DeletedFamilies: o.DeletedFamilies, DeletedBytes: o.DeletedBytes, SchemaLock: schemaLock{lock.NewRW()}, Raising: lock.NewRW()}
	db.Clock.Wall, db.Clock.GoesBack = o.Wall, o.GoesBack
	if db.Clock.Wall == nil {
		db.Clock.Wall = db.wall
	}
	if shared, ok := reader.(cf.Shared); ok {
		db.share(shared)
		if behind, ok := reader.(cf.Behind); ok {
			db.Changes.Start(behind.Latest()) // before the clock is read: it is after all commits up to there
		}
		if err := db.FollowClock(ctx); err != nil {
			return nil, err
		}
	}
	if err := db.loadCatalog(ctx, o); err != nil {
		return nil, err
	}
	if db.Shared == nil {
		db.Clock.Store = db.Store
	}
	if o.ReadOnly {
		return db, nil
	}
	return db, db.openStreams(ctx)
}

// storeOf is the store itself, or one on top of it that refuses writes: a store that
// can be written also refuses writes if readOnly is set.
func storeOf(r cf.Reader, readOnly bool) cf.Store {
	if s, ok := r.(cf.Store); ok && !readOnly {
		return s
	}
	return cf.ReadOnly(r)
}

// Update is the store's Update for rows that may be logged: a note of the commit
// ends the batch.
func (db *DB) Update(ctx context.Context, rows []cf.RowID, logged bool, fn func(cf.Snapshot, *cf.Batch) error) error {
	if !logged {
		_, err := db.Store.Update(ctx, rows, fn)
		return err
	}
	return db.Changes.Commit(ctx, &db.Clock, func(note func(*cf.Batch) error) (cf.Position, error) {
		return db.Store.Update(ctx, rows, func(snap cf.Snapshot, b *cf.Batch) error {
			if err := fn(snap, b); err != nil {
				return err
			}
			return note(b)
		})
	})
}
