package standby

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
)

// SemiSync says which writes wait for a standby, and how long.
type SemiSync struct {
	Mode SemiSyncMode
	// Timeout bounds how long a write waits; 0 is [DefaultSemiSyncTimeout].
	Timeout time.Duration
}

// A SemiSyncMode says when a write of a primary returns.
type SemiSyncMode int

// The modes. An observer never counts as the standby that a write waits for.
const (
	// SemiSyncOff: when the primary has the write.
	SemiSyncOff SemiSyncMode = iota
	// SemiSyncDegrade: when a standby has it on its disk too. After the timeout the write
	// returns all the same, and so do later ones, until a standby has caught up; they are
	// counted.
	SemiSyncDegrade
	// SemiSyncStrict: when a standby has it on its disk too. After the timeout the write
	// fails, and its outcome is unknown. While no standby is connected, a write fails after
	// the timeout, and nothing is written.
	SemiSyncStrict
)

// DefaultSemiSyncTimeout is how long a write waits for a standby.
const DefaultSemiSyncTimeout = 10 * time.Second

// ParseSemiSyncMode reads the text of a mode: off, degrade or strict.
func ParseSemiSyncMode(text string) (SemiSyncMode, error) {
	for _, m := range []SemiSyncMode{SemiSyncOff, SemiSyncDegrade, SemiSyncStrict} {
		if m.String() == text {
			return m, nil
		}
	}
	return 0, fmt.Errorf("the mode is %q; want off, degrade or strict", text)
}

// String is the text of a mode.
func (m SemiSyncMode) String() string {
	switch m {
	case SemiSyncOff:
		return "off"
	case SemiSyncDegrade:
		return "degrade"
	case SemiSyncStrict:
		return "strict"
	}
	return fmt.Sprintf("SemiSyncMode(%d)", int(m))
}

func (o SemiSync) check() error {
	if o.Mode < SemiSyncOff || o.Mode > SemiSyncStrict || o.Timeout < 0 {
		return fmt.Errorf("semi-sync is %v with a timeout of %v; want off, degrade or strict, and no negative time", o.Mode, o.Timeout)
	}
	return nil
}

// Async makes the writes with a context return without waiting for a standby, whatever the
// mode of the primary.
func Async(ctx context.Context) context.Context { return cf.Async(ctx) }

type modeKey struct{}

// WithSemiSync makes the writes with a context wait as a mode says, whatever the mode of the
// primary. The timeout is the primary's. A nil context stays nil, and an unknown mode changes
// nothing.
func WithSemiSync(ctx context.Context, m SemiSyncMode) context.Context {
	if ctx == nil || m < SemiSyncOff || m > SemiSyncStrict {
		return ctx
	}
	return context.WithValue(ctx, modeKey{}, m)
}

// An ackTracker tracks acknowledgements: up to which position a standby has the log on its disk.
// Writes wait for them.
type ackTracker struct {
	o      SemiSync
	logger *slog.Logger
	latest func() uint64
	open   atomic.Bool // writes wait from now on
	// sure is the position up to which reads need not wait: a standby has it on its disk,
	// or the database had it when it was opened.
	readable atomic.Uint64
	lease    Lease                         // that writes need; nil without one
	gate     atomic.Pointer[chan struct{}] // closed when writes may begin; nil: they may

	mu             sync.Mutex
	synced         uint64 // up to which writes are acknowledged
	waiting        map[*wait]bool
	asked          chan struct{}       // closed when a write begins to wait
	sources        map[*ackSource]bool // the connected standbys, but observers
	syncStandby    syncStandby
	present        chan struct{} // closed while a standby is connected that counts
	ended          error         // why no write can be acknowledged from now on
	done           chan struct{} // closed when ended is set
	degraded       bool
	goal           uint64 // while degraded: the position that a standby has to reach
	draining       bool   // standbys acknowledge at once, since the server stops
	unacknowledged int64  // writes that have returned without a standby
}

// A wait is a write that waits for a standby.
type wait struct {
	at    uint64
	mode  SemiSyncMode
	since time.Time
	done  chan struct{} // closed when a standby has the position
}

