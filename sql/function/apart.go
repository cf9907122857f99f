package function

import (
	"context"
	"runtime"
	"slices"
	"strings"

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
		case value.JSON:
			n += len(arg)
		case value.Array:
			n += 16*len(arg) + size(arg)
		case value.Struct:
			n += size(arg)
		}
	}
	return n
}

// busy holds an element for each call that goes on apart, at most one for each processor:
// this bounds what calls still hold, and still compute, after their contexts ended.
var busy = make(chan struct{}, max(2, runtime.NumCPU()))

// Run makes a call with arguments, which the end of the context ends.
func Run(ctx context.Context, args []any, call func(args []any) (any, error)) (any, error) {
	if size(args) <= quickBytes {
		return call(args)
	}
	args = owned(args)
	return apart(ctx, func() (any, error) { return call(args) })
}

// owned is a copy of arguments, which may be lent by a row that is gone when the call ends.
func owned[V ~[]any](args V) V {
	all := slices.Clone(args)
	for i, arg := range all {
		switch arg := arg.(type) {
		case string:
			all[i] = strings.Clone(arg)
		case []byte:
			all[i] = slices.Clone(arg)
		case value.JSON:
			all[i] = value.Clone(arg)
		case value.Array:
			all[i] = owned(arg)
		case value.Struct:
			all[i] = owned(arg)
		}
	}
	return all
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
