package standby

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
)

// A feed is what a primary and a standby give to standbys: copies, and the log.
type feed struct {
	smolwcpb.UnimplementedStandbysServer
	store atomic.Pointer[cf.Shipper]
	// settled is a time before which no commit comes after the store's position, in
	// microseconds; 0 if it is not known.
	settled atomic.Pointer[func() int64]
	begin   func(context.Context) error             // makes the store ready for standbys
	flush   func(context.Context) error             // of a primary: writes what its database deferred
	date    func(context.Context, cf.Shipper) error // of a primary: makes records say when they were written
	// promote and fence are the calls; replaced is a primary's fence, if any.
	promote func(ctx context.Context, leader string, at time.Time) (*smolwcpb.PromoteResponse, error)
	fence   func(context.Context, *smolwcpb.FenceRequest) error
	// switchover is the call; nil of a standby.
	switchover func(ctx context.Context, to string) (*smolwcpb.SwitchoverResponse, error)
	verify     func(*smolwcpb.VerifyRequest, smolwcpb.Standbys_VerifyServer) error // nil of a primary
	fencedBy   atomic.Pointer[fence]
	acks       *ackTracker   // where writes of a primary wait
	epoch      atomic.Int64  // of a primary; 0 without standbys
	fenced     chan struct{} // closed when replaced is set
	wrong      chan struct{} // closed by markWrong: a standby was found to differ from its primary
	markWrong  func()
	refusal    error // of standbys; nil if there can be some
	// describe adds what a standby says of itself.
	describe func(*smolwcpb.ListReplicasResponse)
	logger   *slog.Logger
	follows  func() string // of a standby: the server that it follows

	copying  *sync.Mutex // one copy of the store at a time
	mu       sync.Mutex
	replicas map[*replica]bool                 // the connected standbys
	verified map[string]*smolwcpb.Verification // the last ones of standbys, by their names
	pending  []promotion                       // that old primaries may not know of
	closed   chan struct{}

	followed, archived atomic.Bool // a standby connected; the log is kept for an archive
}

// A replica is a standby that is connected.
type replica struct {
	name, address   string
	observer        bool // writes never wait for it
	applied, synced uint64
	delay           time.Duration
	behind          int64
	lag             time.Duration
	heard           atomic.Int64 // when it last spoke, in nanoseconds since 1970
}

func newFeed(l *slog.Logger, o SemiSync) *feed {
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	f := &feed{logger: l, copying: new(sync.Mutex), replicas: map[*replica]bool{}, verified: map[string]*smolwcpb.Verification{}, closed: make(chan struct{}), fenced: make(chan struct{}), wrong: make(chan struct{})}
	f.markWrong = sync.OnceFunc(func() { close(f.wrong) })
	f.acks = newAckTracker(o, l, func() uint64 {
		if s := f.store.Load(); s != nil {
			return uint64((*s).Latest())
		}
		return 0
	})
	return f
}

// Leads implements [standbys.Service].
func (f *feed) Leads() bool {
	return f.fencedBy.Load() == nil && f.follows == nil && f.acks.checkLease() == nil
}

// Leader implements [standbys.Service].
func (f *feed) Leader() string {
	if by := f.fencedBy.Load(); by != nil {
		return by.Leader
	}
	if f.follows != nil {
		return f.follows()
	}
	if f.acks.checkLease() == nil {
		return ""
	}
	var is smolwcpb.Lease
	f.acks.lease.Describe(&is)
	return is.GetLeader()
}

// Fenced implements [standbys.Service].
func (f *feed) Fenced() <-chan struct{} { return f.fenced }

// AwaitsStandby implements [standbys.Service].
func (f *feed) AwaitsStandby() bool {
	store := f.store.Load()
	return store != nil && (*store).Ships() != "" && f.acks.lease != nil && f.Leads()
}

