package badnet_test

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/smolwc/smolwc/internal/badnet"
)

// echo is a proxy in front of a server that sends back what it gets, and a connection.
func echo(t *testing.T) (*badnet.Proxy, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	p, err := badnet.New(l.Addr().String(), 1)
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	return p, dial(t, p)
}

func dial(t *testing.T, p *badnet.Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// said sends a text and reads as many bytes.
func said(t *testing.T, c net.Conn, text string) string {
	t.Helper()
	_, err := c.Write([]byte(text))
	must(t, err)
	got := make([]byte, len(text))
	_, err = io.ReadFull(c, got)
	must(t, err)
	return string(got)
}

func TestAProxyPassesBytesAndEnds(t *testing.T) {
	_, c := echo(t)
	if got := said(t, c, "hello"); got != "hello" {
		t.Errorf("got %q", got)
	}
	must(t, c.(*net.TCPConn).CloseWrite())
	if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

func TestACutIsAReset(t *testing.T) {
	p, c := echo(t)
	said(t, c, "hello")
	p.Cut()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a read of a connection that was cut: %v", err)
	}
	if got := said(t, dial(t, p), "again"); got != "again" {
		t.Errorf("a new connection: %q", got)
	}
}

// One way is held, and the other one passes; nothing that is held is lost.
func TestAHeldWay(t *testing.T) {
	p, c := echo(t)
	said(t, c, "hello")
	p.Set(badnet.Down, badnet.Line{Hold: true})
	_, err := c.Write([]byte("held"))
	must(t, err)
	must(t, c.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	if n, err := c.Read(make([]byte, 4)); err == nil {
		t.Errorf("%d bytes have passed", n)
	}
	must(t, c.SetReadDeadline(time.Time{}))
	p.Set(badnet.Down, badnet.Line{})
	got := make([]byte, 4)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "held" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestDelayAndRate(t *testing.T) {
	for _, l := range []badnet.Line{{Delay: 30 * time.Millisecond}, {Rate: 1000}} {
		p, c := echo(t)
		p.Set(badnet.Up, l)
		began := time.Now()
		said(t, c, fmt.Sprintf("%030d", 1))
		if took := time.Since(began); took < 30*time.Millisecond {
			t.Errorf("%+v: 30 bytes took %v", l, took)
		}
	}
}

func TestFlippedBits(t *testing.T) {
	p, c := echo(t)
	p.Set(badnet.Up, badnet.Line{Flip: 1})
	got, changed := said(t, c, "hello"), 0
	for i := range got {
		changed += bits.OnesCount8(got[i] ^ "hello"[i])
	}
	if changed == 0 || int64(changed) != p.Flips() {
		t.Errorf("%d bits are changed in %q, and the proxy says %d", changed, got, p.Flips())
	}
}
