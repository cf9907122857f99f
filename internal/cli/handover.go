package cli

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/smolwc/smolwc/internal/config"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/standby"
)

// A door is a listener that one server after the other uses: no connection is lost while
// they change.
type door struct {
	net.Listener // accepts for all
	mu           sync.Mutex
	current      *entrance
}

// An entrance is the door of one server.
type entrance struct {
	*door
	conns  chan net.Conn
	taken  chan struct{} // closed when the server has the door
	moved  chan struct{} // closed when the next one has it
	closed chan struct{}
	once   sync.Once
}

// entrance is a listener for the next server; nil without a door.
func (d *door) entrance() *entrance {
	return &entrance{door: d, conns: make(chan net.Conn), taken: make(chan struct{}), moved: make(chan struct{}), closed: make(chan struct{})}
}

// listener is an entrance as a listener, nil without a door.
func (d *door) listener() net.Listener {
	if d == nil {
		return nil
	}
	return d.entrance()
}

// take gives a server the connections that come from now on. Other listeners have them in
// any case.
func take(l net.Listener) {
	e, ok := l.(*entrance)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current != nil {
		close(e.current.moved)
	} else {
		go e.door.run()
	}
	e.current = e
	close(e.taken)
}

// run accepts connections until the listener is closed.
func (d *door) run() {
	for {
		c, err := d.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // too many files are open, for example
			time.Sleep(10 * time.Millisecond)
		default:
			d.pass(c)
		}
	}
}

// pass gives a connection to the server that has the door.
func (d *door) pass(c net.Conn) {
	for {
		d.mu.Lock()
		e := d.current
		d.mu.Unlock()
		select {
		case e.conns <- c:
			return
		case <-e.moved:
			continue
		case <-e.closed:
		}
		select {
		case <-e.moved:
		default:
			_ = c.Close() // nobody serves it
			return
		}
	}
}

// Accept implements [net.Listener].
func (e *entrance) Accept() (net.Conn, error) {
	select {
	case c := <-e.conns:
		return c, nil
	case <-e.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener]. It leaves the door to others.
func (e *entrance) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}

// A handover serves a standby, and then the primary that it becomes: both for a moment, so
// that reads go on.
type handover struct {
	*serveRun
	cfg         *config.Config
	o           server.Options
	main, pages *door
	promoted    chan struct{} // closed when the primary serves, or failed to
	left        chan struct{} // closed when the standby is closed
	done        chan error    // the end of the primary
}

// promote is the call of smolwc promote. The primary is served until ctx ends.
func (h *handover) promote(ctx, call context.Context, s *standby.Standby, leader string) (*standby.Promotion, error) {
	durability := query.DurabilitySync
	if h.cfg.Durability == "async" {
		durability = query.DurabilityAsync
	}
	p, err := s.Promote(call, leader, durability)
	if err != nil {
		return nil, err
	}
	defer close(h.promoted)
	main, failed := h.main.entrance(), make(chan error, 1)
	go func() {
		err := h.serveAs(ctx, p.Primary, h.cfg, h.o, main, h.pages.listener(), h.left)
		failed <- err
		h.done <- err
	}()
	select {
	case <-main.taken:
		return p, nil
	case err := <-failed:
		return nil, err
	}
}