// An ackSource is a connected standby whose acknowledgements may count.
type ackSource struct {
	name   string
	synced uint64 // the position up to which it has the log on its disk
}

func newAckTracker(o SemiSync, l *slog.Logger, latest func() uint64) *ackTracker {
	o.Timeout = cmp.Or(o.Timeout, DefaultSemiSyncTimeout)
	return &ackTracker{o: o, logger: l, latest: latest, waiting: map[*wait]bool{}, asked: make(chan struct{}), sources: map[*ackSource]bool{}, present: make(chan struct{}), done: make(chan struct{})}
}

// begin makes writes wait from now on. The database is open: what it has written for that
// is not a write of a client.
func (q *ackTracker) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.degraded, q.goal = q.o.Mode == SemiSyncDegrade, q.latest() // the first write need not find out that there is no standby
	q.syncStandby.floor = q.latest()
	q.readable.Store(q.syncStandby.floor)
	q.open.Store(true)
}

// mode says how a write with a context waits.
func (q *ackTracker) mode(ctx context.Context) SemiSyncMode {
	if !q.open.Load() || cf.IsAsync(ctx) {
		return SemiSyncOff
	}
	if m, ok := ctx.Value(modeKey{}).(SemiSyncMode); ok {
		return m
	}
	return q.o.Mode
}

// waits reports whether a write waits now. The channel is closed when the next one begins to.
func (q *ackTracker) waits() (bool, <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) > 0 || q.draining, q.asked
}

// connect adds a standby that is connected, until part is called.
func (q *ackTracker) connect(name string, latest uint64) *ackSource {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropSyncStandby(name, latest)
	m := &ackSource{name: name}
	q.sources[m] = true
	q.updatePresent()
	return m
}

func (q *ackTracker) disconnect(m *ackSource) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.sources, m)
	q.updatePresent()
}

// counts reports whether writes wait for a standby.
func (q *ackTracker) counts(m *ackSource) bool {
	return !q.choosesSyncStandby() || m.name == q.syncStandby.name
}

// updatePresent notes whether a standby is connected that counts.
func (q *ackTracker) updatePresent() {
	there := false
	for m := range q.sources {
		there = there || q.counts(m)
	}
	was := false
	select {
	case <-q.present:
		was = true
	default:
	}
	switch {
	case there && !was:
		close(q.present)
	case was && !there:
		q.present = make(chan struct{})
	}
}

// received notes that a standby has the log up to a position on its disk.
func (q *ackTracker) received(m *ackSource, synced uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m.synced = synced
	if q.counts(m) {
		q.acknowledge(synced)
	}
}

// acknowledge ends the waits of writes up to a position.
func (q *ackTracker) acknowledge(synced uint64) {
	if q.degraded {
		if synced >= q.goal {
			q.degraded = false
			q.logger.Info("a standby has caught up; writes wait for it", "position", synced)
		}
		q.goal = q.latest()
	}
	if synced <= q.synced {
		return
	}
	q.synced = synced
	q.readable.Store(max(synced, q.syncStandby.floor))
	for w := range q.waiting {
		if w.at <= synced {
			delete(q.waiting, w)
			close(w.done)
		}
	}
}

// held waits while writes are held.
func (q *ackTracker) held(ctx context.Context) error {
	gate := q.gate.Load()
	if gate == nil {
		return nil
	}
	select {
	case <-*gate:
		return nil
	case <-q.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("nothing was written, since another server is about to lead: %w", ctx.Err())
	}
}

// holdWrites makes writes wait before they begin, until release.
func (q *ackTracker) holdWrites() {
	gate := make(chan struct{})
	q.gate.Store(&gate)
}

func (q *ackTracker) release() {
	if gate := q.gate.Swap(nil); gate != nil {
		close(*gate)
	}
}

