package standby

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
)

// OnStep is called at each step of a promotion.
func OnStep(fn func(string)) { step = fn }

// OpenTailStore opens the store in a directory for reading.
func OpenTailStore(dir string) (cf.Follower, error) { return openTail(dir) }

// SetSilence sets how long each side waits for a word of the other one, until the test ends.
func SetSilence(t *testing.T, d time.Duration) {
	was := silence
	silence = d
	t.Cleanup(func() { silence = was })
}

// SetFileSilence sets how long a primary may say nothing between two messages with files,
// until the test ends.
func SetFileSilence(t *testing.T, d time.Duration) {
	was := fileSilence
	fileSilence = d
	t.Cleanup(func() { fileSilence = was })
}

// Waiting is the number of writes that wait for a standby.
func Waiting(p *Primary) int {
	q := p.feed.acks
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// BreakStores makes the stores that are opened from now on fail while the result is true.
func BreakStores(t *testing.T) *atomic.Bool {
	broken, open := new(atomic.Bool), openStore
	openStore = func(dir string, o query.Options, standby bool) (cf.Follower, error) {
		s, err := open(dir, o, standby)
		return breaking{s, broken}, err
	}
	t.Cleanup(func() { openStore = open })
	return broken
}

type breaking struct {
	cf.Follower
	broken *atomic.Bool
}

func (b breaking) Snapshot(ctx context.Context) (cf.Snapshot, error) {
	if b.broken.Load() {
		return nil, errors.New("the disk fails")
	}
	return b.Follower.Snapshot(ctx)
}

// HoldStores makes the stores that are opened from now on hang while they apply and
// sync, from the call of hold to that of release.
func HoldStores(t *testing.T) (hold, release func()) {
	held, open := new(sync.Mutex), openStore
	openStore = func(dir string, o query.Options, standby bool) (cf.Follower, error) {
		s, err := open(dir, o, standby)
		return holding{s, held}, err
	}
	release = sync.OnceFunc(held.Unlock)
	t.Cleanup(func() { openStore = open })
	return held.Lock, release
}

type holding struct {
	cf.Follower
	mu *sync.Mutex
}

func (h holding) Apply(ctx context.Context, r *cf.LogRecord) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Follower.Apply(ctx, r)
}

func (h holding) SyncLog(ctx context.Context) (cf.Position, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Follower.SyncLog(ctx)
}

// Following reports whether the standby was not stopped.
func (s *Standby) Following() bool { return s.following.Err() == nil }

// VerifyOnce is Verify up to the loss of a standby that differs, which done ends.
func (s *Standby) VerifyOnce(ctx context.Context) (v *Verification, done func(), err error) {
	return s.verifyOnce(ctx, nil)
}

// HookSnapshots has OnSnapshot's functions called by the stores that are opened from now on.
func HookSnapshots(t *testing.T) {
	open := openStore
	openStore = func(dir string, o query.Options, standby bool) (cf.Follower, error) {
		s, err := open(dir, o, standby)
		return snapping{s}, err
	}
	t.Cleanup(func() { openStore = open })
}

type onSnapshot struct{}

// OnSnapshot has a function called once, after the first snapshot that is made with the context.
// Snapshots of other calls do not call it: a standby's own make some at any time.
func OnSnapshot(ctx context.Context, fn func()) context.Context {
	return context.WithValue(ctx, onSnapshot{}, sync.OnceFunc(fn))
}

type snapping struct{ cf.Follower }

func (s snapping) Snapshot(ctx context.Context) (cf.Snapshot, error) {
	snap, err := s.Follower.Snapshot(ctx)
	if fn, ok := ctx.Value(onSnapshot{}).(func()); ok {
		fn()
	}
	return snap, err
}
