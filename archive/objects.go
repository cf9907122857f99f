package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Objects are what an archive keeps beside its backups: for package moments. Their keys begin
// with moments/. The zero Objects have no methods to call. They are safe for concurrent use.
type Objects struct{ b bucket }

// Objects returns the archive's objects. Their requests are small and many: one that fails does so soon,
// and the caller tries again.
func (a *Archive) Objects() Objects {
	a.once.Do(func() {
		a.quick = a.bucket
		if s3, ok := a.bucket.(*s3Bucket); ok {
			quick := *s3
			quick.patience = quickPatience
			quick.client = quickPatience.client()
			a.quick = &quick
		}
	})
	return Objects{a.quick}
}

var quickPatience = patience{noProgress: 30 * time.Second, attempts: 3, backoff: time.Second}

func (o Objects) ready(ctx context.Context) error {
	if o.b == nil {
		return fail("use an archive", targetErrorf("there is no archive; Open gives one"))
	}
	return fail("use an archive", checkContext(ctx))
}

// List gives the keys that begin with a prefix, which ends with a slash, and their sizes.
func (o Objects) List(ctx context.Context, prefix string) (found map[string]int64, err error) {
	if err := o.ready(ctx); err != nil {
		return nil, err
	}
	err = retried(ctx, func() error {
		found, err = o.b.list(ctx, prefix)
		return err
	})
	return found, err
}

// Get reads a value of up to most bytes. found is false if it is not there.
func (o Objects) Get(ctx context.Context, key string, most int64) (value []byte, found bool, err error) {
	value, err = o.read(ctx, key, most+1)
	if errors.Is(err, errNoObject) {
		return nil, false, nil
	}
	if err == nil && int64(len(value)) > most {
		err = &DamageError{Object: key, Problem: fmt.Sprintf("it has more than %d bytes", most)}
	}
	return value, err == nil, err
}

// GetHead reads the first bytes of a value, fewer if it is shorter. found is false if it
// is not there.
func (o Objects) GetHead(ctx context.Context, key string, n int64) (head []byte, found bool, err error) {
	head, err = o.read(ctx, key, n)
	if errors.Is(err, errNoObject) {
		return nil, false, nil
	}
	return head, err == nil, err
}

func (o Objects) read(ctx context.Context, key string, n int64) (value []byte, err error) {
	if err := o.ready(ctx); err != nil {
		return nil, err
	}
	err = retried(ctx, func() error {
		r, err := o.b.open(ctx, key)
		if err != nil {
			return err
		}
		defer r.Close()
		value, err = io.ReadAll(io.LimitReader(r, n))
		return fileError(err)
	})
	return value, err
}

// Create makes a value, atomically and durably. created is false if the key exists: perhaps with
// this value, if the answer to an earlier request was lost.
func (o Objects) Create(ctx context.Context, key string, value []byte) (created bool, err error) {
	if err := o.ready(ctx); err != nil {
		return false, err
	}
	err = o.b.create(ctx, key, value)
	if errors.Is(err, errObjectExists) {
		return false, nil
	}
	return err == nil, err
}

// SumOf is the size and the sum of a file.
func SumOf(ctx context.Context, path string) (size int64, sum Sum, err error) {
	if err := checkContext(ctx); err != nil {
		return 0, sum, fail("read "+path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, sum, fileError(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		sum, err = sumOf(ctx, f)
	}
	if err != nil {
		return 0, sum, fileError(err)
	}
	return info.Size(), sum, nil
}

// PutFile makes a value of a file with this size and sum, atomically and durably, and replaces an earlier one.
func (o Objects) PutFile(ctx context.Context, key, path string, size int64, sum Sum) error {
	if err := o.ready(ctx); err != nil {
		return err
	}
	return o.b.put(ctx, key, content{path, size, sum, &line{}})
}

// GetFile writes a value to a file, to the disk, and compares it with its size and its sum. The error of a value
// that is missing or different matches [ErrDamaged].
func (o Objects) GetFile(ctx context.Context, key, path string, size int64, sum Sum) error {
	if err := o.ready(ctx); err != nil {
		return err
	}
	return retried(ctx, func() error {
		out, err := os.Create(path)
		if err != nil {
			return fileError(err)
		}
		err = copyObject(ctx, o.b, key, sum, size, &line{}, out)
		if err == nil {
			err = fileError(out.Sync())
		}
		if e := out.Close(); err == nil {
			err = fileError(e)
		}
		return err
	})
}

// Remove removes a value; it need not be there.
func (o Objects) Remove(ctx context.Context, key string) error {
	if err := o.ready(ctx); err != nil {
		return err
	}
	return o.b.remove(ctx, key)
}

// CreatesOnce finds out whether the target refuses to create a value twice. Without that two
// servers could write the same moments. The target is made ready for writing.
func (o Objects) CreatesOnce(ctx context.Context) error {
	if err := o.ready(ctx); err != nil {
		return err
	}
	if d, ok := o.b.(*dirBucket); ok {
		if err := d.checkDir(); err != nil {
			return err
		}
		return d.removeLeft(d.path(momentsPrefix + tmpDir))
	}
	const key = momentsPrefix + "once"
	value := []byte("An object store that lets several servers create this object has no conditional puts.\n")
	if _, err := o.Create(ctx, key, value); err != nil {
		return err
	}
	again, err := o.Create(ctx, key, bytes.ToUpper(value))
	if err == nil && again {
		err = targetErrorf("the object store replaces an object that it was asked to create only if it does not exist (If-None-Match: *), so two servers could write the same moments unseen; use a store that has conditional puts, or a directory")
	}
	return err
}

// needed are the generations that moments need.
func (a *Archive) neededByMoments(ctx context.Context) (map[int]bool, error) {
	keys, err := a.bucket.list(ctx, basesPrefix)
	if err != nil {
		return nil, err
	}
	needed := map[int]bool{}
	for key := range keys {
		if id, ok := manifestID(generationsPrefix + strings.TrimPrefix(key, basesPrefix) + ".json"); ok {
			needed[id] = true
		}
	}
	return needed, nil
}

// KeepBase keeps the backup with a number, whatever is pruned, until [Objects.FreeBase].
func (o Objects) KeepBase(ctx context.Context, id int) error {
	_, err := o.Create(ctx, fmt.Sprintf("%s%08d", basesPrefix, id), []byte("Moments need this backup.\n"))
	return err
}

// FreeBase ends what KeepBase began.
func (o Objects) FreeBase(ctx context.Context, id int) error {
	return o.Remove(ctx, fmt.Sprintf("%s%08d", basesPrefix, id))
}

// Bases are the backups of KeepBase.
func (a *Archive) Bases(ctx context.Context) (map[int]bool, error) {
	if err := a.ready(ctx); err != nil {
		return nil, a.fail("look for bases", err)
	}
	needed, err := a.neededByMoments(ctx)
	return needed, a.fail("look for bases", err)
}
