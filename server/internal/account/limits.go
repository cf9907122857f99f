package account

import (
	"cmp"
	"time"

	"github.com/smolwc/smolwc/api/wire"
)

// Limits bound the memory and connections that clients can use. 0 means the default.
type Limits struct {
	Connections     int           // open at once; further ones wait, or replace one without a call. 1,000
	HostConnections int           // open at once from one host, or from one /64 of IPv6; further ones are closed, after those without a call. Three quarters of Connections
	Streams         int           // calls of one connection at a time; further ones wait at the client. 128
	Calls           int           // of all connections at a time; further ones are UNAVAILABLE, unless it is the only one of its connection. 4,096
	ConnectionBytes int64         // of requests, responses and reads in hand for one connection; it is closed then. 512 MiB
	Bytes           int64         // of all connections; that with most is closed. 1 GiB
	Deadline        time.Duration // of a call without one, or with a later one. 1 h
	SendTimeout     time.Duration // for the client to take a message of a stream, which ends UNAVAILABLE then. 30 s
}

// SetDefaults gives each limit of 0 its default.
func (l *Limits) SetDefaults() {
	if l == nil {
		return
	}
	l.Connections = cmp.Or(l.Connections, 1000)
	l.HostConnections = cmp.Or(l.HostConnections, l.Connections-l.Connections/4)
	l.Streams = cmp.Or(l.Streams, 128)
	l.Calls = cmp.Or(l.Calls, 4096)
	l.ConnectionBytes = cmp.Or(l.ConnectionBytes, 2*wire.MaxRequest)
	l.Bytes = cmp.Or(l.Bytes, 4*wire.MaxRequest)
	l.Deadline = cmp.Or(l.Deadline, time.Hour)
	l.SendTimeout = cmp.Or(l.SendTimeout, 30*time.Second)
}

// forReads is the share of Bytes that reads may have. The rest is for connections
// with little in hand.
func (l *Limits) forReads() int64 { return l.Bytes - l.Bytes/8 }
