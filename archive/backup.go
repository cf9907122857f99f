package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
)

// BackupOptions say how a backup is made.
type BackupOptions struct {
	Options
	// Keep is how many generations stay, the new one included: older ones are
	// pruned when the backup is complete. 0 keeps all.
	Keep int
	// Scheduled marks the generation as one of a schedule.
	Scheduled bool
	// KeepFor is how long scheduled generations stay: older ones are pruned when the backup
	// is complete, and no others. 0 keeps all.
	KeepFor time.Duration

	unless time.Duration // 0, or no backup is made if a scheduled one is not so old
}

// errRecent reports that a backup was skipped because another process made a recent one.
var errRecent = errors.New("another process has backed up already")

// A BackupResult is what a backup did.
type BackupResult struct {
	Generation
	// SentBytes and SentFiles count the files that were sent. New files that an
	// interrupted backup had sent are not counted.
	SentBytes int64
	SentFiles int
	// Pruned reports the generations that Keep removed.
	Pruned  PruneResult
	Elapsed time.Duration
}

// Backup backs up a database that is open for writing, or is a standby's. Reads and writes go on; the
// backup holds one moment shortly after the call. When the context ends, or anything
// fails, there is no new generation, and the next Backup skips the files that arrived.
// If only the pruning fails, Backup returns the new generation together with the error.
func (a *Archive) Backup(ctx context.Context, db *query.DB, o BackupOptions) (BackupResult, error) {
	res, err := a.backup(ctx, db, o)
	return res, a.fail("back up", err)
}

func (a *Archive) backup(ctx context.Context, db *query.DB, o BackupOptions) (res BackupResult, err error) {
	began := time.Now()
	defer func() { res.Elapsed = time.Since(began) }()
	if err := a.ready(ctx); err != nil {
		return res, err
	}
	if o.Keep < 0 || o.KeepFor < 0 {
		return res, targetErrorf("keep is %d, and KeepFor %v; they must not be negative", o.Keep, o.KeepFor)
	}
	if err := db.Plumbing().CanFreeze(); err != nil {
		return res, err
	}
	if d, ok := a.bucket.(*dirBucket); ok {
		if err := outside(d.dir, db.Plumbing().FilesDir()); err != nil {
			return res, err
		}
	}
	held, unlock, err := a.bucket.lock(ctx)
	if errors.Is(err, ErrLocked) {
		err = heldError{err}
	}
	if err != nil {
		return res, err
	}
	defer unlock()
	if err := a.bucket.prepare(ctx); err != nil {
		return res, err
	}
	before, err := a.manifests(ctx)
	if err != nil {
		return res, err
	}
	if err := a.sameDatabase(before, db); err != nil {
		return res, err
	}
	if isRecent(before, db.Plumbing().Wall(), o.unless) {
		return res, errRecent
	}
	dir, err := identityOf(db.Plumbing().FilesDir())
	if err != nil {
		return res, err
	}
	run := &backupRun{a: a, held: held, before: before, res: &res, dir: dir}
	if err := db.Plumbing().Freeze(ctx, func(f plumbing.Frozen) error { return run.save(ctx, db, f, o) }); err != nil {
		return BackupResult{}, err
	}
	if o.Keep > 0 || o.KeepFor > 0 {
		res.Pruned, err = a.prune(ctx, surplus(o, res.Generation), held)
	}
	return res, err
}

// identityOf identifies the directory of a database, in which the engine uses each name
// once. RocksDB writes a file for it.
func identityOf(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "IDENTITY"))
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return string(text), fileError(err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", fileError(err)
	}
	device, inode := osfile.ID(info)
	return fmt.Sprint(device, " ", inode), nil
}

// A heldError is the error of a backup that found another one at work.
type heldError struct{ error }

func (e heldError) Unwrap() error { return e.error }

// isRecent reports whether a scheduled backup is not so old. One that is far in the future is older
// than a clock that was set back.
func isRecent(before []found, now time.Time, age time.Duration) bool {
	for _, m := range intact(before) {
		if old := now.Sub(m.Time); m.Scheduled && old < age && old > -age/2 {
			return true
		}
	}
	return false
}

// surplus finds the generations that a backup prunes when the newest one is complete.
func surplus(o BackupOptions, newest Generation) func([]*manifest) []*manifest {
	return func(good []*manifest) (gone []*manifest) {
		for i, m := range good {
			many := o.Keep > 0 && len(good)-i > o.Keep
			old := o.KeepFor > 0 && m.Scheduled && newest.Time.Sub(m.Time) > o.KeepFor
			if m.Generation != newest.ID && (many || old) {
				gone = append(gone, m)
			}
		}
		return gone
	}
}

// outside refuses a target in the database's own directory.
func outside(target, dir string) error {
	if rel, err := filepath.Rel(dir, target); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return targetErrorf("%s is in the database's own directory; keep backups elsewhere, best on another disk", target)
	}
	return nil
}

// sameDatabase refuses to mix databases: a generation's number, and the number of
// generations to keep, mean something for one database only.
func (a *Archive) sameDatabase(before []found, db *query.DB) error {
	for _, m := range intact(before) {
		if m.Database != db.UUID().String() {
			return fmt.Errorf("it %w, %s; this one is %s", ErrOtherDatabase, m.Database, db.UUID())
		}
	}
	return nil
}

