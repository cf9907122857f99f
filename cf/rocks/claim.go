//go:build cgo

package rocks

import (
	"errors"
	"fmt"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/claim"
)

// claimDir keeps everybody else from writing to the database. RocksDB has a lock
// of its own, on the file LOCK, which other programs and older versions look at.
// But that lock goes by the file's path within a process, and it is lost when the
// process closes the file by whatever way, or somebody removes it.
func claimDir(dir string) (*claim.Claim, error) {
	c, err := claim.Take(dir)
	switch {
	case errors.Is(err, claim.ErrHere):
		return nil, cf.ErrOpenHere
	case errors.Is(err, claim.ErrElsewhere):
		return nil, cf.ErrBusy
	case err != nil:
		return nil, fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	return c, nil
}

// openClaimed opens a database for writing under a claim, which Close releases.
func openClaimed(dir string, o Options) (*Store, error) {
	c, err := claimDir(dir)
	if err != nil {
		return nil, err
	}
	s, err := openStore(dir, o, c)
	if err == nil && !c.Holds(dir) {
		err = errors.Join(moved(dir), s.Close())
	}
	if err != nil {
		c.Release()
		return nil, err
	}
	return s, nil
}

// inPlace fails when the path of the database leads elsewhere by now. What the
// engine itself does with files is guarded by their file system.
func (s *Store) inPlace() error {
	if s.claim != nil && !s.claim.Holds(s.dir) {
		return moved(s.dir)
	}
	return nil
}

func moved(dir string) error {
	return fmt.Errorf("%w: %s was moved or replaced while the database was open", cf.ErrUnavailable, dir)
}
