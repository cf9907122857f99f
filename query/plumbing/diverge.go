package plumbing

import (
	"context"
	"errors"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/internal/engine"
	"github.com/smolwc/smolwc/query/internal/state"
)

// A Column is a column that is not the same in all databases of a Diverge.
type Column struct {
	Row, Family, Qualifier string
	// Newest are the newest cells, by database as in [Version].
	Newest []Stored
	// Versions are the cells that differ, the newest first.
	Versions []Version
}

// A Version is the cells of a column at one timestamp, by database: first the one whose
// method was called.
type Version struct {
	Timestamp cells.Timestamp
	In        []Stored
}

// A Stored is the value of a cell; the zero Stored is for a database without the cell.
type Stored struct {
	// Value is the value that reads see.
	Value cells.Value
	// State is the same in a family without an aggregate. Else it is the state of the
	// aggregate: of an hll the sketch, of a sum beyond i64 bytes, of others Value.
	State cells.Value
}

// Exists reports whether there is a cell.
func (s Stored) Exists() bool { return s.State.Type() != cells.TypeAny }

// Equal reports whether both are the same cell or neither exists.
func (s Stored) Equal(o Stored) bool { return s.State.Equal(o.State) }

// Identity reads the identity of a database in a directory that nobody writes.
func Identity(ctx context.Context, dir string) (string, error) {
	name, err := engine.Of(dir)
	if err != nil {
		return "", err
	}
	store, err := engine.Open(name, dir, engine.Options{Memory: 1 << 20, ReadOnly: true, MustExist: true})
	if err != nil {
		return "", err
	}
	id, err := state.IdentityOf(ctx, store)
	return id, errors.Join(err, store.Close())
}

// SetIdentity makes the copy of a database's files, in a directory that nothing has open, a
// database of its own: it has another identity, and forgets standbys and the place of
// backups, so that no archive, standby or token takes it for the database that it was copied
// from. The file SMOLWC names the identity, which the first open for writing writes to the
// database. The file is on the disk when SetIdentity returns.
func SetIdentity(dir, identity string) error {
	m, err := engine.ReadMarker(dir)
	if err != nil {
		return err
	}
	return engine.WriteMarker(dir, m.Format, identity)
}
