package server

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/internal/access"
)

// A TestMode lets tests control a server: its clock, the faults of its calls, and a way
// back to the state in which it started. [Options.Test] gives it to a server, whose pages
// then have the same controls under /test. It is safe for concurrent use.
type TestMode struct {
	prepare func(ctx context.Context, db *query.DB) error
	seed    uint64
	start   *time.Time // the clock's at the start and after a reset; nil: the real time
	server  *Server    // set by New

	resetting sync.Mutex

	mu      sync.Mutex
	frozen  *time.Time // nil: the clock runs
	ahead   time.Duration
	faults  []Fault
	matched []uint64 // by fault, the calls that it was about
	struck  []uint64 // by fault, those that it changed
}

// TestModeOptions are the state in which a server for tests starts.
type TestModeOptions struct {
	// Prepare makes the tables and rows of a new database; nil makes none.
	Prepare func(ctx context.Context, db *query.DB) error
	// Seed decides which calls a fault with a rate below 1 strikes: the same calls in
	// the same order have the same faults.
	Seed uint64
	// Clock is the time at which the clock stands; the zero time lets it run.
	Clock time.Time
}

// NewTestMode makes the controls of one server. The database is opened with Clock as
// [query.Options].Clock, and must be in memory or of no further use: [TestMode.Reset]
// drops all of its tables.
func NewTestMode(o TestModeOptions) *TestMode {
	m := &TestMode{prepare: o.Prepare, seed: o.Seed}
	if !o.Clock.IsZero() {
		m.start = &o.Clock
	}
	m.frozen = m.start
	return m
}

// Clock is the time of the database.
func (m *TestMode) Clock() time.Time {
	if m == nil {
		return time.Now()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now()
}

// now is Clock; m.mu is held.
func (m *TestMode) now() time.Time {
	if m.frozen != nil {
		return *m.frozen
	}
	return time.Now().Add(m.ahead)
}

// Freeze stops the clock at a time.
func (m *TestMode) Freeze(at time.Time) {
	if m == nil {
		return
	}
	m.turnTo(&at)
}

// Advance moves the clock by a duration, whether it stands or runs.
func (m *TestMode) Advance(d time.Duration) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.frozen == nil {
		m.ahead += d
		return
	}
	at := m.frozen.Add(d)
	m.frozen = &at
}

// Run lets the clock run from the real time on.
func (m *TestMode) Run() {
	if m == nil {
		return
	}
	m.turnTo(nil)
}

// Reset brings the server back to its start: the tables and rows of
// [TestModeOptions].Prepare, no app profiles and other entries of clients, no faults, no
// slow calls and hot rows, and the clock of the start. Calls under way may fail.
func (m *TestMode) Reset(ctx context.Context) error {
	if m == nil || m.server == nil {
		return serveError("the controls belong to no server")
	}
	m.resetting.Lock()
	defer m.resetting.Unlock()
	m.mu.Lock()
	m.faults, m.matched, m.struck = nil, nil, nil
	m.mu.Unlock()
	if err := m.clear(ctx); err != nil {
		return err
	}
	m.server.catalog.Heat.ForgetAll()
	m.server.calls.Forget()
	m.rewind()
	if m.prepare != nil {
		if err := m.prepare(ctx, m.server.catalog.DB); err != nil {
			return err
		}
	}
	return m.server.admin.Reload(ctx)
}

// rewind brings the database's timestamps back to the start, before which they may not
// begin: they follow the clock to 1970, and then to the start.
func (m *TestMode) rewind() {
	m.turnTo(&time.Time{})
	m.server.catalog.DB.Now()
	m.turnTo(m.start)
}

func (m *TestMode) turnTo(at *time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.frozen, m.ahead = at, 0
}