// Drain implements [standbys.Service].
func (f *feed) Drain(ctx context.Context) {
	store, err := f.shipper()
	if err != nil || store.Ships() == "" || !f.Leads() {
		return
	}
	if f.flush != nil {
		if err := f.flush(cf.Async(ctx)); err != nil {
			f.logger.Warn("deferred writes are lost", "error", err)
		}
	}
	store.Fence(errStops)
	latest, err := store.SyncLog(ctx)
	if err == nil {
		f.drained(true)
		err = f.acks.drain(ctx, uint64(latest))
		f.drained(false)
	}
	if err == nil {
		return
	}
	f.acks.mu.Lock()
	synced := f.acks.synced
	f.acks.mu.Unlock()
	if f.acks.lease != nil && f.acks.o.Mode != SemiSyncStrict {
		f.acks.lease.Retain()
	}
	if f.archived.Load() && !f.followed.Load() {
		return // the log is kept for the archive, and perhaps there is no standby
	}
	f.logger.Warn("stopping, and no standby has the last writes; start this server again rather than promote one", "error", err, "position", latest, "acknowledged", synced)
}

// drained makes standbys acknowledge at once, as for a write that waits.
func (f *feed) drained(begins bool) {
	q := f.acks
	q.mu.Lock()
	defer q.mu.Unlock()
	q.draining = begins
	close(q.asked)
	q.asked = make(chan struct{})
}

// Stop implements [standbys.Service].
func (f *feed) Stop() {
	f.acks.end(errStops)
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.closed:
	default:
		close(f.closed)
	}
}

// behind is the reason to rebuild a standby without changes of its own.
const behind = "the log that it needs is no longer kept"

