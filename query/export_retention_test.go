//go:build cgo

package query

import (
	"context"
	"errors"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// OpenTiny opens a database whose files hold a few cells each, so that the
// boundaries of files fall anywhere within a column, and which deletes tails of
// more than two cells by a range.
func OpenTiny(dir string, o Options) (*DB, error) {
	db, err := open(dir, o, rocks.Options{FileSize: 96})
	if err == nil {
		db.state.TailDeletes = 2
	}
	return db, err
}

// Store is the store under a database.
func (db *DB) Store() *rocks.Store { return db.state.Store.(*rocks.Store) }

// CatalogBreaks makes every later change of the schema fail when it writes the catalog.
func (db *DB) CatalogBreaks() { db.state.Store = brokenCatalog{db.state.Store} }

type brokenCatalog struct{ cf.Store }

// ErrBroken is the error of the broken catalog.
var ErrBroken = errors.New("the catalog is broken")

// Write fails for batches that write to the catalog.
func (s brokenCatalog) Write(ctx context.Context, rows []cf.RowID, fn func(*cf.Batch) error) (cf.Position, error) {
	return s.Store.Write(ctx, rows, func(b *cf.Batch) error {
		if err := fn(b); err != nil {
			return err
		}
		for _, op := range b.Ops() {
			if op.Kind == cf.OpPutMeta {
				return ErrBroken
			}
		}
		return nil
	})
}
