package pebble

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// examine reads the manifest and the logs of a database before Pebble opens it. Pebble
// takes what it cannot read at the end of the manifest and of the last log for what a
// crash left there, and a file that was cut off between two records looks complete. Here
// a fault that no crash can cause is an error that names the file
// (docs/decisions/0017-torn-or-damaged.md, docs/decisions/0031-what-was-synced-is-written-down.md).
//
// It returns SYNCED, without Files if there is no SYNCED for the manifest, the table files
// that the manifest names, nil if they are not known, and the numbers of the logs that are
// not in them. torn gets the end of the whole records of a log that a crash cut off.
func examine(fs vfs.FS, dir string, torn func(log string, end int64)) (said wal.Synced, tables map[string]int64, logs []uint64, err error) {
	names, err := fs.List(dir)
	if notExist(err) {
		return said, nil, nil, nil
	}
	if err != nil {
		return said, nil, nil, wrap(err)
	}
	manifest, err := atomicfs.ReadMarker(fs, dir, "manifest")
	if err != nil {
		return said, nil, nil, wrap(err)
	}
	if manifest == "" {
		return said, nil, nil, nil
	}
	if slices.Contains(names, wal.SyncedFile) {
		if said, err = readSynced(fs, dir); err != nil {
			return said, nil, nil, err
		}
	}
	said.Bind(manifest)
	e := newEdits()
	if err := examineFile(fs, dir, manifest, &said, e.note, nil); err != nil {
		return said, nil, nil, err
	}
	tables = e.files()
	for name, size := range tables {
		info, err := fs.Stat(fs.PathJoin(dir, name))
		switch {
		case notExist(err):
			return said, nil, nil, lostFile(dir, name)
		case err != nil:
			return said, nil, nil, wrap(err)
		case info.Size() != size:
			return said, nil, nil, fmt.Errorf("%w: %s has %d bytes, and %d were written", cf.ErrCorrupt, fs.PathJoin(dir, name), info.Size(), size)
		}
	}
	counts := func(log string) (number uint64, is bool) {
		number, err := strconv.ParseUint(strings.TrimSuffix(log, ".log"), 10, 64)
		return number, isLog(log) && (err != nil || number >= e.minLog)
	}
	for name := range said.Files {
		if _, is := counts(name); is && !slices.Contains(names, name) {
			return said, nil, nil, lostFile(dir, name)
		}
	}
	for _, name := range names {
		number, is := counts(name)
		if !is {
			continue
		}
		if err := examineFile(fs, dir, name, &said, nil, torn); err != nil {
			return said, nil, nil, err
		}
		logs = append(logs, number)
	}
	return said, tables, logs, nil
}

func readSynced(fs vfs.FS, dir string) (wal.Synced, error) {
	text, err := readAll(fs, fs.PathJoin(dir, wal.SyncedFile))
	if err != nil {
		return wal.Synced{}, wrap(err)
	}
	return wal.SyncedOf(dir, text)
}

// examineFile reads a log, or a manifest if take is not nil.
func examineFile(fs vfs.FS, dir, name string, said *wal.Synced, take func(record []byte), torn func(string, int64)) error {
	f, err := fs.Open(fs.PathJoin(dir, name))
	if notExist(err) {
		return nil // it was removed
	}
	if err != nil {
		return wrap(err)
	}
	state := wal.State{Path: fs.PathJoin(dir, name), Layout: wal.Pebble, Unwritten: -1, Synced: -1}
	if take != nil {
		state.Layout, state.Take = wal.RocksDB, take
		if wrote, ok := said.Files[name]; ok {
			state.Synced = wrote // SYNCED is written after each sync of a manifest
		}
	}
	info, err := f.Stat()
	if err == nil {
		err = state.CheckFrom(f, info.Size())
	} else {
		err = wrap(err)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if state.Torn && torn != nil {
		torn(name, state.Begin)
	}
	return said.Judge(&state)
}

// examineOptions reads the newest file of options, which says how the tables are made.
func (s *Store) examineOptions() error {
	names, err := s.fs.List(s.dir)
	if notExist(err) {
		return nil
	}
	if err != nil {
		return wrap(err)
	}
	newest := ""
	for _, name := range names {
		if strings.HasPrefix(name, "OPTIONS-") && !strings.HasSuffix(name, ".dbtmp") && wal.ByNumber(name, newest) > 0 {
			newest = name
		}
	}
	if newest == "" {
		return nil
	}
	text, err := readAll(s.fs, s.fs.PathJoin(s.dir, newest))
	if err != nil {
		return wrap(err)
	}
	if err := s.settings.CheckCompatibility(s.dir, string(text)); err != nil {
		return fmt.Errorf("%w: %s: %v", cf.ErrCorrupt, s.fs.PathJoin(s.dir, newest), err)
	}
	return nil
}
