package account

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

type connKey struct{}

// With returns a context for the calls of the connection.
func (c *Conn) With(ctx context.Context) context.Context { return context.WithValue(ctx, connKey{}, c) }

// ConnOf is the connection of a call, nil when it is not known.
func ConnOf(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}

// A Conn is a connection whose bytes in hand are counted. A nil Conn counts nothing.
type Conn struct {
	net.Conn
	conns *Conns
	host  string      // of the client, see hostOf
	since time.Time   // when it was accepted
	spoke atomic.Bool // a call began on it

	mu       sync.Mutex
	awaiting int   // calls whose requests have not arrived
	received int64 // since one was awaited, less the requests that have arrived
	held     int64 // of requests that are being carried out
	queued   int64 // of responses that are being sent
	reads    int64 // of the message being read
	inHand   int64 // all of these
	stalls   int   // streams whose client did not read
	closed   bool
}

// Guest is a connection of another listener: its bytes in hand are counted with all
// others, but it is never closed. Leave ends it.
func (cs *Conns) Guest() *Conn {
	cs.guests.Add(1)
	return &Conn{conns: cs}
}

// Leave ends a guest. It does nothing to other connections, which Close ends.
func (c *Conn) Leave() {
	if c != nil && c.Conn == nil {
		c.conns.guests.Add(-1)
	}
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	if c.awaiting > 0 {
		c.received += int64(n)
		c.conns.parts.Add(int64(n))
		c.count()
	}
	inHand := c.inHand - c.reads
	c.mu.Unlock()
	if greedy := c.conns.check(c, inHand); greedy != nil {
		greedy.refuse("it has too many bytes in hand")
		if greedy == c {
			return 0, errTooMuch
		}
	}
	return n, err
}

var errTooMuch = errors.New("the connection has too many bytes in hand")

func (c *Conn) refuse(why string) {
	if c.Conn == nil { // a guest, whose call was refused
		return
	}
	c.conns.logger.Warn("closing a connection: "+why, "peer", c.RemoteAddr().String(), "bytes", c.bytes())
	_ = c.Close() // its user gets the error
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	c.count()
	c.mu.Unlock()
	if first {
		c.conns.remove(c)
	}
	return c.Conn.Close()
}

func (c *Conn) bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inHand
}

// count brings the sums up to date; c.mu is held.
func (c *Conn) count() {
	inHand := max(0, c.received) + c.held + c.queued + c.reads
	if c.closed {
		inHand = c.reads // until its calls have ended
	}
	c.conns.inHand.Add(inHand - c.inHand)
	c.inHand = inHand
}

// Speaks notes that the client makes a call.
func (c *Conn) Speaks() {
	if c != nil {
		c.spoke.Store(true)
	}
}

// BeginCall counts a call's fixed part. It returns false, and counts nothing,
// when there is no room for the call.
// The copies of large requests take no room from calls: they soon end.
func (c *Conn) BeginCall() bool { return c == nil || c.holdsBeside(callBytes, c.conns.copies.Load()) }

// EndCall gives back the room of BeginCall.
func (c *Conn) EndCall() { c.holds(-callBytes) }

// Awaits notes a call whose request is still to arrive.
func (c *Conn) Awaits() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaiting++
}

// Arrived records the arrival of a request: wire bytes move from received to held.
func (c *Conn) Arrived(wire, held int64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received -= wire
	c.held += held
	c.awaited()
	c.count()
}

// awaited notes that one call fewer awaits its request. When no call awaits one, it
// forgets the other bytes received: the frames around requests, and requests that came
// before they were awaited.
func (c *Conn) awaited() {
	if c.awaiting--; c.awaiting == 0 {
		c.received = 0
	}
}

// Ended records the end of a call.
func (c *Conn) Ended(arrived bool, held int64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held -= held
	if !arrived {
		c.awaited()
	}
	c.count()
}

// Queue adds n to the bytes that wait to be sent; a negative n takes sent bytes away.
func (c *Conn) Queue(n int64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queued += n
	c.count()
}

// holds counts n more bytes of reads, or of calls' fixed parts. It refuses them when
// there would be too many; a negative n releases bytes.
func (c *Conn) holds(n int64) bool { return c.holdsBeside(n, 0) }

// holdsBeside is holds where some bytes of all connections do not matter.
func (c *Conn) holdsBeside(n, beside int64) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 && !c.hasRoom(n, beside) {
		return false
	}
	c.reads += n
	c.conns.reads.Add(n)
	c.count()
	return true
}

// hasRoom reports whether there is room for n more bytes, if the bytes beside do not
// matter; c.mu is held.
func (c *Conn) hasRoom(n, beside int64) bool {
	limits := &c.conns.Limits
	if c.inHand+n > limits.ConnectionBytes {
		return false
	}
	return c.conns.inHand.Load()-beside+n <= limits.forReads() || c.inHand+n <= c.conns.share()
}

// Idle reports whether none of the connection's calls is under way.
func (c *Conn) Idle() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reads == 0
}

// left is how many more bytes reads may hold.
func (c *Conn) left() int64 {
	limits := &c.conns.Limits
	return min(limits.ConnectionBytes-c.bytes(), limits.forReads()-c.conns.inHand.Load())
}

// spares reports whether much room remains after n bytes. It is for bytes that a read
// does not need.
func (c *Conn) spares(n int64) bool {
	limits := &c.conns.Limits
	return c.bytes()+n <= limits.ConnectionBytes/4 && c.conns.inHand.Load()+n <= limits.Bytes/4
}

// maxStalls is how many streams of a connection may end because the client does
// not read. Each leaves some bytes in the connection's queue.
const maxStalls = 16

// Stalled notes that the client of a stream does not read.
func (c *Conn) Stalled() {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.stalls++
	enough := c.stalls == maxStalls
	c.mu.Unlock()
	if enough {
		c.refuse("its client does not read what it asks for")
	}
}
