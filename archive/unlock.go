package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/google/uuid"
)

// Holder returns the holder of the lock that backups and prunes take; nil if the
// lock is free.
func (a *Archive) Holder(ctx context.Context) (*Holder, error) {
	if err := a.ready(ctx); err != nil {
		return nil, a.fail("look at the lock", err)
	}
	h, err := a.bucket.holder(ctx)
	return h, a.fail("look at the lock", err)
}

// Unlock takes the lock away from its holder. A backup at work then fails, and so does
// Unlock when another process took the lock meanwhile: the error matches [ErrLocked]. A
// directory's lock cannot be taken away.
func (a *Archive) Unlock(ctx context.Context, h Holder) error {
	if err := a.ready(ctx); err != nil {
		return a.fail("take the lock away", err)
	}
	return a.fail("take the lock away", a.bucket.unlock(ctx, h))
}

func (b *s3Bucket) holder(ctx context.Context) (*Holder, error) {
	l, _, err := b.readLease(ctx)
	switch {
	case errors.Is(err, errNoObject):
		return nil, nil
	case err != nil:
		return nil, err
	}
	h := &Holder{Host: l.Host, PID: l.PID, Renewed: l.age, Liveness: l.liveness(), owner: l.Owner}
	if l.age >= b.lease.stale {
		h.Liveness = Dead
	}
	return h, nil
}

func (b *s3Bucket) unlock(ctx context.Context, h Holder) error {
	l, tag, err := b.readLease(ctx)
	switch {
	case errors.Is(err, errNoObject):
		return nil
	case err != nil:
		return err
	case l.Owner != h.owner:
		return fmt.Errorf("process %d on %s now holds the lock: %w", l.PID, l.Host, ErrLocked)
	}
	mine := lease{Owner: uuid.NewString(), process: thisProcess(), Renewed: time.Now().UTC()}
	if _, err := b.replaceLease(ctx, mine, tag); err != nil {
		return err
	}
	return b.remove(ctx, lockKey)
}

func (d *dirBucket) holder(ctx context.Context) (*Holder, error) {
	if _, err := os.Stat(d.path(lockKey)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	_, unlock, err := d.lock(ctx)
	switch {
	case errors.Is(err, ErrLocked):
		return &Holder{Liveness: Alive, System: true}, nil
	case err != nil:
		return nil, err
	}
	unlock()
	return nil, nil
}

// unlock cannot take away a lock of the operating system.
func (d *dirBucket) unlock(context.Context, Holder) error {
	return fmt.Errorf("the operating system holds the lock for a process that is alive, and frees it when the process ends: %w", ErrLocked)
}