// upstreamDiffers is the reason to rebuild a standby that followed a wrong one.
const upstreamDiffers = "the standby that it follows differs from its primary"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func crc(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// crcOfAll is the checksum of some values. It is never 0, which is no checksum: of a
// smolwc that sends none.
func crcOfAll(values ...any) uint32 { return max(1, crc(fmt.Appendln(nil, values...))) }

func crcOfEpoch(e *smolwcpb.Epoch) uint32 {
	return crcOfAll(e.GetNumber(), e.GetId(), e.GetAfter(), e.GetLeader())
}

func crcOfEpochs(h *smolwcpb.Hello) uint32 {
	sums := make([]uint32, len(h.GetEpochs()))
	for i, e := range h.GetEpochs() {
		sums[i] = crcOfEpoch(e)
	}
	return crcOfAll(sums)
}

func crcOfHello(h *smolwcpb.Hello) uint32 {
	return crcOfAll(h.GetDatabase(), h.GetHistory(), crcOfEpoch(h.GetEpoch()), h.GetAfter(), h.GetLast(), h.GetCrc(), h.GetLatest(), h.GetLoading(), h.GetObserver())
}

func crcOfRest(h *smolwcpb.Hello) uint32 {
	return crcOfAll(h.GetName(), h.GetFormat(), h.GetSince(), h.GetCrcSince())
}

func crcOfFile(m *smolwcpb.CopyResponse) uint32 {
	return crcOfAll(m.GetFile().GetName(), m.GetFile().GetSize(), m.GetHave())
}

func crcOfRebuild(m *smolwcpb.FollowResponse) uint32 {
	return crcOfAll(m.GetRebuild(), m.GetOwnAfter())
}

func crcOfAsked(m *smolwcpb.SumsRequest) uint32 {
	hello, rows, result := m.GetHello(), m.GetRange(), m.GetResult()
	sums := make([]uint32, len(rows.GetFamilies()))
	for i, f := range rows.GetFamilies() {
		sums[i] = crcOfAll(f.GetName(), f.GetSince())
	}
	return crcOfAll(hello.GetDatabase(), hello.GetHistory(), crcOfEpoch(hello.GetEpoch()), hello.GetName(), rows != nil, rows.GetStart(), rows.GetEnd(), sums,
		result != nil, result.GetPosition(), result.GetBeganMicros(), result.GetTookMicros(), result.GetDifference())
}

func crcOfSummed(m *smolwcpb.SumsResponse) uint32 {
	s := m.GetSum()
	return crcOfAll(m.GetPosition(), m.GetFamilies(), s != nil, s.GetRows(), s.GetCells(), s.GetBytes(), s.GetChecksum(), s.GetFirst(), m.GetDropped())
}

func crcOfAck(a *smolwcpb.Ack) uint32 { return crcOfAll(a.GetApplied(), a.GetSynced()) }

func crcOfSettled(m *smolwcpb.FollowResponse) uint32 {
	return crcOfAll(m.GetLatest(), m.GetSettledMicros())
}

func crcOfFence(r *smolwcpb.FenceRequest) uint32 {
	return crcOfAll(r.GetDatabase(), r.GetHistory(), crcOfEpoch(r.GetEpoch()))
}

// intact refuses a message that was damaged on the way.
func intact(got, want uint32) error {
	if got != 0 && got != want {
		return status.Error(codes.Unavailable, "the message has changed on the way")
	}
	return nil
}

// shipper is the store, once there is one.
func (f *feed) shipper() (cf.Shipper, error) {
	if s := f.store.Load(); s != nil {
		return *s, nil
	}
	return nil, status.Error(codes.FailedPrecondition, "the database of this server cannot have standbys: its store has no log of its own")
}

// Follow implements [smolwcpb.StandbysServer].
func (f *feed) Follow(stream smolwcpb.Standbys_FollowServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	hello := first.GetHello()
	if hello == nil {
		return status.Error(codes.InvalidArgument, "the first request is no hello")
	}
	if err := cmp.Or(intact(hello.GetCrcOfHello(), crcOfHello(hello)), intact(hello.GetCrcOfEpochs(), crcOfEpochs(hello)), intact(hello.GetCrcOfRest(), crcOfRest(hello))); err != nil {
		return err
	}
	store, err := f.shipper()
	if err != nil {
		return err
	}
	if err := cmp.Or(f.checkUsable(), f.refusal); err != nil {
		return err
	}
	log, rebuild, err := f.open(stream.Context(), store, hello)
	if err != nil {
		return err
	}
	if rebuild != nil {
		f.logger.Warn("a standby has to be rebuilt", "standby", hello.GetName(), "reason", rebuild.GetRebuild())
		return stream.Send(rebuild)
	}
	defer log.Close()
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	if hello.GetDelayMicros() > 0 && f.date != nil {
		if err := f.date(ctx, store); err != nil {
			f.logger.Warn("the log does not say when it was written; a standby with a delay goes by when it comes", "standby", hello.GetName(), "error", err)
		}
	}
	r := f.join(ctx, hello)
	defer f.leave(r)
	m := new(ackSource)
	if !r.observer {
		m = f.acks.connect(r.name, hello.GetLatest())
		defer f.acks.disconnect(m)
	}
	f.logger.Info("a standby follows", "standby", r.name, "address", r.address, "position", hello.GetLast())
	go f.hear(stream, r, m, cancel)
	s := logSender{feed: f, store: store, log: log, stream: stream, replica: r, beat: true, lazy: r.observer || f.acks.o.Mode == SemiSyncOff, heeds: !r.observer}
	err = s.run(ctx)
	switch {
	case f.isWrong():
		return stream.Send(rebuildResponse(0, upstreamDiffers))
	case errors.Is(err, cf.ErrTrimmed):
		return stream.Send(rebuildResponse(0, behind))
	}
	return err
}

// isWrong reports whether a standby was found to differ from its primary. It feeds nobody
// then, and those that follow it are rebuilt as it is.
func (f *feed) isWrong() bool {
	select {
	case <-f.wrong:
		return true
	default:
		return false
	}
}

// checkUsable is the error of a primary that was replaced, and of a standby that is wrong.
func (f *feed) checkUsable() error {
	if f.isWrong() {
		return status.Error(codes.Unavailable, "this standby differs from its primary, and is rebuilt")
	}
	if by := f.fencedBy.Load(); by != nil {
		return status.Errorf(codes.Unavailable, "this server was the primary until %s was promoted (epoch %d); follow that one", by.Leader, by.Number)
	}
	return nil
}

// rebuildResponse tells a standby to rebuild, with the reason. Its changes after a position are its own, if that is not 0.
func rebuildResponse(after uint64, reason string, a ...any) *smolwcpb.FollowResponse {
	m := &smolwcpb.FollowResponse{Rebuild: fmt.Sprintf(reason, a...), OwnAfter: after}
	m.Crc = crcOfRebuild(m)
	return m
}

// open compares a standby with the log, and opens the log after the standby's last
// record. The message is for a standby that cannot follow and must be rebuilt.
func (f *feed) open(ctx context.Context, store cf.Shipper, hello *smolwcpb.Hello) (log cf.Log, _ *smolwcpb.FollowResponse, err error) {
	latest, err := store.SyncLog(ctx) // before the history, which lists the epochs up to it
	if err != nil {
		return nil, nil, err
	}
	id, err := identify(ctx, store)
	if err != nil {
		return nil, nil, err
	}
	if err := id.fits(hello.GetDatabase(), int(hello.GetFormat())); err != nil {
		return nil, nil, err
	}
	switch {
	case hello.GetHistory() != id.history.ID || store.Ships() != id.history.ID:
		return nil, rebuildResponse(0, "the database is a copy, or was restored: its history is another one"), nil
	case hello.GetEpoch().GetNumber() > id.history.Epoch:
		err := f.fence(ctx, fenceRequest(id, forkPoint(id.history, hello)))
		return nil, nil, cmp.Or(f.checkUsable(), err, status.Errorf(codes.Unavailable, "this server has epoch %d, and the standby has followed epoch %d", id.history.Epoch, hello.GetEpoch().GetNumber()))
	}
	if own := fork(id.history, hello); own != nil {
		return nil, rebuildResponse(own.After, "its changes after position %d are its own: epoch %d, which %s leads, began there", own.After, own.Number, own.Leader), nil
	}
	if cf.Position(hello.GetLast()) > latest {
		if f.follows != nil { // this server may get these changes too
			return nil, nil, status.Errorf(codes.Unavailable, "this server is a standby with position %d, and the one that would follow it has position %d", latest, hello.GetLast())
		}
		return nil, rebuildResponse(uint64(latest), "it has changes after position %d, which this database does not have", latest), nil
	}
	if log, err = store.Log(cf.Position(hello.GetAfter())); err == nil && hello.GetLast() > hello.GetAfter() {
		var last *cf.LogRecord
		last, err = log.Next(ctx)
		if err == nil && (last == nil || uint64(last.Last) != hello.GetLast() || crc(last.Data) != hello.GetCrc()) {
			err = cf.ErrDiverged
		}
	}
	if err == nil {
		err = recognize(ctx, store, hello)
	}
	if err == nil {
		return log, nil, nil
	}
	if log != nil {
		log.Close()
	}
	switch {
	case errors.Is(err, cf.ErrTrimmed):
		return nil, rebuildResponse(0, behind), nil
	case errors.Is(err, cf.ErrDiverged):
		return nil, rebuildResponse(0, "its last records are not records of this database"), nil
	}
	return nil, nil, err
}

// recognize compares the standby's records before its last one, if they are kept here.
func recognize(ctx context.Context, store cf.Shipper, hello *smolwcpb.Hello) error {
	if hello.GetCrcSince() == 0 {
		return nil
	}
	sum, err := crcBetween(ctx, store, hello.GetSince(), hello.GetAfter())
	switch {
	case errors.Is(err, cf.ErrTrimmed):
		return nil
	case err == nil && sum != hello.GetCrcSince():
		return cf.ErrDiverged
	}
	return err
}

// crcBetween is the checksum of the records between two positions.
func crcBetween(ctx context.Context, store cf.Shipper, at, last uint64) (sum uint32, err error) {
	log, err := store.Log(cf.Position(at))
	if err != nil {
		return 0, err
	}
	defer log.Close()
	for at < last {
		r, err := log.Next(ctx)
		if r == nil || err != nil {
			return 0, err
		}
		at, sum = uint64(r.Last), crc32.Update(sum, castagnoli, r.Data)
	}
	return max(1, sum), nil
}

func (f *feed) join(ctx context.Context, hello *smolwcpb.Hello) *replica {
	r := &replica{name: hello.GetName(), applied: hello.GetLast(), observer: hello.GetObserver(), delay: time.Duration(hello.GetDelayMicros()) * time.Microsecond}
	r.heard.Store(time.Now().UnixNano())
	if p, ok := peer.FromContext(ctx); ok {
		r.address = p.Addr.String()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	// A standby that connects again may be here before its last connection ends.
	maps.DeleteFunc(f.replicas, func(old *replica, _ bool) bool { return old.name == r.name && old.address == r.address })
	f.replicas[r] = true
	f.followed.Store(true)
	return r
}

// lagOf is the lag of a standby at a moment. It is the standby's own last report, plus its
// silence since if it is behind: a standby that hangs does not say so.
func (r *replica) lagOf(latest uint64, at time.Time) time.Duration {
	silent := at.Sub(time.Unix(0, r.heard.Load()))
	if latest <= r.applied || silent < 3*beatEvery {
		return r.lag
	}
	return r.lag + silent
}

func (f *feed) leave(r *replica) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.replicas, r)
	f.logger.Info("a standby has gone", "standby", r.name)
}

