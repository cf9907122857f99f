package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/smolwc/smolwc/server/internal/account"
	"github.com/smolwc/smolwc/server/internal/calls"
)

// ServePages serves pages until the context ends, and then lets the requests under way end
// within the grace period. When it returns no request is under way, unless its error is
// [ErrCallsLeft]. The listener's connections are limited as in [Server.Serve]. If pages is
// nil it serves [Server.HTTP]; other handlers may pass requests on to that.
//
// With a certificate in files it serves with TLS. With an authority of clients the pages
// for monitoring (/metrics, /healthz and /readyz) need no certificate of the client; all
// other pages need one.
func (s *Server) ServePages(ctx context.Context, listener net.Listener, files TLSFiles, pages http.Handler) error {
	if !s.made() {
		return serveError("there is no server; New gives one")
	}
	if pages == nil {
		pages = s.HTTP()
	}
	err := (&Pages{Handler: pages, TLS: files, Limits: s.limits, Grace: s.grace, Logger: s.logger}).Serve(ctx, listener)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.jsonCalls.Wait()
	}()
	return cmp.Or(err, calls.Await(ended, ErrCallsLeft))
}

// Pages are served over HTTP, as [Server.ServePages] does.
type Pages struct {
	Handler http.Handler
	TLS     TLSFiles
	Limits  Limits
	Grace   time.Duration // for requests under way when the context ends; 0 is 10 s
	Logger  *slog.Logger  // nil discards messages
}

// Serve serves the pages until the context ends.
func (p *Pages) Serve(ctx context.Context, listener net.Listener) error {
	if p == nil || p.Handler == nil || ctx == nil || listener == nil {
		return serveError("a server needs pages, a context and a listener; one of them is nil")
	}
	limits, logger := p.Limits, cmp.Or(p.Logger, slog.New(slog.DiscardHandler))
	limits.SetDefaults()
	conns := account.NewConns(limits, logger)
	h := &http.Server{
		Handler: speaking(conns, p.Handler), ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: account.MaxHeaders, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	listener = conns.Listen(listener)
	if p.TLS.Cert != "" {
		config, err := p.TLS.pages(logger)
		if err != nil {
			return err
		}
		listener = tls.NewListener(listener, config)
		if p.TLS.ClientCA != "" {
			h.Handler = certified(h.Handler)
		}
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		late, cancel := context.WithTimeout(context.Background(), cmp.Or(p.Grace, 10*time.Second))
		defer cancel()
		_ = h.Shutdown(late) // requests still under way then are cut off
		_ = h.Close()
	})
	err := h.Serve(listener)
	if stop() { // it ended without a request to stop
		_ = h.Close()
		return err
	}
	<-stopped
	return nil
}

// speaking marks the connections that make requests, so that they keep their places.
func speaking(conns *account.Conns, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conns.Find(peerAddr(r.RemoteAddr)).Speaks()
		next.ServeHTTP(w, r)
	})
}

// certified refuses requests without a certificate, except for monitoring.
func certified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		monitoring := false
		for _, page := range []string{"/metrics", "/healthz", "/readyz"} {
			monitoring = monitoring || r.URL.Path == page
		}
		if !monitoring && (r.TLS == nil || len(r.TLS.VerifiedChains) == 0) {
			what := "this page"
			if strings.HasPrefix(r.URL.Path, "/v") {
				what = "this API"
			}
			answerJSON(w, http.StatusForbidden, map[string]any{"message": what + " needs a certificate of the client", "result": nil, "status": http.StatusForbidden, "time_ms": 0})
			return
		}
		next.ServeHTTP(w, r)
	})
}
