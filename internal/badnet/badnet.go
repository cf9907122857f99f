// Package badnet is a network for tests that fails: a proxy between two servers that
// delays, slows down, holds back, changes and cuts their data.
package badnet

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A Way is a direction.
type Way int

// The ways through a proxy.
const (
	Up   Way = iota // from clients to the server
	Down            // from the server to clients
)

// A Line is the state of one way. The zero value passes everything at once.
type Line struct {
	Delay time.Duration // of each piece of up to 32 KiB
	Rate  int           // bytes a second of each connection; 0 is no limit
	Flip  int           // one bit of about this many bytes is changed; 0 changes nothing
	Hold  bool          // nothing passes, and nobody is told: bytes and ends wait
}

// A Proxy listens on 127.0.0.1 and passes connections to a server. It is safe for
// concurrent use.
type Proxy struct {
	to       string
	listener net.Listener
	running  sync.WaitGroup
	flips    atomic.Int64

	mu      sync.Mutex
	random  *rand.Rand
	lines   [2]Line
	changed chan struct{} // closed with the next change of lines
	pairs   map[*pair]bool
	closed  bool
}

// A pair is a connection of a client and the one to the server.
type pair struct {
	client, server *net.TCPConn
	gone           chan struct{} // closed when both are cut
	once           sync.Once
}

// cut ends both connections at once, with a reset.
func (p *pair) cut() {
	p.once.Do(func() {
		close(p.gone)
		for _, c := range []*net.TCPConn{p.client, p.server} {
			_ = c.SetLinger(0) // so that Close sends a reset
			_ = c.Close()      // nothing is left to lose
		}
	})
}

// New begins to listen, for connections to a server that need not be there yet. The seed
// decides which bits are changed.
func New(to string, seed uint64) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{to: to, listener: l, random: rand.New(rand.NewPCG(seed, 0)), changed: make(chan struct{}), pairs: map[*pair]bool{}}
	p.running.Go(p.accept)
	return p, nil
}

// Addr is the address of the proxy, HOST:PORT.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Flips is the number of bits that were changed.
func (p *Proxy) Flips() int64 { return p.flips.Load() }

// Set changes one way, also of connections that are there.
func (p *Proxy) Set(w Way, l Line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines[w] = l
	close(p.changed)
	p.changed = make(chan struct{})
}

// Cut resets all connections. New ones pass.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		c.cut()
	}
}

// Close ends the listener and all connections.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.listener.Close()
	p.Cut()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			p.running.Go(func() { p.pass(c.(*net.TCPConn)) })
		}
	}
}

// pass passes a connection until both ways end, or one fails.
func (p *Proxy) pass(client *net.TCPConn) {
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		_ = client.SetLinger(0) // so that Close sends a reset, as if nobody listened
		_ = client.Close()
		return
	}
	c := &pair{client: client, server: server.(*net.TCPConn), gone: make(chan struct{})}
	if !p.add(c) {
		c.cut()
		return
	}
	defer p.remove(c)
	var up sync.WaitGroup
	up.Go(func() { p.carry(c, Up, c.client, c.server) })
	p.carry(c, Down, c.server, c.client)
	up.Wait()
}

func (p *Proxy) add(c *pair) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.pairs[c] = true
	}
	return !p.closed
}

func (p *Proxy) remove(c *pair) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pairs, c)
	c.cut()
}

// carry passes one way, and its end.
func (p *Proxy) carry(c *pair, w Way, from, to *net.TCPConn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if !p.await(c, w, n) {
			return
		}
		p.flip(w, buf[:n])
		if _, werr := to.Write(buf[:n]); werr != nil {
			c.cut()
			return
		}
		switch {
		case errors.Is(err, io.EOF):
			_ = to.CloseWrite() // the other way may go on
			return
		case err != nil:
			c.cut()
			return
		}
	}
}

// await waits until n bytes may pass. It returns false when the connection is cut.
func (p *Proxy) await(c *pair, w Way, n int) bool {
	for {
		p.mu.Lock()
		l, changed := p.lines[w], p.changed
		p.mu.Unlock()
		if l.Hold {
			select {
			case <-changed:
				continue
			case <-c.gone:
				return false
			}
		}
		wait := l.Delay
		if l.Rate > 0 {
			wait += time.Duration(n) * time.Second / time.Duration(l.Rate)
		}
		if wait == 0 {
			return true
		}
		select {
		case <-time.After(wait):
			return true
		case <-c.gone:
			return false
		}
	}
}

// flip changes a bit now and then.
func (p *Proxy) flip(w Way, b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	every := p.lines[w].Flip
	if every > 0 && len(b) > 0 && p.random.IntN(every) < len(b) {
		b[p.random.IntN(len(b))] ^= 1 << p.random.IntN(8)
		p.flips.Add(1)
	}
}
