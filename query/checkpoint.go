package query

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/query/internal/engine"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/plumbing"
)

// Checkpoint makes a copy of the database in a directory, which must not exist or be empty.
// The copy is a database of its own, with all tables as of one moment during the call.
// Reads and writes continue. On the same file system the large files are linked: the copy
// takes little time, and no space until the database rewrites them. On another file system
// they are copied.
func (db *DB) Checkpoint(ctx context.Context, dir string) error {
	const op = "checkpoint"
	if err := db.hasFiles(ctx); err != nil {
		return fail(op, "", "", err)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fail(op, "", "", fault.Errorf(fault.InvalidArgument, "%w", err))
	}
	switch entries, err := os.ReadDir(dir); {
	case err == nil && len(entries) > 0:
		return fail(op, "", "", fault.Errorf(fault.AlreadyExists, "%s exists and is not empty; a checkpoint makes a new directory", dir))
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return fail(op, "", "", fault.Errorf(fault.Unavailable, "%w", err))
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fail(op, "", "", fault.Errorf(fault.Unavailable, "%w", err))
	}
	return fail(op, "", "", db.checkpointTo(ctx, dir, func(string) error { return nil }))
}

// checkpointTo copies the database, calls finish, which may change the copy, and
// renames the copy to dir. Until then it is in a directory of its own beside dir.
func (db *DB) checkpointTo(ctx context.Context, dir string, finish func(copied string) error) (err error) {
	unfinished, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".tmp-*")
	if err != nil {
		return fault.Errorf(fault.Unavailable, "%w", err)
	}
	defer func() {
		if e := os.RemoveAll(unfinished); err == nil && e != nil {
			err = fault.Errorf(fault.Unavailable, "%w", e)
		}
	}()
	copied := filepath.Join(unfinished, "db")
	if _, _, err := db.checkpoint(ctx, copied); err != nil {
		return err
	}
	if err := finish(copied); err != nil {
		return err
	}
	err = osfile.RenameSynced(copied, dir)
	if errors.Is(err, os.ErrExist) {
		return fault.Errorf(fault.AlreadyExists, "%s was made by another checkpoint meanwhile", dir)
	}
	if err != nil {
		return fault.Errorf(fault.Unavailable, "%w", err)
	}
	return nil
}

// frozenDir is where Freeze makes its copy, in the database's directory. The next
// open removes a copy that a crash left there.
const frozenDir = "checkpoint.tmp"

// standbyFrozenDir is for a standby. Its backup may be under way when it is promoted, and the
// primary makes one. The engine removes it when it opens the directory.
const standbyFrozenDir = "checkpoint-standby.tmp"

func (db plumbed) Freeze(ctx context.Context, fn func(plumbing.Frozen) error) error {
	const op = "freeze"
	if err := fault.Given("fn", fn != nil); err != nil {
		return fail(op, "", "", err)
	}
	if err := db.hasFiles(ctx); err != nil {
		return fail(op, "", "", err)
	}
	if err := db.freezing.Lock(ctx); err != nil {
		return fail(op, "", "", err)
	}
	defer db.freezing.Unlock()
	f := plumbing.Frozen{Dir: filepath.Join(db.FilesDir(), frozenDir), Time: db.state.Clock.Wall()}
	if db.state.Dir == "" {
		f.Dir = filepath.Join(db.FilesDir(), standbyFrozenDir)
	}
	at, format, err := db.checkpoint(ctx, f.Dir)
	if err != nil {
		return fail(op, "", "", err)
	}
	f.Position, f.Format = uint64(at), format
	err = fn(f)
	if e := os.RemoveAll(f.Dir); err == nil && e != nil {
		err = fail(op, "", "", fault.Errorf(fault.Unavailable, "%w", e))
	}
	return err
}

func (db plumbed) CanFreeze() error {
	return fail("copy the database", "", "", db.hasFiles(context.Background()))
}

// hasFiles says why a database cannot be copied.
func (db *DB) hasFiles(ctx context.Context) error {
	if err := db.ready(ctx); err != nil {
		return err
	}
	switch {
	case db.copied() != nil:
		return nil
	case db.state.ReadOnly:
		return fault.Errorf(fault.FailedPrecondition, "%w; only the process that writes it can copy it", cf.RefusalOf(db.state.Reader))
	case db.state.Shared != nil:
		return errSharedFiles
	case db.state.Dir == "":
		return errNoFiles
	}
	return nil
}

// A copied is the store of a standby, whose files can be copied.
type copied interface {
	cf.Behind
	cf.Checkpointer
	Home() string
}

// copied is the store of a database of a standby, nil of any other one.
func (db *DB) copied() copied {
	c, _ := db.state.Reader.(copied)
	return c
}

func (db plumbed) FilesDir() string {
	if db.DB == nil || db.state == nil {
		return ""
	}
	if c := db.copied(); c != nil {
		return c.Home()
	}
	return db.state.Dir
}

// errSharedFiles is the error for a database whose files are in a cluster.
var errSharedFiles = fault.Errorf(fault.FailedPrecondition, "a database on a shared store has no files of its own to copy; use the store's own tool for backups, which is br for TiKV, or export the tables")

var errNoFiles = fault.Errorf(fault.FailedPrecondition, "a database without its own directory, such as a database in memory, has no files to copy")

// checkpoint copies the database into a directory of this name, and returns the copy's
// place and format. An existing directory is the rest of an interrupted copy.
func (db *DB) checkpoint(ctx context.Context, dir string) (at cf.Position, format int, err error) {
	if err := db.hasFiles(ctx); err != nil {
		return 0, 0, err
	}
	c, ok := db.state.Reader.(cf.Checkpointer)
	if !ok {
		return 0, 0, errNoFiles
	}
	// The engine may make the copy under another name first, which it removes.
	if err := os.RemoveAll(dir); err != nil {
		return 0, 0, fault.Errorf(fault.Unavailable, "%w", err)
	}
	if at, err = c.Checkpoint(ctx, dir); err != nil {
		return 0, 0, fmt.Errorf("copying to %s: %w", dir, err)
	}
	if format, err = db.state.Raised(ctx); err == nil {
		err = engine.WriteMarker(dir, format, "")
	}
	if err != nil {
		return 0, 0, errors.Join(err, os.RemoveAll(dir))
	}
	return at, format, nil
}