// clear removes all tables and notes.
func (m *TestMode) clear(ctx context.Context) error {
	db := m.server.catalog.DB
	if err := m.server.views.Clear(ctx); err != nil {
		return err
	}
	if err := dropAll(ctx, db); err != nil {
		return err
	}
	notes, err := db.Plumbing().Notes(ctx, "")
	if err != nil {
		return err
	}
	for name := range notes {
		if err := db.Plumbing().SetNote(ctx, name, nil); err != nil {
			return err
		}
	}
	return nil
}

// dropAll drops all tables, also those that clients have deleted.
func dropAll(ctx context.Context, db *query.DB) error {
	for _, t := range db.Schema().Tables {
		if err := db.DropTable(ctx, t.Name); err != nil && query.KindOf(err) != query.KindNotFound {
			return err
		}
	}
	s, err := db.Stats(ctx)
	if err != nil {
		return err
	}
	var purge schema.Plan
	for _, d := range s.Deleted {
		purge.Changes = append(purge.Changes, schema.Change{Kind: schema.PurgeTable, Table: d.Table})
	}
	return db.ApplyPlan(ctx, purge)
}

// A Fault changes calls of some methods: it delays them, lets them fail, or both.
type Fault struct {
	// Method is the method's name, or a pattern such as Read* or *. It is compared with
	// the last part of the full name.
	Method string `json:"method"`
	// Rate is the share of the calls that are struck, above 0 and up to 1; 0 means 1.
	Rate float64 `json:"rate,omitempty"`
	// Code is the name of gRPC's code with which the call fails, such as UNAVAILABLE; ""
	// lets it go on after the delay.
	Code string `json:"code,omitempty"`
	// Delay is how long the call waits first: 150ms.
	Delay Delay `json:"delay,omitempty"`
	// AfterMessages lets a stream send this many messages before it fails.
	AfterMessages int `json:"after_messages,omitempty"`
	// Skip is how many calls pass before the first one can be struck.
	Skip int `json:"skip,omitempty"`
	// Times is how many calls are struck at most; 0 is no limit.
	Times int `json:"times,omitempty"`
}

// A Delay is a duration written in JSON as text: "150ms".
type Delay time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Delay) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Delay) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || d == nil {
		return fmt.Errorf("%q is not a duration, as in 150ms", text)
	}
	*d = Delay(v)
	return nil
}

// grpcCodes are gRPC's codes by their names.
var grpcCodes = map[string]codes.Code{
	"CANCELLED": codes.Canceled, "UNKNOWN": codes.Unknown, "INVALID_ARGUMENT": codes.InvalidArgument, "DEADLINE_EXCEEDED": codes.DeadlineExceeded,
	"NOT_FOUND": codes.NotFound, "ALREADY_EXISTS": codes.AlreadyExists, "PERMISSION_DENIED": codes.PermissionDenied,
	"RESOURCE_EXHAUSTED": codes.ResourceExhausted, "FAILED_PRECONDITION": codes.FailedPrecondition, "ABORTED": codes.Aborted,
	"OUT_OF_RANGE": codes.OutOfRange, "UNIMPLEMENTED": codes.Unimplemented, "INTERNAL": codes.Internal, "UNAVAILABLE": codes.Unavailable,
	"DATA_LOSS": codes.DataLoss, "UNAUTHENTICATED": codes.Unauthenticated,
}

func (f *Fault) check() error {
	_, err := path.Match(f.Method, "")
	switch {
	case f.Method == "" || err != nil:
		return fmt.Errorf("method %q is not the name of a method or a pattern, as in ReadRows, Read* or *", f.Method)
	case !slices.ContainsFunc(access.Methods(), f.about):
		return fmt.Errorf("there is no method %s; names are as in ReadRows, MutateRows and CreateTable", f.Method)
	case !(f.Rate >= 0 && f.Rate <= 1):
		return fmt.Errorf("rate %v of %s is not between 0 and 1", f.Rate, f.Method)
	case f.Delay < 0 || f.Skip < 0 || f.Times < 0 || f.AfterMessages < 0:
		return fmt.Errorf("a delay or a number of the fault of %s is negative", f.Method)
	case f.Code == "" && f.Delay == 0:
		return fmt.Errorf("the fault of %s has neither a code nor a delay", f.Method)
	case f.Code == "" && f.AfterMessages > 0:
		return fmt.Errorf("the fault of %s has after_messages and no code", f.Method)
	}
	if _, known := grpcCodes[f.Code]; f.Code != "" && !known {
		return fmt.Errorf("code %q is not one of gRPC's: %s", f.Code, strings.Join(slices.Sorted(maps.Keys(grpcCodes)), ", "))
	}
	return nil
}

