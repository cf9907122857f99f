package server

import (
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
)

// The bytes that the server has in hand for a connection are those of requests
// that have arrived in part, of requests that are being carried out, of what is being
// read, of responses that the client does not take, and a part for each call. gRPC bounds
// none of them: it takes in the whole of a request before anybody sees it, and a
// request may have 256 MiB. So they are counted where they arrive, at the socket. A
// connection that has more than its share is closed, and when all have too much
// together, the one that has most. What is read in excess ends the call alone.

// conns are the connections that a listener has accepted.
type conns struct {
	limits Limits
	logger *slog.Logger
	inHand atomic.Int64 // of all connections
	reads  atomic.Int64 // of them those of reads and of calls as such, which are refused

	count atomic.Int64 // of the connections that are open

	tidying sync.Mutex

	mu     sync.Mutex
	open   map[string]*conn // by the address of the client
	hosts  map[string]int   // how many of them are of a host
	room   sync.Cond        // a connection has been closed, or the listener
	closed bool
}

// newConns makes the connections of a listener, see [conns.listen].
func newConns(limits Limits, logger *slog.Logger) *conns {
	cs := &conns{limits: limits, logger: logger, open: map[string]*conn{}, hosts: map[string]int{}}
	cs.room.L = &cs.mu
	return cs
}

// connections is how many are open.
func (cs *conns) connections() int64 { return cs.count.Load() }

// bytesInHand are those of all connections.
func (cs *conns) bytesInHand() int64 { return cs.inHand.Load() }

// find returns the connection of a client, nil when the listener did not accept it.
func (cs *conns) find(client net.Addr) *conn {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.open[client.String()]
}

// greediest is the connection with most in hand.
func (cs *conns) greediest() *conn {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	var most *conn
	for _, c := range cs.open {
		if most == nil || c.bytes() > most.bytes() {
			most = c
		}
	}
	return most
}

// reserve counts n bytes that belong to no connection yet, unless there are too many
// then.
func (cs *conns) reserve(n int64) bool {
	if cs.inHand.Add(n) > cs.limits.Bytes {
		cs.inHand.Add(-n)
		return false
	}
	return true
}

// unreserve forgets bytes that were reserved.
func (cs *conns) unreserve(n int64) { cs.inHand.Add(-n) }

// callBytes is what a call takes besides what it holds: its goroutines, and what gRPC
// has of it.
const callBytes = 64 << 10

// share is what a connection may have in hand whatever others have: one call at least.
// So a client that asks for little is served beside clients that ask for everything.
func (cs *conns) share() int64 {
	return max(callBytes, (cs.limits.Bytes-cs.limits.forReads())/max(1, cs.count.Load()))
}

// check is the connection that has to go, nil when there is none. It does not go for
// what is being read: of that the next is refused.
func (cs *conns) check(c *conn, inHand int64) *conn {
	switch {
	case inHand > cs.limits.ConnectionBytes:
		return c
	case cs.inHand.Load()-cs.reads.Load() > cs.limits.Bytes:
		return cs.greediest()
	}
	return nil
}
