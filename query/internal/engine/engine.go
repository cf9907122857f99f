package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/pebble"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/query/internal/fault"
)

// The names of the engines.
const (
	RocksDB = "rocksdb"
	Pebble  = "pebble"
)

// Options apply to both engines.
type Options struct {
	Memory, BackgroundRate               int64
	FileSize                             int // for tests; 0 is the engine's
	Async, ReadOnly, MustExist, InMemory bool
	KeepExpired                          bool // on Pebble, until its files are compacted
	Logger                               *slog.Logger
}

// Default is the engine of a new database: RocksDB in a build with it. Tests choose by a
// variable.
func Default() string {
	if name := os.Getenv("SMOLWC_TEST_ENGINE"); name != "" && testing.Testing() {
		return name
	}
	if HasRocksDB {
		return RocksDB
	}
	return Pebble
}

// Open opens a store in a directory or in memory, for reading only or for writing too.
func Open(name, dir string, o Options) (cf.Reader, error) {
	if name == RocksDB {
		return openRocksDB(dir, o)
	}
	p := pebble.Options{Memory: o.Memory, BackgroundRate: o.BackgroundRate, FileSize: o.FileSize, Async: o.Async, ReadOnly: o.ReadOnly, MustExist: o.MustExist, InMemory: o.InMemory, Logger: o.Logger, KeepExpired: o.KeepExpired}
	if o.ReadOnly {
		return pebble.OpenFollower(dir, p)
	}
	return pebble.Open(dir, p)
}

// IsCreating reports whether an error of Open says that a store is just being created.
func IsCreating(err error) bool { return errors.Is(err, pebble.ErrCreating) || isCreatingRocksDB(err) }

// markerFile identifies a database, so that a directory of another program, or of a newer
// format, is refused before the engine opens it, which would write to it.
const markerFile = "SMOLWC"

// A Marker is what a marker says.
type Marker struct {
	Format int
	Engine string
	// Identity replaces the one in the files when the database is next opened for writing;
	// "" if it keeps that.
	Identity string
}

// ReadMarker reads the marker of a directory. Without a marker the error matches
// os.ErrNotExist.
func ReadMarker(dir string) (m Marker, err error) {
	path := filepath.Join(dir, markerFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return m, fault.Errorf(fault.Unavailable, "%w", err)
	}
	if _, err := fmt.Sscanf(string(text), "smolwc database, format %d\n", &m.Format); err != nil || m.Format < 1 {
		return m, fault.Errorf(fault.Corruption, "%s says %q, not a format", path, text)
	}
	m.Engine = RocksDB // no line of its own says so
	_, rest, _ := strings.Cut(string(text), "\n")
	for line := range strings.Lines(rest) {
		if name, ok := strings.CutPrefix(line, "engine "); ok {
			m.Engine, m.Identity, _ = strings.Cut(strings.TrimSpace(name), identified)
		}
	}
	return m, nil
}

// identified is between the engine and the identity. A smolwc that does not know it refuses
// the directory: to it that is an unknown engine.
const identified = " with the identity "

// WriteMarker writes the marker whole or not at all, to the disk. identity is
// [Marker.Identity].
func WriteMarker(dir string, format int, identity string) error {
	name, err := Of(dir)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("smolwc database, format %d\n", format)
	switch {
	case identity != "":
		text += "engine " + name + identified + identity + "\n"
	case name != RocksDB:
		text += "engine " + name + "\n"
	}
	path := filepath.Join(dir, markerFile)
	next, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fault.Errorf(fault.Unavailable, "%w", err)
	}
	_, err = next.WriteString(text)
	if err = errors.Join(err, next.Sync(), next.Close()); err == nil {
		err = osfile.RenameSynced(next.Name(), path)
	}
	if err != nil {
		return fault.Errorf(fault.Unavailable, "%w", err)
	}
	return nil
}

// Of is the engine of the database in a directory, "" without a database. Both engines
// have a file CURRENT: RocksDB's names its manifest, and Pebble's the engine, so that a
// program that knows only RocksDB finds a database there, and reads the marker. The kind
// of the error is Corruption if the two files disagree, or if there is only the marker.
func Of(dir string) (name string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "CURRENT"))
	switch {
	case errors.Is(err, syscall.ENOTDIR): // the engine says so
		return "", nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", fault.Errorf(fault.Unavailable, "%w", err)
	}
	there := err == nil
	m, err := ReadMarker(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case fault.KindOf(err) == fault.Corruption: // opening the database says so
	case err != nil:
		return "", err
	}
	marked := m.Engine
	if marked != "" && marked != RocksDB && marked != Pebble {
		return "", fault.Errorf(fault.FailedPrecondition, "the database is on %q, written by a newer smolwc; this one knows %s and %s", marked, RocksDB, Pebble)
	}
	if marked == "" && has(dir, "marker.manifest.*") {
		marked = Pebble
	}
	switch {
	case there && string(text) == pebble.Current:
		name = Pebble
	case there:
		name = RocksDB
	case marked == "" && has(dir, "MANIFEST-*"):
		if has(dir, "CURRENT") { // it was created just now
			return Of(dir)
		}
		return RocksDB, nil // which says that it misses CURRENT
	case m.Engine != "" && !has(dir, "MANIFEST-*"):
		return "", fault.Errorf(fault.Corruption, "the file %s says that there is a database on %s, and its files CURRENT and MANIFEST are missing; nothing was changed: put them back, or restore a backup", markerFile, marked)
	default:
		return marked, nil
	}
	if marked != "" && marked != name {
		return "", fault.Errorf(fault.Corruption, "the file CURRENT, %.50q, is that of a database on %s, and the database is on %s; nothing was changed: put the right file back, or restore a backup", text, name, marked)
	}
	return name, nil
}

func has(dir, pattern string) bool {
	entries, _ := os.ReadDir(dir) // empty if it fails: opening the database says why
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		ok, _ := filepath.Match(pattern, e.Name())
		return ok
	})
}
