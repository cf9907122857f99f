package branches_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/server/internal/branches"
)

// A thing counts how many of it are open.
type thing struct {
	name string
	open *atomic.Int64
	shut atomic.Bool
}

func (t *thing) Close() error {
	if t.shut.Swap(true) {
		return errors.New("it is closed twice")
	}
	t.open.Add(-1)
	return nil
}

func newPool(t *testing.T, most int, idle time.Duration) (*branches.Pool[*thing], *atomic.Int64) {
	open := new(atomic.Int64)
	p := &branches.Pool[*thing]{Most: most, Idle: idle, Failed: func(name string, err error) { t.Error(name, err) }}
	p.Open = func(_ context.Context, name string) (*thing, error) {
		if name == "bad" {
			return nil, errors.New("it cannot be opened")
		}
		if n := open.Add(1); n > int64(most) {
			t.Errorf("%d are open, of %d that may be", n, most)
		}
		return &thing{name: name, open: open}, nil
	}
	return p, open
}

// Many users of more branches than may be open each get theirs while it is open, and at the
// end nothing is.
func TestNoMoreAreOpenThanMayBe(t *testing.T) {
	p, open := newPool(t, 3, time.Microsecond)
	var users sync.WaitGroup
	for i := range 8 {
		users.Go(func() {
			for j := range 200 {
				name := fmt.Sprint((i + j) % 10)
				it, _, done, err := p.Use(t.Context(), name)
				if errors.Is(err, branches.ErrFull) {
					continue
				}
				if err != nil || it.name != name || it.shut.Load() {
					t.Errorf("%+v, %v", it, err)
					return
				}
				done()
				if j%50 == 0 {
					if err := p.Without(t.Context(), name, func() error { return nil }); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	users.Wait()
	p.Close()
	if open.Load() != 0 || p.Len() != 0 {
		t.Errorf("%d are open, %d places are taken", open.Load(), p.Len())
	}
	if _, _, _, err := p.Use(t.Context(), "1"); !errors.Is(err, branches.ErrEnding) {
		t.Errorf("after the end: %v", err)
	}
}

// A branch that is not used is closed by itself, and one that cannot be opened leaves nothing.
func TestIdleOnesAreClosed(t *testing.T) {
	p, open := newPool(t, 2, time.Millisecond)
	if _, _, _, err := p.Use(t.Context(), "bad"); err == nil || p.Len() != 0 {
		t.Errorf("%v, %d places", err, p.Len())
	}
	if open, opened, failed := p.Counts(); open != 0 || opened != 0 || failed != 1 {
		t.Errorf("after a failure %d are open, %d were opened, %d failed", open, opened, failed)
	}
	_, using, done, err := p.Use(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if now, opened, failed := p.Counts(); now != 1 || opened != 1 || failed != 1 {
		t.Errorf("%d are open, %d were opened, %d failed", now, opened, failed)
	}
	if using.Err() != nil || open.Load() != 1 {
		t.Errorf("%v, %d are open", using.Err(), open.Load())
	}
	done()
	for p.Len() > 0 && t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if open.Load() != 0 {
		t.Errorf("%d are open", open.Load())
	}
}

// A use ends when its branch is dropped; the next use waits until that is done, also if the
// caller that dropped it no longer waits.
func TestADropEndsTheUses(t *testing.T) {
	p, open := newPool(t, 1, time.Hour)
	_, using, done, err := p.Use(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := p.Use(t.Context(), "b"); !errors.Is(err, branches.ErrFull) {
		t.Errorf("a second one: %v", err)
	}
	var dropped atomic.Bool
	impatient, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() {
		stopped <- p.Without(impatient, "a", func() error {
			if open.Load() != 0 {
				t.Error("it is open while it is dropped")
			}
			dropped.Store(true)
			return nil
		})
	}()
	<-using.Done()
	if !errors.Is(context.Cause(using), branches.ErrDropped) {
		t.Error(context.Cause(using))
	}
	cancel()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	next := make(chan error)
	go func() {
		_, _, done, err := p.Use(t.Context(), "a")
		if err == nil {
			done()
		}
		if !dropped.Load() {
			t.Error("it was used again before it was dropped")
		}
		next <- err
	}()
	done()
	if err := <-next; err != nil {
		t.Error(err)
	}
	if err := p.Without(t.Context(), "never used", func() error { return errors.New("no") }); err == nil || err.Error() != "no" {
		t.Error(err)
	}
	p.Close()
}

// A branch that is dropped while it is opened is closed all the same.
func TestADropEndsAnOpen(t *testing.T) {
	p, open := newPool(t, 1, time.Hour)
	opening := make(chan struct{})
	p.Open = func(ctx context.Context, name string) (*thing, error) {
		close(opening)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	used := make(chan error)
	go func() {
		_, _, _, err := p.Use(t.Context(), "a")
		used <- err
	}()
	<-opening
	if err := p.Without(t.Context(), "a", func() error { return nil }); err != nil {
		t.Error(err)
	}
	if err := <-used; !errors.Is(err, branches.ErrDropped) {
		t.Error(err)
	}
	p.Close()
	if open.Load() != 0 || p.Len() != 0 {
		t.Errorf("%d are open, %d places are taken", open.Load(), p.Len())
	}
}

// A drop that takes long holds no place: other branches are opened meanwhile, and the end of the
// pool waits for it.
func TestADropHoldsNoPlace(t *testing.T) {
	p, open := newPool(t, 1, time.Hour)
	use := func(name string) {
		t.Helper()
		_, _, done, err := p.Use(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		done()
	}
	use("a")
	for _, name := range []string{"a", "never used"} {
		begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			ended <- p.Without(t.Context(), name, func() error {
				close(begun)
				<-end
				return nil
			})
		}()
		<-begun
		use("b")
		use("c")
		close(end)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	p.Close()
	if open.Load() != 0 || p.Len() != 0 {
		t.Errorf("%d are open, %d places are taken", open.Load(), p.Len())
	}
}
