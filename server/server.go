// Package server serves a database to Bigtable's clients: google.bigtable.v2
// and google.bigtable.admin.v2 over gRPC.
//
// [New] makes the services of a database, [Server.Serve] serves them. A client's
// projects/P/instances/I/tables/T is the table P/I/T of the database, or T alone
// for the one instance that is the database's own.
//
// Calls that are not served return Unimplemented; no call ends the process.
package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/standbys"
	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/branch"
	"github.com/smolwc/smolwc/internal/spans"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/internal/access"
	"github.com/smolwc/smolwc/server/internal/account"
	"github.com/smolwc/smolwc/server/internal/admin"
	"github.com/smolwc/smolwc/server/internal/branches"
	"github.com/smolwc/smolwc/server/internal/calls"
	"github.com/smolwc/smolwc/server/internal/codec"
	"github.com/smolwc/smolwc/server/internal/data"
	"github.com/smolwc/smolwc/server/internal/heat"
	"github.com/smolwc/smolwc/server/internal/history"
	"github.com/smolwc/smolwc/server/internal/statements"
	"github.com/smolwc/smolwc/views"
)

// DefaultInstance is the instance whose tables have plain names in the database.
const DefaultInstance = wire.DefaultInstance

// CheckInstance validates the name of an instance.
func CheckInstance(name string) error { return wire.CheckInstance(name) }

// Options say how a database is served. The zero value serves it to any client
// that connects.
type Options struct {
	// Instance is the instance of the tables with plain names in the database:
	// projects/P/instances/I. Empty is [DefaultInstance].
	Instance string
	// GRPC are options of the gRPC server: credentials, limits. Give unary and
	// stream interceptors as chained ones.
	GRPC []grpc.ServerOption
	// Grace is how long the server takes to stop at most, or about two seconds if that is
	// shorter. Calls under way may continue for most of it; then they are cancelled. 0 is
	// 10 s.
	Grace time.Duration
	// Logger gets messages for an operator, and at the level of info each call;
	// nil discards them.
	Logger *slog.Logger
	// LogData also logs the texts of errors about requests and stored data, with row keys
	// and values in them. Otherwise such a call's line shows only the code.
	LogData bool
	// Traces gets a span of each call, with the spans of its reads, writes and queries below
	// it, under the client's span if the call carries the header traceparent. The spans have
	// no row keys and values but with LogData. Nil makes none.
	Traces trace.TracerProvider
	// Tokens are the clients' tokens: once a token exists, every client needs one. Nil
	// means that no client needs a token.
	Tokens *Tokens
	Limits Limits
	// BackupTo are the places to which clients may back up and copy the database;
	// nil allows no places.
	BackupTo archive.Places
	// Backups are made while the server serves, of a standby too, but not once another server
	// was promoted in its place; nil makes none.
	Backups *archive.Schedule
	// Moments sends the log of the database to an archive while the server serves, until all calls have ended; nil
	// sends nothing.
	Moments *moments.Sender
	// Standbys serves the calls of standbys: the Service of a Primary or a Standby of
	// package standby. Nil means that the server refuses these calls.
	Standbys standbys.Service
	// Origins are the origins whose pages may use the JSON API of a server without
	// tokens, such as https://example.com, besides the server's own; * is all.
	Origins []string
	// History keeps the history of the metrics for [Server.History]: in memory and, unless
	// the database is shared with other processes or Test is set, also in a table of the
	// database that no list shows.
	History bool
	// BigtableSQL refuses queries that Bigtable refuses: joins, subqueries, WITH, UNION and
	// similar.
	BigtableSQL bool
	// Branches serves the branches of the database too; nil serves none. A standby refuses calls
	// about them.
	Branches *BranchOptions
	// Test gives tests control of the server; nil gives them none. The database must be
	// opened with its clock, and have no data that matter.
	Test *TestMode
}

// Limits bound the memory and connections that clients can use. 0 means the default.
type Limits = account.Limits

