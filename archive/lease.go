package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
)

// releaseTime is how long releasing a lock may take: a server that does not answer must
// not hold up the end of a backup.
const releaseTime = 10 * time.Second

// A lease is the content of the lock's object.
type lease struct {
	Owner string `json:"owner"` // new for every lock
	process
	Renewed time.Time `json:"renewed"` // by the owner's clock

	age time.Duration // by the server's clock, when it was read
}

// leases are the owners of the locks that this process holds.
var leases sync.Map

func (l lease) liveness() Liveness {
	if _, held := leases.Load(l.Owner); !held && l.process == thisProcess() {
		return Dead // this process could not release it
	}
	return l.process.liveness(l.age)
}

// lock takes the lease and renews it in the background.
func (b *s3Bucket) lock(ctx context.Context) (held func(context.Context) error, unlock func(), err error) {
	l := lease{Owner: uuid.NewString(), process: thisProcess(), Renewed: time.Now().UTC()}
	leases.Store(l.Owner, nil)
	tag, err := b.writeLease(ctx, l, "")
	if errors.Is(err, errObjectExists) {
		tag, err = b.takeOver(ctx, l)
	}
	if err != nil {
		leases.Delete(l.Owner)
		if lost := ctx.Err() != nil || errors.Is(err, ErrUnreachable); lost {
			b.release(l) // the server may have taken it
		}
		return nil, nil, err
	}
	k := &keeper{bucket: b, lease: l, tag: tag, done: make(chan struct{})}
	ctx, k.stop = context.WithCancel(context.Background())
	go k.run(ctx)
	return k.held, k.unlock, nil
}

// release gives a lease back if it is still the owner's, even after the end of the
// context that it was taken in. A lease that cannot be given back goes stale.
func (b *s3Bucket) release(l lease) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	if now, _, err := b.tryLease(ctx); err == nil && now.Owner == l.Owner {
		_ = b.remove(ctx, lockKey)
	}
}

// writeLease creates the lease, or replaces the one with a tag.
func (b *s3Bucket) writeLease(ctx context.Context, l lease, replaces string) (tag string, err error) {
	text, err := json.Marshal(l)
	if err != nil {
		return "", err
	}
	condition, value := "If-None-Match", "*"
	if replaces != "" {
		condition, value = "If-Match", replaces
	}
	a, err := b.write(ctx, lockKey, text, condition, value)
	return a.header.Get("ETag"), err
}

// takeOver takes a lease whose owner ended, or did not renew it for a long time.
func (b *s3Bucket) takeOver(ctx context.Context, l lease) (tag string, err error) {
	old, tag, err := b.readLease(ctx)
	switch {
	case errors.Is(err, errNoObject): // it was given back just now
		if tag, err = b.writeLease(ctx, l, ""); errors.Is(err, errObjectExists) {
			err = fmt.Errorf("another process took the lock: %w", ErrLocked)
		}
		return tag, err
	case err != nil:
		return "", err
	}
	if old.Owner == l.Owner { // it was taken, and the server's answer was lost
		return tag, nil
	}
	if old.age < b.lease.stale && old.liveness() != Dead {
		return "", fmt.Errorf("process %d on %s holds the lock and renewed it %s ago: %w; a lock that is not renewed for %s is taken over, and smolwc backup unlock takes it away",
			old.PID, old.Host, old.age.Round(time.Second), ErrLocked, b.lease.stale)
	}
	return b.replaceLease(ctx, l, tag)
}

// replaceLease replaces the lease with a tag. The error matches ErrLocked when another
// process did so.
func (b *s3Bucket) replaceLease(ctx context.Context, l lease, replaces string) (tag string, err error) {
	tag, err = b.writeLease(ctx, l, replaces)
	if !errors.Is(err, errObjectExists) && !errors.Is(err, errNoObject) {
		return tag, err
	}
	// The lease may have been replaced, and the server's answer lost.
	now, tag, err := b.readLease(ctx)
	if err == nil && now.Owner == l.Owner {
		return tag, nil
	}
	if err == nil || errors.Is(err, errNoObject) {
		err = fmt.Errorf("the lock was taken over by another process: %w", ErrLocked)
	}
	return "", err
}

func (b *s3Bucket) readLease(ctx context.Context) (l lease, tag string, err error) {
	err = retried(ctx, func() error {
		l, tag, err = b.tryLease(ctx)
		return err
	})
	return l, tag, err
}

func (b *s3Bucket) tryLease(ctx context.Context) (l lease, tag string, err error) {
	a, err := b.do(ctx, request{method: http.MethodGet, key: lockKey})
	if err != nil {
		return l, "", err
	}
	l = leaseOf(a.text)
	now, told := http.ParseTime(a.header.Get("Date"))
	modified, dated := http.ParseTime(a.header.Get("Last-Modified"))
	if told == nil && dated == nil {
		l.age = now.Sub(modified)
	} else {
		l.age = time.Since(l.Renewed)
	}
	l.age = max(l.age, 0) // some servers look at the clock for Date once a second only
	return l, a.header.Get("ETag"), nil
}

// leaseOf reads a lease; any other text counts as a very old lease without an
// owner.
func leaseOf(text []byte) (l lease) {
	if json.Unmarshal(text, &l) != nil {
		return lease{}
	}
	return l
}

// A keeper renews a lease until it is unlocked. Its fields belong to run until
// done is closed.
type keeper struct {
	bucket *s3Bucket
	lease  lease
	tag    string
	lost   error
	stop   context.CancelFunc
	done   chan struct{}
}

func (k *keeper) run(ctx context.Context) {
	defer close(k.done)
	tick := time.NewTicker(k.bucket.lease.renewed)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		k.lease.Renewed = time.Now().UTC()
		renewing, cancel := context.WithTimeout(ctx, k.bucket.lease.renewed)
		tag, err := k.bucket.replaceLease(renewing, k.lease, k.tag)
		cancel()
		switch {
		case err == nil:
			k.tag = tag
		case errors.Is(err, ErrLocked):
			k.lost = err
			return
		}
		// Other errors may not show that the lease is lost; held asks the server.
	}
}

// held asks the server whether the lease is still this one.
func (k *keeper) held(ctx context.Context) error {
	l, _, err := k.bucket.readLease(ctx)
	switch {
	case errors.Is(err, errNoObject) || err == nil && l.Owner != k.lease.Owner:
		return fmt.Errorf("the lock was taken over by another process: %w", ErrLocked)
	case err != nil:
		return err
	}
	return nil
}

// unlock gives the lease back, unless it was lost.
func (k *keeper) unlock() {
	k.stop()
	<-k.done
	leases.Delete(k.lease.Owner)
	if k.lost == nil {
		k.bucket.release(k.lease)
	}
}