// drain waits until standbys have the log up to a position on their disks: one whose
// acknowledgements count, and the other connected ones for a moment longer. Without a lease it
// does not wait for a standby that is not connected.
func (q *ackTracker) drain(ctx context.Context, at uint64) error {
	tick := time.NewTicker(drainEvery)
	defer tick.Stop()
	var late <-chan time.Time
	for {
		q.mu.Lock()
		connected, behind := len(q.sources) > 0, false
		for s := range q.sources {
			behind = behind || s.synced < at
		}
		done := q.synced >= at
		q.mu.Unlock()
		switch {
		case done && !behind:
			return nil
		case done && late == nil:
			late = time.After(drainTime)
		case !done && !connected && q.lease == nil:
			return errNotDrained
		}
		select {
		case <-late:
			return nil
		case <-ctx.Done():
			if done {
				return nil
			}
			return errNotDrained
		case <-tick.C:
		}
	}
}

// drainEvery is the time between two looks at the acknowledgements.
const drainEvery = 2 * time.Millisecond

var errNotDrained = errors.New("no standby has acknowledged the last writes")

// end ends all waits, and the ones to come.
func (q *ackTracker) end(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended != nil {
		return
	}
	q.ended = why
	close(q.done)
}

// waitForStandby waits until a standby is connected, if a write must not happen without one.
func (q *ackTracker) waitForStandby(ctx context.Context) error {
	if err := q.held(ctx); err != nil {
		return err
	}
	if err := q.checkLease(); err != nil {
		return fmt.Errorf("nothing was written: %w", err)
	}
	if q.mode(ctx) != SemiSyncStrict {
		return nil
	}
	q.mu.Lock()
	present, ended := q.present, q.ended
	q.mu.Unlock()
	if ended != nil {
		return fmt.Errorf("nothing was written: %w", ended)
	}
	select {
	case <-present:
		return nil
	default:
	}
	timeout := time.NewTimer(q.o.Timeout)
	defer timeout.Stop()
	select {
	case <-present:
		return nil
	case <-q.done:
		return q.waitForStandby(ctx)
	case <-timeout.C:
		return errNoSyncStandby
	case <-ctx.Done():
		return fmt.Errorf("nothing was written, since no standby is connected that could acknowledge it: %w", ctx.Err())
	}
}

// errNoSyncStandby is for a write that must not happen without a standby.
var errNoSyncStandby = fmt.Errorf("%w: nothing was written, since no standby is connected that could acknowledge it; its semi-sync is strict", cf.ErrUnavailable)

// checkSyncStandby is an error if no standby is connected, and writes wait strictly.
func (q *ackTracker) checkSyncStandby() error {
	if q.mode(context.Background()) != SemiSyncStrict {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-q.present:
		return nil
	default:
		return errNoSyncStandby
	}
}

var errStops = fmt.Errorf("%w: the server stops", cf.ErrUnavailable)

var errNoAck = errors.New("it is on the disk of this server, and no standby has acknowledged it")

// acknowledged waits until a write may be acknowledged. The lease is looked at last: this
// process may have stood still since it was written.
func (q *ackTracker) acknowledged(ctx context.Context, at cf.Position) error {
	if err := q.await(ctx, at); err != nil {
		return err
	}
	if err := q.checkLease(); err != nil {
		return fmt.Errorf("%w: it is on the disk of this server: %v", cf.ErrNotAcknowledged, err)
	}
	return nil
}

type confirmKey struct{}

// confirm makes reads with a context wait, if they are made at a primary that may take writes
// now and whose writes wait strictly.
func (q *ackTracker) confirm(ctx context.Context) context.Context {
	if q.mode(ctx) != SemiSyncStrict || q.checkLease() != nil {
		return ctx
	}
	return context.WithValue(ctx, confirmKey{}, true)
}

// confirmed waits until what was read up to a position is acknowledged. The lease is looked
// at last: this process may have stood still since the read.
func (q *ackTracker) confirmed(ctx context.Context, at cf.Position) error {
	if ctx.Value(confirmKey{}) == nil {
		return nil
	}
	if uint64(at) > q.readable.Load() {
		if err := q.await(ctx, at); err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		} else if err != nil {
			return fmt.Errorf("%w: no standby has acknowledged the writes that this read has seen; its semi-sync is strict", cf.ErrUnavailable)
		}
	}
	if err := q.checkLease(); err != nil {
		return fmt.Errorf("the read may be too old: %w", err)
	}
	return nil
}

