package door_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/smolwc/smolwc/rhino"
	"github.com/smolwc/smolwc/rhino/internal/door"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A session answers Login with the token, in the order and at the time that the test
// chooses.
type session struct {
	known   bool
	serve   func(ctx context.Context, token string) rhino.Message
	closed  *atomic.Int64
	serving *atomic.Int64
}

func (s session) Known() bool { return s.known }
func (s session) Close()      { s.closed.Add(1) }

func (s session) Serve(ctx context.Context, m rhino.Message) rhino.Message {
	s.serving.Add(1)
	defer s.serving.Add(-1)
	login, ok := m.(rhino.Login)
	if !ok {
		panic("not a login")
	}
	return s.serve(ctx, login.Token)
}

func echo(_ context.Context, token string) rhino.Message { return rhino.LoggedIn{Region: token} }

// A house is an open door.
type house struct {
	t               *testing.T
	url             string
	closed, serving atomic.Int64
	stop            func()
}

func open(t *testing.T, o door.Options, known bool, serve func(context.Context, string) rhino.Message) *house {
	t.Helper()
	h := &house{t: t}
	o.Name, o.Logger = "the house", slog.New(slog.DiscardHandler)
	o.Sessions = func() door.Session { return session{known, serve, &h.closed, &h.serving} }
	if o.Deadline == 0 {
		o.Deadline = time.Minute
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = 64 << 10
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.url = "ws://" + l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- door.New(o).Serve(ctx, l) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(h.stop)
	return h
}

func (h *house) enter(header http.Header) (*websocket.Conn, *http.Response, error) {
	client := &http.Client{Transport: &http.Transport{}}
	h.t.Cleanup(client.CloseIdleConnections)
	conn, response, err := websocket.Dial(context.Background(), h.url, &websocket.DialOptions{HTTPHeader: header, HTTPClient: client})
	if err == nil {
		h.t.Cleanup(func() { _ = conn.CloseNow() })
		conn.SetReadLimit(2 << 20)
	}
	return conn, response, err
}

func (h *house) dial() *websocket.Conn {
	h.t.Helper()
	conn, _, err := h.enter(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return conn
}

func send(t *testing.T, conn *websocket.Conn, text string) {
	t.Helper()
	if err := conn.Write(context.Background(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func receive(conn *websocket.Conn) (string, error) {
	_, text, err := conn.Read(context.Background())
	return string(text), err
}

func login(id, token string) string {
	return fmt.Sprintf(`{"correlation_id":%q,"payload":{"Login":{"token":%q}}}`, id, token)
}

// What is wrong is answered if it has a name, and ends the connection otherwise.
func TestMalformedRequests(t *testing.T) {
	h := open(t, door.Options{}, true, echo)
	conn := h.dial()
	for request, want := range map[string]string{
		`{"correlation_id":"1","payload":"Nonsense"}`:                  `InvalidRequest`,
		`{"correlation_id":"1","payload":{"Login":{"token":5}}}`:       `InvalidRequest`,
		`{"correlation_id":"1","payload":{"GetRow":{"pk":{"a":"b"}}}}`: `InvalidRequest`,
		`{"correlation_id":"1","payload":"RowNotFound"}`:               `an internal fault`, // the session panics
		login("1", "a"): `{"LoggedIn":{"region":"a"}}`,
	} {
		send(t, conn, request)
		if got, err := receive(conn); err != nil || !strings.Contains(got, want) || !strings.HasPrefix(got, `{"correlation_id":"1"`) {
			t.Errorf("%s: %s, %v", request, got, err)
		}
	}
	for request, want := range map[string]websocket.StatusCode{
		`nonsense`:                              websocket.StatusInvalidFramePayloadData,
		`{"payload":"x"}`:                       websocket.StatusInvalidFramePayloadData,
		"\xff":                                  websocket.StatusInvalidFramePayloadData,
		login("1", strings.Repeat("x", 64<<10)): websocket.StatusMessageTooBig,
	} {
		conn := h.dial()
		if err := conn.Write(context.Background(), websocket.MessageText, []byte(request)); err != nil {
			t.Error(err)
		}
		if got, err := receive(conn); websocket.CloseStatus(err) != want {
			t.Errorf("%.40s: %s, %v, want the status %v", request, got, err, want)
		}
	}
	conn = h.dial()
	if err := conn.Write(context.Background(), websocket.MessageBinary, []byte(login("1", "a"))); err != nil {
		t.Error(err)
	}
	if _, err := receive(conn); websocket.CloseStatus(err) != websocket.StatusUnsupportedData {
		t.Errorf("a binary frame: %v", err)
	}
}

// Before a client is known it may send only a short message.
func TestUnknownClientsAreBrief(t *testing.T) {
	h := open(t, door.Options{}, false, echo)
	conn := h.dial()
	send(t, conn, login("1", "short"))
	if _, err := receive(conn); err != nil {
		t.Fatal(err)
	}
	send(t, conn, login("1", strings.Repeat("x", 9<<10)))
	if _, err := receive(conn); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("a long message: %v", err)
	}
}

func TestTheSecret(t *testing.T) {
	h := open(t, door.Options{Secret: "open sesame, please"}, true, echo)
	for header, want := range map[string]int{
		"": http.StatusUnauthorized, "Bearer ": http.StatusUnauthorized, "Bearer open": http.StatusUnauthorized,
		"Bearer open sesame, please ": http.StatusSwitchingProtocols, // HTTP trims spaces
		"Bearer open sesame, pleasf":  http.StatusUnauthorized,
		"Bearer open sesame, please":  http.StatusSwitchingProtocols,
	} {
		_, response, err := h.enter(http.Header{"Authorization": {header}})
		if response == nil || response.StatusCode != want {
			t.Errorf("%q: %v, %v", header, response, err)
		}
	}
	if _, response, _ := h.enter(nil); response == nil || response.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a header: %v", response)
	}
	if _, response, _ := h.enter(http.Header{"Authorization": {"Bearer open sesame, please"}, "Origin": {"https://example.com"}}); response == nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("a page of another site: %v", response)
	}
}

// Requests of a connection are under way together, up to a limit; further ones wait.
func TestRequestsAreBounded(t *testing.T) {
	const limit, sent = 64, 200
	gate := make(chan struct{})
	var most atomic.Int64
	var h *house
	h = open(t, door.Options{}, true, func(_ context.Context, token string) rhino.Message {
		for now := h.serving.Load(); ; {
			if seen := most.Load(); now <= seen || most.CompareAndSwap(seen, now) {
				break
			}
		}
		<-gate
		return rhino.LoggedIn{Region: token}
	})
	conn := h.dial()
	go func() {
		for n := range sent {
			_ = conn.Write(context.Background(), websocket.MessageText, []byte(login(fmt.Sprint(n), "a")))
		}
	}()
	for h.serving.Load() < limit {
		time.Sleep(time.Millisecond)
	}
	close(gate)
	seen := map[string]bool{}
	for range sent {
		text, err := receive(conn)
		if err != nil {
			t.Fatal(err)
		}
		e, err := rhino.Decode([]byte(text))
		if err != nil || seen[e.CorrelationID] {
			t.Fatalf("%s, %v", text, err)
		}
		seen[e.CorrelationID] = true
	}
	if most.Load() > limit {
		t.Errorf("%d requests were under way", most.Load())
	}
}

// A request that must be in order is answered before the next one begins.
func TestRequestsInOrder(t *testing.T) {
	var done atomic.Bool
	h := open(t, door.Options{InOrder: func(m rhino.Message) bool { return m == rhino.Message(rhino.Login{Token: "first"}) }}, true,
		func(_ context.Context, token string) rhino.Message {
			if token == "first" {
				time.Sleep(10 * time.Millisecond)
				done.Store(true)
			}
			return rhino.LoggedIn{Region: fmt.Sprint(done.Load())}
		})
	conn := h.dial()
	send(t, conn, login("1", "first"))
	send(t, conn, login("2", "second"))
	for range 2 {
		if got, err := receive(conn); err != nil || !strings.Contains(got, `"true"`) {
			t.Errorf("%s, %v", got, err)
		}
	}
}

// A reply that is too long becomes an error of its request.
func TestLongReplies(t *testing.T) {
	h := open(t, door.Options{}, true, func(context.Context, string) rhino.Message {
		return rhino.LoggedIn{Region: strings.Repeat("x", rhino.MaxMessage+64<<10)}
	})
	conn := h.dial()
	send(t, conn, login("1", "a"))
	if got, err := receive(conn); err != nil || !strings.Contains(got, "the limit is 1048576") {
		t.Errorf("%.200s, %v", got, err)
	}
}

// When the door closes, requests under way are answered, and sessions are closed. A
// client that does not read does not hold it up.
func TestStop(t *testing.T) {
	gate := make(chan struct{})
	h := open(t, door.Options{}, true, func(ctx context.Context, token string) rhino.Message {
		if token == "wait" {
			<-gate
		}
		return rhino.LoggedIn{Region: token}
	})
	conn, deaf := h.dial(), h.dial()
	send(t, deaf, login("1", "a"))
	send(t, conn, login("1", "wait"))
	for h.serving.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	stopped := make(chan struct{})
	go func() {
		h.stop()
		close(stopped)
	}()
	close(gate)
	if got, err := receive(conn); err != nil || !strings.Contains(got, "wait") {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := receive(conn); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the connection ends with %v", err)
	}
	<-stopped
	if h.closed.Load() != 2 {
		t.Errorf("%d sessions were closed", h.closed.Load())
	}
	if _, _, err := h.enter(nil); err == nil {
		t.Error("the door is open")
	}
}

// The context of a request ends at the deadline, and when its client leaves.
func TestRequestsEnd(t *testing.T) {
	h := open(t, door.Options{Deadline: 500 * time.Millisecond}, true, func(ctx context.Context, token string) rhino.Message {
		<-ctx.Done()
		return rhino.PleaseRetry{Reason: ctx.Err().Error()}
	})
	conn := h.dial()
	send(t, conn, login("1", "a"))
	if got, err := receive(conn); err != nil || !strings.Contains(got, "deadline") {
		t.Errorf("%s, %v", got, err)
	}
	left := make(chan error, 1)
	h = open(t, door.Options{}, true, func(ctx context.Context, _ string) rhino.Message {
		<-ctx.Done()
		left <- ctx.Err()
		return rhino.RowNotFound
	})
	conn = h.dial()
	send(t, conn, login("1", "a"))
	for h.serving.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	_ = conn.CloseNow()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the request ends with %v", err)
	}
}