// about reports whether the fault is about calls of a method.
func (f *Fault) about(method string) bool {
	ok, _ := path.Match(f.Method, path.Base(method))
	return ok
}

// SetFaults replaces the faults. Of several faults for a call, the first that strikes it
// counts.
func (m *TestMode) SetFaults(faults ...Fault) error {
	if m == nil {
		return serveError("there are no controls")
	}
	for i := range faults {
		if err := faults[i].check(); err != nil {
			return &query.Error{Op: "set faults", Kind: query.KindInvalidArgument, Err: err}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults, m.matched, m.struck = slices.Clone(faults), make([]uint64, len(faults)), make([]uint64, len(faults))
	return nil
}

// Struck returns how many calls each fault of the list struck since it was set. Nil
// controls have no faults.
func (m *TestMode) Struck() []uint64 {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.struck)
}

// strike is the fault that a call meets, nil if it meets none.
func (m *TestMode) strike(method string) *Fault {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.faults {
		f := &m.faults[i]
		if !f.about(method) {
			continue
		}
		n := m.matched[i]
		m.matched[i]++
		if n < uint64(f.Skip) || f.Times > 0 && m.struck[i] >= uint64(f.Times) || !m.chosen(i, n) {
			continue
		}
		m.struck[i]++
		found := *f
		return &found
	}
	return nil
}

// chosen decides about the call n of a fault, by the seed alone.
func (m *TestMode) chosen(fault int, n uint64) bool {
	rate := m.faults[fault].Rate
	if rate == 0 || rate == 1 {
		return true
	}
	h := fnv.New64a()
	fmt.Fprint(h, m.seed, " ", fault)
	return rand.New(rand.NewPCG(h.Sum64(), n)).Float64() < rate
}

func (f *Fault) wait(ctx context.Context) error {
	if f.Delay <= 0 {
		return nil
	}
	t := time.NewTimer(time.Duration(f.Delay))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

func (f *Fault) err(method string) error {
	if f.Code == "" {
		return nil
	}
	return status.Errorf(grpcCodes[f.Code], "the test asked for this fault of %s", path.Base(method))
}

func (m *TestMode) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if f := m.strike(info.FullMethod); f != nil {
		if err := f.wait(ctx); err != nil {
			return nil, err
		}
		if err := f.err(info.FullMethod); err != nil {
			return nil, err
		}
	}
	return handler(ctx, req)
}

func (m *TestMode) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	f := m.strike(info.FullMethod)
	if f == nil {
		return handler(srv, ss)
	}
	if err := f.wait(ss.Context()); err != nil {
		return err
	}
	if f.Code != "" && f.AfterMessages == 0 {
		return f.err(info.FullMethod)
	}
	if f.Code != "" {
		ss = &brokenStream{ServerStream: ss, left: f.AfterMessages, err: f.err(info.FullMethod)}
	}
	return handler(srv, ss)
}

// A brokenStream fails after some messages.
type brokenStream struct {
	grpc.ServerStream
	left int
	err  error
}

// SendMsg implements grpc.ServerStream.
func (s *brokenStream) SendMsg(m any) error {
	if s.left--; s.left < 0 {
		return s.err
	}
	return s.ServerStream.SendMsg(m)
}
