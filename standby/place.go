package standby

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
)

// A place is the directory of a standby, and its neighbours while it is copied anew:
//
//	DIR           the database
//	DIR.copying   a copy that is not whole, without a file STANDBY; or one that is
//	DIR.replaced  the database before, until the copy has its name
//	DIR.diverged  a database before that may have rows that the primary does not have
//
// So DIR never has files of two copies, and the files before are there until the new ones
// are whole.
type place struct{ dir string }

func (p place) copying() string  { return p.dir + ".copying" }
func (p place) replaced() string { return p.dir + ".replaced" }
func (p place) diverged() string { return p.dir + ".diverged" }

// A role is the content of the file STANDBY.
type role struct {
	Primary string `json:"primary"` // its address
	// Adopted: the database was a primary, so its files are kept aside in any case when it
	// is copied anew.
	Adopted bool `json:"adopted,omitempty"`
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
	After  uint64 `json:"after"` // the changes after this position are the directory's own
	Reason string `json:"reason"`
}

// divergedFile is the name of the file with a tail.
const divergedFile = "DIVERGED"

// readFile reads a JSON file; ok is false without the file.
func readFile(dir, name string, to any) (ok bool, err error) {
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	return true, nil
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
	path := filepath.Join(dir, name)
	f, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(path+".tmp", path), syncDir(dir))
}

// hasDatabase reports whether a directory has a database.
func hasDatabase(dir string) bool { return exists(filepath.Join(dir, "CURRENT")) }

// recover ends a change of names that a crash has interrupted.
func (p place) recover() error {
	if !hasDatabase(p.dir) && exists(filepath.Join(p.copying(), query.StandbyFile)) {
		if err := p.install(true); err != nil {
			return err
		}
	}
	if hasDatabase(p.dir) {
		return p.clear(true)
	}
	return nil
}

// clear removes the database before, or keeps it aside.
func (p place) clear(keep bool) error {
	if keep && hasDatabase(p.replaced()) && !exists(p.diverged()) {
		return errors.Join(os.Rename(p.replaced(), p.diverged()), syncDir(filepath.Dir(p.dir)))
	}
	return os.RemoveAll(p.replaced())
}

// tokenFiles stay in a directory whose database is replaced: they are not the database's.
var tokenFiles = []string{"tokens.json"}

// install gives a whole copy the name of the database. With keep, a database before is kept
// aside.
func (p place) install(keep bool) error {
	if exists(p.dir) {
		for _, name := range tokenFiles {
			text, err := os.ReadFile(filepath.Join(p.dir, name))
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(p.copying(), name), text, 0o600)
			}
			if err != nil {
				return err
			}
		}
		if err := p.clear(true); err != nil {
			return err
		}
		if err := os.Rename(p.dir, p.replaced()); err != nil {
			return err
		}
	}
	if err := os.Rename(p.copying(), p.dir); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(p.dir)); err != nil {
		return err
	}
	return p.clear(keep)
}

// copyAnew copies the primary, and puts the copy in the place of the database. With keep,
// a database before is kept aside.
func (s *Standby) copyAnew(ctx context.Context, keep bool) error {
	s.logger.Info("copying the primary", "primary", s.o.Primary, "dir", s.place.dir)
	if err := takeCopy(ctx, s.link, s.place.copying(), s.logger); err != nil {
		return fmt.Errorf("copying %s: %w", s.o.Primary, err)
	}
	store, err := openStore(s.place.copying(), s.o.Database, true)
	if err != nil {
		return err
	}
	id, err := identify(ctx, store)
	if err == nil {
		err = store.Ship(id.history.ID, s.o.LogBytes)
	}
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	if err := writeFile(s.place.copying(), query.StandbyFile, role{Primary: s.o.Primary}); err != nil {
		return err
	}
	return s.place.install(keep)
}
