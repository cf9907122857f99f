package recovery

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/wal"
)

// SyncedFile is the name of the file with the number of bytes of each log and manifest
// that are on the disk. files/synced.hh writes it, and docs/format.md describes it.
const SyncedFile = "SYNCED"

// wayOut is the end of the error for a file that is shorter than in SYNCED.
const wayOut = "restore a backup, or remove " + SyncedFile + " to open what is left"

// A synced is the content of SYNCED.
type synced struct {
	Text  []byte           // nil when SYNCED does not exist
	Files map[string]int64 // bytes by name; nil when SYNCED does not name the current manifest
}

// ReadSynced reads SYNCED, which is always replaced as a whole.
func ReadSynced(dir string) (synced, error) {
	path := filepath.Join(dir, SyncedFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return synced{}, nil
	}
	if err != nil {
		return synced{}, fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	files, err := parseSynced(text)
	if err != nil {
		return synced{}, fmt.Errorf("%w: %s: %w; without this file the database opens, but other files that were cut off may be missed", cf.ErrCorrupt, path, err)
	}
	return synced{text, files}, nil
}

func parseSynced(text []byte) (map[string]int64, error) {
	at := bytes.LastIndex(text, []byte("sum "))
	if at < 0 {
		return nil, errors.New("it has no sum")
	}
	h := fnv.New64a()
	h.Write(text[:at])
	if string(text[at:]) != fmt.Sprintf("sum %016x\n", h.Sum64()) {
		return nil, errors.New("its sum does not match")
	}
	lines := strings.Split(strings.TrimSuffix(string(text[:at]), "\n"), "\n")
	if lines[0] != "smolwc synced 1" {
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

// bind clears Files if SYNCED does not name the current manifest: then another program
// has opened the database since, and may have removed any log.
func (s *synced) bind(manifest string) {
	if _, ok := s.Files[manifest]; !ok {
		s.Files = nil
	}
}

// judge fails when a log or manifest is shorter than its synced length.
func (s *synced) judge(l *wal.State) error {
	wrote, ok := s.Files[filepath.Base(l.Path)]
	switch {
	case !ok:
		return nil
	case l.Size < wrote:
		return fmt.Errorf("%w: %s is cut off: it has %d bytes, and %d were written; %s", cf.ErrCorrupt, l.Path, l.Size, wrote, wayOut)
	case l.Torn && l.Unwritten >= 0 && l.Unwritten < wrote:
		return wal.Damaged(l.Path, l.Unwritten, "there are zeros where a record was written")
	}
	return nil
}
