package calls

import (
	"context"
	"sync"
	"time"
)

// A Context is the context of a call. It ends with its parent, or by end. Most calls never
// wait for its end, so its channel is made for those that do.
type Context struct {
	context.Context           // the parent
	latest          time.Time // when its owner ends it; zero: at any time

	mu      sync.Mutex
	err     error           // why it ended before its parent
	waited  context.Context // holds the channel; nil: nobody asked for it
	release func()          // of waited
}

// Deadline implements [context.Context].
func (c *Context) Deadline() (time.Time, bool) {
	at, ok := c.Context.Deadline()
	if !c.latest.IsZero() && (!ok || c.latest.Before(at)) {
		return c.latest, true
	}
	return at, ok
}

// Done implements [context.Context].
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waited == nil {
		c.waited, c.release = context.WithCancel(c.Context)
		if c.err != nil {
			c.release()
		}
	}
	return c.waited.Done()
}

// Err implements [context.Context].
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return c.err
	case c.waited != nil:
		return c.waited.Err()
	}
	return c.Context.Err()
}

// Value implements [context.Context]. A context that is made from c, and asks for its
// channel first, finds the context that holds the channel: otherwise each such context
// would need a goroutine.
func (c *Context) Value(key any) any {
	c.mu.Lock()
	from := c.waited
	c.mu.Unlock()
	if from == nil {
		from = c.Context
	}
	return from.Value(key)
}

// end ends the context with an error. Only the first end of a context counts.
func (c *Context) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	if c.waited != nil {
		if c.err = c.waited.Err(); c.err == nil {
			c.err = err
		}
		c.release()
		return
	}
	if c.err = c.Context.Err(); c.err == nil {
		c.err = err
	}
}
