package pebble

import (
	"maps"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/smolwc/smolwc/cf/internal/wal"
)

// A syncing keeps the file SYNCED of a store that writes: how many bytes of each log and
// manifest are on the disk. The file says less than that, or as much: it is written after
// the sync, and a log is taken out of it before the log is removed.
type syncing struct {
	fs  vfs.FS
	dir string

	files map[string]int64 // bytes on the disk; guarded by the mutex of the system
	said  map[string]int64 // those in the file
}

// note takes the synced length of a file, and writes SYNCED if it matters. A file that
// cannot be written, as on a full disk, stays as it is.
func (y *syncing) note(name string, bytes int64) {
	if y.files[name] < bytes {
		y.files[name] = bytes
		_ = y.write()
	}
}

// removing is called before a log or a manifest is removed.
func (y *syncing) removing(name string) error {
	delete(y.files, name)
	said := false
	for other := range y.files {
		if isLog(name) && isLog(other) && wal.ByNumber(other, name) < 0 {
			delete(y.files, other)
		}
	}
	for other := range y.said {
		_, still := y.files[other]
		said = said || isLog(other) && !still
	}
	if !said {
		return nil
	}
	if y.write() != nil { // on a full disk a file can still be removed
		if err := y.fs.Remove(y.fs.PathJoin(y.dir, wal.SyncedFile)); err != nil && !notExist(err) {
			return err
		}
		y.said = nil
	}
	return syncDir(y.fs, y.dir)
}

// write replaces the file.
func (y *syncing) write() error {
	path := y.fs.PathJoin(y.dir, wal.SyncedFile)
	if err := replace(y.fs, path, wal.FormatSynced(y.files)); err != nil {
		_ = y.fs.Remove(path + ".tmp")
		return err
	}
	y.said = maps.Clone(y.files)
	return nil
}

func newSyncing(fs vfs.FS, dir string, found wal.Synced) *syncing {
	y := &syncing{fs: fs, dir: dir, files: map[string]int64{}, said: maps.Clone(found.Files)}
	maps.Copy(y.files, found.Files)
	return y
}
