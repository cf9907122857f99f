//go:build cgo && linux && !norocksdb

package query_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/cf/rocks"
	"github.com/smolwc/smolwc/query"
)

// A process is killed while it begins or ends to keep the log for standbys. The database
// opens, and has no directory for it.
func TestKilledAroundTheFileOfStandbys(t *testing.T) {
	for name, kill := range map[string]func(archive string) error{
		"before the file has its name": func(archive string) error {
			file := filepath.Join(archive, "standbys.json")
			return os.Rename(file, file+".tmp")
		},
		"before the loads are removed": func(archive string) error {
			return errors.Join(os.MkdirAll(filepath.Join(archive, "loads", "00000000000000000001-x"), 0o755),
				os.Remove(filepath.Join(archive, "standbys.json")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := shippedOnce(t)
			archive := filepath.Join(dir, "archive")
			must(t, kill(archive))
			must(t, mustOpen(t, dir, query.Options{}).Close())
			if _, err := os.Stat(archive); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the directory is there: %v", err)
			}
		})
	}
}

// A file of somebody else in the directory of logs prevents no open.
func TestADirectoryOfLogsThatCannotBeRemoved(t *testing.T) {
	dir := shippedOnce(t)
	archive := filepath.Join(dir, "archive")
	must(t, errors.Join(os.Remove(filepath.Join(archive, "standbys.json")), os.WriteFile(filepath.Join(archive, "notes.txt"), nil, 0o600)))
	for range 2 {
		must(t, mustOpen(t, dir, query.Options{}).Close())
	}
	must(t, os.Remove(filepath.Join(archive, "notes.txt")))
	must(t, mustOpen(t, dir, query.Options{}).Close())
	if _, err := os.Stat(archive); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is there: %v", err)
	}
}

// shippedOnce is the directory of a database that keeps its log for standbys.
func shippedOnce(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, mustOpen(t, dir, query.Options{Engine: query.EngineRocksDB}).Close())
	store, err := rocks.Open(dir, rocks.Options{})
	must(t, err)
	must(t, errors.Join(store.Ship("h", 1<<30), store.Close()))
	return dir
}
