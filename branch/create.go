package branch

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/smolwc/smolwc/internal/claim"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
)

// Create makes a branch of the database. checkpoint copies the database to a directory that
// does not exist, as [query.DB.Checkpoint] and the Checkpoint of a client on the same machine
// do. On the file system of the database both copies, the branch and its base, are links: they
// take space only for what is rewritten or written later. A branch of the name is an error of
// kind [query.KindAlreadyExists]. A Create that is interrupted leaves no branch.
func (d Dir) Create(ctx context.Context, name string, checkpoint func(ctx context.Context, dir string) error) (Branch, error) {
	b, err := d.create(ctx, name, checkpoint)
	return b, fail("create branch", err)
}

func (d Dir) create(ctx context.Context, name string, checkpoint func(context.Context, string) error) (b Branch, err error) {
	if err := CheckName(name); err != nil {
		return b, err
	}
	lock, err := d.lock(ctx, true)
	if err != nil {
		return b, err
	}
	defer lock.Release()
	dir := filepath.Join(d.path, name)
	if _, err := os.Lstat(dir); err == nil {
		return b, errorf(query.KindAlreadyExists, "there is a branch %q already: %s", name, dir)
	}
	temp, err := os.MkdirTemp(d.path, "."+name+making+"*")
	if err != nil {
		return b, fileError(err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(temp) // the next Create removes the rest
			_ = os.Remove(d.path)  // if it is empty
		}
	}()
	if err := os.Chmod(temp, 0o755); err != nil {
		return b, fileError(err)
	}
	b = Branch{Name: name, Created: time.Now().UTC().Truncate(time.Second), Base: basePrefix + "1", ID: uuid.NewString()}
	if err := checkpoint(ctx, filepath.Join(temp, b.Base)); err != nil {
		return b, err
	}
	if err := b.fill(ctx, temp); err != nil {
		return b, err
	}
	if err := ctx.Err(); err != nil {
		return b, err
	}
	if err := osfile.RenameSynced(temp, dir); err != nil {
		return b, fileError(err)
	}
	return d.Get(name)
}

// fill makes the rest of a branch beside its base. Nobody sees it until it is renamed: so the
// files that have to reach the disk do so together, and then the directories.
func (b *Branch) fill(ctx context.Context, dir string) error {
	base, made := filepath.Join(dir, b.Base), filepath.Join(dir, database)
	if err := os.Mkdir(made, 0o755); err != nil {
		return fileError(err)
	}
	files, ctx := errgroup.WithContext(ctx)
	files.SetLimit(16)
	files.Go(func() (err error) {
		if b.Origin, err = plumbing.Identity(ctx, base); err != nil {
			return err
		}
		return fileError(b.save(filepath.Join(dir, recordFile)))
	})
	linked := link(ctx, files, base, made)
	if err := cmp.Or(files.Wait(), linked); err != nil { // what failed in files has ended link
		return err
	}
	if err := plumbing.SetIdentity(made, b.ID); err != nil { // it syncs the directory too
		return err
	}
	return fileError(syncDir(dir))
}

// link makes a copy of a database that nobody has open, except for files of the directory itself.
// Files that never change are linked; copies copies the few others.
func link(ctx context.Context, copies *errgroup.Group, from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return fileError(err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := e.Name()
		if name == "IDENTITY" || name == "LOCK" || name == "LOG" || strings.HasPrefix(name, "LOG.old") {
			continue
		}
		a, b := filepath.Join(from, name), filepath.Join(to, name)
		if ext := filepath.Ext(name); (ext == ".sst" || ext == ".blob" || strings.HasPrefix(name, "OPTIONS-")) && os.Link(a, b) == nil {
			continue
		}
		copies.Go(func() error { return fileError(copyFile(a, b)) })
	}
	return nil
}

func copyFile(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Sync(), w.Close())
}

// Drop removes a branch with all of its files. One that is open or being merged, or has
// branches of its own, is an error of kind [query.KindBusy]. A Drop that is interrupted has
// removed the branch or not; in the first case the next Create or Drop of any branch removes the rest of its files.
func (d Dir) Drop(ctx context.Context, name string) error {
	return fail("drop branch", d.drop(ctx, name))
}

func (d Dir) drop(ctx context.Context, name string) error {
	if _, err := d.Get(name); query.KindOf(err) == query.KindNotFound || query.KindOf(err) == query.KindInvalidArgument {
		return err
	}
	lock, err := d.lock(ctx, false)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = d.Get(name)
	}
	if err != nil {
		return err
	}
	defer lock.Release()
	b := Branch{Name: name, Dir: filepath.Join(d.path, name, database)}
	own, err := Of(b.Dir)
	if err != nil {
		return err
	}
	if !own.isEmpty() {
		return errorf(query.KindBusy, "branch %q has branches of its own, in %s; drop them first", name, own.path)
	}
	whole, err := takeBranch(filepath.Dir(b.Dir), name)
	if err != nil {
		return err
	}
	defer whole.Release()
	c, err := claim.Take(b.Dir)
	switch {
	case err == nil:
		defer c.Release()
	case errors.Is(err, fs.ErrNotExist): // it is damaged
	case errors.Is(err, claim.ErrHere) || errors.Is(err, claim.ErrElsewhere):
		return errorf(query.KindBusy, "branch %q is %w", name, err)
	default:
		return fileError(err)
	}
	gone := filepath.Join(d.path, "."+name+dropping+time.Now().UTC().Format("20060102150405.000000000"))
	if err := osfile.RenameSynced(filepath.Join(d.path, name), gone); err != nil {
		return fileError(err)
	}
	if err := os.RemoveAll(gone); err != nil {
		return fileError(err)
	}
	_ = os.Remove(d.path) // if this was the last one
	return nil
}