// await waits until a standby has a write on its disk.
func (q *ackTracker) await(ctx context.Context, at cf.Position) error {
	mode := q.mode(ctx)
	if at == 0 || mode == SemiSyncOff {
		return nil
	}
	w := q.beginWait(uint64(at), mode)
	if w == nil {
		return nil
	}
	timeout := time.NewTimer(q.o.Timeout)
	defer timeout.Stop()
	why := errNoAck
	select {
	case <-w.done:
	case <-q.done:
	case <-timeout.C:
		why = fmt.Errorf("%w within %v", errNoAck, q.o.Timeout)
	case <-ctx.Done():
		why = fmt.Errorf("%w: %w", errNoAck, ctx.Err())
	}
	return q.endWait(w, why)
}

// beginWait begins a wait; nil if there is no need for one.
func (q *ackTracker) beginWait(at uint64, mode SemiSyncMode) *wait {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.synced >= at {
		return nil
	}
	if q.degraded && mode == SemiSyncDegrade {
		q.unacknowledged++
		return nil
	}
	w := &wait{at, mode, time.Now(), make(chan struct{})}
	q.waiting[w] = true
	close(q.asked)
	q.asked = make(chan struct{})
	return w
}

// endWait ends a wait. why is the reason if the write was not acknowledged.
func (q *ackTracker) endWait(w *wait, why error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, w)
	switch {
	case q.synced >= w.at:
		return nil
	case q.ended != nil && (w.mode == SemiSyncStrict || errors.Is(q.ended, cf.ErrReadOnly)):
		return fmt.Errorf("%w: %w: %v", cf.ErrNotAcknowledged, errNoAck, q.ended)
	case w.mode == SemiSyncStrict || errors.Is(why, context.Canceled) || errors.Is(why, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", cf.ErrNotAcknowledged, why)
	}
	q.unacknowledged++
	if !q.degraded && q.ended == nil {
		q.degraded, q.goal = true, q.latest()
		q.logger.Warn("no standby acknowledges writes; they return without one until a standby has caught up", "timeout", q.o.Timeout)
	}
	return nil
}

func (q *ackTracker) describe(to *smolwcpb.ListReplicasResponse) {
	q.mu.Lock()
	defer q.mu.Unlock()
	to.SemiSync, to.Degraded, to.Unacknowledged = q.o.Mode.String(), q.degraded, q.unacknowledged
	describeLease(q.lease, to)
}

// A semiSyncStore waits with each commit until a standby has it.
type semiSyncStore struct {
	engine
	q *ackTracker
}

// An engine is what a database may use of a store of this machine.
type engine interface {
	cf.Shipper
	cf.Checker
	cf.DropTeller
	// Seen is the position that a standby has to have for what was read before.
	Seen() cf.Position
}

var _ engine = semiSyncStore{}

// commit runs fn, which commits, and waits.
func (s semiSyncStore) commit(ctx context.Context, fn func() (cf.Position, error)) (cf.Position, error) {
	if err := s.q.waitForStandby(ctx); err != nil {
		return 0, err
	}
	at, err := fn()
	if err != nil {
		return at, err
	}
	if r, ok := ctx.Value(recordKey{}).(*record); ok {
		r.add(uint64(at))
	}
	return at, s.q.acknowledged(ctx, at)
}

// Read implements [cf.Reader].
func (s semiSyncStore) Read(ctx context.Context, scan *cf.Scan, a *cf.Answer) error {
	if err := s.engine.Read(ctx, scan, a); err != nil {
		return err
	}
	return s.q.confirmed(ctx, s.Seen())
}

// Snapshot implements [cf.Reader].
func (s semiSyncStore) Snapshot(ctx context.Context) (cf.Snapshot, error) {
	snap, err := s.engine.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.q.confirmed(ctx, s.Seen()); err != nil {
		snap.Close()
		return nil, err
	}
	return snap, nil
}

