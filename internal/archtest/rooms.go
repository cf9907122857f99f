// Package archtest holds the rooms of the project, which way the arrows between
// them point, and which libraries each of them uses; its test fails on an
// import that is not here. docs/architecture.md says why they point that way.
package archtest

// A room is a package, and what it may import besides the standard library.
type room struct {
	// imports are rooms, by their folders, and libraries, by their modules.
	imports []string
	// tests are those that its tests may import on top, besides testLibraries.
	tests []string
	// c allows import "C".
	c bool
	// main is a command: nobody imports it.
	main bool
}

const (
	aws         = "github.com/aws/aws-sdk-go-v2"
	awsConfig   = "github.com/aws/aws-sdk-go-v2/config"
	awsMetadata = "github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	awsS3       = "github.com/aws/aws-sdk-go-v2/service/s3"
	smithy      = "github.com/aws/smithy-go"
	cobra       = "github.com/spf13/cobra"
	bigtablepb  = "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	adminpb     = "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	iampb       = "cloud.google.com/go/iam/apiv1/iampb"
	longrunning = "cloud.google.com/go/longrunning/autogen/longrunningpb"
	genproto    = "google.golang.org/genproto"
	genprotoRPC = "google.golang.org/genproto/googleapis/rpc"
	grpc        = "google.golang.org/grpc"
	protobuf    = "google.golang.org/protobuf"
	binregexp   = "rsc.io/binaryregexp"
	brotli      = "github.com/andybalholm/brotli"
	compress    = "github.com/klauspost/compress"
	grocksdb    = "github.com/linxGnu/grocksdb"
	liner       = "github.com/peterh/liner"
	mapstruct   = "github.com/go-viper/mapstructure/v2"
	lz4         = "github.com/pierrec/lz4/v4"
	parquet     = "github.com/parquet-go/parquet-go"
	pretty      = "github.com/jedib0t/go-pretty/v6"
	prometheus  = "github.com/prometheus/client_golang"
	progressbar = "github.com/schollz/progressbar/v3"
	pty         = "github.com/creack/pty"
	runewidth   = "github.com/mattn/go-runewidth"
	xsync       = "golang.org/x/sync"
	xsys        = "golang.org/x/sys"
	xtime       = "golang.org/x/time"
	term        = "golang.org/x/term"
	uuid        = "github.com/google/uuid"
	viper       = "github.com/spf13/viper"
	xxhash      = "github.com/cespare/xxhash/v2"
	yaml        = "go.yaml.in/yaml/v3"

	bigtable   = "cloud.google.com/go/bigtable"
	apiOptions = "google.golang.org/api"
	civil      = "cloud.google.com/go"
	datadriven = "github.com/cockroachdb/datadriven"
	goleak     = "go.uber.org/goleak"
	gointernal = "github.com/rogpeppe/go-internal"
	porcupine  = "github.com/anishathalye/porcupine"
	rapid      = "pgregory.net/rapid"
)

// testLibraries are those that every test may import.
var testLibraries = []string{"internal/nilcheck", datadriven, goleak, gointernal, porcupine, rapid}

// rooms are all packages, from the bottom up.
var rooms = map[string]room{
	"cells":          {},
	"tuple":          {imports: []string{uuid}},
	"tuple/subspace": {imports: []string{"tuple"}},
	"schema":         {imports: []string{"cells", yaml}},

	"cf":        {imports: []string{"cells", "tuple", compress}},
	"cf/cftest": {imports: []string{"cf", rapid}},
	"cf/rocks":  {imports: []string{"cf", "internal/claim", "internal/lock", grocksdb, xsync}, tests: []string{"cf/cftest"}, c: true},

	"query":    {imports: []string{"cells", "schema", "cf", "cf/rocks", "tuple", "internal/claim", "internal/lock", "internal/osfile", binregexp, uuid, xsync, xxhash}, tests: []string{"cf/cftest"}},
	"query/ql": {imports: []string{"query", "schema", "cells", "tuple", uuid}},
	"transfer": {imports: []string{"query", "schema", "cells", "internal/parquetrows", compress, parquet, progressbar, xsync}},

	// The only package that knows object stores.
	"archive": {imports: []string{"query", "internal/claim", "internal/osfile", aws, awsConfig, awsMetadata, awsS3, smithy, progressbar, uuid, xsync, xtime}, tests: []string{"cells", "schema"}},

	// The server alone knows gRPC, and with its language protocol buffers.
	// Bigtable's client is in its tests and not in the binary, which it would
	// make five times as large.
	"server/sql":      {imports: []string{"query", "schema", "cells", bigtablepb, genproto, protobuf}},
	"server/smolwcpb": {imports: []string{grpc, protobuf}},
	"server": {
		imports: []string{"query", "schema", "cells", "archive", "server/sql", "server/smolwcpb", "internal/osfile", bigtablepb, adminpb, iampb, longrunning, genproto, genprotoRPC, grpc, prometheus, protobuf},
		tests:   []string{bigtable, apiOptions, civil},
	},

	// The shell is handed a query.DB and prints its rows.
	"shell": {imports: []string{"query/ql", "transfer", "archive", "query", "schema", "cells", "internal/osfile", liner, pretty, runewidth, term}, tests: []string{pty, "tuple"}},

	"internal/config":   {imports: []string{"query", "schema", viper, mapstruct, yaml}},
	"internal/archtest": {},
	"internal/claim":    {imports: []string{"internal/osfile"}},
	"internal/lock":     {imports: []string{xsync}},
	"internal/nilcheck": {},
	"internal/osfile":   {imports: []string{xsys}},
	// What the library makes of pages of others is mended here.
	"internal/parquetrows": {imports: []string{"cells", brotli, compress, lz4, parquet}},

	"cmd/smolwc": {
		imports: []string{"cells", "schema", "query", "query/ql", "transfer", "archive", "shell", "server", "internal/config", cobra, term},
		tests:   []string{pty, bigtable, apiOptions, grpc, protobuf},
		c:       true, // its allocator's setting
		main:    true,
	},

	// Only tests, of the pages against the code.
	"docs": {tests: []string{"cells", "tuple", "schema", "cf", "cf/rocks", "query", "query/ql", "transfer", "shell"}},
}

// module is the path that the rooms' import paths begin with.
const module = "github.com/smolwc/smolwc"
