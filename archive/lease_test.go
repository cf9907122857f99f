package archive

import (
	"errors"
	"testing"
	"time"
)

// LeaseTest is what archive_test.TestLease runs against a server.
func LeaseTest(t *testing.T, target string) {
	ctx := t.Context()
	a, err := Open(ctx, target)
	if err != nil {
		t.Fatal(err)
	}
	b := a.bucket.(*s3Bucket)
	held, unlock, err := b.lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.lock(ctx); !errors.Is(err, ErrLocked) {
		t.Errorf("beside another: %v", err)
	}
	if err := held(ctx); err != nil {
		t.Error(err)
	}
	old, tag, err := b.readLease(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ExpireLease(t, a)
	if _, err := b.writeLease(ctx, old, tag); !errors.Is(err, errObjectExists) {
		t.Errorf("replacing what is no longer there: %v", err)
	}
	heldByOther, unlockOther, err := b.lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := held(ctx); !errors.Is(err, ErrLocked) {
		t.Errorf("after it was taken over: %v", err)
	}
	unlock() // not the other's
	if err := heldByOther(ctx); err != nil {
		t.Error(err)
	}
	unlockOther()
	if _, _, err := b.readLease(ctx); !errors.Is(err, errNoObject) {
		t.Errorf("after unlock: %v", err)
	}
}

// ExpireLease has the archive take a lock over as if it had not been renewed for
// long, that of an owner whose clock is far ahead.
func ExpireLease(t *testing.T, a *Archive) {
	t.Helper()
	b := a.bucket.(*s3Bucket)
	l, tag, err := b.readLease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.Renewed = time.Now().Add(365 * 24 * time.Hour)
	if _, err := b.writeLease(t.Context(), l, tag); err != nil {
		t.Fatal(err)
	}
	b.stale = 0
}

// Impatient has the archive give a server up soon.
func Impatient(t *testing.T, a *Archive) {
	t.Helper()
	b := a.bucket.(*s3Bucket)
	p, err := newS3Bucket(t.Context(), s3Target{bucket: b.bucket, prefix: b.prefix, endpoint: *b.client.Options().BaseEndpoint}, patience{noProgress: time.Second, attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	a.bucket = p
}

// FreeLease removes a lock, whoever holds it.
func FreeLease(t *testing.T, a *Archive) {
	t.Helper()
	if err := a.bucket.remove(t.Context(), lockKey); err != nil {
		t.Fatal(err)
	}
}
