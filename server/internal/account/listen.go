package account

import (
	"net"
	"net/netip"
	"time"
)

// A listener accepts connections up to a limit, and up to a smaller one from each host.
// At a limit it closes the connection that was idle longest without a call, so that
// idle connections keep no client out.
type listener struct {
	net.Listener
	conns *Conns
}

// Listen accepts the connections that come to l.
func (cs *Conns) Listen(l net.Listener) net.Listener { return &listener{l, cs} }

func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &Conn{Conn: accepted, conns: l.conns, host: hostOf(accepted.RemoteAddr()), since: time.Now()}
		if l.conns.admit(c) {
			return c, nil
		}
		_ = accepted.Close()
	}
}

func (l *listener) Close() error {
	l.conns.mu.Lock()
	l.conns.closed = true
	l.conns.room.Broadcast()
	l.conns.mu.Unlock()
	return l.Listener.Close()
}

// admit waits for room for a connection. It reports false when the client's host opened
// too many, or the listener is closed.
func (cs *Conns) admit(c *Conn) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for !cs.closed {
		switch {
		case cs.hosts[c.host] >= cs.Limits.HostConnections:
			if !cs.dismiss(c.host) {
				cs.logger.Warn("refusing a connection: its host has too many", "peer", c.RemoteAddr().String(), "limit", cs.Limits.HostConnections)
				return false
			}
		case len(cs.open) >= cs.Limits.Connections:
			if !cs.dismiss("") {
				cs.room.Wait()
			}
		default:
			cs.open[c.RemoteAddr().String()] = c
			cs.count.Store(int64(len(cs.open)))
			cs.hosts[c.host]++
			return true
		}
	}
	return false
}

// dismiss closes the oldest connection without a call, of a host or, if host is
// empty, of all. It reports whether there was one. cs.mu is held on entry and
// return, but released meanwhile.
func (cs *Conns) dismiss(host string) bool {
	var oldest *Conn
	for _, c := range cs.open {
		if !c.spoke.Load() && (host == "" || c.host == host) && (oldest == nil || c.since.Before(oldest.since)) {
			oldest = c
		}
	}
	if oldest == nil {
		return false
	}
	cs.mu.Unlock()
	defer cs.mu.Lock()
	oldest.refuse("others want its place, and it has made no call")
	return true
}

func (cs *Conns) remove(c *Conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	key := c.RemoteAddr().String()
	if cs.open[key] != c {
		return
	}
	delete(cs.open, key)
	cs.count.Store(int64(len(cs.open)))
	if cs.hosts[c.host]--; cs.hosts[c.host] == 0 {
		delete(cs.hosts, c.host)
	}
	cs.room.Signal()
}

// hostOf is the host of an address: for IPv6 its /64 network, since one client can use
// every address in it.
func hostOf(a net.Addr) string {
	ip, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	if host := ip.Addr().Unmap(); host.Is4() {
		return host.String()
	}
	network, _ := ip.Addr().WithZone("").Prefix(64) // of IPv6 there is one
	return network.String()
}
