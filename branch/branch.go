// Package branch makes writable copies of a database by hard links, compares them with the
// state that they began from, and merges them back.
//
// The branches of the database in DIR are beside it, in DIR.branches. A branch is a directory
// there with its name:
//
//   - db: the branch, a database like any other, with an identity of its own
//   - base-1: the state that it began from, linked too, which nobody writes. A merge replaces
//     it by base-2, and so on
//   - BRANCH.json: which of them is the base, and the identities
//
// [Dir.Create] and [Dir.Drop] take effect by the rename of this directory. A branch that is
// not open holds neither memory nor descriptors.
package branch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/internal/claim"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/query"
)

// Suffix is added to the directory of a database for the directory of its branches.
const Suffix = ".branches"

// MaxName is the length of the longest name of a branch, in bytes.
const MaxName = 100

// A Dir is the directory with the branches of a database. It is safe for concurrent use, also
// by several processes.
type Dir struct {
	path string
}

// Of is the directory with the branches of the database in a directory. It need not exist.
func Of(db string) (Dir, error) {
	path, err := filepath.Abs(db)
	if err == nil {
		path, err = osfile.Leads(path)
	}
	return Dir{path + Suffix}, fail("look for branches", fileError(err))
}

// Path is the path of the directory.
func (d Dir) Path() string { return d.path }

// A Branch is a branch as it was when it was looked up.
type Branch struct {
	Name string
	// Dir is the directory of the branch's database, and Base has the state that the branch
	// began from, or as of its last merge.
	Dir, Base string
	Created   time.Time
	// Origin is the identity of the database that the branch was made of, and ID the
	// branch's own.
	Origin, ID string
}

// A record is the file BRANCH.json.
type record struct {
	Format  int       `json:"format"` // 1
	Created time.Time `json:"created"`
	Origin  string    `json:"origin"`
	ID      string    `json:"branch"`
	Base    string    `json:"base"` // the name of a directory
}

const (
	recordFile = "BRANCH.json"
	recordOf1  = 1
	database   = "db"
	basePrefix = "base-"
)

// List lists the branches by their names. Those that cannot be read are in the error, beside
// the others.
func (d Dir) List() (all []Branch, err error) {
	entries, err := os.ReadDir(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fail("list branches", fileError(err))
	}
	var bad []error
	for _, e := range entries {
		if CheckName(e.Name()) != nil {
			continue
		}
		b, err := d.Get(e.Name())
		switch {
		case query.KindOf(err) == query.KindNotFound && !isBranch(filepath.Join(d.path, e.Name())): // dropped just now, or no branch
		case err != nil:
			bad = append(bad, err)
		default:
			all = append(all, b)
		}
	}
	return all, errors.Join(bad...)
}

func isBranch(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, recordFile))
	return err == nil
}

// Get looks a branch up. Without one the error's kind is [query.KindNotFound].
func (d Dir) Get(name string) (Branch, error) {
	const op = "look up branch"
	if err := CheckName(name); err != nil {
		return Branch{}, fail(op, err)
	}
	dir := filepath.Join(d.path, name)
	path := filepath.Join(dir, recordFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Branch{}, fail(op, errorf(query.KindNotFound, "there is no branch %q in %s", name, d.path))
	}
	if err != nil {
		return Branch{}, fail(op, fileError(err))
	}
	var r record
	err = json.Unmarshal(text, &r)
	number, numbered := strings.CutPrefix(r.Base, basePrefix)
	switch {
	case err != nil:
		return Branch{}, fail(op, errorf(query.KindCorruption, "%s: %w", path, err))
	case r.Format > recordOf1:
		return Branch{}, fail(op, errorf(query.KindFailedPrecondition, "%s has format %d, of a newer smolwc", path, r.Format))
	case r.Format < 1 || r.Origin == "" || r.ID == "" || !numbered || number == "" || strings.Trim(number, "0123456789") != "":
		return Branch{}, fail(op, errorf(query.KindCorruption, "%s is %.200q, not the record of a branch", path, text))
	}
	return Branch{Name: name, Dir: filepath.Join(dir, database), Base: filepath.Join(dir, r.Base), Created: r.Created, Origin: r.Origin, ID: r.ID}, nil
}

