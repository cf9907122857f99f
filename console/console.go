// Package console is the pages of a server in a browser: tables and rows, the history of a
// cell, a box for statements, and schemas. It is a client of the server, with the
// token of the person at the browser, so it can do what the token allows and no more.
//
// Row keys, qualifiers and values may have any bytes. Pages show them as text, never as
// markup.
package console

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/server"
)

// Options configure a console.
type Options struct {
	Server *server.Server
	// Instance is the instance whose tables the pages show; "" is
	// [server.DefaultInstance].
	Instance string
	// Tokens are the server's tokens. If there are tokens, the pages ask for one.
	Tokens *server.Tokens
	// Name is what people call the database; Version is the version of the program. An
	// empty one is not shown.
	Name, Version string
	// Backups and Moments send the server's backups and its log; nil for
	// those that it does not send.
	Backups *archive.Schedule
	Moments *moments.Sender
	// Address is where the server takes gRPC, HOST:PORT, for programs that pages show.
	Address string
}

// A Console is the pages. It is an http.Handler, which passes requests for other pages on
// to [server.Server.HTTP]. It is safe for concurrent use.
type Console struct {
	options Options
	mux     *http.ServeMux
	guard   *http.CrossOriginProtection
	uploads chan struct{}
	work    works

	parquets chan struct{}

	grpc    *grpc.Server
	wire    *bufconn.Listener
	clients clients
}

// maxInFlight is how many bytes of a call the connection in this process holds.
const maxInFlight = 1 << 20

// New makes the console of a server, which must not serve yet. Close ends it.
func New(o Options) (*Console, error) {
	if o.Server == nil {
		return nil, errors.New("console: there is no server; server.New makes one")
	}
	c := &Console{options: o, mux: http.NewServeMux(), guard: http.NewCrossOriginProtection(), uploads: make(chan struct{}, maxUploads), parquets: make(chan struct{}, maxParquets), wire: bufconn.Listen(maxInFlight)}
	// Certificates are for the network only.
	c.grpc = grpc.NewServer(append(o.Server.ServerOptions(), grpc.Creds(insecure.NewCredentials()))...)
	o.Server.Register(c.grpc)
	go func() { _ = c.grpc.Serve(c.wire) }() // until Close
	c.routes()
	return c, nil
}

// Close ends the calls of the pages. The server stays.
func (c *Console) Close() {
	if c == nil || c.grpc == nil {
		return
	}
	c.work.end()
	c.clients.close()
	c.grpc.Stop()
	_ = c.wire.Close()
}

func (c *Console) routes() {
	c.mux.Handle("/", c.options.Server.HTTP())
	c.mux.HandleFunc("GET /static/{file}", serveStatic)
	c.mux.HandleFunc("GET /login", c.showLogin)
	c.mux.HandleFunc("POST /login", c.login)
	c.mux.HandleFunc("POST /logout", c.logout)
	for pattern, page := range map[string]page{
		"GET /{$}":                      overview,
		"GET /health":                   health,
		"GET /admitted":                 admitted,
		"POST /tables/{table}/change":   runChange,
		"GET /schema":                   showSchema,
		"POST /schema":                  changeSchema,
		"GET /tables/{table}":           rows,
		"GET /tables/{table}/row":       row,
		"GET /tables/{table}/cell":      cell,
		"GET /tables/{table}/value":     rawValue,
		"GET /tables/{table}/schema":    describe,
		"GET /query":                    showQuery,
		"POST /query":                   runQuery,
		"GET /tables/{table}/edit":      showEdit,
		"POST /tables/{table}/preview":  previewEdit,
		"GET /calls":                    showCalls,
		"POST /calls/cancel":            cancelCall,
		"GET /tables/{table}/heat":      showHeat,
		"GET /tables/{table}/heat.json": sendHeat,
		"GET /charts":                   showCharts,
		"GET /charts/data":              chartData,
		"GET /query/complete":           complete,
		"GET /import":                   showImport,
		"GET /backups":                  showBackups,
		"POST /backups":                 changeBackups,
		"GET /backups/work":             showWork,
		"GET /standbys":                 showStandbys,
		"GET /moment":                   showMoment,
		"POST /moment":                  openMoment,
	} {
		c.mux.Handle(pattern, c.handle(page))
	}
	c.mux.Handle("POST /import", c.handleUpload(importUpload))
}

// handleUpload is handle for a page whose form has a file.
func (c *Console) handleUpload(p page) http.Handler {
	inner := c.handleForm(p, (*visit).receive)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case c.uploads <- struct{}{}:
			defer func() { <-c.uploads }()
		default:
			http.Error(w, errorf("pages import %d files now; try again when one has ended", maxUploads).Error(), http.StatusServiceUnavailable)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	c.mux.ServeHTTP(w, r)
}

// ownHost reports whether a request names this machine by an address or as localhost. A
// page of another site can have its own name point here, and would then be of the
// same origin; it cannot do so with an address.
func ownHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.EqualFold(host, "localhost") || net.ParseIP(strings.Trim(host, "[]")) != nil
}

// connect is one connection to the server in this process.
func (c *Console) connect(ctx context.Context) (net.Conn, error) { return c.wire.DialContext(ctx) }
