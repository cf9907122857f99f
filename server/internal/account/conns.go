// Package account counts the bytes that a server holds for each connection, and refuses
// requests and reads when there is no room for them.
//
// The bytes in hand of a connection are requests that have arrived in part, requests
// under way, blocks and rows of reads, responses that the client has not taken, and a
// fixed part for each call. gRPC does not bound them: it takes in a whole request, of
// up to 256 MiB, before it passes the request on. So this package counts bytes where
// they arrive, at the socket. It closes a connection that exceeds its share and, when
// the total is too large, the largest connection. A read that holds too much ends only
// its own call.
package account

import (
	"log/slog"
	"math"
	"net"
	"runtime/debug"
	gometrics "runtime/metrics"
	"sync"
	"sync/atomic"
)

// Conns are the connections accepted by a listener.
type Conns struct {
	Limits Limits
	logger *slog.Logger
	inHand atomic.Int64 // of all connections
	parts  atomic.Int64 // of requests that arrive, since the memory of the process was looked at
	reads  atomic.Int64 // the part of inHand for reads and for calls' fixed parts, which are refused
	copies atomic.Int64 // the part of reads that was reserved
	engine atomic.Int64 // the part of copies that is not in Go's memory

	count  atomic.Int64 // of the connections that are open
	guests atomic.Int64 // see Guest

	tidying sync.Mutex

	mu     sync.Mutex
	open   map[string]*Conn // by the address of the client
	hosts  map[string]int   // how many of them are of a host
	room   sync.Cond        // a connection was closed, or the listener
	closed bool

	writing int       // writes that hold copies
	wrote   sync.Cond // one of them ended
}

// NewConns makes the connections of a listener, see [Conns.Listen].
func NewConns(limits Limits, logger *slog.Logger) *Conns {
	cs := &Conns{Limits: limits, logger: logger, open: map[string]*Conn{}, hosts: map[string]int{}}
	cs.room.L, cs.wrote.L = &cs.mu, &cs.mu
	return cs
}

// Connections is the number of open connections.
func (cs *Conns) Connections() int64 { return cs.count.Load() }

// BytesInHand is the bytes in hand of all connections.
func (cs *Conns) BytesInHand() int64 { return cs.inHand.Load() }

// Find returns the connection of a client, nil when the listener did not accept it.
func (cs *Conns) Find(client net.Addr) *Conn {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.open[client.String()]
}

func (cs *Conns) greediest() *Conn {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	var most *Conn
	for _, c := range cs.open {
		if most == nil || c.bytes() > most.bytes() {
			most = c
		}
	}
	return most
}

// ReserveSoon is Reserve, but waits for the copies of writes that are under way.
func (cs *Conns) ReserveSoon(n int64) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for !cs.Reserve(n) {
		if cs.writing == 0 {
			return false
		}
		cs.wrote.Wait()
	}
	return true
}

// holdCopies is Reserve for the copies of a write, until release is called.
func (cs *Conns) holdCopies(n int64) (release func(), ok bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if !cs.Reserve(n) {
		return nil, false
	}
	cs.writing++
	cs.engine.Add(n)
	return func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		cs.Unreserve(n)
		cs.engine.Add(-n)
		cs.writing--
		cs.wrote.Broadcast()
	}, true
}

// Reserve counts n bytes that belong to no connection. It reports false, and counts
// nothing, when there is no room for them. Like bytes of reads, they close no connection.
func (cs *Conns) Reserve(n int64) bool {
	if cs.inHand.Add(n) > cs.Limits.Bytes {
		cs.inHand.Add(-n)
		return false
	}
	cs.reads.Add(n)
	cs.copies.Add(n)
	return true
}

// Unreserve forgets bytes that were reserved.
func (cs *Conns) Unreserve(n int64) {
	cs.inHand.Add(-n)
	cs.reads.Add(-n)
	cs.copies.Add(-n)
}

// callBytes is the fixed part of each call: its goroutines, and gRPC's own data
// for it.
const callBytes = 64 << 10

// share is how much a connection may always have in hand, however much others have: at
// least one call. So the server serves a client that asks for little beside clients
// that ask for much.
func (cs *Conns) share() int64 {
	return max(callBytes, (cs.Limits.Bytes-cs.Limits.forReads())/max(1, cs.count.Load()+cs.guests.Load()))
}

// check returns the connection to close, nil for no connection. Bytes of reads
// close no connection: the next read is refused.
func (cs *Conns) check(c *Conn, inHand int64) *Conn {
	switch {
	case inHand > cs.Limits.ConnectionBytes:
		return c
	case cs.inHand.Load()-cs.reads.Load() > cs.Limits.Bytes:
		return cs.greediest()
	case cs.parts.Load() > partsStep && cs.parts.Swap(0) > 0 && cs.overGoLimit():
		return cs.greediest()
	}
	return nil
}

// partsStep is how many bytes of requests arrive before the memory of the process is
// looked at.
const partsStep = 16 << 20

// overGoLimit reports whether Go uses far more than the process's memory limit, if one is
// set. A request that arrives in very small frames takes several times its bytes.
func (cs *Conns) overGoLimit() bool {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return false
	}
	limit += limit / 8
	if goMemory() <= limit {
		return false
	}
	cs.tidy()
	live := []gometrics.Sample{{Name: "/gc/heap/live:bytes"}}
	gometrics.Read(live)
	return int64(live[0].Value.Uint64()) > limit
}
