package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/smolwc/smolwc/console"
	"github.com/smolwc/smolwc/server"
)

// listen listens on an address. Without open it refuses an address that other machines
// can reach; otherwise is the end of that error and says how to proceed.
func (r *serveRun) listen(flag, addr string, open bool, otherwise string) (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", addr)
	if wrong, ok := errors.AsType[*net.AddrError](err); ok {
		return nil, fail(exitUsage, fmt.Errorf("--%s is %q: %s; want HOST:PORT, as in 127.0.0.1:8086", flag, addr, wrong.Err))
	}
	if err != nil {
		return nil, fail(exitFailed, fmt.Errorf("--%s is %q: %w", flag, addr, err))
	}
	if !open && !at.IP.IsLoopback() {
		return nil, fail(exitUsage, fmt.Errorf("--%s is %s, which other machines can reach; %s", flag, addr, otherwise))
	}
	l, err := net.Listen("tcp", at.String())
	return l, fail(exitFailed, cannotListen(flag, addr, err))
}

// cannotListen says what would be right where a process cannot listen; nil without an error.
func cannotListen(flag, addr string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("--%s is %s, where another process listens; name another port, or 0 for any that is free", flag, addr)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("--%s is %s, which is no address of this machine; name one that it has, or 0.0.0.0 for all", flag, addr)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("--%s is %s, a port that this user may not take; name one of 1024 or more, or 0 for any that is free", flag, addr)
	default:
		return fmt.Errorf("--%s: %w", flag, err)
	}
}

// usualPages is where the pages are without --http.
const usualPages = "127.0.0.1:8087"

// openByFlags says how serve and route listen where other machines reach them.
const openByFlags = "give --tls-cert and --tls-key, or --insecure"

// listenPages listens for the pages; nil with --http off. The other parameters are as in listen.
func (r *serveRun) listenPages(open bool, otherwise string) (net.Listener, error) {
	switch r.http {
	case "off":
		return nil, nil
	case "":
		if l, err := net.Listen("tcp", usualPages); err == nil {
			return l, nil
		}
		r.http = "127.0.0.1:0"
	}
	return r.listen("http", r.httpAddr(), open, otherwise)
}

// pagesAt listens for the pages of another command as serve does; nil with off.
func (c *command) pagesAt(http string, open bool) (net.Listener, error) {
	return (&serveRun{command: c, http: http}).listenPages(open, "give tls, or insecure: true, in the configuration")
}

// httpAddr returns --http, with the host of --addr if it names no host.
func (r *serveRun) httpAddr() string {
	host, port, err := net.SplitHostPort(r.http)
	if err != nil || host != "" {
		return r.http
	}
	host, _, _ = net.SplitHostPort(r.addr)
	return net.JoinHostPort(host, port)
}

// warnIfOpen warns if clients on other machines have full access without credentials.
func (r *serveRun) warnIfOpen(o server.Options, l net.Listener) {
	at, ok := l.Addr().(*net.TCPAddr)
	if _, tokens, _ := o.Tokens.List(); ok && !at.IP.IsLoopback() && !tokens && r.tls.ClientCA == "" {
		o.Logger.Warn("every client that connects may read and write everything; smolwc token create makes tokens, which the server then requires")
	}
}

// servePages serves the console, the JSON API and the pages for monitoring, even while the
// server stops. The returned function ends this.
func (r *serveRun) servePages(s *server.Server, o server.Options, what, addr string, l net.Listener) (stop func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	if r.tls.Cert != "" { // clients use no TLS for an emulator
		addr = ""
	}
	c, err := console.New(console.Options{Server: s, Instance: r.instance, Tokens: o.Tokens, Name: filepath.Base(what), Version: version(), Backups: o.Backups, Moments: o.Moments, Address: addr})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.ServePages(ctx, l, r.tls, c) // the files of TLS were read before
	}()
	return func() {
		cancel()
		<-done
		c.Close()
	}, nil
}

// keepPages serves pages for monitoring, even while the process stops. The returned function
// ends this.
func keepPages(p server.Pages, l net.Listener) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = p.Serve(ctx, l) }) // the files of TLS were read before
	return func() { cancel(); running.Wait() }
}

// greet prints the server's address and how clients connect. It does so even with
// --quiet: with port 0 this is the only place with the port.
func (r *serveRun) greet(dir, addr string, pages net.Listener) {
	var b strings.Builder
	fmt.Fprintf(&b, "serving %s on %s\n", dir, addr)
	if pages != nil {
		scheme := "http"
		if r.tls.Cert != "" {
			scheme = "https"
		}
		fmt.Fprintf(&b, "console on %s://%s/\n", scheme, pages.Addr())
		fmt.Fprintf(&b, "metrics on %s://%s/metrics\n", scheme, pages.Addr())
		fmt.Fprintf(&b, "JSON API on %s://%s/v1\n", scheme, pages.Addr())
		if r.tests.on {
			fmt.Fprintf(&b, "controls on %s://%s/test\n", scheme, pages.Addr())
		}
	}
	if r.tls.Cert == "" { // clients use no TLS for an emulator
		fmt.Fprintf(&b, "export BIGTABLE_EMULATOR_HOST=%s\n", addr)
	}
	_, _ = fmt.Fprint(r.out, b.String())
}

// A door is a listener that one server after the other uses: no connection is lost while
// they change.
type door struct {
	net.Listener // accepts for all
	mu           sync.Mutex
	current      *entrance
}

// doorOf is nil without a listener.
func doorOf(l net.Listener) *door {
	if l == nil {
		return nil
	}
	return &door{Listener: l}
}

// An entrance is the door of one server.
type entrance struct {
	*door
	conns  chan net.Conn
	taken  chan struct{} // closed when the server holds the door
	moved  chan struct{} // closed when the next one holds it
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

// pass gives a connection to the server that holds the door.
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
