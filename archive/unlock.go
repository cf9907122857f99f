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

// A Holder is the holder of an archive's lock.
type Holder struct {
	Host    string        // "" where it is not known, as of a directory's lock
	PID     int           // 0 where it is not known
	Renewed time.Duration // since the lock was taken or renewed last
	// Liveness says whether the process lives. Its lock counts as Dead too when
	// it has not been renewed for so long that any backup takes it over.
	Liveness Liveness
	// System says that the lock is the operating system's, as for a directory: it
	// ends with the process and cannot be taken away.
	System bool

	owner string // of the lease
}

// String names the holder, and says what is known of its process.
func (h Holder) String() string {
	if h.System {
		return "a process of this machine, which is alive"
	}
	known := map[Liveness]string{Unknown: "may be alive", Alive: "is alive", Dead: "has ended"}
	return fmt.Sprintf("process %d on %s, which renewed it %s ago and %s", h.PID, h.Host, h.Renewed.Round(time.Second), known[h.Liveness])
}

// Holder returns the holder of the lock that backups and prunes take; nil if the
// lock is free.
func (a *Archive) Holder(ctx context.Context) (*Holder, error) {
	if err := a.ready(ctx); err != nil {
		return nil, a.fail("look at the lock", err)
	}
	h, err := a.bucket.holder(ctx)
	return h, a.fail("look at the lock", err)
}

// Unlock takes the lock away from its holder. A backup at work then fails, and so
// does Unlock when another process has taken the lock meanwhile: the error
// matches [ErrLocked]. A directory's lock cannot be taken away.
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
		return fmt.Errorf("process %d on %s has the lock by now: %w", l.PID, l.Host, ErrLocked)
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
