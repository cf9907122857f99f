// Package archive keeps backups of databases: in a directory, or in an object
// store that speaks S3's protocol.
//
// A backup is a generation: the files of a checkpoint, which is one moment of all tables,
// taken while the database is read and written. Files are kept as objects named after the
// SHA-256 of their content: content of an earlier generation is not sent again, and a
// byte that changes later is found. A generation exists when its manifest does, which is
// written last. An interrupted backup leaves no generation, and the next backup sends
// only the rest.
//
// [Open] opens a target; [Archive.Backup], [Archive.List], [Archive.Restore],
// [Archive.Verify] and [Archive.Prune] do what their names say. docs/backup.md describes
// the layout.
package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// An Archive is a place with backups of one database. It is safe for concurrent
// use.
type Archive struct {
	target string
	bucket bucket

	once  sync.Once
	quick bucket // for many small requests
}

// Open opens a target: the path of a directory, or s3://BUCKET/PREFIX with
// ?endpoint=URL for a server that is not Amazon's and ?region=NAME. Access keys come
// from AWS's environment variables and files, or with ?credentials=instance from the
// role of the Amazon machine. A directory need not exist; a bucket must.
func Open(ctx context.Context, target string) (*Archive, error) {
	if err := checkContext(ctx); err != nil {
		return nil, fail("open backups at "+target, err)
	}
	b, name, err := openBucket(ctx, target)
	if err != nil {
		return nil, fail("open backups at "+target, err)
	}
	return &Archive{target: name, bucket: b}, nil
}

// Target is where the archive is, in a form that Open takes from any directory.
func (a *Archive) Target() string {
	return a.target
}

// ready returns an error if an operation cannot begin.
func (a *Archive) ready(ctx context.Context) error {
	if a == nil || a.bucket == nil {
		return targetErrorf("there is no archive; Open gives one")
	}
	return checkContext(ctx)
}

func checkContext(ctx context.Context) error {
	if ctx == nil {
		return targetErrorf("the context is nil; context.Background gives one")
	}
	return nil
}

// List lists the generations, the oldest first.
func (a *Archive) List(ctx context.Context) ([]Generation, error) {
	if err := a.ready(ctx); err != nil {
		return nil, a.fail("list backups", err)
	}
	all, err := a.manifests(ctx)
	if err != nil {
		return nil, a.fail("list backups", err)
	}
	list := make([]Generation, len(all))
	for i, m := range all {
		list[i] = m.generation()
	}
	return list, nil
}

// A found is a manifest that was found in the archive, damaged or not.
type found struct {
	id  int
	m   *manifest // nil when it is damaged
	err error     // a *DamageError then
}

func (f found) generation() Generation {
	if f.m == nil {
		return Generation{ID: f.id, Damaged: f.err.Error()}
	}
	return f.m.generation()
}

// manifests reads all manifests, in order. Those that a prune removes meanwhile are left out.
func (a *Archive) manifests(ctx context.Context) ([]found, error) {
	keys, err := a.bucket.list(ctx, generationsPrefix)
	if err != nil {
		return nil, err
	}
	var all []found
	for key := range keys {
		if id, ok := manifestID(key); ok {
			all = append(all, found{id: id})
		}
	}
	slices.SortFunc(all, func(a, b found) int { return a.id - b.id })
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(DefaultParallel)
	for i := range all {
		g.Go(func() error {
			m, err := a.manifest(ctx, all[i].id)
			all[i].m, all[i].err = m, err
			if isDamage(err) || errors.Is(err, errNoObject) {
				return nil
			}
			return err
		})
	}
	err = g.Wait()
	return slices.DeleteFunc(all, func(f found) bool { return errors.Is(f.err, errNoObject) }), err
}

// manifest reads one manifest. The error matches ErrDamaged when the manifest is
// not as it was written.
func (a *Archive) manifest(ctx context.Context, id int) (*manifest, error) {
	text, err := a.readManifest(ctx, id)
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(text)
	if err == nil && m.Generation != id {
		err = fmt.Errorf("it is the manifest of generation %d", m.Generation)
	}
	if err != nil {
		return nil, &DamageError{Generation: id, Object: manifestKey(id), Problem: err.Error()}
	}
	return m, nil
}

func (a *Archive) readManifest(ctx context.Context, id int) (text []byte, err error) {
	err = retried(ctx, func() error {
		r, err := a.bucket.open(ctx, manifestKey(id))
		if err != nil {
			return err
		}
		defer r.Close()
		text, err = io.ReadAll(io.LimitReader(r, maxManifest+1))
		return fileError(err)
	})
	return text, err
}

func intact(all []found) []*manifest {
	var ms []*manifest
	for _, f := range all {
		if f.m != nil {
			ms = append(ms, f.m)
		}
	}
	return ms
}

func (a *Archive) fail(op string, err error) error { return fail(op+" at "+a.Target(), err) }

// openBucket opens the bucket that a target names, and returns the target in a
// form that is valid from any directory.
func openBucket(ctx context.Context, text string) (bucket, string, error) {
	t, err := parseTarget(text)
	switch {
	case err != nil:
		return nil, "", err
	case t.s3 == nil:
		return &dirBucket{dir: t.dir}, t.dir, nil
	}
	b, err := newS3Bucket(ctx, *t.s3, usualPatience)
	return b, text, err
}