// EndWaits implements [cf.Store].
func (s semiSyncStore) EndWaits() {
	s.q.end(cf.ErrClosed)
	s.engine.EndWaits()
}

// Update implements [cf.Store].
func (s semiSyncStore) Update(ctx context.Context, rows []cf.RowID, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	return s.commit(ctx, func() (cf.Position, error) { return s.engine.Update(ctx, rows, fn) })
}

// Write implements [cf.Store].
func (s semiSyncStore) Write(ctx context.Context, rows []cf.RowID, fn func(*cf.Batch) error) (cf.Position, error) {
	return s.commit(ctx, func() (cf.Position, error) { return s.engine.Write(ctx, rows, fn) })
}

// noting waits until the store may write what is no client's write to a log that standbys
// read.
func (s semiSyncStore) noting(ctx context.Context) error {
	if s.Ships() == "" {
		return nil
	}
	return s.q.waitForStandby(ctx)
}

// CreateFamily implements [cf.Store].
func (s semiSyncStore) CreateFamily(ctx context.Context, names ...string) error {
	if err := s.noting(ctx); err != nil {
		return err
	}
	return s.engine.CreateFamily(ctx, names...)
}

// DropFamily implements [cf.Store].
func (s semiSyncStore) DropFamily(ctx context.Context, names ...string) error {
	if err := s.noting(ctx); err != nil {
		return err
	}
	return s.engine.DropFamily(ctx, names...)
}

// PutMeta implements [cf.Store].
func (s semiSyncStore) PutMeta(ctx context.Context, key string, value []byte) error {
	if err := s.noting(ctx); err != nil {
		return err
	}
	return s.engine.PutMeta(ctx, key, value)
}

// SetExpiry implements [cf.Store]. It waits for nothing.
func (s semiSyncStore) SetExpiry(family string, e cf.Expiry) error {
	if s.Ships() != "" {
		if err := cmp.Or(s.q.checkLease(), s.q.checkSyncStandby()); err != nil {
			return err
		}
	}
	return s.engine.SetExpiry(family, e)
}

// DropRange implements [cf.Store].
func (s semiSyncStore) DropRange(ctx context.Context, families []string, rows cf.Range) error {
	_, err := s.commit(ctx, func() (cf.Position, error) {
		err := s.engine.DropRange(ctx, families, rows)
		return s.Latest(), err
	})
	return err
}

// Begin implements [cf.Reader].
func (s semiSyncStore) Begin(ctx context.Context) (cf.Txn, error) {
	txn, err := s.engine.Begin(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.q.confirmed(ctx, s.Seen()); err != nil {
		txn.Close()
		return nil, err
	}
	return &semiSyncTxn{Txn: txn, store: s}, nil
}

// Ingest implements [cf.Store].
func (s semiSyncStore) Ingest(ctx context.Context) (cf.Ingestion, error) {
	into, err := s.engine.Ingest(ctx)
	if err != nil {
		return nil, err
	}
	return semiSyncIngestion{into, s}, nil
}

type semiSyncTxn struct {
	cf.Txn
	store semiSyncStore
	wrote bool
}

// Add implements [cf.Txn].
func (t *semiSyncTxn) Add(b *cf.Batch) error {
	t.wrote = true
	return t.Txn.Add(b)
}

// Commit implements [cf.Txn].
func (t *semiSyncTxn) Commit(ctx context.Context, last func(*cf.Batch) error) (cf.Position, error) {
	if !t.wrote {
		return t.Txn.Commit(ctx, last)
	}
	return t.store.commit(ctx, func() (cf.Position, error) { return t.Txn.Commit(ctx, last) })
}

type semiSyncIngestion struct {
	cf.Ingestion
	store semiSyncStore
}

// Commit implements [cf.Ingestion].
func (i semiSyncIngestion) Commit(ctx context.Context, rows cf.Range, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	return i.store.commit(ctx, func() (cf.Position, error) { return i.Ingestion.Commit(ctx, rows, fn) })
}
