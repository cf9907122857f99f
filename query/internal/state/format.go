package state

import (
	"context"
	"strconv"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/engine"
	"github.com/smolwc/smolwc/query/internal/fault"
)

// FormatVersion is the newest version of the format on disk.
const FormatVersion = 7

// ReadFormat takes the format from the catalog's entries.
func (db *DB) ReadFormat(entries map[string][]byte) error {
	format, ok := entries[catalog.KeyFormat]
	if !ok {
		return fault.Errorf(fault.FailedPrecondition, "this is a database, but not smolwc's: its catalog has no %s", catalog.KeyFormat)
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
		if err := engine.WriteMarker(db.Dir, version, ""); err != nil {
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
	catalog.FormatOfDated:    "an archive of every moment, which needs times in the log",
}

// Raised is the format once no raise is under way: no less than in a catalog that was
// copied before the call.
func (db *DB) Raised(ctx context.Context) (int, error) {
	if err := db.Raising.RLock(ctx); err != nil {
		return 0, err
	}
	defer db.Raising.RUnlock()
	return int(db.Format.Load()), nil
}