// A Server serves one database. It is safe for concurrent use.
type Server struct {
	names
	logger  *slog.Logger
	logData bool
	tracer  trace.Tracer // nil without
	grace   time.Duration
	grpc    []grpc.ServerOption
	health  *health.Server

	backupTo archive.Places
	backups  *archive.Schedule
	moments  *moments.Sender

	standbys  standbys.Service
	isStandby bool // or a primary that was replaced
	replaced  bool // a primary that takes no writes any longer

	access  access.Control
	limits  Limits
	guard   guard
	calls   calls.Registry
	conns   *account.Conns
	codec   *codec.Codec
	metrics *metrics
	history *history.Recorder // nil without
	test    *TestMode

	bigtableSQL bool          // queries have only parts that Bigtable has
	branches    *branchServer // nil without

	state   atomic.Int32
	refuses atomic.Bool // calls that are not of standbys, while a server that stops waits for one

	origins   []string
	jsonCalls sync.WaitGroup // calls of the JSON API

	// closing ends when the server is about to stop.
	closing context.Context
	close   context.CancelFunc
	// cut ends when the calls that have not ended are cancelled.
	cut    context.Context
	setCut context.CancelFunc
}

// New makes the services of a database, which must stay open for as long as
// they are used.
func New(db *query.DB, o Options) (*Server, error) {
	s := &Server{logger: o.Logger, logData: o.LogData, grace: o.Grace, grpc: o.GRPC, health: health.NewServer(), limits: o.Limits, backupTo: o.BackupTo, backups: o.Backups, moments: o.Moments, test: o.Test, bigtableSQL: o.BigtableSQL, origins: o.Origins}
	if o.Traces != nil {
		s.tracer = o.Traces.Tracer(spans.Scope)
	}
	s.limits.SetDefaults()
	s.closing, s.close = context.WithCancel(context.Background())
	s.cut, s.setCut = context.WithCancel(context.Background())
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if s.grace == 0 {
		s.grace = 10 * time.Second
	}
	if s.standbys = o.Standbys; s.standbys != nil {
		is, err := s.standbys.ListReplicas(context.Background(), new(smolwcpb.ListReplicasRequest))
		if err != nil {
			return nil, err
		}
		s.replaced = is.GetFencedBy() != ""
		s.isStandby = is.GetStandby() || s.replaced
	}
	s.access = access.Control{Tokens: o.Tokens, Logger: s.logger}
	s.guard.s = s
	s.calls.Describe, s.calls.TableOf = rowsOf, s.tableOf
	s.conns = account.NewConns(s.limits, s.logger)
	s.codec = codec.New(s.conns)
	s.metrics = newMetrics(s)
	o.Instance = cmp.Or(o.Instance, DefaultInstance)
	if err := CheckInstance(o.Instance); err != nil {
		return nil, err
	}
	own, _ := wire.ParseInstance(o.Instance)
	if err := o.BackupTo.Check(); err != nil {
		return nil, err
	}
	if err := s.names.open(context.Background(), db, own, views.In(db, own.String()), s.logger); err != nil {
		return nil, err
	}
	s.catalog.Heat = heat.New(heat.Options{})
	if o.Branches != nil {
		s.branches = (&branchServer{
			names: &s.names, o: *o.Branches, logger: s.logger, deadline: s.limits.Deadline, likeBigtable: s.bigtableSQL, follows: s.isStandby,
			leads: func() (context.Context, func()) { return s.whileItLeads(s.closing) },
		}).begin()
	}
	if s.test != nil {
		s.test.server = s
	}
	if o.History {
		s.history = history.New(s.metrics.registry.Gather, s.logger)
	}
	return s, nil
}

func (s *Server) made() bool { return s != nil && s.closing != nil }

