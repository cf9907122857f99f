// Package account counts the bytes that a server has in hand for each connection, and
// refuses requests and reads when there is no room for them.
//
// The bytes in hand of a connection are requests that have arrived in part, requests
// under way, blocks and rows of reads, responses that the client has not taken, and a
// fixed part for each call. gRPC does not bound them: it takes in a whole request, of
// up to 256 MiB, before it passes the request on. So this package counts bytes where
// they arrive, at the socket. It closes a connection that has more than its share
// and, when all together have too much, the connection with the most. A read that
// holds too much ends only its own call.
package account

import (
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
)

// Conns are the connections that a listener has accepted.
type Conns struct {
	Limits Limits
	logger *slog.Logger
	inHand atomic.Int64 // of all connections
	reads  atomic.Int64 // the part of inHand for reads and for calls' fixed parts, which are refused

	count  atomic.Int64 // of the connections that are open
	guests atomic.Int64 // see Guest

	tidying sync.Mutex

	mu     sync.Mutex
	open   map[string]*Conn // by the address of the client
	hosts  map[string]int   // how many of them are of a host
	room   sync.Cond        // a connection has been closed, or the listener
	closed bool
}

// NewConns makes the connections of a listener, see [Conns.Listen].
func NewConns(limits Limits, logger *slog.Logger) *Conns {
	cs := &Conns{Limits: limits, logger: logger, open: map[string]*Conn{}, hosts: map[string]int{}}
	cs.room.L = &cs.mu
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

// Reserve counts n bytes that belong to no connection yet. It reports false, and counts
// nothing, when there is no room for them.
func (cs *Conns) Reserve(n int64) bool {
	if cs.inHand.Add(n) > cs.Limits.Bytes {
		cs.inHand.Add(-n)
		return false
	}
	return true
}

// Unreserve forgets bytes that were reserved.
func (cs *Conns) Unreserve(n int64) { cs.inHand.Add(-n) }

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
	}
	return nil
}
