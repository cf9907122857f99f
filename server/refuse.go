package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Refuse answers each call on a listener, and each request for a page on another one, with
// the reason why no database is served, until ctx ends. pages may be nil. files may be
// zero; then there is no TLS.
func Refuse(ctx context.Context, calls, pages net.Listener, files TLSFiles, why string) error {
	if ctx == nil || calls == nil {
		return serveError("refusing calls needs a context and a listener; one of them is nil")
	}
	options := append([]grpc.ServerOption{grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		return status.Error(codes.Unavailable, why)
	})}, connectionOptions...)
	h := &http.Server{ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: maxHeaders, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, why, http.StatusServiceUnavailable)
	})}
	if files.Cert != "" {
		secure, err := files.Option(nil)
		if err != nil {
			return err
		}
		options = append(options, secure)
		config, err := files.pages(slog.New(slog.DiscardHandler))
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
	serving.Wait()
	if errors.Is(err, grpc.ErrServerStopped) || ctx.Err() != nil {
		return nil
	}
	return err
}
