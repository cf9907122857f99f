package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/smolwc/smolwc/internal/claim"
	"github.com/smolwc/smolwc/query"
)

// Latest is the newest generation whose manifest is intact.
const Latest = 0

// RestoreOptions say how a backup is restored.
type RestoreOptions struct {
	Options
	// Overwrite replaces a database that is in the directory, damaged or not. The old
	// database is removed after the restore.
	Overwrite bool
	// Then is called with the directory of the restored database before it gets its name; nil
	// is allowed. With an error there is no database.
	Then func(dir string) error
}

// A RestoreResult is what a restore did.
type RestoreResult struct {
	Generation
	Elapsed time.Duration
}

// Restore makes a database of a generation, or of [Latest], in a directory that
// does not exist or is empty. Every byte is compared with its checksum, and the
// database is opened once, before it gets its name: a restore that fails or is
// interrupted leaves the directory as it was.
func (a *Archive) Restore(ctx context.Context, id int, dir string, o RestoreOptions) (RestoreResult, error) {
	res, err := a.restore(ctx, id, dir, o)
	return res, a.fail("restore backup", err)
}

func (a *Archive) restore(ctx context.Context, id int, dir string, o RestoreOptions) (res RestoreResult, err error) {
	began := time.Now()
	if err := a.ready(ctx); err != nil {
		return res, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return res, err
	}
	replaces, err := checkRestoreDir(dir, o.Overwrite)
	if err != nil {
		return res, err
	}
	m, err := a.pick(ctx, id)
	if err != nil {
		return res, err
	}
	if m.DatabaseFormat > query.FormatVersion {
		return res, fmt.Errorf("the database has format %d, written by a newer smolwc; this one reads formats up to %d", m.DatabaseFormat, query.FormatVersion)
	}
	if m.engine() == query.EngineRocksDB && !query.HasRocksDB {
		return res, fmt.Errorf("backup %d: %w", m.Generation, query.ErrNoEngine)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return res, fileError(err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".restoring-*")
	if err != nil {
		return res, fileError(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, fileError(os.RemoveAll(tmp)))
		}
	}()
	if err := a.fetch(ctx, m, tmp, o.Options); err != nil {
		return res, err
	}
	if err := tryOpen(tmp, m); err != nil {
		return res, err
	}
	if o.Then != nil {
		if err := o.Then(tmp); err != nil {
			return res, err
		}
	}
	if err := install(tmp, dir, replaces); err != nil {
		return res, err
	}
	return RestoreResult{m.generation(), time.Since(began)}, nil
}

// checkRestoreDir decides whether a directory may become the database, and
// whether it holds a database to replace.
func checkRestoreDir(dir string, overwrite bool) (replaces bool, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0:
		return false, nil
	case err != nil:
		return false, fileError(err)
	}
	isDatabase := false
	for _, e := range entries {
		name := e.Name()
		isDatabase = isDatabase || name == currentFile || name == "SMOLWC" || strings.HasPrefix(name, "MANIFEST-")
	}
	switch {
	case !isDatabase:
		return false, fmt.Errorf("%s is not empty and holds no database; name another directory: it %w", dir, ErrExists)
	case !overwrite:
		return false, fmt.Errorf("%s holds a database, which is only replaced when overwrite is asked for: it %w", dir, ErrExists)
	}
	// A damaged database may be replaced, an open one may not.
	db, err := query.Open(dir, query.Options{MustExist: true, GCInterval: -1})
	if err == nil {
		return true, db.Close()
	}
	if kind := query.KindOf(err); kind == query.KindBusy || kind == query.KindFailedPrecondition {
		return false, err
	}
	return true, nil
}

func (a *Archive) pick(ctx context.Context, id int) (*manifest, error) {
	if id < 0 {
		return nil, fmt.Errorf("%w %d; they are counted from 1", ErrNoGeneration, id)
	}
	if id != Latest {
		m, err := a.manifest(ctx, id)
		if !errors.Is(err, errNoObject) {
			return m, err
		}
	}
	all, err := a.manifests(ctx)
	if err != nil {
		return nil, err
	}
	if id == Latest {
		if good := intact(all); len(good) > 0 {
			return good[len(good)-1], nil
		}
	}
	switch {
	case len(all) == 0:
		return nil, fmt.Errorf("%w: there are no backups", ErrNoGeneration)
	case id == Latest:
		return nil, all[len(all)-1].err
	}
	if len(all) == 1 {
		return nil, fmt.Errorf("%w as %d; the only one is %d", ErrNoGeneration, id, all[0].id)
	}
	return nil, fmt.Errorf("%w as %d; there are %d, from %d to %d", ErrNoGeneration, id, len(all), all[0].id, all[len(all)-1].id)
}

// fetch brings the files of a generation into a directory. CURRENT comes last, after
// all other files are on the disk: without it the directory is no database.
func (a *Archive) fetch(ctx context.Context, m *manifest, dir string, o Options) error {
	l := newLine(o, "restoring", m.size())
	defer l.finish()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(o.parallel())
	var current file
	for _, f := range m.Files {
		if f.Name == currentFile {
			current = f
			continue
		}
		g.Go(func() error { return a.fetchFile(gctx, m, f, filepath.Join(dir, f.Name), l) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	path := filepath.Join(dir, currentFile)
	if err := a.fetchFile(ctx, m, current, path+".tmp", l); err != nil {
		return err
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fileError(err)
	}
	return syncDir(dir)
}

func (a *Archive) fetchFile(ctx context.Context, m *manifest, f file, path string, l *line) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := retried(ctx, func() error { return a.writeFile(ctx, f, path, l) })
	if d, ok := errors.AsType[*DamageError](err); ok {
		d.Generation, d.File = m.Generation, f.Name
	}
	return err
}

func (a *Archive) writeFile(ctx context.Context, f file, path string, l *line) error {
	out, err := os.Create(path)
	if err != nil {
		return fileError(err)
	}
	err = a.readObject(ctx, f.Sum, f.Size, l, out)
	if err == nil {
		err = fileError(out.Sync())
	}
	if e := out.Close(); err == nil {
		err = fileError(e)
	}
	return err
}

func tryOpen(dir string, m *manifest) error {
	db, err := query.Open(dir, query.Options{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("backup %d arrived whole, but does not open: %w", m.Generation, err)
	}
	if got := db.UUID().String(); got != m.Database {
		err = fmt.Errorf("backup %d holds database %s, and its manifest says %s", m.Generation, got, m.Database)
	}
	return errors.Join(err, db.Close())
}

// install gives a restored database its name. The database that it replaces exists
// until then, and cannot be opened meanwhile.
func install(tmp, dir string, replaces bool) error {
	old := ""
	if replaces {
		c, err := claim.Take(dir)
		if err != nil {
			return fileError(fmt.Errorf("database %s was closed when the restore began, and cannot be replaced now: %w", dir, err))
		}
		defer c.Release()
		old = strings.Replace(tmp, ".restoring-", ".replaced-", 1)
		if err := os.Rename(dir, old); err != nil {
			return fileError(err)
		}
	}
	if err := os.Rename(tmp, dir); err != nil {
		if replaces {
			err = errors.Join(err, os.Rename(old, dir))
		}
		return fileError(err)
	}
	if err := syncDir(filepath.Dir(dir)); err != nil || !replaces {
		return err
	}
	return fileError(os.RemoveAll(old))
}