// Register adds the services to a gRPC server, which must have been made with
// [Server.ServerOptions].
func (s *Server) Register(to *grpc.Server) {
	if !s.made() || to == nil {
		return
	}
	var parts grpc.ServiceRegistrar = to
	if s.branches != nil {
		parts = branches.Switched(to, s.branches)
	}
	leads, _ := s.whileItLeads(s.closing)
	data.Register(leads, parts, s.catalog, s.views, s.admin.ClusterOf, s.limits.Deadline, s.test != nil, s.bigtableSQL)
	s.admin.Register(parts)
	admin.RegisterDatabase(to, s.catalog.DB, admin.DatabaseOptions{
		Own: s.catalog.Own, BackupTo: s.backupTo, Target: cmp.Or(s.moments.Status().Target, s.backups.Target()), Follows: s.isStandby, Logger: s.logger,
		Branch: func(name string) (branch.Branch, func(context.Context, string) error, error) {
			return s.branchOf(s.branches, name)
		},
	})
	statements.Register(parts, s.catalog, s.replicas)
	smolwcpb.RegisterServerActivityServer(to, activityService{Server: s})
	var standbys smolwcpb.StandbysServer = noStandbys{}
	if s.standbys != nil {
		standbys = s.standbys
	}
	smolwcpb.RegisterStandbysServer(to, standbys)
	grpc_health_v1.RegisterHealthServer(to, s.health)
	reflection.Register(to)
}

// streamWorkers is how many goroutines wait for calls: their stacks have grown
// already. Further calls get goroutines of their own.
const streamWorkers = 32

// How much a client may send ahead, for a call and for all calls of a connection. A
// server that does not set it measures the best value with a ping for every request:
// two more writes and two more reads on both sides. A larger request may be sent as
// soon as its call begins.
const (
	streamWindow = 1 << 20
	connWindow   = 16 << 20
)

// ServerOptions are the options of a gRPC server that serves s.
func (s *Server) ServerOptions() []grpc.ServerOption {
	if !s.made() {
		return nil
	}
	own := []grpc.ServerOption{
		grpc.ForceServerCodecV2(s.codec),
		grpc.InTapHandle(s.guard.tap),
		grpc.MaxRecvMsgSize(int(min(wire.MaxRequest, s.limits.ConnectionBytes, s.limits.Bytes))),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connWindow),
		grpc.MaxConcurrentStreams(uint32(s.limits.Streams)),
		grpc.WaitForHandlers(true), // they use the database, which is closed next
		grpc.StatsHandler(watcher{s}),
		grpc.ChainUnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.stream),
	}
	if s.test != nil {
		own = append(own, grpc.ChainUnaryInterceptor(s.test.unary), grpc.ChainStreamInterceptor(s.test.stream))
	}
	own = append(own, account.ConnectionOptions()...)
	return append(own, s.grpc...)
}

// The states of a server.
const (
	stateNew = iota
	stateServing
	stateStopping
)

// ErrCallsLeft is the error of a stop after which calls are still under way, although they
// were cancelled. Do not close the database then: they use it. The end of the process does no
// harm.
var ErrCallsLeft = errors.New("calls have not ended although they were cancelled; the database is left as after a crash")

// Serve serves until the context ends. Then it reports that it is not ready, accepts no
// new calls, lets the calls under way end within the grace period, and cancels the
// rest. When it returns no call is under way, unless its error is [ErrCallsLeft].
func (s *Server) Serve(ctx context.Context, listener net.Listener) (err error) {
	switch {
	case !s.made():
		return serveError("there is no server; New gives one")
	case ctx == nil || listener == nil:
		return serveError("a server needs a context and a listener; one of them is nil")
	}
	g := grpc.NewServer(s.ServerOptions()...)
	s.Register(g)
	stopped, stopRecord := make(chan error, 1), s.record(ctx)
	defer stopRecord()
	stop := context.AfterFunc(ctx, func() {
		s.state.Store(stateStopping)
		s.health.Shutdown()
		s.close()
		if s.standbys != nil {
			if s.standbys.AwaitsStandby() { // a listener that is closed lets none connect
				s.refuses.Store(true)
				s.endStandbys(stopRecord)
			} else {
				go s.endStandbys(stopRecord)
			}
		}
		stopped <- s.stop(g)
	})
	s.state.CompareAndSwap(stateNew, stateServing)
	defer s.sendMoments()()
	leads, stopLeading := s.whileItLeads(ctx)
	defer stopLeading()
	if !s.isStandby { // its primary, or the one that leads now, does this
		defer s.admin.KeepBackups(leads)()
		defer s.admin.KeepViews(leads)()
	}
	if !s.replaced {
		defer s.backUp(leads)()
	}
	go s.catalog.Heat.Run(s.closing)
	if s.catalog.DB.Plumbing().Shared() {
		go s.followNotes()
	}
	if s.branches != nil {
		defer func() {
			if !errors.Is(err, ErrCallsLeft) {
				s.branches.pool.Close()
			}
		}()
	}
	served := make(chan error, 1)
	go func() { served <- g.Serve(s.conns.Listen(listener)) }() // it waits for all calls
	select {
	case err := <-served:
		if stop() { // it ended without a request to stop
			s.state.Store(stateStopping)
			g.Stop()
			return err
		}
		return <-stopped
	case err := <-stopped:
		return err
	}
}