// hear takes the standby's acks until the stream ends.
func (f *feed) hear(stream smolwcpb.Standbys_FollowServer, r *replica, ackSource *ackSource, ended func()) {
	defer ended()
	for {
		m, err := stream.Recv()
		ack := m.GetAck()
		if err == nil {
			err = intact(ack.GetCrc(), crcOfAck(ack))
		}
		if err != nil {
			return
		}
		r.heard.Store(time.Now().UnixNano())
		f.mu.Lock()
		r.applied, r.synced = ack.GetApplied(), ack.GetSynced()
		r.lag = time.Duration(ack.GetLagMicros()) * time.Microsecond
		f.mu.Unlock()
		if !r.observer {
			f.acks.received(ackSource, ack.GetSynced())
		}
	}
}

// ListReplicas implements [smolwcpb.StandbysServer].
func (f *feed) ListReplicas(ctx context.Context, _ *smolwcpb.ListReplicasRequest) (*smolwcpb.ListReplicasResponse, error) {
	resp := new(smolwcpb.ListReplicasResponse)
	f.describe(resp)
	store, err := f.shipper()
	if err != nil {
		return resp, nil // there are no standbys
	}
	id, err := identify(ctx, store)
	if err != nil {
		return nil, err
	}
	latest := uint64(store.Latest())
	resp.Database, resp.History = id.uuid, id.history.ID
	if at, err := dataDirOf(store.Home()); err == nil && store.Home() != "" {
		resp.Diverged = at.oldestAside()
	}
	if by := f.fencedBy.Load(); by != nil {
		resp.FencedBy = by.Leader
	}
	resp.Epoch, resp.Position = id.history.Epoch, latest
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range f.replicas {
		resp.Replicas = append(resp.Replicas, &smolwcpb.Replica{
			Name: r.name, Address: r.address, Applied: r.applied, Synced: r.synced,
			BehindBytes: r.behind, BehindRecords: max(latest, r.applied) - r.applied, LagMicros: r.lagOf(latest, time.Now()).Microseconds(), Observer: r.observer, DelayMicros: r.delay.Microseconds(), Verified: f.verified[r.name],
		})
	}
	for _, p := range f.pending {
		resp.Untold = append(resp.Untold, p.OldPrimary)
	}
	slices.SortFunc(resp.Replicas, func(a, b *smolwcpb.Replica) int {
		return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetAddress(), b.GetAddress()))
	})
	return resp, nil
}

// kindOf is the code of an error for the other side.
func kindOf(err error) codes.Code {
	switch code := status.Code(err); {
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	case errors.Is(err, cf.ErrCorrupt):
		return codes.DataLoss
	case errors.Is(err, cf.ErrUnavailable):
		return codes.Unavailable
	case code != codes.Unknown:
		return code
	}
	return codes.FailedPrecondition
}
