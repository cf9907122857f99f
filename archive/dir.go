package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/internal/osfile"
)

// A dirBucket keeps objects in files of a directory. A file gets its name when
// it is complete and on the disk.
type dirBucket struct{ dir string }

// tmpDir holds files until they are complete and get their names.
const tmpDir = "tmp"

func (d *dirBucket) path(key string) string { return filepath.Join(d.dir, filepath.FromSlash(key)) }

func (d *dirBucket) list(ctx context.Context, prefix string) (map[string]int64, error) {
	found := map[string]int64{}
	err := filepath.WalkDir(d.path(prefix), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // was removed just now
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(d.dir, path)
		found[filepath.ToSlash(rel)] = info.Size()
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	return found, fileError(err)
}

func (d *dirBucket) open(_ context.Context, key string) (io.ReadCloser, error) {
	f, err := os.Open(d.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", key, errNoObject)
	}
	return f, fileError(err)
}

// put compares the sum of what it writes with the expected sum.
func (d *dirBucket) put(ctx context.Context, key string, c content) error {
	in, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer in.Close()
	return d.write(key, os.Rename, func(out io.Writer) error {
		h := sha256.New()
		if _, err := copyAll(io.MultiWriter(out, h), in); err != nil {
			return err
		}
		if got := Sum(h.Sum(nil)); got != c.sum {
			return fmt.Errorf("%s changed while it was read", c.path)
		}
		return nil
	})
}

func (d *dirBucket) create(_ context.Context, key string, value []byte) error {
	// A link, unlike a rename, replaces nothing.
	name := func(from, to string) error {
		err := os.Link(from, to)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s: %w", key, errObjectExists)
		}
		if err != nil { // a file system without links; the lock is held
			if _, missing := os.Stat(to); !errors.Is(missing, fs.ErrNotExist) {
				return fmt.Errorf("%s: %w", key, errObjectExists)
			}
			return os.Rename(from, to)
		}
		return os.Remove(from)
	}
	return d.write(key, name, func(out io.Writer) error {
		_, err := out.Write(value)
		return err
	})
}

// write writes a file under another name, syncs it, and gives it its own.
func (d *dirBucket) write(key string, name func(from, to string) error, fill func(io.Writer) error) (err error) {
	in := tmpDir
	if strings.HasPrefix(key, momentsPrefix) {
		in = momentsPrefix + tmpDir // a backup that begins removes the other one
	}
	tmp, err := os.CreateTemp(d.path(in), "*")
	if err != nil {
		return fileError(err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // the next backup tries again
		}
	}()
	err = fill(tmp)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fileError(err)
	}
	path := d.path(key)
	if err := d.mkdir(filepath.Dir(path)); err != nil {
		return err
	}
	if err := name(tmp.Name(), path); err != nil {
		return fileError(err)
	}
	return syncDir(filepath.Dir(path))
}

// mkdir makes a directory of the archive and syncs it to the disk.
func (d *dirBucket) mkdir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fileError(err)
	}
	return syncDir(filepath.Dir(dir))
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fileError(err)
	}
	return fileError(errors.Join(osfile.SyncDir(f), f.Close()))
}

func (d *dirBucket) remove(_ context.Context, key string) error {
	if err := os.Remove(d.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fileError(err)
	}
	return nil
}

// lock takes a lock of the operating system, which releases it when the process ends.
func (d *dirBucket) lock(context.Context) (held func(context.Context) error, unlock func(), err error) {
	if err := d.checkDir(); err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return nil, nil, fileError(err)
	}
	f, err := os.OpenFile(d.path(lockKey), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, fileError(err)
	}
	if err := osfile.TryLock(f); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, osfile.ErrLocked) {
			return nil, nil, fmt.Errorf("%s is locked: %w", d.dir, ErrLocked)
		}
		return nil, nil, fmt.Errorf("cannot lock %s: %w", f.Name(), err)
	}
	return func(context.Context) error { return nil }, func() { _ = f.Close() }, nil
}

// checkDir refuses a directory with something else in it.
func (d *dirBucket) checkDir() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fileError(err)
	}
	known := []string{strings.TrimSuffix(objectsPrefix, "/"), strings.TrimSuffix(generationsPrefix, "/"), tmpDir, lockKey, strings.TrimSuffix(momentsPrefix, "/")}
	for _, e := range entries {
		if e.Name() == known[1] {
			return nil
		}
	}
	for _, e := range entries {
		if !slices.Contains(known, e.Name()) {
			return fmt.Errorf("%s holds other files, %s for one, and no backup; name an empty or a new directory: it %w", d.dir, e.Name(), ErrExists)
		}
	}
	return nil
}

// leftAge is how long nobody has written a file that an interrupted process left.
const leftAge = time.Hour

// removeLeft makes a directory for files that are not complete, and removes the leftovers of interrupted processes. Another server
// may be writing: it has no lock.
func (d *dirBucket) removeLeft(dir string) error {
	if err := d.mkdir(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		info, gone := e.Info()
		if gone == nil && time.Since(info.ModTime()) > leftAge {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return fileError(err)
}

// prepare removes what an interrupted backup had not finished.
func (d *dirBucket) prepare(context.Context) error {
	if err := os.RemoveAll(d.path(tmpDir)); err != nil {
		return fileError(err)
	}
	for _, dir := range []string{tmpDir, objectsPrefix, generationsPrefix} {
		if err := d.mkdir(d.path(dir)); err != nil {
			return err
		}
	}
	return nil
}
