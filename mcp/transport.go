package mcp

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An answering transport gives the end of its input on after the answers to all calls before it:
// the library drops them at the end, and a script ends its input with its last call.
type answering struct {
	sdk.Transport
	stop <-chan struct{} // of the server
}

func (t answering) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return newAnswering(c, t.stop), nil
}

func newAnswering(c sdk.Connection, stop <-chan struct{}) *answeringConnection {
	return &answeringConnection{
		Connection: c, stop: stop, places: make(chan struct{}, maxOpen), open: map[jsonrpc.ID]bool{},
		answered: make(chan struct{}), closed: make(chan struct{}),
	}
}

// An answeringConnection reads no further while many calls wait for answers: each may hold a
// large message.
type answeringConnection struct {
	sdk.Connection
	stop   <-chan struct{}
	once   sync.Once
	closed chan struct{}
	places chan struct{} // with an element for each open call

	mu       sync.Mutex
	open     map[jsonrpc.ID]bool // calls without an answer
	ended    bool                // there are no more calls
	answered chan struct{}       // is closed when there is none then
}

func (c *answeringConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	c.mu.Lock()
	if r, ok := m.(*jsonrpc.Request); ok && err == nil && r.IsCall() && !c.open[r.ID] {
		c.mu.Unlock()
		select {
		case c.places <- struct{}{}:
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		c.mu.Lock()
		c.open[r.ID] = true
	}
	if errors.Is(err, io.EOF) && !c.ended {
		c.ended = true
		c.settle()
	}
	ended := c.ended
	c.mu.Unlock()
	if ended {
		select {
		case <-c.answered:
		case <-c.closed:
		case <-ctx.Done():
		}
	}
	return m, err
}

func (c *answeringConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open[r.ID] {
			delete(c.open, r.ID)
			<-c.places
		}
		c.settle()
	}
	return err
}

// write does not wait, once the server stops, for an agent that does not read: the write itself may
// go on then, as nothing can end one of standard output.
func (c *answeringConnection) write(ctx context.Context, m jsonrpc.Message) error {
	written := make(chan error, 1)
	go func() { written <- c.Connection.Write(ctx, m) }()
	select {
	case err := <-written:
		return err
	case <-c.stop:
		return errStopped
	}
}

var errStopped = errors.New("the server stops")

// settle is called with mu held.
func (c *answeringConnection) settle() {
	if c.ended && len(c.open) == 0 {
		select {
		case <-c.answered:
		default:
			close(c.answered)
		}
	}
}

func (c *answeringConnection) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
