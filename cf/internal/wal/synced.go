package wal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// SyncedFile is the name of the file with the number of bytes of each log and manifest
// that are on the disk. docs/format.md describes it.
const SyncedFile = "SYNCED"

// WayOut is the end of the error for a file that is shorter than in SYNCED.
const WayOut = "restore a backup, or remove " + SyncedFile + " to open what is left"

// A Synced is the content of SYNCED, which is always replaced as a whole.
type Synced struct {
	Text  []byte           // nil when SYNCED does not exist
	Files map[string]int64 // bytes by name; nil when SYNCED does not name the current manifest
}

// SyncedOf reads the text of SYNCED in a directory.
func SyncedOf(dir string, text []byte) (Synced, error) {
	files, err := ParseSynced(text)
	if err != nil {
		return Synced{}, fmt.Errorf("%w: %s: %w; without this file the database opens, but other files that were cut off may be missed", cf.ErrCorrupt, filepath.Join(dir, SyncedFile), err)
	}
	return Synced{text, files}, nil
}

const syncedHead = "smolwc synced 1"

// ParseSynced reads the text of SYNCED.
func ParseSynced(text []byte) (map[string]int64, error) {
	at := bytes.LastIndex(text, []byte("sum "))
	if at < 0 {
		return nil, errors.New("it has no sum")
	}
	if string(text[at:]) != sumLine(text[:at]) {
		return nil, errors.New("its sum does not match")
	}
	lines := strings.Split(strings.TrimSuffix(string(text[:at]), "\n"), "\n")
	if lines[0] != syncedHead {
		return nil, fmt.Errorf("it begins with %q, which a newer smolwc may have written", lines[0])
	}
	files := map[string]int64{}
	for _, line := range lines[1:] {
		name, size, _ := strings.Cut(line, " ")
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil || n < 0 || name == "" {
			return nil, fmt.Errorf("its line %q is not a name and a number", line)
		}
		files[name] = n
	}
	return files, nil
}

func sumLine(text []byte) string {
	h := fnv.New64a()
	h.Write(text)
	return fmt.Sprintf("sum %016x\n", h.Sum64())
}

// FormatSynced is the text of SYNCED.
func FormatSynced(files map[string]int64) []byte {
	text := []byte(syncedHead + "\n")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text = fmt.Appendf(text, "%s %d\n", name, files[name])
	}
	return append(text, sumLine(text)...)
}

// Bind clears Files if SYNCED does not name the current manifest: then another program
// opened the database since, and may have removed any log.
func (s *Synced) Bind(manifest string) {
	if _, ok := s.Files[manifest]; !ok {
		s.Files = nil
	}
}

// Judge fails when a log or manifest is shorter than its synced length.
func (s *Synced) Judge(l *State) error {
	wrote, ok := s.Files[filepath.Base(l.Path)]
	switch {
	case !ok:
		return nil
	case l.Size < wrote:
		return fmt.Errorf("%w: %s is cut off: it has %d bytes, and %d were written; %s", cf.ErrCorrupt, l.Path, l.Size, wrote, WayOut)
	case l.Torn && l.Unwritten >= 0 && l.Unwritten < wrote:
		return Damaged(l.Path, l.Unwritten, "there are zeros where a record was written")
	}
	return nil
}
