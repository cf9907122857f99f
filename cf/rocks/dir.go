//go:build cgo && linux && !norocksdb

package rocks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
	"github.com/smolwc/smolwc/cf/rocks/internal/recovery"
	"github.com/smolwc/smolwc/internal/claim"
)

// memoryDir is the path of a database in memory: its environment needs an absolute
// path.
const memoryDir = "/smolwc"

// checkDir finds faults that RocksDB would report less clearly.
func checkDir(dir string, o Options) error {
	if o.InMemory {
		return nil
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist) && (o.MustExist || o.ReadOnly):
		return fmt.Errorf("no database at %s: it %w", dir, cf.ErrNotExist)
	case errors.Is(err, os.ErrNotExist):
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("cannot create %s: %w: %w", dir, cf.ErrUnavailable, err)
		}
	case err != nil:
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	case !info.IsDir():
		return fmt.Errorf("%s is a file, not a directory: %w", dir, cf.ErrUnavailable)
	}
	if markers, _ := filepath.Glob(filepath.Join(dir, "marker.manifest.*")); len(markers) > 0 { // Pebble's
		return fmt.Errorf("%s holds a database on another engine: %w", dir, cf.ErrUnavailable)
	}
	return nil
}

// familyNames lists the column families of the database. For a new database that is
// only the default one.
func familyNames(e *engine, dir string, o Options) ([]string, error) {
	if o.InMemory {
		return []string{catalogFamily}, nil
	}
	if _, err := os.Stat(filepath.Join(dir, "CURRENT")); errors.Is(err, os.ErrNotExist) {
		e.logs.Begin(dir, nil)
		return missingDatabase(dir, o)
	}
	r, err := recovery.Check(dir)
	if err != nil {
		return nil, err
	}
	e.recovered(r)
	names, err := grocksdb.ListColumnFamilies(e.db, dir)
	return names, native.Wrap(err)
}

// missingDatabase distinguishes a place for a new database from a database without its
// CURRENT file, which must not be overwritten.
func missingDatabase(dir string, o Options) ([]string, error) {
	if manifests, _ := filepath.Glob(filepath.Join(dir, "MANIFEST-*")); len(manifests) > 0 {
		switch {
		case !begun(dir, manifests):
			return nil, fmt.Errorf("%w: %s has a MANIFEST but no CURRENT file", cf.ErrCorrupt, dir)
		case o.ReadOnly:
			return nil, ErrCreating
		}
	}
	if o.MustExist || o.ReadOnly {
		return nil, fmt.Errorf("no database at %s: the directory is there, but a database in it %w", dir, cf.ErrNotExist)
	}
	return []string{catalogFamily}, nil
}

// begun reports whether a directory without a CURRENT file is a database whose creation
// is under way or was ended by a crash. Such a directory contains the first manifest,
// which every open replaces, and no file with data.
func begun(dir string, manifests []string) bool {
	for _, pattern := range []string{"*.log", "*.sst", "*.blob"} {
		if files, _ := filepath.Glob(filepath.Join(dir, pattern)); len(files) > 0 {
			return false
		}
	}
	return len(manifests) == 1 && filepath.Base(manifests[0]) == "MANIFEST-000001"
}

// claimDir keeps other stores and processes from writing to the database. RocksDB's own
// lock, on the file LOCK, is for other programs and older versions. Within a process
// that lock goes by the file's path, and it is lost when any part of the process closes
// the file, or when the file is removed.
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
	names, _ := os.ReadDir(dir)
	for _, e := range names {
		if left, _ := filepath.Match(checkpoints, e.Name()); !left {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			c.Release()
			return nil, fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
		}
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

// inPlace fails when the path of the database now leads elsewhere. For the engine's own
// use of files, the file system of the database checks this.
func (s *Store) inPlace() error {
	if s.claim != nil && !s.claim.Holds(s.dir) {
		return moved(s.dir)
	}
	return nil
}

func moved(dir string) error {
	return fmt.Errorf("%w: %s was moved or replaced while the database was open", cf.ErrUnavailable, dir)
}

// recovered passes recovery's findings to the engine's file system, before the database
// is opened: the file system then ends files before zeros that a loss of power left,
// and continues the file SYNCED.
func (e *engine) recovered(r *recovery.Found) {
	e.found = r
	e.logs.Begin(r.Dir, r.Synced.Text)
	for name, bytes := range r.Synced.Files {
		e.logs.Claim(name, bytes)
	}
	for name, end := range r.Ends {
		e.logs.End(name, end)
	}
	// Without SYNCED it is unknown whether the manifest is complete, and so whether
	// files that it does not name are needed.
	e.logs.Spare(r.Synced.Files == nil)
}

// straysDir holds table and blob files that were moved aside: the manifest does not
// name them, but may have been cut off.
const straysDir = "strays"

// noteStrays logs the open's findings: files that were moved aside, and zeros in place
// of a write.
func (s *Store) noteStrays() {
	if n := s.engine.logs.Spare(false); n > 0 {
		s.logger.Warn("table files that the manifest does not name were moved aside, because the manifest may be incomplete; remove them once you see that no data is missing",
			"files", n, "dir", filepath.Join(s.dir, straysDir))
	}
	if r := s.engine.found; r != nil && len(r.Ends) > 0 && !s.options.ReadOnly {
		s.logger.Warn("a loss of power left zeros in place of a write that was not acknowledged; the files end before it", "bytes", r.Ends)
	}
}
