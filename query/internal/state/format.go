package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
)

// FormatVersion is the newest version of the format on disk.
const FormatVersion = 5

// ReadFormat takes the format from the catalog's entries.
func (db *DB) ReadFormat(entries map[string][]byte) error {
	format, ok := entries[catalog.KeyFormat]
	if !ok {
		return fault.Errorf(fault.FailedPrecondition, "this is a RocksDB database, but not smolwc's: its catalog has no %s", catalog.KeyFormat)
	}
	version, err := strconv.Atoi(string(format))
	if err != nil || version < 1 {
		return fault.Errorf(fault.Corruption, "catalog entry %s is %q, not a version", catalog.KeyFormat, format)
	}
	if err := CheckFormat(version); err != nil {
		return err
	}
	db.Format.Store(int32(version))
	return nil
}

// CheckFormat refuses a format that a newer smolwc wrote.
func CheckFormat(version int) error {
	if version > FormatVersion {
		return fault.Errorf(fault.FailedPrecondition, "the database has format %d, written by a newer smolwc; this one reads formats up to %d", version, FormatVersion)
	}
	return nil
}

// RaiseFor gives the database the format that a timestamp needs, before it is
// written. The schema lock is held: the database is open.
func (db *DB) RaiseFor(ctx context.Context, ts cells.Timestamp) error {
	if ts <= catalog.LastOfFormat1 {
		return nil
	}
	return db.Raise(ctx, catalog.FormatOfLate)
}

// Raise gives the database at least a format. The catalog's entry is on the disk before
// a write that needs it begins, so that no crash leaves the write without the format.
// The marker comes second: after a crash in between, opening writes it.
func (db *DB) Raise(ctx context.Context, version int) error {
	if version <= int(db.Format.Load()) {
		return nil
	}
	if err := db.Raising.Lock(ctx); err != nil {
		return err
	}
	defer db.Raising.Unlock()
	if version <= int(db.Format.Load()) {
		return nil
	}
	err := db.WriteCatalog(ctx, func(b *cf.Batch) error {
		b.PutMeta(catalog.KeyFormat, strconv.AppendInt(nil, int64(version), 10))
		return nil
	})
	if err != nil {
		return err
	}
	if db.Dir != "" {
		if err := WriteMarker(db.Dir, version); err != nil {
			return err
		}
	}
	db.Format.Store(int32(version))
	db.Logger.Info("the database has a newer format: versions of smolwc that do not know it can no longer open it",
		"format", version, "reason", reasonOf[version])
	return nil
}

var reasonOf = map[int]string{
	catalog.FormatOfLate:     "timestamps after " + catalog.LastOfFormat1.String(),
	catalog.FormatOfMarks:    "a materialized view, for which every write marks its rows",
	catalog.FormatOfDeleted:  "a deleted table that is kept for a while",
	catalog.FormatOfStandbys: "standbys, which need families and loads in the log",
}

// Raised is the format once no raise is under way: no less than that of a catalog that
// was copied before the call.
func (db *DB) Raised(ctx context.Context) (int, error) {
	if err := db.Raising.RLock(ctx); err != nil {
		return 0, err
	}
	defer db.Raising.RUnlock()
	return int(db.Format.Load()), nil
}

// markerFile is a file in a database's directory that identifies the database, so that
// a directory of another program, or of a newer format, is refused before the engine
// opens it, which would write to it.
const markerFile = "SMOLWC"

// markerFormat is the text of the marker, with the format.
const markerFormat = "smolwc database, format %d\n"

// ReadMarker is the format in the marker of a directory. Without a marker the error
// matches os.ErrNotExist.
func ReadMarker(dir string) (version int, err error) {
	path := filepath.Join(dir, markerFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fault.Errorf(fault.Unavailable, "%w", err)
	}
	if _, err := fmt.Sscanf(string(text), markerFormat, &version); err != nil || version < 1 {
		return 0, fault.Errorf(fault.Corruption, "%s says %q, not a format", path, text)
	}
	return version, CheckFormat(version)
}

// WriteMarker writes the marker whole or not at all, to the disk.
func WriteMarker(dir string, version int) error {
	path := filepath.Join(dir, markerFile)
	next, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fault.Errorf(fault.Unavailable, "%w", err)
	}
	_, err = fmt.Fprintf(next, markerFormat, version)
	if err = errors.Join(err, next.Sync(), next.Close()); err == nil {
		err = RenameSynced(next.Name(), path)
	}
	if err != nil {
		return fault.Errorf(fault.Unavailable, "%w", err)
	}
	return nil
}

// RenameSynced renames a directory or a file durably: the new name survives a loss
// of power.
func RenameSynced(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(osfile.SyncDir(parent), parent.Close())
}