// CheckName refuses a name that a branch cannot have: it consists of letters, digits, - and _
// of ASCII, begins with a letter or digit, and has up to [MaxName] bytes.
func CheckName(name string) error {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
	}
	if name == "" || len(name) > MaxName || name[0] == '-' || name[0] == '_' || strings.ContainsFunc(name, func(c rune) bool { return !plain(c) }) {
		return errorf(query.KindInvalidArgument, "%.120q cannot be the name of a branch: it consists of up to %d letters, digits, - and _, and begins with a letter or digit", name, MaxName)
	}
	return nil
}

// write replaces the record of a branch, whole or not at all.
func (b Branch) write(dir string) error {
	path := filepath.Join(dir, recordFile)
	err := b.save(path + ".tmp")
	if err == nil {
		err = osfile.RenameSynced(path+".tmp", path)
	}
	return fileError(err)
}

// save writes the record of a branch to a file, and the file to the disk.
func (b Branch) save(path string) error {
	text, err := json.Marshal(record{recordOf1, b.Created, b.Origin, b.ID, filepath.Base(b.Base)})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// The names of directories that are being made or removed contain these. A crash leaves them
// to the next Create or Drop.
const (
	making   = ".new-"
	dropping = ".dropped-"
)

// lockEvery is the time between two looks whether another process still holds the directory.
const lockEvery = 2 * time.Millisecond

// lock waits until nobody else makes or drops a branch, and removes the rests of those that
// were interrupted. make says whether a missing directory is made.
func (d Dir) lock(ctx context.Context, make bool) (*claim.Claim, error) {
	for {
		if make {
			if err := d.make(); err != nil {
				return nil, fileError(err)
			}
		}
		c, err := claim.Take(d.path)
		switch {
		case err == nil && c.Holds(d.path):
			return c, fileError(d.sweep())
		case err == nil: // it was removed meanwhile
			c.Release()
		case errors.Is(err, fs.ErrNotExist) && make:
		case !errors.Is(err, claim.ErrHere) && !errors.Is(err, claim.ErrElsewhere):
			return nil, fileError(err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockEvery):
		}
	}
}

// make makes the directory, whose database exists, durably.
func (d Dir) make() error {
	err := os.Mkdir(d.path, 0o755)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil // by a Create, which has synced its name or will
	case err != nil:
		return err
	}
	return syncDir(filepath.Dir(d.path))
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(osfile.SyncDir(dir), dir.Close())
}

func (d Dir) sweep() error {
	entries, err := os.ReadDir(d.path)
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, ".") && (strings.Contains(name, making) || strings.Contains(name, dropping)) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(d.path, name)))
		}
	}
	return err
}

// isEmpty reports whether no branch is in the directory.
func (d Dir) isEmpty() bool {
	entries, err := os.ReadDir(d.path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return CheckName(e.Name()) == nil })
}

// A kinded is an error with its kind.
type kinded struct {
	kind query.Kind
	error
}

func (k kinded) Unwrap() error { return k.error }

func errorf(kind query.Kind, format string, args ...any) error {
	return kinded{kind, fmt.Errorf(format, args...)}
}

// fileError is an error of the file system.
func fileError(err error) error {
	if err == nil {
		return nil
	}
	return kinded{query.KindUnavailable, err}
}

// fail makes an error one of package query; nil stays nil and a query.Error stays itself.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*query.Error](err); ok {
		return e
	}
	kind := query.KindOf(err)
	if k, ok := errors.AsType[kinded](err); ok {
		kind = k.kind
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		kind = query.KindCanceled
	}
	return &query.Error{Op: op, Kind: kind, Err: err}
}
