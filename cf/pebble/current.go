package pebble

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/smolwc/smolwc/cf"
)

// The file CURRENT names a database's engine, in place of RocksDB's file of that name. So
// programs that look for RocksDB's find it, and RocksDB does not open the directory. Pebble
// ignores the file, which its first version still wrote.
const (
	currentFile = "CURRENT"
	Current     = "pebble\n" // the content
)

// The files by which Pebble tells a database from a directory for a new one.
const (
	manifestMarker = "marker.manifest."
	formatMarker   = "marker.format-version."
	firstManifest  = "MANIFEST-000001"
)

var (
	dataFile  = regexp.MustCompile(`^\d{6,}\.(sst|blob|log)$`)
	otherFile = regexp.MustCompile(`^(MANIFEST|OPTIONS)-\d{6,}$`)
)

// look reports whether a directory contains a database. It refuses a database on another
// engine, and one that lost a file without which Pebble would make a new database there. It
// changes nothing.
func look(fs vfs.FS, dir string) (there bool, err error) {
	for range lookTries {
		if there, err = lookOnce(fs, dir); !errors.Is(err, cf.ErrCorrupt) {
			break
		}
		time.Sleep(tryPause) // another process may be changing names
	}
	return there, err
}

const (
	lookTries = 5
	tryPause  = 2 * time.Millisecond
)

func lookOnce(fs vfs.FS, dir string) (there bool, err error) {
	if info, err := fs.Stat(dir); err == nil && !info.IsDir() {
		return false, fmt.Errorf("%s is a file, not a directory: %w", dir, cf.ErrUnavailable)
	}
	names, err := fs.List(dir)
	if notExist(err) {
		return false, nil
	}
	if err != nil {
		return false, wrap(err)
	}
	some := func(is func(string) bool) bool { return slices.ContainsFunc(names, is) }
	begins := func(prefix string) bool {
		return some(func(name string) bool { return strings.HasPrefix(name, prefix) })
	}
	text, err := readAll(fs, fs.PathJoin(dir, currentFile))
	switch {
	case notExist(err) && (some(dataFile.MatchString) || some(otherFile.MatchString) || begins("marker.")):
		return false, lostFile(dir, currentFile)
	case notExist(err):
		return false, nil
	case err != nil:
		return false, wrap(err)
	case string(text) != Current && begins(manifestMarker):
		return false, fmt.Errorf("%w: %s says %.50q, and the files marker.* there belong to a database on Pebble", cf.ErrCorrupt, fs.PathJoin(dir, currentFile), text)
	case string(text) != Current:
		return false, fmt.Errorf("%w: %s has a database on another engine; its file %s says %.50q", cf.ErrUnavailable, dir, currentFile, text)
	}
	manifest, err := atomicfs.ReadMarker(fs, dir, "manifest")
	if err != nil {
		return false, wrap(err)
	}
	// A database that is being created gets these files in this order: the first manifest, its
	// marker, a log, the marker of the format, OPTIONS.
	options := begins("OPTIONS-")
	switch {
	case manifest == "" && (some(dataFile.MatchString) || options || begins(formatMarker) || some(func(name string) bool { return otherFile.MatchString(name) && name != firstManifest })):
		return false, lostFile(dir, manifestMarker+"*")
	case manifest != "" && !slices.Contains(names, manifest):
		return false, lostFile(dir, manifest)
	case manifest != "" && options && !begins(formatMarker):
		return false, lostFile(dir, formatMarker+"*")
	}
	return true, nil
}

// noDatabase is the error for a directory without a database. at is its absolute path.
func noDatabase(fs vfs.FS, dir, at string) error {
	if _, err := fs.Stat(at); notExist(err) {
		return fmt.Errorf("no database at %s: it %w", dir, cf.ErrNotExist)
	}
	return fmt.Errorf("no database at %s: the directory is there, but a database in it %w", dir, cf.ErrNotExist)
}

// writeName names the engine of a database.
func writeName(fs vfs.FS, dir string) error {
	if err := replace(fs, fs.PathJoin(dir, currentFile), []byte(Current)); err != nil {
		return err
	}
	return syncDir(fs, dir)
}
