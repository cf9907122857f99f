// Package recovery reads the manifest, the logs and the file SYNCED of a database
// before RocksDB opens it. It distinguishes the effects of a crash from damage.
package recovery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// MarkerPrefix begins the keys of the catalog's entries that mark a load; the load's id
// follows.
const MarkerPrefix = "ingest/"

// A Found is the content of the manifest and the logs of a database before RocksDB
// opens it.
//
// RocksDB reads them up to the first incomplete record, and assumes that a crash cut
// this record off. A damaged length looks the same, and all later records would be lost
// silently. A file that was cut off between two records looks complete. So all files
// are read here first: a fault that no crash can cause is an error that names the file
// (docs/decisions/0017-torn-or-damaged.md,
// docs/decisions/0031-what-was-synced-is-written-down.md).
type Found struct {
	Dir    string
	Synced wal.Synced
	Ends   map[string]int64 // by name: where files end whose remaining bytes were never written
	// Dropped are the families that were dropped and not created again, from the
	// manifest.
	Dropped []string
	minLog  uint64 // of familyEdits
}

// Check looks for damage in the manifest and the logs of a database. Beside a writer it
// may find a fault that is only a write under way: see package steady.
func Check(dir string) (*Found, error) {
	said, err := ReadSynced(dir)
	if err != nil {
		return nil, err
	}
	r := &Found{Dir: dir, Synced: said, Ends: map[string]int64{}}
	if err := r.read(); err != nil {
		return nil, err
	}
	return r, nil
}

// ReadSynced reads SYNCED, which may not exist.
func ReadSynced(dir string) (wal.Synced, error) {
	text, err := os.ReadFile(filepath.Join(dir, wal.SyncedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return wal.Synced{}, nil
	}
	if err != nil {
		return wal.Synced{}, fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	return wal.SyncedOf(dir, text)
}

func (r *Found) read() error {
	current, err := os.ReadFile(filepath.Join(r.Dir, "CURRENT"))
	if err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	manifest, ok := strings.CutSuffix(string(current), "\n")
	if !ok || !strings.HasPrefix(manifest, "MANIFEST-") || strings.Contains(manifest, "/") {
		return fmt.Errorf("%w: %s is %q, which names no manifest", cf.ErrCorrupt, filepath.Join(r.Dir, "CURRENT"), current)
	}
	r.Synced.Bind(manifest)
	if err := r.checkManifest(manifest); errors.Is(err, fs.ErrNotExist) {
		return r.manifestGone(string(current))
	} else if err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(r.Dir, "*.log"))
	if err != nil {
		return err
	}
	paths = slices.DeleteFunc(paths, r.isObsolete)
	slices.SortFunc(paths, wal.ByNumber)
	return r.checkWrites(paths)
}

// isObsolete reports whether all changes of a log are in table files. A crash may leave
// such a log without the next ones: logs are not removed in their order.
func (r *Found) isObsolete(path string) bool {
	number, err := strconv.ParseUint(strings.TrimSuffix(filepath.Base(path), ".log"), 10, 64)
	return err == nil && number < r.minLog
}

// manifestGone is called when the manifest does not exist. A writer may have replaced
// it since CURRENT was read.
func (r *Found) manifestGone(current string) error {
	if now, err := os.ReadFile(filepath.Join(r.Dir, "CURRENT")); err == nil && string(now) != current {
		return r.read()
	}
	return fmt.Errorf("%w: %s names %s, which is not there", cf.ErrCorrupt, filepath.Join(r.Dir, "CURRENT"), strings.TrimSpace(current))
}

func (r *Found) checkManifest(name string) error {
	var families familyEdits
	state := wal.State{Path: filepath.Join(r.Dir, name), Unwritten: -1, Synced: -1, Take: families.note}
	if wrote, ok := r.Synced.Files[name]; ok {
		state.Synced = wrote // SYNCED is written after each sync of a manifest
	}
	if err := state.Check(); err != nil {
		return err
	}
	r.Dropped, r.minLog = families.droppedNames(), families.minLog
	return r.judge(&state)
}

// judge compares a file with its synced length.
func (r *Found) judge(l *wal.State) error {
	name := filepath.Base(l.Path)
	if err := r.Synced.Judge(l); err != nil {
		return err
	}
	if l.Torn && l.Unwritten >= 0 {
		r.Ends[name] = l.Begin
	}
	return nil
}

// checkWrites checks the logs of writes in their order.
func (r *Found) checkWrites(paths []string) error {
	for name := range r.Synced.Files {
		if path := filepath.Join(r.Dir, name); strings.HasSuffix(name, ".log") && !r.isObsolete(path) && !slices.Contains(paths, path) {
			return fmt.Errorf("%w: %s is not there, and had changes that are not in table files; %s", cf.ErrCorrupt, path, wal.WayOut)
		}
	}
	var before *wal.State // the last log with a record
	empty := ""           // the first log after it without a record
	for _, path := range paths {
		state, err := wal.Check(path, MarkerPrefix)
		if errors.Is(err, fs.ErrNotExist) { // a writer removed it, and will remove earlier logs
			before = nil
			continue
		}
		if err == nil {
			err = r.judge(&state)
		}
		switch {
		case err != nil || before == nil:
		case state.Records > 0:
			err = leads(before, &state, empty)
		case state.Torn && !before.Torn:
			state.Next = before.Next // its first write failed
		}
		switch {
		case err != nil:
			return err
		case state.Records > 0 || state.Torn:
			before, empty = &state, ""
		case empty == "":
			empty = path
		}
	}
	return nil
}

// leads fails when a change is missing between two logs; empty is the first empty log
// between them.
func leads(l, next *wal.State, empty string) error {
	if goesOn(l, next) {
		return nil
	}
	// A writer may have written to both since.
	again, err := wal.Check(l.Path, MarkerPrefix)
	if errors.Is(err, fs.ErrNotExist) || err == nil && goesOn(&again, next) {
		return nil
	}
	if empty == "" || l.Torn {
		empty = l.Path
	}
	return fmt.Errorf("%w: %s is cut off: changes between it and %s are missing; restore a backup", cf.ErrCorrupt, empty, filepath.Base(next.Path))
}

// goesOn reports whether no change is missing between two logs. A record that a full
// disk cut off was never acknowledged. The sequence numbers of a failed write are used
// again. A load takes sequence numbers that are not in a log, right after its marker.
func goesOn(l, next *wal.State) bool {
	if l.Torn {
		return l.Next > 0 && next.First == l.Next
	}
	return next.First <= l.Next || l.Loading
}
