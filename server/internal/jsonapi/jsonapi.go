// Package jsonapi serves Smoltable's JSON API: tables and their families, writes, reads
// and deletes of rows over HTTP, below /v1. docs/json-api.md describes it, and where it
// differs from Smoltable's; decision record 47 gives the reasons.
package jsonapi

import (
	"context"
	_ "embed"
	"net/http"
	"strings"
	"time"

	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/internal/admin"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// A Call is a call of a client, as the server's guard sees it.
type Call struct {
	Name  string // for the log and the metrics: json.v1/Write
	As    string // the method of gRPC whose right the call needs
	Table string // its name in the database; "" for a call about no single table
	Sent  *int64 // bytes of the answer, set at the end of the call
}

// A Guard lets a call in, or refuses it with an error: it checks the token and the
// limits. do carries the call out.
type Guard func(r *http.Request, c Call, do func(ctx context.Context) error) error

// An API answers the calls below /v1.
type API struct {
	Catalog *catalog.Catalog
	Admin   *admin.Admin
	Guard   Guard
	Origin  func(r *http.Request) error // refuses pages of other origins
	// SendTimeout is how long a client may take for the next part of a request or of a
	// response.
	SendTimeout time.Duration
}

// The methods of gRPC whose rights the calls need.
const (
	dataService  = "/google.bigtable.v2.Bigtable/"
	adminService = "/google.bigtable.admin.v2.BigtableTableAdmin/"
)

// A route is a call and the function that carries it out.
type route struct {
	method, path string
	name, as     string
	status       int
	do           func(*API, *call) error
}

// routes are all calls. openapi.json describes each of them.
var routes = []route{
	{"GET", "/v1/table", "ListTables", adminService + "ListTables", 200, (*API).listTables},
	{"PUT", "/v1/table/{table}", "CreateTable", adminService + "CreateTable", 201, (*API).createTable},
	{"DELETE", "/v1/table/{table}", "DropTable", adminService + "DeleteTable", 202, (*API).dropTable},
	{"POST", "/v1/table/{table}/column-family", "CreateFamilies", adminService + "ModifyColumnFamilies", 201, (*API).createFamilies},
	{"POST", "/v1/table/{table}/write", "Write", dataService + "MutateRows", 200, (*API).write},
	{"POST", "/v1/table/{table}/rows", "ReadRows", dataService + "ReadRows", 200, (*API).rows},
	{"POST", "/v1/table/{table}/scan", "Scan", dataService + "ReadRows", 200, (*API).scan},
	{"POST", "/v1/table/{table}/count", "Count", dataService + "ReadRows", 200, (*API).count},
	{"DELETE", "/v1/table/{table}/row", "DeleteRow", dataService + "MutateRow", 202, (*API).deleteRow},
	{"GET", "/v1/table/{table}/metrics", "Metrics", adminService + "GetTable", 200, (*API).metrics},
}

//go:embed openapi.json
var openAPI []byte

const documentPath = "/v1/openapi.json"

// Register adds the calls to mux.
func (a *API) Register(mux *http.ServeMux) {
	paths := map[string][]string{documentPath: {"GET"}}
	for _, r := range routes {
		mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, req *http.Request) { a.serve(w, req, r) })
		paths[r.path] = append(paths[r.path], r.method)
	}
	for path, methods := range paths {
		mux.HandleFunc(path, func(w http.ResponseWriter, req *http.Request) { a.otherMethod(w, req, methods) })
	}
	mux.HandleFunc("GET "+documentPath, func(w http.ResponseWriter, req *http.Request) {
		if c := a.begin(w, req); c.refuse(a.Origin(req)) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(openAPI) // fails if the client is gone
		}
	})
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, req *http.Request) {
		a.begin(w, req).fail(&problem{http.StatusNotFound, "Not found", "there is no " + req.URL.Path + "; GET " + documentPath + " describes the API"})
	})
}

// otherMethod answers a method that a path does not have, and the question of browsers
// for the methods that they may use.
func (a *API) otherMethod(w http.ResponseWriter, r *http.Request, methods []string) {
	c := a.begin(w, r)
	if r.Method == http.MethodOptions {
		if c.refuse(a.Origin(r)) {
			h := w.Header()
			h.Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
			h.Set("Access-Control-Allow-Headers", "authorization, content-type")
			h.Set("Access-Control-Max-Age", "3600")
			w.WriteHeader(http.StatusNoContent)
		}
		return
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	c.fail(&problem{http.StatusMethodNotAllowed, "Method not allowed", "this path has " + strings.Join(methods, " and ")})
}

// serve carries out a call.
func (a *API) serve(w http.ResponseWriter, r *http.Request, to route) {
	c := a.begin(w, r)
	err := a.Origin(r)
	name := r.PathValue("table")
	if err == nil && to.path != "/v1/table" {
		err = checkName(to.name, name)
	}
	if err != nil {
		c.refuse(err)
		return
	}
	c.name, c.status = name, to.status
	// The database's names of the tables of its own instance are plain.
	err = a.Guard(r, Call{Name: "json.v1/" + to.name, As: to.as, Table: name, Sent: &c.sent}, func(ctx context.Context) error {
		return c.run(ctx, a, to.do)
	})
	if err != nil {
		c.fail(err)
		return
	}
	c.end()
}

// checkName is Smoltable's rule for the names of tables, and its answer.
func checkName(call, name string) error {
	wrong := &problem{http.StatusBadRequest, "Invalid table name", "a name has 1 to 511 letters, digits, and characters of - _ . # $"}
	if strings.HasPrefix(name, "_") {
		if wrong.detail = "a name does not begin with _"; call == "CreateFamilies" {
			wrong.status = http.StatusForbidden
		}
		return wrong
	}
	letter := func(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' }
	if name == "" || len(name) > 511 || strings.ContainsFunc(name, func(r rune) bool { return !letter(r) && !strings.ContainsRune("-_.#$", r) }) {
		return wrong
	}
	if call != "CreateTable" {
		return nil
	}
	if err := schema.CheckTableName(name); err != nil { // which Smoltable would take
		wrong.detail = err.Error()
		return wrong
	}
	return nil
}
