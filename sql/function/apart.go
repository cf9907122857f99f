package function

import (
	"context"
	"runtime"

	"github.com/smolwc/smolwc/sql/value"
)

// quickBytes are so few that no call with them takes more than some milliseconds.
const quickBytes = 64 << 10

// size is the bytes of arguments.
func size(args []any) (n int) {
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			n += len(arg)
		case []byte:
			n += len(arg)
		case value.Array:
			n += 16*len(arg) + size(arg)
		case value.Struct:
			n += size(arg)
		}
	}
	return n
}

// busy has an element for each call that goes on apart. There are no more than processors:
// then what the calls whose contexts have ended still hold is bounded, and so is their work.
var busy = make(chan struct{}, max(2, runtime.NumCPU()))

// Run makes a call with arguments, which the end of the context ends.
func Run(ctx context.Context, args []any, call func() (any, error)) (any, error) {
	if size(args) <= quickBytes {
		return call()
	}
	return apart(ctx, call)
}

// apart runs a call and returns at the end of the context, even if the call does not look at
// it: most functions are one loop over a value, which takes seconds for the largest one. Such
// a call goes on to its end.
func apart(ctx context.Context, call func() (any, error)) (any, error) {
	select {
	case busy <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	type result struct {
		v        any
		err      error
		panicked any
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			r.panicked = recover() // it is its caller's
			<-busy
			done <- r
		}()
		if r.err = ctx.Err(); r.err == nil {
			r.v, r.err = call()
		}
	}()
	select {
	case r := <-done:
		if r.panicked != nil {
			panic(r.panicked)
		}
		return r.v, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