// endStandbys ends the calls of standbys when all others have ended and the last sample of the
// metrics is written: until then they acknowledge writes. Nothing is written after that, so a
// standby that is promoted next misses nothing.
func (s *Server) endStandbys(stopRecord func()) {
	defer s.standbys.Stop()
	end := time.Now().Add(s.grace)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	defer s.standbys.Drain(ctx)
	defer stopRecord()
	for s.guard.calls.Load() > s.guard.followers.Load() && time.Now().Before(end) {
		time.Sleep(time.Millisecond)
	}
}

// whileItLeads is a context that ends when another server takes the writes. Then its cause
// is an error for clients.
func (s *Server) whileItLeads(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	if s.standbys != nil {
		go func() {
			select {
			case <-s.standbys.Fenced():
				end(status.Errorf(codes.Unavailable, "%s was promoted in the place of this server; ask that one", s.standbys.Leader()))
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { end(nil) }
}

// backUp makes the backups of the schedule until stop is called, which waits for its end.
func (s *Server) backUp(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.backups.Run(ctx) })
	return func() { cancel(); running.Wait() }
}

// sendMoments sends the log until another server leads, or stop is called, which waits for its end.
func (s *Server) sendMoments() (stop func()) {
	if s.moments == nil {
		return func() {}
	}
	ctx, cancel := s.whileItLeads(context.Background()) // calls that end write still
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.moments.Run(ctx); err != nil {
			s.logger.Error("no further moments can be restored from the archive", "err", err)
		}
	}()
	return func() { cancel(); <-done }
}

// followNotes takes over the notes of tables that other processes change, for the calls
// about rows. Those about tables reload them themselves.
func (s *Server) followNotes() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-s.closing.Done():
			return
		case <-tick.C:
			if err := s.admin.Reload(s.closing); err != nil && s.closing.Err() == nil {
				s.logger.Warn("cannot read the notes of tables", "error", err)
			}
		}
	}
}

// notFound is the error of package query for the status of something that is not there.
func notFound(op string, err error) error {
	return &query.Error{Op: op, Kind: query.KindNotFound, Err: errors.New(status.Convert(err).Message())}
}

func serveError(text string) error {
	return &query.Error{Op: "serve", Kind: query.KindInvalidArgument, Err: errors.New(text)}
}

// silentStop is how long a stop waits before it logs the calls under way.
const silentStop = 500 * time.Millisecond

func (s *Server) stop(g *grpc.Server) error {
	slow := time.AfterFunc(min(silentStop, s.grace/2), func() {
		s.logger.Warn("stopping: waiting for calls to end", "calls", s.guard.calls.Load(), "up_to", s.grace)
	})
	defer slow.Stop()
	ended := calls.Stop(g, s.grace, s.logger, func() {
		s.setCut()
		s.calls.CancelAll()
	})
	if ended {
		return nil
	}
	for _, c := range s.calls.List(time.Now(), func(*access.Token) bool { return true }).Running {
		s.logger.Error("a call has not ended although it was cancelled", "method", c.Method, "table", c.Table, "took", c.Took)
	}
	return ErrCallsLeft
}
