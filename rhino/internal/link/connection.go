package link

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/smolwc/smolwc/rhino"
)

// The pauses between attempts to connect.
const (
	minPause = 50 * time.Millisecond
	maxPause = time.Second
)

// keepAlive is how often a connection is tested.
const keepAlive = 5 * time.Second

// run keeps a connection.
func (l *Link) run(ctx context.Context) {
	defer close(l.done)
	defer l.http.CloseIdleConnections()
	pause := minPause
	for {
		began := time.Now()
		err := l.connect(ctx)
		l.broken(err)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > maxPause {
			pause = minPause
		}
		l.o.Logger.Debug("no connection", "to", l.o.Name, "err", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, maxPause)
	}
}

// connect makes a connection and serves it until it breaks.
func (l *Link) connect(ctx context.Context) error {
	dialing, stop := context.WithTimeout(ctx, l.o.Timeout)
	defer stop()
	header := http.Header{}
	if l.o.Secret != "" {
		header.Set("Authorization", "Bearer "+l.o.Secret)
	}
	conn, response, err := websocket.Dial(dialing, l.o.URL, &websocket.DialOptions{HTTPClient: l.http, HTTPHeader: header})
	switch {
	case response != nil && response.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%s refuses the secret", l.o.Name)
	case err != nil:
		return fmt.Errorf("%s cannot be reached: %w", l.o.Name, err)
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(rhino.MaxMessage + Overhead)
	l.settle(nil)
	return l.serve(ctx, conn)
}

func (l *Link) serve(ctx context.Context, conn *websocket.Conn) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	for _, task := range []func(context.Context, *websocket.Conn) error{l.write, l.ping} {
		tasks.Go(func() { stop(task(ctx, conn)) })
	}
	err := l.read(ctx, conn)
	stop(err)
	return fmt.Errorf("the connection to %s broke: %w", l.o.Name, context.Cause(ctx))
}

// read gives replies to their callers. It ignores those that come too late.
func (l *Link) read(ctx context.Context, conn *websocket.Conn) error {
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		e, err := rhino.Decode(text)
		if err != nil {
			return err
		}
		l.mu.Lock()
		reply := l.calls[e.CorrelationID]
		delete(l.calls, e.CorrelationID)
		l.mu.Unlock()
		if reply != nil {
			reply <- e.Payload
		}
	}
}

func (l *Link) write(ctx context.Context, conn *websocket.Conn) error {
	for {
		select {
		case o := <-l.out:
			if !l.waits(o.id) {
				continue // a request must not take effect long after its caller left
			}
			if err := l.send(ctx, conn, o.text); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *Link) send(ctx context.Context, conn *websocket.Conn, text []byte) error {
	ctx, stop := context.WithTimeout(ctx, l.o.Timeout)
	defer stop()
	return conn.Write(ctx, websocket.MessageText, text)
}

func (l *Link) ping(ctx context.Context, conn *websocket.Conn) error {
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		pinging, stop := context.WithTimeout(ctx, keepAlive)
		err := conn.Ping(pinging)
		stop()
		if err != nil {
			return err
		}
	}
}

// settle says that there is a connection, or why there is no connection.
func (l *Link) settle(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = err
	select {
	case <-l.settled:
	default:
		close(l.settled)
	}
}

// broken ends all requests under way.
func (l *Link) broken(err error) {
	l.settle(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, reply := range l.calls {
		close(reply)
		delete(l.calls, id)
	}
}
