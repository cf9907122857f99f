package query

import (
	"cmp"
	"context"
	"errors"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/engine"
)

// OpenTiny opens a database whose files hold a few cells each, so that the
// boundaries of files fall anywhere within a column, and which deletes tails of
// more than two cells by a range.
func OpenTiny(dir string, o Options) (*DB, error) {
	db, err := open(dir, o, engine.Options{FileSize: 96})
	if err == nil {
		db.state.TailDeletes = 2
	}
	return db, err
}

// Store is the store under a database.
func (db *DB) Store() cf.Store { return db.state.Store }

// OpenEngine opens the store in a directory.
func OpenEngine(dir string) (cf.Store, error) {
	name, err := engine.Of(dir)
	if err != nil {
		return nil, err
	}
	s, err := engine.Open(cmp.Or(name, engine.Default()), dir, engine.Options{})
	if err != nil {
		return nil, err
	}
	return s.(cf.Store), nil
}

// WrapStore puts a store in the place of the one under a database.
func (db *DB) WrapStore(wrap func(cf.Store) cf.Store) { db.state.Store = wrap(db.state.Store) }

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
