package standby

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/plumbing"
)

// A role is the content of the file STANDBY and of the file COPYING of a copy that is not
// whole.
type role struct {
	Primary string `json:"primary"` // its address
	// WasPrimary: the database was a primary and has not followed the next one yet. So its
	// files are kept aside in any case when it is rebuilt.
	WasPrimary bool `json:"adopted,omitempty"`
	// Seed: it was restored from a backup. Its files are kept aside, and may be used for a
	// copy, before which it does not follow: nobody knows what was written since.
	Seed bool `json:"seed,omitempty"`
	// Keep: it is being rebuilt, and may have rows that the primary does not have.
	Keep bool `json:"keep,omitempty"`
	// Differs is why its rows are not those of its primary, "" as far as is known. Nobody
	// reads them again: it is rebuilt before it serves, and its files are kept aside.
	Differs string `json:"differs,omitempty"`
	// Verified is when it was last found equal to its primary, in microseconds since 1970.
	Verified int64 `json:"verified,omitempty"`
}

// A fence is the content of the file FENCED: the epoch by which the database was replaced.
type fence struct {
	History string `json:"history"`
	epoch
}

// refusal is the error of a write.
func (f fence) refusal() error {
	return fmt.Errorf("%w: %s was promoted in its place (epoch %d); write there", cf.ErrReadOnly, f.Leader, f.Number)
}

// A tail is the content of the file DIVERGED, in a directory that was kept aside.
type tail struct {
	// The changes after this position are the directory's own; 0 if there are no such
	// changes.
	After  uint64 `json:"after,omitempty"`
	Reason string `json:"reason"`
}

// divergedFile is the name of the file with a tail.
const divergedFile = "DIVERGED"

// roleFiles say what a directory is. No other process sends them.
var roleFiles = []string{plumbing.StandbyFile, plumbing.FencedFile, plumbing.PromotedFile, copyingFile, divergedFile, tokenFiles[0], ""}

// sumName precedes the checksum of a file, its last field, computed over the object without it.
// A file of an earlier smolwc lacks it.
const sumName = `,"crc":`

// summed is the text of a file, as an object with the checksum.
func summed(text []byte) []byte {
	return fmt.Appendf(nil, "%s%s%d}\n", text[:len(text)-1], sumName, crc(text))
}

// whole refuses a text that is not what was written.
func whole(text []byte) error {
	at := bytes.LastIndex(text, []byte(sumName))
	if at < 0 || bytes.Equal(text, summed(append(slices.Clone(text[:at]), '}'))) {
		return nil
	}
	return fmt.Errorf("%w: its checksum is another one", cf.ErrCorrupt)
}

// readFile reads a JSON file; ok is false without the file.
func readFile(dir, name string, to any) (ok bool, err error) {
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = cmp.Or(whole(text), json.Unmarshal(text, to))
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	return true, nil
}

// changeRole changes the file that marks the directory as a standby's.
func (s *Standby) changeRole(fn func(*role)) error {
	s.roles.Lock()
	defer s.roles.Unlock()
	var r role
	if there, err := readFile(s.dir.dir, plumbing.StandbyFile, &r); err != nil || !there {
		return err
	}
	was := r
	if fn(&r); r == was {
		return nil
	}
	return writeFile(s.dir.dir, plumbing.StandbyFile, r)
}

// joined records that the primary sends its log: the standby holds no changes of its own.
func (s *Standby) joined() {
	if err := s.changeRole(func(r *role) { r.WasPrimary, r.Keep = false, false }); err != nil {
		s.logger.Warn("the directory still says that it has files of a primary", "error", err)
	}
}

// differs reports whether a standby is lost because its rows are others than its primary's.
func differs(why error) bool { return errors.Is(why, ErrDiffers) || errors.Is(why, errUpstreamDiffers) }

// failForGood ends a standby whose rows are wrong, also for later openings. If it differs, it ends
// those that follow it too: they may have copied its rows.
func (s *Standby) failForGood(why error) {
	if err := s.changeRole(func(r *role) { r.Differs = why.Error() }); err != nil {
		s.logger.Error("the directory does not say that its rows are wrong; remove it if the server ends before it is rebuilt", "dir", s.dir.dir, "error", err)
	}
	if differs(why) {
		s.feed.markWrong()
	}
	s.fail(why)
}

// removeFile removes a file that may not be there, for good.
func removeFile(dir, name string) error {
	err := os.Remove(filepath.Join(dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return errors.Join(err, syncDir(dir))
}

// writeFile writes a JSON file, whole and to the disk.
func writeFile(dir, name string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return writeWhole(dir, name, summed(text), 0o644)
}

// writeWhole writes a file that is there as a whole or not at all, to the disk.
func writeWhole(dir, name string, text []byte, mode os.FileMode) error {
	path := filepath.Join(dir, name)
	f, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return rename(path+".tmp", path)
}

// hasDatabase reports whether a directory contains a database.
func hasDatabase(dir string) bool { return exists(filepath.Join(dir, "CURRENT")) }
