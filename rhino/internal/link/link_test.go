package link_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/smolwc/smolwc/rhino"
	"github.com/smolwc/smolwc/rhino/internal/link"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve answers messages at a free address, or at the one that is given, until stop.
func serve(t *testing.T, address string, answer func(e rhino.Envelope, reply func(string, rhino.Message))) (at string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		for {
			_, text, err := conn.Read(ctx)
			if err != nil {
				return
			}
			e, err := rhino.Decode(text)
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			answer(e, func(id string, m rhino.Message) {
				text, _ := rhino.Encode(rhino.Envelope{CorrelationID: id, Payload: m})
				_ = conn.Write(ctx, websocket.MessageText, text)
			})
		}
	}))
	s.Listener = l
	s.Start()
	stop = sync.OnceFunc(func() {
		cancel()
		s.CloseClientConnections()
		s.Close()
	})
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

func dial(t *testing.T, address string, most int) *link.Link {
	l := link.New(link.Options{Name: "the server", URL: "ws://" + address, Timeout: time.Minute, MaxCalls: most, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(l.Close)
	return l
}

func echo(e rhino.Envelope, reply func(string, rhino.Message)) {
	reply(e.CorrelationID, rhino.LoggedIn{Region: e.Payload.(rhino.Login).Token})
}

// eventually calls until there is a reply.
func eventually(t *testing.T, l *link.Link, token string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		m, err := l.Call(context.Background(), rhino.Login{Token: token})
		if err == nil && m == rhino.Message(rhino.LoggedIn{Region: token}) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%v, %v", m, err)
		}
	}
}

// Many calls share the connection, and each gets its own reply.
func TestCallsShareAConnection(t *testing.T) {
	at, _ := serve(t, "127.0.0.1:0", func(e rhino.Envelope, reply func(string, rhino.Message)) {
		go echo(e, reply)
	})
	l := dial(t, at, 1000)
	var all sync.WaitGroup
	for n := range 500 {
		all.Go(func() {
			token := fmt.Sprint(n)
			if m, err := l.Call(context.Background(), rhino.Login{Token: token}); err != nil || m != rhino.Message(rhino.LoggedIn{Region: token}) {
				t.Errorf("%s: %v, %v", token, m, err)
			}
		})
	}
	all.Wait()
}

// When the server goes, calls under way fail, and later ones fail at once; when it comes
// back, calls succeed.
func TestConnectionsAreMadeAgain(t *testing.T) {
	asked := make(chan struct{}, 1)
	at, stop := serve(t, "127.0.0.1:0", func(rhino.Envelope, func(string, rhino.Message)) { asked <- struct{}{} })
	l := dial(t, at, 10)
	failed := make(chan error, 1)
	go func() {
		_, err := l.Call(context.Background(), rhino.Login{})
		failed <- err
	}()
	<-asked
	stop()
	if err := <-failed; err == nil {
		t.Error("a call of a server that has gone has a reply")
	}
	for {
		if _, err := l.Call(context.Background(), rhino.Login{}); err != nil && strings.Contains(err.Error(), "the server cannot be reached") {
			break
		}
	}
	serve(t, at, echo)
	eventually(t, l, "back")
}

// Replies that come too late, twice, or to nobody, harm nobody.
func TestStrayReplies(t *testing.T) {
	var mu sync.Mutex
	var late []func()
	at, _ := serve(t, "127.0.0.1:0", func(e rhino.Envelope, reply func(string, rhino.Message)) {
		mu.Lock()
		defer mu.Unlock()
		if e.Payload.(rhino.Login).Token == "late" {
			late = append(late, func() { reply(e.CorrelationID, rhino.LoggedIn{Region: "late"}) })
			return
		}
		for _, send := range late {
			send()
			send()
		}
		reply("nobody", rhino.RowNotFound)
		echo(e, reply)
		echo(e, reply)
	})
	l := dial(t, at, 2)
	for range 5 { // more than may be under way: those that ended do not count
		ctx, stop := context.WithTimeout(context.Background(), 30*time.Millisecond)
		if m, err := l.Call(ctx, rhino.Login{Token: "late"}); err == nil {
			t.Errorf("a late reply: %v", m)
		}
		stop()
	}
	for n := range 20 {
		eventually(t, l, fmt.Sprint(n))
	}
}

func TestCallsAreBounded(t *testing.T) {
	const limit = 3
	asked, gate := make(chan struct{}, limit), make(chan struct{})
	at, _ := serve(t, "127.0.0.1:0", func(e rhino.Envelope, reply func(string, rhino.Message)) {
		asked <- struct{}{}
		go func() {
			<-gate
			echo(e, reply)
		}()
	})
	l := dial(t, at, limit)
	var all sync.WaitGroup
	for range limit {
		all.Go(func() {
			if _, err := l.Call(context.Background(), rhino.Login{}); err != nil {
				t.Error(err)
			}
		})
	}
	for range limit {
		<-asked
	}
	if _, err := l.Call(context.Background(), rhino.Login{}); err == nil || !strings.Contains(err.Error(), "3 requests to the server are under way") {
		t.Errorf("one more: %v", err)
	}
	close(gate)
	all.Wait()
	eventually(t, l, "after")
}

// A request may grow when it is encoded again: one that is too long fails alone.
func TestLongRequests(t *testing.T) {
	at, _ := serve(t, "127.0.0.1:0", echo)
	l := dial(t, at, 10)
	eventually(t, l, "before")
	var wrong *rhino.Error
	if _, err := l.Call(context.Background(), rhino.Login{Token: strings.Repeat("\u2028", rhino.MaxMessage/3)}); !errors.As(err, &wrong) {
		t.Errorf("%v", err)
	}
	if _, err := l.Call(context.Background(), rhino.Login{Token: "after"}); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// A server that never answers costs a call its own time, and no more.
func TestBlackHole(t *testing.T) {
	hole, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hole.Close() }()
	l := dial(t, hole.Addr().String(), 10)
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer stop()
	if _, err := l.Call(ctx, rhino.Login{}); err == nil || !strings.Contains(err.Error(), "did not answer in time") {
		t.Errorf("%v", err)
	}
}

// The time of a dial is over when there is a connection, which stays.
func TestConnectionsOutliveTheirDial(t *testing.T) {
	at, _ := serve(t, "127.0.0.1:0", echo)
	const timeout = time.Second
	l := link.New(link.Options{Name: "the server", URL: "ws://" + at, Timeout: timeout, MaxCalls: 1, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(l.Close)
	eventually(t, l, "connected")
	for end := time.Now().Add(timeout + timeout/2); time.Now().Before(end); time.Sleep(timeout / 20) {
		if _, err := l.Call(context.Background(), rhino.Login{}); err != nil {
			t.Fatalf("the connection did not stay: %v", err)
		}
	}
}
