package calls

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/smolwc/smolwc/api/wire"
)

// A context ends once, with its parent or by End, for those that waited before and for
// those that look later, and so do the contexts made from it.
func TestTheEndOfAContext(t *testing.T) {
	end := map[string]struct {
		by   func(*Context, context.CancelFunc)
		want error
	}{
		"parent":   {func(_ *Context, parent context.CancelFunc) { parent() }, context.Canceled},
		"End":      {func(c *Context, _ context.CancelFunc) { c.end(context.DeadlineExceeded) }, context.DeadlineExceeded},
		"End, End": {func(c *Context, _ context.CancelFunc) { c.end(context.DeadlineExceeded); c.end(context.Canceled) }, context.DeadlineExceeded},
		"parent, End": {func(c *Context, parent context.CancelFunc) {
			parent()
			c.end(context.DeadlineExceeded)
		}, context.Canceled},
	}
	for name, e := range end {
		for _, waited := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				type key struct{}
				parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
				defer cancel()
				c := &Context{Context: parent}
				child := context.Context(c)
				if waited {
					var free context.CancelFunc
					child, free = context.WithCancel(c)
					defer free()
				}
				if c.Err() != nil || child.Err() != nil || c.Value(key{}) != "value" {
					t.Fatalf("%s: before the end: %v, %v", name, c.Err(), child.Err())
				}
				e.by(c, cancel)
				<-c.Done()
				<-child.Done()
				if !errors.Is(c.Err(), e.want) || child.Err() == nil {
					t.Errorf("%s, waited %v: %v and %v, want %v", name, waited, c.Err(), child.Err(), e.want)
				}
				c.end(nil)
			})
		}
	}
}

// The context of a call has the call, its headers if they are known, and what its parent
// has.
func TestTheContextOfACall(t *testing.T) {
	type key struct{}
	parent := metadata.NewIncomingContext(context.WithValue(t.Context(), key{}, "value"), metadata.Pairs("name", "grpc"))
	for want, c := range map[string]*Call{"grpc": {}, "own": {Header: metadata.Pairs("name", "own")}} {
		var r Registry
		ctx := r.Begin(c.With(parent), c, time.Time{})
		if Of(ctx) != c || ctx.Value(key{}) != "value" {
			t.Errorf("the call is %v, and the value %v", Of(ctx), ctx.Value(key{}))
		}
		if got := wire.Header(ctx, "name"); !slices.Equal(got, []string{want}) {
			t.Errorf("the header is %q, want %q", got, want)
		}
		r.End(c)
	}
	if Of(parent) != nil {
		t.Error("the parent has a call")
	}
}

// Calls end at their latest times and not before, with a timer that several share, and
// also when they begin after the timer has found no call.
func TestCallsEndAtTheirLatestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Registry
		for _, pause := range []time.Duration{0, time.Second, 5 * mostWatch} {
			time.Sleep(pause)
			at := time.Now().Add(3 * mostWatch)
			call, short := &Call{Began: time.Now()}, &Call{Began: time.Now()}
			ctx, over := r.Begin(t.Context(), call, at), r.Begin(t.Context(), short, at)
			if until, ok := ctx.Deadline(); !ok || !until.Equal(at) {
				t.Fatalf("the call is to end at %v, not at %v", until, at)
			}
			r.End(short)
			time.Sleep(3*mostWatch - time.Nanosecond)
			synctest.Wait()
			if ctx.Err() != nil {
				t.Fatalf("after a pause of %v: ended early: %v", pause, ctx.Err())
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Fatalf("after a pause of %v: not ended at its latest time: %v", pause, ctx.Err())
			}
			if !errors.Is(over.Err(), context.Canceled) {
				t.Fatalf("a call that is over ended with %v", over.Err())
			}
			r.End(call)
		}
	})
}
