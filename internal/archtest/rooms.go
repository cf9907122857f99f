// Package archtest holds the rooms of the project, which way the arrows between
// them point, and which libraries each of them uses; its test fails on an
// import that is not here. docs/architecture.md describes the folders, and the comment
// of each package its room.
package archtest

// A room is a package, with its permitted imports besides the standard library.
type room struct {
	// imports are rooms, by their folders, and libraries, by their modules.
	imports []string
	// tests are imports of its tests only, besides testLibraries.
	tests []string
	// c allows import "C".
	c bool
	// main marks a command: no package imports it.
	main bool
}

const (
	minio           = "github.com/minio/minio-go/v7"
	ini             = "gopkg.in/ini.v1"
	cron            = "github.com/robfig/cron"
	cobra           = "github.com/spf13/cobra"
	templates       = "github.com/DataDog/datadog-agent/pkg/template"
	bigtablepb      = "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	adminpb         = "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	iampb           = "cloud.google.com/go/iam/apiv1/iampb"
	longrunning     = "cloud.google.com/go/longrunning/autogen/longrunningpb"
	genproto        = "google.golang.org/genproto"
	genprotoAPI     = "google.golang.org/genproto/googleapis/api"
	genprotoRPC     = "google.golang.org/genproto/googleapis/rpc"
	etcd            = "go.etcd.io/etcd/client/v3"
	etcdAPI         = "go.etcd.io/etcd/api/v3"
	zap             = "go.uber.org/zap"
	grpc            = "google.golang.org/grpc"
	protobuf        = "google.golang.org/protobuf"
	binregexp       = "rsc.io/binaryregexp"
	brotli          = "github.com/andybalholm/brotli"
	compress        = "github.com/klauspost/compress"
	grocksdb        = "github.com/linxGnu/grocksdb"
	jsontext        = "github.com/go-json-experiment/json"
	liner           = "github.com/peterh/liner"
	mcpsdk          = "github.com/modelcontextprotocol/go-sdk"
	mapstruct       = "github.com/go-viper/mapstructure/v2"
	lz4             = "github.com/pierrec/lz4/v4"
	pebble          = "github.com/cockroachdb/pebble/v2"
	parquet         = "github.com/parquet-go/parquet-go"
	otel            = "go.opentelemetry.io/otel"
	otlp            = "go.opentelemetry.io/proto/otlp"
	pflag           = "github.com/spf13/pflag"
	prometheus      = "github.com/prometheus/client_golang"
	prometheusModel = "github.com/prometheus/client_model"
	progressbar     = "github.com/schollz/progressbar/v3"
	pty             = "github.com/creack/pty"
	runewidth       = "github.com/mattn/go-runewidth"
	oauth2          = "golang.org/x/oauth2"
	xsync           = "golang.org/x/sync"
	xsys            = "golang.org/x/sys"
	xtext           = "golang.org/x/text"
	xtime           = "golang.org/x/time"
	term            = "golang.org/x/term"
	uuid            = "github.com/google/uuid"
	viper           = "github.com/spf13/viper"
	websocket       = "github.com/coder/websocket"
	xxhash          = "github.com/cespare/xxhash/v2"
	yaml            = "go.yaml.in/yaml/v3"

	bigtable   = "cloud.google.com/go/bigtable"
	apiOptions = "google.golang.org/api"
	civil      = "cloud.google.com/go"
	datadriven = "github.com/cockroachdb/datadriven"
	openapi    = "github.com/getkin/kin-openapi"
	goleak     = "go.uber.org/goleak"
	gointernal = "github.com/rogpeppe/go-internal"
	porcupine  = "github.com/anishathalye/porcupine"
	rapid      = "pgregory.net/rapid"
)

// testLibraries are the libraries that every test may import.
var testLibraries = []string{"internal/alerttest", "internal/badnet", "internal/testaddr", datadriven, goleak, gointernal, porcupine, rapid}

