package moments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A Local uses an archive of a database that is open in this process. As with [archive.Local], an empty target means
// the last backup's. It is safe for concurrent use.
type Local struct{ archive.Local }

func (l Local) open(ctx context.Context, place string) (*archive.Archive, error) {
	target, err := l.Target(ctx, place)
	if err != nil {
		return nil, err
	}
	return archive.Open(ctx, target)
}

// Moments is [Look].
func (l Local) Moments(ctx context.Context, target string) (Report, error) {
	a, err := l.open(ctx, target)
	if err != nil {
		return Report{}, err
	}
	return Look(ctx, a)
}

// VerifyMoments is [Verify].
func (l Local) VerifyMoments(ctx context.Context, target string, o VerifyOptions) (Report, error) {
	a, err := l.open(ctx, target)
	if err != nil {
		return Report{}, err
	}
	return Verify(ctx, a, o)
}

// A TableRestore says which table is brought back.
type TableRestore struct {
	Table string  // in the backup
	As    string  // the name of the new table
	At    *Moment // nil: the backup's
	// Backup is the number of a backup, without At; 0 is the newest.
	Backup int
	// Dir is where the whole database is restored meanwhile, in a directory of its own, which is removed; "" is the system's for
	// temporary files.
	Dir string
}

// RestoreTable brings a table back into the database, under a name that is not taken.
func (l Local) RestoreTable(ctx context.Context, target string, t TableRestore, o RestoreOptions) (res Restored, err error) {
	began := time.Now()
	a, err := l.open(ctx, target)
	if err != nil {
		return res, err
	}
	temporary, err := os.MkdirTemp(t.Dir, "smolwc-restore-")
	if err != nil {
		return res, err
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(temporary)) }()
	dir := filepath.Join(temporary, "backup")
	if t.At != nil {
		res, err = Restore(ctx, a, *t.At, dir, o)
	} else {
		res, err = restoreBackup(ctx, a, t.Backup, dir, o)
	}
	if err != nil {
		return res, err
	}
	from, err := query.OpenReadOnly(dir, query.Options{Memory: copyMemory})
	if err != nil {
		return res, err
	}
	defer func() { err = cmp.Or(err, from.Close()) }()
	if _, there := from.LookupTable(t.Table); !there {
		var names []string
		for _, x := range from.Schema().Tables {
			names = append(names, x.Name)
		}
		what := "the restored moment"
		if t.At == nil {
			what = fmt.Sprint("backup ", res.Backup.ID)
		}
		return res, &query.Error{Op: "restore table", Table: t.Table, Kind: query.KindNotFound, Err: fmt.Errorf("%s has no table %q%s", what, t.Table, schema.DidYouMean(t.Table, names))}
	}
	err = l.DB.CopyTable(ctx, t.As, from.Table(t.Table), nil)
	res.Elapsed = time.Since(began)
	return res, err
}

// copyMemory is the memory for reading a restored table: each block is read once.
const copyMemory = 16 << 20

func restoreBackup(ctx context.Context, a *archive.Archive, id int, dir string, o RestoreOptions) (res Restored, err error) {
	if o.Planned != nil {
		all, err := a.List(ctx)
		if err != nil {
			return res, err
		}
		var planned Plan
		for _, g := range all {
			if g.Damaged == "" && (id == archive.Latest || g.ID == id) {
				planned.Backup = g
			}
		}
		if err := o.Planned(planned); err != nil {
			return res, err
		}
	}
	got, err := a.Restore(ctx, id, dir, o.RestoreOptions)
	res.Backup, res.Database, res.Time, res.Until = got.Generation, got.Database, got.Time, got.Time
	return res, err
}

var errNoRoom = errors.New("there is no room for a restored copy of the database")

// Fits returns an error if the copy that a restore makes would leave less than a tenth of the space that is free now.
func (p Plan) Fits(free int64) error {
	// A record becomes cells in a log and in a file; segments are compressed, so this is about.
	need := p.Backup.Size + 4*p.Bytes
	if need > free-free/10 {
		return &query.Error{Op: "restore", Kind: query.KindFailedPrecondition, Err: fmt.Errorf("%w: it takes about %d bytes, and %d are free", errNoRoom, need, free)}
	}
	return nil
}
