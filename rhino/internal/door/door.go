// Package door lets clients and other servers in. A WebSocket carries messages, and a
// session answers each request. Everything is bounded: connections, requests under way,
// bytes, and the time of each step.
package door

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/smolwc/smolwc/rhino"
	"golang.org/x/sync/semaphore"
)

// A Session answers the requests of one connection. Serve is called concurrently; its
// context ends at the deadline. Close is called after the last call of Serve.
type Session interface {
	Serve(ctx context.Context, m rhino.Message) rhino.Message
	// Known reports whether the client identified itself. Before that it may send only
	// a short message, and soon.
	Known() bool
	Close()
}

// Options say who is let in, and how much.
type Options struct {
	Name     string // for messages
	Sessions func() Session
	// InOrder says that a request is answered before the next one is looked at.
	InOrder func(m rhino.Message) bool
	// Secret, if not "", is required in the header Authorization.
	Secret string
	// Deadline bounds each request, and the sending of a reply.
	Deadline time.Duration
	// MaxMessage is the most bytes of a request.
	MaxMessage int64
	// Answered, if it is not nil, is called after each request.
	Answered func(request, reply rhino.Message, took time.Duration)
	Logger   *slog.Logger
}

// The limits of a door.
const (
	maxConnections = 1000
	maxRequests    = 64        // under way on a connection; it is not read meanwhile
	maxBytes       = 256 << 20 // of requests under way
	maxUnknown     = 8 << 10   // bytes of a message of a client that is not known
	unknownTime    = 30 * time.Second
	keepAlive      = 20 * time.Second
	closeTime      = 500 * time.Millisecond
)

// A Door accepts connections.
type Door struct {
	o           Options
	connections *semaphore.Weighted
	bytes       *semaphore.Weighted
	stopping    chan struct{}
	sessions    sync.WaitGroup
	open        atomic.Int64 // connections
}

// New is a door that Serve opens.
func New(o Options) *Door {
	return &Door{o: o, connections: semaphore.NewWeighted(maxConnections),
		bytes: semaphore.NewWeighted(maxBytes), stopping: make(chan struct{})}
}

// Serve accepts connections until the context ends. Then requests under way are
// answered, and the connections are closed. It closes the listener.
func (d *Door) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{Handler: d, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(d.o.Logger.Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() { _ = h.Close() })
	defer stop()
	err := h.Serve(l)
	close(d.stopping)
	d.sessions.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Connections is how many there are.
func (d *Door) Connections() int64 { return d.open.Load() }

// ServeHTTP implements [http.Handler].
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !d.permits(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "the secret is missing or wrong", http.StatusUnauthorized)
		return
	}
	if !d.connections.TryAcquire(1) {
		http.Error(w, "too many connections", http.StatusServiceUnavailable)
		return
	}
	defer d.connections.Release(1)
	d.open.Add(1)
	defer d.open.Add(-1)
	d.sessions.Add(1)
	defer d.sessions.Done()
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		d.o.Logger.Debug("not a WebSocket", "at", d.o.Name, "peer", r.RemoteAddr, "err", err)
		return
	}
	defer func() { _ = conn.CloseNow() }()
	newConnection(d, conn).serve()
}

// permits compares the secret in a time that does not depend on it.
func (d *Door) permits(r *http.Request) bool {
	if d.o.Secret == "" {
		return true
	}
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(d.o.Secret))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
