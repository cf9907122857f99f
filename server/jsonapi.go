package server

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/server/internal/access"
	"github.com/smolwc/smolwc/server/internal/calls"
	"github.com/smolwc/smolwc/server/internal/jsonapi"
)

// jsonPages serves Smoltable's JSON API below /v1.
func (s *Server) jsonPages(mux *http.ServeMux) {
	api := &jsonapi.API{Catalog: s.catalog, Admin: s.admin, Guard: s.guardJSON, Origin: s.checkOrigin, SendTimeout: s.limits.SendTimeout}
	api.Register(mux)
}

// guardJSON carries out a call of the JSON API with the limits, rights, metrics and log
// of calls over gRPC.
func (s *Server) guardJSON(r *http.Request, j jsonapi.Call, do func(ctx context.Context) error) (err error) {
	began := time.Now()
	s.jsonCalls.Add(1)
	defer s.jsonCalls.Done()
	conn := s.conns.Guest()
	defer conn.Leave()
	c := &calls.Call{Method: j.Name, Conn: conn, Peer: peerAddr(r.RemoteAddr), Began: began}
	c.Table.Store(&j.Table)
	ctx := c.With(s.beginSpan(conn.With(r.Context()), c, propagation.HeaderCarrier(r.Header)))
	s.metrics.begin(j.Name)
	defer func() {
		took := time.Since(began)
		code := status.Code(err)
		c.In.Store(max(0, r.ContentLength))
		c.Out.Store(*j.Sent)
		s.metrics.end(c, jsonOperations[j.Name], code, took)
		s.endSpan(c, err, code)
		s.logCall(ctx, c, err, code, took)
		s.calls.Ended(c, code, took)
	}()
	defer s.recovered(j.Name, &err)
	if s.state.Load() == stateStopping {
		return status.Error(codes.Unavailable, "the server is stopping")
	}
	ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("authorization", r.Header.Get("Authorization")))
	token, err := s.access.Identify(ctx, j.As)
	if err != nil {
		return err
	}
	ctx, v, err := s.guard.enter(access.WithToken(ctx, token), j.As, true)
	if err != nil {
		return err
	}
	defer v.leave()
	if token, err = s.guard.token(ctx, j.As); err != nil {
		return err
	}
	if err := access.Authorize(token, j.As, []access.Resource{{Name: j.Table, Exact: j.Table != ""}}); err != nil {
		return err
	}
	if s.catalog.DB.Plumbing().Shared() && strings.HasPrefix(j.As, "/google.bigtable.admin.") {
		if err := s.admin.Reload(ctx); err != nil {
			return err
		}
	}
	if f := s.test.strike(j.As); f != nil {
		if err := cmp.Or(f.wait(ctx), f.err(j.As)); err != nil {
			return err
		}
	}
	if s.standbys != nil && reads[j.As] {
		ctx = s.standbys.Confirm(ctx)
	}
	return do(ctx)
}

// peerAddr is the address of a client.
type peerAddr string

func (peerAddr) Network() string  { return "tcp" }
func (a peerAddr) String() string { return string(a) }

// checkOrigin refuses pages of browsers that come from elsewhere. A server without tokens
// is open to its machine, but not to every page that somebody looks at there. A page with a
// token may call from anywhere: no browser sends the token by itself. A page may also let
// its own name point here, and then the browser sends no origin with a GET.
func (s *Server) checkOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if slices.Contains(s.origins, origin) || slices.Contains(s.origins, "*") || s.access.Required() {
		return nil
	}
	if origin == "" {
		return s.checkHost(r)
	}
	if from, err := url.Parse(origin); err == nil && from.Host == r.Host && (!onLoopback(r) || isLocal(from.Hostname())) {
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "pages of %s may not use this server, which requires no tokens; --http-origin allows them", origin)
}

// checkHost refuses requests that a page may have made which lets its own name point here.
func (s *Server) checkHost(r *http.Request) error {
	if AnswersTo(r) || slices.ContainsFunc(s.origins, func(o string) bool { return o == "*" || strings.HasSuffix(o, "://"+r.Host) }) {
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "without a token this answers to localhost and to addresses, not to %s; --http-origin http://%s allows it", nameOf(r), r.Host)
}

// AnswersTo reports whether a request that needs no token may be answered: it came from
// another machine, or it names this one as localhost, by its own name or by an address. A
// page of a browser here can have a name of its own point to this machine, and read what is
// answered to that name.
func AnswersTo(r *http.Request) bool { return r != nil && (!onLoopback(r) || isLocal(nameOf(r))) }

func nameOf(r *http.Request) string { return (&url.URL{Host: r.Host}).Hostname() }

// onLoopback reports whether a request came to a loopback address. A name that a page
// chooses may lead there too.
func onLoopback(r *http.Request) bool {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return at != nil && at.IP.IsLoopback()
}

func isLocal(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil || strings.EqualFold(host, "localhost") {
		return true
	}
	name, err := os.Hostname()
	return err == nil && strings.EqualFold(host, name)
}