// A backupRun is one backup under way.
type backupRun struct {
	a      *Archive
	held   func(context.Context) error
	before []found
	res    *BackupResult

	dir   string           // identifies the database's directory
	named bool             // table files are identified by their names
	known map[identity]Sum // files of earlier generations
	have  map[string]int64 // objects in the archive
	line  *line
	bytes atomic.Int64 // sent
	files atomic.Int64
}

// An identity identifies a table or blob file uniquely.
type identity struct {
	size int64
	tail Sum
}

// save sends the files of a frozen database, and the manifest after all of them have
// arrived.
func (r *backupRun) save(ctx context.Context, db *query.DB, f plumbing.Frozen, o BackupOptions) error {
	m := &manifest{
		Format: plainVersion, Generation: 1, Time: f.Time.UTC(), Scheduled: o.Scheduled,
		Database: db.UUID().String(), DatabaseFormat: f.Format, Position: f.Position,
	}
	if o.Scheduled {
		m.Format = formatVersion
	}
	if n := len(r.before); n > 0 {
		m.Generation = r.before[n-1].id + 1
	}
	var err error
	if m.Files, err = filesIn(f.Dir); err != nil {
		return err
	}
	engine, err := query.EngineOf(f.Dir)
	if err != nil {
		return err
	}
	r.named = engine != query.EngineRocksDB
	if r.have, err = r.a.bucket.list(ctx, objectsPrefix); err != nil {
		return err
	}
	r.known = map[identity]Sum{}
	for _, old := range intact(r.before) {
		for _, f := range old.Files {
			if f.Tail != nil {
				r.known[identity{f.Size, *f.Tail}] = f.Sum
			}
		}
	}
	r.line = newLine(o.Options, "backing up", m.size())
	defer r.line.finish()
	if err := r.sendAll(ctx, f.Dir, m.Files, o.parallel()); err != nil {
		return err
	}
	return r.finish(ctx, m)
}

// filesIn lists the files of a checkpoint by name.
func filesIn(dir string) ([]file, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fileError(err)
	}
	var files []file
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, fileError(err)
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("the checkpoint contains %s, which is not a regular file", e.Name())
		}
		files = append(files, file{Name: e.Name(), Size: info.Size()})
	}
	return files, nil
}

// sendAll fills in the sums of all files, and sends the files that are not in the
// archive.
func (r *backupRun) sendAll(ctx context.Context, dir string, files []file, parallel int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i := range files {
		g.Go(func() error { return r.send(ctx, filepath.Join(dir, files[i].Name), &files[i]) })
	}
	return g.Wait()
}

func (r *backupRun) send(ctx context.Context, path string, f *file) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.identify(ctx, path, f); err != nil {
		return err
	}
	key := objectKey(f.Sum)
	if size, ok := r.have[key]; ok && size == f.Size {
		r.line.add(f.Size)
		return nil
	}
	if err := r.a.bucket.put(ctx, key, content{path, f.Size, f.Sum, r.line}); err != nil {
		return fmt.Errorf("sending %s: %w", f.Name, err)
	}
	r.bytes.Add(f.Size)
	r.files.Add(1)
	return nil
}

// identify finds the sum of a file, from an earlier generation if it is in one.
func (r *backupRun) identify(ctx context.Context, path string, f *file) error {
	in, err := os.Open(path)
	if err != nil {
		return fileError(err)
	}
	defer in.Close()
	if f.Tail, err = tailOf(in, f.Size, r.dir, r.named); err != nil {
		return fileError(err)
	}
	if f.Tail != nil {
		if sum, ok := r.known[identity{f.Size, *f.Tail}]; ok {
			f.Sum = sum
			return nil
		}
	}
	f.Sum, err = sumOf(ctx, in)
	return fileError(err)
}

// finish checks that the archive contains all files of the manifest, and writes the
// manifest.
func (r *backupRun) finish(ctx context.Context, m *manifest) error {
	have, err := r.a.bucket.list(ctx, objectsPrefix)
	if err != nil {
		return err
	}
	for _, f := range m.Files {
		if size, ok := have[objectKey(f.Sum)]; !ok || size != f.Size {
			return fmt.Errorf("%s has gone from the archive while the backup ran; back up again", objectKey(f.Sum))
		}
	}
	m.NewBytes = newBytes(m.Files, intact(r.before))
	text, err := m.encode()
	if err != nil {
		return err
	}
	if err := r.held(ctx); err != nil {
		return err
	}
	if err := r.a.bucket.create(ctx, manifestKey(m.Generation), text); err != nil {
		if !errors.Is(err, errObjectExists) {
			return err
		}
		// Our own manifest may be there: the server's answer was lost, and the client
		// retried.
		if there, err := r.a.readManifest(ctx, m.Generation); err != nil || !bytes.Equal(there, text) {
			return errors.Join(fmt.Errorf("backup %d was made by another process meanwhile: %w", m.Generation, ErrLocked), err)
		}
	}
	*r.res = BackupResult{Generation: m.generation(), SentBytes: r.bytes.Load(), SentFiles: int(r.files.Load())}
	return nil
}

// newBytes returns the size of the files in no earlier generation.
func newBytes(files []file, before []*manifest) (n int64) {
	seen := map[Sum]bool{}
	for _, m := range before {
		for _, f := range m.Files {
			seen[f.Sum] = true
		}
	}
	for _, f := range files {
		if !seen[f.Sum] {
			seen[f.Sum] = true
			n += f.Size
		}
	}
	return n
}
