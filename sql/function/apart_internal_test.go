package function

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/smolwc/smolwc/sql/value"
)

// A call that does not look at its context is left behind when that ends.
func TestACallEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	began, end := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	f := &Function{call: func(context.Context, []any) (any, error) {
		close(began)
		<-end
		return nil, nil
	}}
	go func() {
		_, err := f.Call(ctx, []any{strings.Repeat("a", quickBytes+1)})
		done <- err
	}()
	<-began
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if n := len(busy); n != 1 {
		t.Errorf("%d calls go on, want 1", n)
	}
	close(end)
}

// While as many calls go on as there may be, others wait, and end with their contexts.
func TestCallsApartAreBounded(t *testing.T) {
	for range cap(busy) {
		busy <- struct{}{}
	}
	defer func() {
		for range cap(busy) {
			<-busy
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range Names() {
		for _, f := range Named(name) {
			args := make([]any, len(f.Args))
			for i, typ := range f.Args {
				switch typ.Kind {
				case value.TypeString:
					args[i] = strings.Repeat("a", quickBytes+1)
				case value.TypeBytes:
					args[i] = make([]byte, quickBytes+1)
				}
			}
			if size(args) == 0 {
				continue
			}
			if _, err := f.Call(ctx, args); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", f.Text, err)
			}
		}
	}
	if v, err := Named("LENGTH")[0].Call(t.Context(), []any{"abc"}); v != int64(3) || err != nil {
		t.Errorf("a short call waits too: %v, %v", v, err)
	}
}

// The panic of a call is its caller's, who has the right to recover.
func TestThePanicOfACallIsItsCallers(t *testing.T) {
	f := &Function{call: func(context.Context, []any) (any, error) { panic("at once") }}
	defer func() {
		if p := recover(); p != "at once" {
			t.Errorf("recovered %v", p)
		}
	}()
	_, _ = f.Call(t.Context(), []any{strings.Repeat("a", quickBytes+1)})
}

// What a row lends is gone when the query has ended, and a call that goes on has its own.
func TestACallThatGoesOnHasItsOwnArguments(t *testing.T) {
	lent := make([]byte, quickBytes+1)
	args := []any{lent, value.Array{lent}, value.Struct{unsafe.String(&lent[0], len(lent))}}
	_, err := Run(t.Context(), args, func(own []any) (any, error) {
		lent[0] = 'x'
		if own[0].([]byte)[0] != 0 || own[1].(value.Array)[0].([]byte)[0] != 0 || own[2].(value.Struct)[0].(string)[0] != 0 {
			t.Error("the call has memory that is lent")
		}
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
}
