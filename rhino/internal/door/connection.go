package door

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/smolwc/smolwc/rhino"
	"golang.org/x/sync/semaphore"
)

// A connection is one WebSocket.
type connection struct {
	*Door
	conn     *websocket.Conn
	session  Session
	requests *semaphore.Weighted
	cancel   context.CancelFunc // ends the reading, and with it the connection
	ends     atomic.Bool        // no further request is begun
	underway sync.WaitGroup
}

func newConnection(d *Door, conn *websocket.Conn) *connection {
	return &connection{Door: d, conn: conn, session: d.o.Sessions(), requests: semaphore.NewWeighted(maxRequests)}
}

// serve reads requests until the connection ends.
func (c *connection) serve() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	var watch sync.WaitGroup
	defer c.session.Close()
	defer c.underway.Wait()
	defer watch.Wait()
	defer cancel() // requests of a client that left need no end
	watch.Go(func() { c.watch(ctx) })
	unknown := time.AfterFunc(unknownTime, func() {
		if !c.session.Known() {
			c.refuse(websocket.StatusPolicyViolation, "the first request did not come in time")
		}
	})
	defer unknown.Stop()
	for c.next(ctx) {
	}
}

// watch tests that the client is there, and closes the connection when the door closes.
func (c *connection) watch(ctx context.Context) {
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.stopping:
			c.ends.Store(true)
			c.requestsEnd(ctx)
			c.refuse(websocket.StatusGoingAway, "the server stops")
			return
		case <-tick.C:
			c.ping(ctx)
		}
	}
}

// requestsEnd waits until the requests under way have ended, which have a deadline.
func (c *connection) requestsEnd(ctx context.Context) {
	if c.requests.Acquire(ctx, maxRequests) == nil {
		c.requests.Release(maxRequests)
	}
}

func (c *connection) ping(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, keepAlive)
	defer stop()
	if c.conn.Ping(ctx) != nil {
		_ = c.conn.CloseNow()
	}
}

// refuse closes the connection. A client that does not answer is not waited for long.
func (c *connection) refuse(code websocket.StatusCode, reason string) {
	late := time.AfterFunc(closeTime, c.cancel)
	defer late.Stop()
	const most = 123 // bytes of a reason
	_ = c.conn.Close(code, reason[:min(len(reason), most)])
}

// next reads a request and begins to answer it. It reports whether to go on.
func (c *connection) next(ctx context.Context) bool {
	limit := c.o.MaxMessage
	if !c.session.Known() {
		limit = maxUnknown
	}
	c.conn.SetReadLimit(limit)
	kind, text, err := c.conn.Read(ctx)
	switch {
	case err != nil:
		c.o.Logger.Debug("a connection ended", "at", c.o.Name, "err", err)
		return false
	case kind != websocket.MessageText:
		c.refuse(websocket.StatusUnsupportedData, "want a text frame")
		return false
	}
	e, err := rhino.Decode(text)
	if err != nil {
		return c.malformed(ctx, err)
	}
	return c.begin(ctx, e, int64(len(text)))
}

// malformed answers a message with a fault if it can be answered, and otherwise closes
// the connection.
func (c *connection) malformed(ctx context.Context, err error) bool {
	e, _ := errors.AsType[*rhino.Error](err)
	if e == nil || !e.Known {
		c.refuse(websocket.StatusInvalidFramePayloadData, err.Error())
		return false
	}
	c.reply(ctx, e.CorrelationID, rhino.InvalidRequest{Reason: e.Reason})
	return true
}

// begin answers a request, while further ones are read unless it must be the only one.
func (c *connection) begin(ctx context.Context, e rhino.Envelope, size int64) bool {
	if c.requests.Acquire(ctx, 1) != nil {
		return false
	}
	if c.bytes.Acquire(ctx, size) != nil {
		c.requests.Release(1)
		return false
	}
	answer := func() {
		defer c.requests.Release(1)
		defer c.bytes.Release(size)
		c.answer(ctx, e)
	}
	if c.o.InOrder != nil && c.o.InOrder(e.Payload) {
		answer()
		return true
	}
	c.underway.Go(answer)
	return true
}

func (c *connection) answer(ctx context.Context, e rhino.Envelope) {
	if c.ends.Load() {
		c.reply(ctx, e.CorrelationID, rhino.PleaseRetry{Reason: c.o.Name + " stops"})
		return
	}
	serving, stop := context.WithTimeout(ctx, c.o.Deadline)
	defer stop()
	began := time.Now()
	reply := c.call(serving, e.Payload)
	if c.o.Answered != nil {
		c.o.Answered(e.Payload, reply, time.Since(began))
	}
	c.reply(ctx, e.CorrelationID, reply)
}

// call makes the session answer. A panic fails only its own request.
func (c *connection) call(ctx context.Context, m rhino.Message) (reply rhino.Message) {
	defer func() {
		if p := recover(); p != nil {
			c.o.Logger.Error("a request panicked", "at", c.o.Name, "request", rhino.Name(m), "panic", p, "stack", string(debug.Stack()))
			reply = rhino.PleaseRetry{Reason: "an internal fault, which the server has logged"}
		}
	}()
	return c.session.Serve(ctx, m)
}

// reply sends a message. A client that does not read it in time loses the connection.
func (c *connection) reply(ctx context.Context, id string, m rhino.Message) {
	text, err := rhino.Encode(rhino.Envelope{CorrelationID: id, Payload: m})
	if err == nil && len(text) > rhino.MaxMessage+maxUnknown/2 {
		err = fmt.Errorf("the reply has %d bytes; the limit is %d", len(text), rhino.MaxMessage)
	}
	if err != nil {
		text, err = rhino.Encode(rhino.Envelope{CorrelationID: id, Payload: rhino.InvalidRequest{Reason: err.Error()}})
	}
	if err != nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, c.o.Deadline)
	defer stop()
	if err := c.conn.Write(ctx, websocket.MessageText, text); err != nil {
		_ = c.conn.CloseNow()
	}
}
