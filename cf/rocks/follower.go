//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"errors"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/beside"
	"github.com/smolwc/smolwc/cf/rocks/internal/steady"
)

// A Follower is a read-only store beside a writer. It shows one moment until Refresh
// opens the files anew. RocksDB's own way to follow a writer, a secondary instance,
// lacks snapshots, does not see new families, and merges operands twice that are both
// in its memory and in a file (docs/decisions).
type Follower struct {
	*beside.Follower[*Store]
}

var (
	_ cf.Reader     = (*Follower)(nil)
	_ cf.Refresher  = (*Follower)(nil)
	_ cf.DropTeller = (*Follower)(nil)
)

// ErrCreating is the error of [OpenFollower] for a database without a catalog: a writer
// is creating it, or was interrupted while it did. It matches [cf.ErrUnavailable].
var ErrCreating = steady.ErrCreating

// OpenFollower opens the database in dir for reading; another process may write it.
func OpenFollower(dir string, o Options) (*Follower, error) {
	o.ReadOnly = true
	open := func(ctx context.Context) (*Store, error) {
		s, err := openView(ctx, dir, o)
		if err == nil {
			dir = s.dir // absolute: the process may change its directory
		}
		return s, err
	}
	f, err := beside.Open(open, func(s *Store) bool { return !s.stamp.Equal(steady.StampOf(s.dir)) })
	if err != nil {
		return nil, err
	}
	return &Follower{f}, nil
}

// openView opens the files as they are at one moment. RocksDB reads the manifest first,
// and then the logs. If the writer flushes in between and removes a log, RocksDB misses
// the log's changes without an error. So an open counts only if the manifest did not
// change meanwhile and no log was removed.
func openView(ctx context.Context, dir string, o Options) (*Store, error) {
	var s *Store
	at, err := steady.Read(ctx, dir, steady.OpenPatience, func() (err error) {
		if s != nil { // from an earlier try
			_ = s.Close() // nothing was written
		}
		if s, err = Open(dir, o); err != nil {
			return err
		}
		created, err := beside.Created(ctx, s)
		if err == nil && !created {
			err = ErrCreating
		}
		return err
	})
	if err != nil {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
		return nil, err
	}
	s.stamp = at
	return s, nil
}

// Dropped implements cf.DropTeller.
func (f *Follower) Dropped() (families []string) {
	f.Newest(func(s *Store) { families = s.Dropped() })
	return families
}
