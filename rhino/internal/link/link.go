// Package link calls the servers of regions: over one connection for each server, on
// which any number of requests are under way, or in the same process.
package link

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/smolwc/smolwc/rhino"
)

// A Peer answers requests. Call returns an error when there is no answer: then the
// request may or may not have taken effect.
type Peer interface {
	Call(ctx context.Context, m rhino.Message) (rhino.Message, error)
}

// Local is a Peer in the same process.
type Local func(ctx context.Context, m rhino.Message) rhino.Message

// Call implements [Peer].
func (l Local) Call(ctx context.Context, m rhino.Message) (rhino.Message, error) {
	return l(ctx, m), nil
}

// Overhead is how much longer than a client's message one between servers may be.
const Overhead = 8 << 10

// Options say where a server is.
type Options struct {
	Name     string // for messages: region eu-west-2
	URL      string // ws:// or wss://
	Secret   string
	TLS      *tls.Config
	Timeout  time.Duration // of a dial, and of a write
	MaxCalls int           // under way at the same time; further ones fail
	Logger   *slog.Logger
}

// A Link is a connection to a server, which is made again when it breaks. Requests are
// not sent again: those under way fail. It is safe for concurrent use.
type Link struct {
	o      Options
	http   *http.Client
	out    chan outgoing
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	next    uint64
	calls   map[string]chan rhino.Message // under way, by the ids that this Link gives
	down    error                         // why there is no connection; nil while there is, or may soon be
	settled chan struct{}                 // closed when the connection is made or failed
}

// An outgoing is a request that waits to be sent.
type outgoing struct {
	id   string
	text []byte
}

// New begins to connect. Close ends it.
func New(o Options) *Link {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Link{o: o, http: &http.Client{Transport: &http.Transport{TLSClientConfig: o.TLS}},
		out: make(chan outgoing, 64), cancel: cancel, done: make(chan struct{}),
		calls: map[string]chan rhino.Message{}, settled: make(chan struct{})}
	go l.run(ctx)
	return l
}

// Close ends the connection; requests under way fail.
func (l *Link) Close() {
	l.cancel()
	<-l.done
}

// Call sends a request and waits for its reply until the context ends. While there is
// no connection it fails at once.
func (l *Link) Call(ctx context.Context, m rhino.Message) (rhino.Message, error) {
	if err := l.connected(ctx); err != nil {
		return nil, err
	}
	id, reply, err := l.begin()
	if err != nil {
		return nil, err
	}
	defer l.end(id)
	text, err := rhino.Encode(rhino.Envelope{CorrelationID: id, Payload: m})
	if err != nil {
		return nil, err
	}
	if len(text) > rhino.MaxMessage+Overhead { // the server would end the connection, and with it other calls
		return nil, &rhino.Error{Reason: fmt.Sprintf("the request has %d bytes; the limit is %d", len(text), rhino.MaxMessage)}
	}
	select {
	case l.out <- outgoing{id, text}:
	case <-ctx.Done():
		return nil, l.late()
	}
	select {
	case m, ok := <-reply:
		if !ok {
			return nil, fmt.Errorf("the connection to %s broke", l.o.Name)
		}
		return m, nil
	case <-ctx.Done():
		return nil, l.late()
	}
}

func (l *Link) late() error { return fmt.Errorf("%s did not answer in time", l.o.Name) }

// connected waits for an attempt to connect that is under way.
func (l *Link) connected(ctx context.Context) error {
	l.mu.Lock()
	settled := l.settled
	l.mu.Unlock()
	select {
	case <-settled:
	case <-ctx.Done():
		return l.late()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.down
}

// Connected reports whether there is a connection now.
func (l *Link) Connected() bool {
	select {
	case <-l.settled:
	default:
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.down == nil
}

func (l *Link) begin() (id string, reply chan rhino.Message, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) >= l.o.MaxCalls {
		return "", nil, fmt.Errorf("%d requests to %s are under way, which is the limit", len(l.calls), l.o.Name)
	}
	l.next++
	id, reply = strconv.FormatUint(l.next, 10), make(chan rhino.Message, 1)
	l.calls[id] = reply
	return id, reply, nil
}

// waits reports whether the caller of a request is waiting.
func (l *Link) waits(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[id] != nil
}

func (l *Link) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, id)
}