// rooms are all packages, from the bottom up.
var rooms = map[string]room{
	"cells":          {},
	"tuple":          {imports: []string{uuid}},
	"tuple/subspace": {imports: []string{"tuple"}},
	"schema":         {imports: []string{"cells", "internal/excerpt", yaml}},

	"cf":           {imports: []string{"cells", "tuple"}},
	"cf/bulk":      {imports: []string{"cf", "tuple", compress, "internal/keysort"}},
	"cf/tally":     {imports: []string{"cf", xxhash}, tests: []string{"cf/cftest"}},
	"cf/ordered":   {imports: []string{"cf", "tuple"}, tests: []string{"cf/cftest"}},
	"cf/merge":     {imports: []string{"cf", "internal/sketch"}, tests: []string{"cells"}},
	"cf/replay":    {imports: []string{"cf", "cf/merge", compress, "internal/keysort"}},
	"cf/isolation": {imports: []string{"cf", "internal/lock"}},
	// Reads RocksDB's files without RocksDB.
	"cf/internal/wal":    {imports: []string{"cf"}},
	"cf/internal/inuse":  {},
	"cf/internal/beside": {imports: []string{"cf"}},
	"cf/internal/ahead":  {imports: []string{"cf"}},
	"cf/internal/kept":   {imports: []string{"cf", "internal/osfile"}},
	// The parts of the store. Those with c are C or C++ with the Go that calls it.
	"cf/rocks/internal/headers":    {c: true},
	"cf/rocks/internal/native":     {imports: []string{"cf", grocksdb}, c: true},
	"cf/rocks/internal/recovery":   {imports: []string{"cf", "cf/internal/wal"}, tests: []string{"cf/rocks"}},
	"cf/rocks/internal/steady":     {imports: []string{"cf", "cf/internal/wal", "cf/rocks/internal/recovery"}},
	"cf/rocks/internal/writequeue": {imports: []string{"cf", "cf/internal/wal"}},
	"cf/rocks/internal/gate":       {imports: []string{"cf"}},
	"cf/rocks/internal/verify":     {imports: []string{"cf", "cf/rocks/internal/native", "cf/internal/wal", grocksdb}, c: true},
	"cf/rocks/internal/scan":       {imports: []string{"cf", "cf/internal/ahead", "cf/rocks/internal/native", grocksdb}, c: true},
	"cf/rocks/internal/callbacks":  {imports: []string{"cf/rocks/internal/native", grocksdb}, c: true},
	"cf/rocks/internal/files":      {imports: []string{"cf", "cf/rocks/internal/native", "internal/claim", grocksdb}, c: true},
	"cf/rocks/internal/tablefile":  {imports: []string{"cf", "cf/rocks/internal/native", grocksdb}, c: true},
	"cf/cftest/memory":             {imports: []string{"cf", "cf/bulk", "cf/isolation", "cf/merge", "cf/ordered"}, tests: []string{"cf/cftest"}},
	"cf/cftest":                    {imports: []string{"cf", "cf/bulk", "cf/cftest/memory", "cf/replay", rapid}},
	"cf/pebble":                    {imports: []string{"internal/fields", "cf/internal/ahead", "cf/internal/beside", "cf", "cf/bulk", "cf/isolation", "cf/merge", "cf/internal/inuse", "cf/internal/kept", "cf/internal/wal", "cf/ordered", "internal/claim", "internal/lock", pebble, xtime}, tests: []string{"cf/cftest"}},
	"cf/rocks":                     {imports: []string{"cf/internal/ahead", "cf/internal/beside", "cf", "cf/rocks/internal/callbacks", "cf/rocks/internal/files", "cf/rocks/internal/gate", "cf/rocks/internal/headers", "cf/isolation", "cf/merge", "cf/rocks/internal/native", "cf/rocks/internal/recovery", "cf/rocks/internal/scan", "cf/rocks/internal/steady", "cf/rocks/internal/tablefile", "cf/rocks/internal/verify", "cf/internal/inuse", "cf/internal/kept", "cf/internal/wal", "cf/rocks/internal/writequeue", "internal/claim", "internal/lock", grocksdb, xsync}, tests: []string{"cf/bulk", "cf/cftest"}},

	// Requests are values, below the engine.
	"query/filter": {imports: []string{"cells", "internal/bytere", "internal/excerpt"}},
	"query/read":   {imports: []string{"cells", "cf", "internal/bytere", "internal/excerpt", "query/filter", "tuple", uuid}},
	"query/write":  {imports: []string{"cells", "query/internal/tags"}},

	"query/internal/compare": {imports: []string{"cells", "cf"}},
	"query/internal/fault":   {imports: []string{"cells", "cf"}},
	"query/internal/tags":    {imports: []string{"cells", "query/internal/fault"}},
	"query/internal/catalog": {imports: []string{"cells", "schema", "cf", "query/write", "query/internal/fault", "internal/sketch", "internal/excerpt"}},
	"query/internal/clock":   {imports: []string{"cells", "cf", "query/internal/fault", "query/internal/catalog"}},
	"query/internal/plan":    {imports: []string{"cells", "schema", "cf", "query/filter", "query/read", "query/internal/compare", "query/internal/fault", "query/internal/catalog", "internal/bytere"}},
	"query/internal/scan":    {imports: []string{"cells", "schema", "cf", "query/filter", "query/read", "query/internal/fault", "query/internal/catalog", "query/internal/plan", "internal/bytere", "internal/excerpt", "internal/spans", otel}},
	"query/internal/changes": {imports: []string{"internal/fields", "cells", "cf", "query/read", "query/write", "query/internal/fault", "query/internal/catalog", "query/internal/clock", uuid, "internal/excerpt", "internal/history"}, tests: []string{"schema", "query/internal/plan"}},
	"query/internal/edit":    {imports: []string{"cells", "schema", "cf", "query/write", "query/internal/fault", "query/internal/catalog", "query/internal/clock", "query/internal/changes", "internal/excerpt"}},
	"query/internal/engine":  {imports: []string{"cf", "cf/pebble", "cf/rocks", "internal/osfile", "query/internal/fault"}},
	"query/internal/state":   {imports: []string{"cells", "schema", "cf", "query/internal/fault", "query/internal/catalog", "query/internal/clock", "query/internal/changes", "query/internal/engine", "internal/history", "internal/lock", uuid, "internal/spans"}},
	"query/internal/gc":      {imports: []string{"cells", "schema", "cf", "query/write", "query/internal/catalog", "query/internal/changes", "query/internal/edit", "query/internal/state"}},
	"query/internal/alter":   {imports: []string{"schema", "cf", "query/internal/fault", "query/internal/catalog", "query/internal/state", "query/internal/gc"}},
	"query/internal/overlap": {imports: []string{"cells", "schema", "cf", "cf/bulk", "query/internal/fault", "query/internal/catalog", "query/internal/state", "internal/excerpt"}},
	"query/internal/twin":    {imports: []string{"cells", "cf", "cf/bulk", "cf/tally", "query/internal/fault", "query/internal/catalog", "query/internal/state", "internal/lock", xsync}},

	"query/plumbing":  {imports: []string{"cells", "cf", "query/internal/catalog", "query/internal/engine", "query/internal/fault", "query/internal/state", "query/write", "schema", uuid}},
	"query":           {imports: []string{"cells", "schema", "cf", "cf/bulk", "query/read", "query/write", "query/plumbing", "query/internal/fault", "query/internal/catalog", "query/internal/clock", "query/internal/plan", "query/internal/scan", "query/internal/changes", "query/internal/edit", "query/internal/state", "query/internal/gc", "query/internal/alter", "query/internal/overlap", "query/internal/tags", "query/internal/twin", "query/internal/engine", "internal/lock", "internal/osfile", uuid, xsync, "internal/excerpt"}, tests: []string{"query/filter", "query/querytest", "cf/rocks", "cf/cftest", "internal/bytere", "tuple", binregexp}},
	"query/querytest": {imports: []string{"cells", "schema", "cf", "query/read", "query/write", "query", "query/plumbing", rapid, porcupine}, tests: []string{"cf/cftest"}},
	"queue":           {imports: []string{"query/rowmap", "internal/walltime", "cf", "tuple", "query/read", "query", "internal/excerpt", prometheus, cron, uuid}, tests: []string{"cells", "query/write", "schema"}},
	"directory":       {imports: []string{"query/rowmap", "tuple", "tuple/subspace", "query/read", "query/write", "query", "internal/excerpt"}, tests: []string{"schema", "cells"}},
	"ql/lex":          {imports: []string{"schema", "cells", "internal/walltime"}},
	"ql/dialect":      {imports: []string{"ql/lex", "schema", "cells"}},
	"ql":              {imports: []string{"ql/dialect", "ql/lex", "query/read", "schema", "cells", "tuple", uuid}},
	"ql/exec":         {imports: []string{"internal/bytere", "internal/walltime", "api/activity", "sql", "views", "ql", "ql/lex", "directory", "queue", "query", "query/filter", "query/read", "query/write", "schema", "cells", "tuple", "internal/humanize"}},
	"transfer":        {imports: []string{"internal/osfile", "query", "query/plumbing", "query/read", "query/write", "schema", "cells", "internal/bar", "internal/excerpt", "internal/parquetrows", compress, parquet, xsync, "internal/humanize"}},

	"transfer/statement": {imports: []string{"cells", "internal/humanize", "ql", "ql/exec", "ql/lex", "transfer"}},

	"branch": {imports: []string{"cells", "cf", "internal/claim", "internal/osfile", "query", "query/plumbing", "query/write", "schema", uuid, xsync}},

	// The only package that uses object stores.
	"archive":         {imports: []string{"query", "query/plumbing", "internal/bar", "internal/claim", "internal/osfile", ini, minio, uuid, xsync, xtime}, tests: []string{"cells", "schema", "query/read", "query/write"}},
	"archive/moments": {imports: []string{"archive", "cf", "cf/replay", "internal/bar", "internal/history", "internal/osfile", "query", "query/plumbing", "schema", "standby", compress, xsync}, tests: []string{"api/smolwcpb", "cells", "query/read", "query/write", grpc}},

	// SQL knows neither the server nor Bigtable's messages, which api/wire converts: the shell
	// runs it too. Only the server's packages, the client, standbys and copies from Bigtable know gRPC. Bigtable's
	// client is in the server's tests and not in the binary, which it would make five times
	// as large.
	"sql/parse":    {},
	"sql/value":    {imports: []string{"cells", "schema", "internal/walltime", "sql/parse", protobuf}},
	"sql/function": {imports: []string{"cells", "internal/walltime", "sql/parse", "sql/value", xtext}, tests: []string{xsys}},
	"sql/message":  {imports: []string{"sql/parse", "sql/value", "internal/excerpt", protobuf}},
	"sql/rowkey":   {imports: []string{"cells", "cf", "sql/parse", "sql/value"}},
	"sql/run":      {imports: []string{"cells", "cf", "query", "query/read", "schema", "sql/message", "sql/parse", "sql/value", "internal/sketch", protobuf, "internal/spans", otel, "internal/humanize", "internal/keysort"}},
	"sql/bind":     {imports: []string{"cells", "cf", "query/read", "schema", "sql/function", "sql/message", "sql/parse", "sql/rowkey", "sql/run", "sql/value", "internal/sketch", protobuf}},
	"sql":          {imports: []string{"query", "query/read", "cells", "schema", "sql/bind", "sql/parse", "sql/rowkey", "sql/run", "sql/value"}, tests: []string{"cf", "query/write", "sql/message", protobuf, xsys}},
	// Queries of tables and views, for Go programs, the shell and the server.
	"views":                      {imports: []string{"sql/run", "internal/fields", "cells", "cf", "query", "query/read", "query/write", "schema", "sql", "sql/message", "sql/rowkey", "sql/value", "internal/lock", "internal/storedname", protobuf}, tests: []string{adminpb}},
	"api/smolwcpb":               {imports: []string{bigtablepb, grpc, protobuf}},
	"api/standbys":               {imports: []string{"api/smolwcpb"}},
	"api/leader":                 {imports: []string{"api/wire", grpc}},
	"api/wire":                   {imports: []string{"internal/storedname", "schema", "cells", "query/filter", "query/read", "query/write", "api/smolwcpb", "sql/parse", "sql/value", adminpb, bigtablepb, genproto, grpc, protobuf}},
	"api/activity":               {},
	"server/internal/heat":       {imports: []string{"api/activity"}},
	"server/internal/calls":      {imports: []string{"api/wire", "api/activity", "server/internal/access", "server/internal/account", grpc, otel}},
	"server/internal/access":     {imports: []string{"query/plumbing", "schema", "internal/osfile", "api/smolwcpb", grpc}},
	"server/internal/account":    {imports: []string{"cf", "query/plumbing", "api/wire", grpc}},
	"server/internal/codec":      {imports: []string{"server/internal/account", "api/wire", bigtablepb, grpc, protobuf}},
	"server/internal/catalog":    {imports: []string{"query/write", "server/internal/calls", "server/internal/heat", "cells", "cf", "query", "query/plumbing", "query/read", "schema", "sql", "sql/message", "views", "internal/excerpt", "api/wire", adminpb, grpc, protobuf}},
	"server/internal/branches":   {imports: []string{"api/smolwcpb", grpc, protobuf}},
	"server/internal/history":    {imports: []string{"query", "query/read", "query/write", "schema", "cells", prometheusModel}, tests: []string{prometheus}},
	"server/internal/admin":      {imports: []string{"branch", "server/internal/heat", "views", "query", "query/read", "schema", "cells", "archive", "archive/moments", "internal/osfile", "server/internal/access", "server/internal/account", "server/internal/catalog", "api/smolwcpb", "sql/message", "internal/excerpt", "api/wire", adminpb, iampb, longrunning, grpc, protobuf}},
	"server/internal/data":       {imports: []string{"query", "query/plumbing", "cf", "query/filter", "query/read", "query/write", "schema", "cells", "server/internal/account", "server/internal/access", "server/internal/catalog", "server/internal/codec", "views", "api/smolwcpb", "sql", "sql/value", "api/wire", adminpb, bigtablepb, genprotoRPC, grpc, protobuf}},
	"server/internal/statements": {imports: []string{"ql", "ql/exec", "ql/lex", "directory", "queue", "schema", "cells", "server/internal/access", "server/internal/account", "server/internal/catalog", "api/smolwcpb", "api/wire", grpc}},
	"server/internal/jsonapi":    {imports: []string{"query", "query/read", "query/write", "schema", "cells", "server/internal/access", "server/internal/account", "server/internal/admin", "server/internal/catalog", "internal/excerpt", "api/wire", grpc, jsontext}, tests: []string{"server", openapi}},
	"server": {
		imports: []string{"api/standbys", "branch", "server/internal/branches", "internal/excerpt", "api/activity", "server/internal/calls", "server/internal/heat", "query", "schema", "archive", "archive/moments", "server/internal/access", "server/internal/account", "server/internal/admin", "server/internal/catalog", "server/internal/codec", "server/internal/data", "server/internal/history", "server/internal/jsonapi", "server/internal/statements", "views", "api/smolwcpb", "sql", "api/wire", adminpb, bigtablepb, grpc, prometheus, protobuf, "internal/spans", otel},
		tests:   []string{"cf/cftest", "cells", "schema", "query/filter", "query/read", "query/write", "client", iampb, longrunning, genproto, bigtable, apiOptions, civil, yaml},
	},
	// Copies of a database on other machines, which follow it.
	"standby":       {imports: []string{"api/standbys", "cells", "cf", "cf/pebble", "cf/rocks", "cf/tally", "query", "query/plumbing", "query/write", "schema", "internal/claim", "internal/history", "internal/osfile", "api/wire", "api/smolwcpb", grpc}, tests: []string{"query/read"}},
	"standby/lease": {imports: []string{"api/smolwcpb", etcd, etcdAPI, zap}},
	// Which server leads which instance, and the router that passes calls on to it.
	"shardmap":     {imports: []string{"internal/excerpt", "api/wire", jsontext}},
	"server/route": {imports: []string{"api/leader", "shardmap", "server", "server/internal/account", "server/internal/calls", "api/smolwcpb", "api/wire", adminpb, bigtablepb, longrunning, genprotoAPI, grpc, prometheus, protobuf}, tests: []string{"api/standbys", "cf", "cells", "schema", "query", "query/read", "query/write", "client", "standby", bigtable, apiOptions}},

	"client":          {imports: []string{"internal/fields", "branch", "api/leader", "api/activity", "sql", "cf", "query", "query/filter", "query/read", "query/write", "schema", "cells", "archive", "archive/moments", "api/smolwcpb", "internal/bar", "api/wire", adminpb, bigtablepb, grpc, protobuf, xsync}, tests: []string{"server", bigtable}},
	"client/bigtable": {imports: []string{"api/wire", "cells", "cf", "query", "query/read", "query/write", "schema", adminpb, bigtablepb, grpc, oauth2, protobuf, uuid, xsync, xtime, xxhash}, tests: []string{"server", bigtable}},

	"client/remote": {imports: []string{"cells", "client", "query", "ql/exec", "query/read", "api/smolwcpb"}},

	// Regions: the messages, the parts of a server, and the processes made of them.
	"rhino":                    {imports: []string{"cells"}},
	"rhino/internal/link":      {imports: []string{"rhino", websocket}},
	"rhino/internal/door":      {imports: []string{"rhino", websocket, xsync}},
	"rhino/internal/facts":     {imports: []string{"tuple", "schema", "query/read", "query", "query/rowmap", "rhino"}},
	"rhino/internal/control":   {imports: []string{"schema", "query", "queue", "query/rowmap", "rhino", "rhino/internal/facts"}},
	"rhino/internal/region":    {imports: []string{"cells", "tuple", "schema", "query/read", "query/write", "query", "directory", "rhino", "rhino/internal/facts", "rhino/internal/link"}},
	"rhino/internal/front":     {imports: []string{"rhino", "rhino/internal/link"}},
	"rhino/internal/replicate": {imports: []string{"rhino", "rhino/internal/facts", "rhino/internal/link"}},
	"rhino/node":               {imports: []string{"schema", "query", "rhino", "rhino/internal/control", "rhino/internal/door", "rhino/internal/front", "rhino/internal/link", "rhino/internal/region", "rhino/internal/replicate", "internal/osfile", prometheus, websocket, yaml}},

	// The shell is handed a query.DB and prints its rows.
	"shell/internal/tty": {imports: []string{"internal/osfile", liner, runewidth}},
	"shell":              {imports: []string{"sql", "sql/value", "shell/internal/tty", "ql", "ql/exec", "ql/lex", "transfer", "archive", "archive/moments", "query", "query/read", "query/write", "schema", "cells", "tuple", "internal/osfile", liner, runewidth, term, "internal/humanize", "transfer/statement"}, tests: []string{"directory", "queue", "shell/shelltest", pty}},
	"shell/shelltest":    {imports: []string{"query", "shell", datadriven}},

	// Agents' protocol, and the only package with its library.
	"mcp": {imports: []string{"branch", "cells", "cf", "client", "query", "query/read", "query/write", "schema", "sql", "sql/value", "views", mcpsdk}, tests: []string{"api/smolwcpb", "cli", "server", adminpb, grpc}},

	"cli/internal/config": {imports: []string{"query", "schema", "internal/osfile", viper, mapstruct, yaml}},
	"internal/archtest":   {},
	"internal/bytere":     {imports: []string{binregexp}},
	"internal/bar":        {imports: []string{progressbar}},
	"internal/claim":      {imports: []string{"internal/osfile"}},
	"internal/doctor":     {},
	"internal/history":    {},
	"internal/excerpt":    {},
	"internal/fields":     {},
	"internal/humanize":   {},
	"internal/keysort":    {},
	"internal/lock":       {},
	"internal/badnet":     {},
	"internal/alerttest":  {},
	"internal/testaddr":   {},
	"internal/storedname": {},
	"internal/walltime":   {},
	"internal/sketch":     {imports: []string{"cells", xxhash}},
	"query/rowmap":        {imports: []string{"cells", "query", "query/read", "query/write", "internal/excerpt"}},
	"internal/osfile":     {imports: []string{xsys}},
	"internal/spans":      {imports: []string{otel}},
	// Works around faults of the library in reading other programs' pages.
	"internal/parquetrows": {imports: []string{"cells", brotli, compress, lz4, parquet}},

	"console": {imports: []string{"api/activity", "archive", "archive/moments", "cells", "schema", "query", "queue", "ql", "ql/exec", "ql/lex", "query/read", "query/write", "client", "client/remote", "server", "shell", "sql", "sql/value", "transfer", grpc, templates, "internal/humanize", "transfer/statement"}, tests: []string{"api/standbys", "api/smolwcpb", "standby", bigtable, protobuf}},

	"cli": {
		imports: []string{"branch", "console", "cells", "schema", "cf", "query", "query/plumbing", "ql", "ql/exec", "ql/lex", "query/read", "query/write", "transfer", "client/bigtable", "archive", "archive/moments", "shell", "views", "server", "client", "client/remote", "mcp", "rhino/node", "standby", "standby/lease", "shardmap", "server/route", "cli/internal/config", "internal/doctor", "internal/excerpt", "internal/humanize", "internal/osfile", cobra, term, otel, pflag, xtime},
		tests:   []string{"cf/cftest", "directory", "queue", mcpsdk, pty, yaml, bigtable, apiOptions, grpc, protobuf, otlp},
		c:       true, // its allocator's setting
	},
	"cmd/smolwc": {imports: []string{"cli"}, main: true},

	"docs/site":           {main: true},
	"docs/examples/first": {imports: []string{"cells", "query"}, main: true},

	// Only tests, of the files for operators with servers that run.
	"ops": {tests: []string{"cli", yaml}},

	// Only tests, of the pages against the code.
	"docs": {tests: []string{"cells", "tuple", "schema", "cf", "cf/rocks", "query", "directory", "queue", "query/filter", "query/read", "query/write", "ql", "ql/exec", "server", "transfer", "shell"}},
}

// module is the path that the rooms' import paths begin with.
const module = "github.com/smolwc/smolwc"
