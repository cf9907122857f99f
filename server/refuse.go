package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/server/internal/account"
)

// A Refusal answers calls with the reason why no database is served.
type Refusal struct {
	// Why is the reason now. Many goroutines call it at a time.
	Why   func() string
	TLS   TLSFiles     // zero: no TLS
	Pages net.Listener // for pages, which have the same answer, but for /healthz; nil: none
}

// Serve answers each call on a listener until ctx ends, or the listener is closed.
func (r Refusal) Serve(ctx context.Context, calls net.Listener) error {
	if ctx == nil || calls == nil || r.Why == nil {
		return serveError("a refusal needs a context, a listener and a reason; one of them is nil")
	}
	options := append([]grpc.ServerOption{grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		return status.Error(codes.Unavailable, r.Why())
	})}, account.ConnectionOptions()...)
	h := &http.Server{ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: account.MaxHeaders, Handler: http.HandlerFunc(r.page)}
	pages := r.Pages
	if r.TLS.Cert != "" {
		secure, err := r.TLS.Option(nil)
		if err != nil {
			return err
		}
		options = append(options, secure)
		config, err := r.TLS.pages(slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		if pages != nil {
			pages = tls.NewListener(pages, config)
		}
	}
	g := grpc.NewServer(options...)
	defer context.AfterFunc(ctx, func() { g.Stop(); _ = h.Close() })()
	var serving sync.WaitGroup
	if pages != nil {
		serving.Go(func() { _ = h.Serve(pages) }) // the calls matter more
	}
	err := g.Serve(calls)
	_ = h.Close()
	serving.Wait()
	if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
		return nil
	}
	return err
}

// page answers a request of a page. The process is well, so a watch over it need not start
// it again.
func (r Refusal) page(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path == "/healthz" {
		_, _ = io.WriteString(w, "ok\n") // the client may be gone
		return
	}
	http.Error(w, r.Why(), http.StatusServiceUnavailable)
}
