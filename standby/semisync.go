package standby

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
)

// SemiSync says which writes wait for a standby, and how long.
type SemiSync struct {
	Mode SemiSyncMode
	// Acks is how many standbys must have a write; 0 is 1. With 2, losing the primary and one
	// standby together loses no acknowledged write. Standbys with one name count once.
	Acks int
	// Archive: writes wait for an archive of every moment, and not for standbys. Acks does not count. See
	// [Primary.Acknowledger].
	Archive bool
	// Timeout bounds how long a write waits; 0 is [DefaultSemiSyncTimeout].
	Timeout time.Duration
}

// A SemiSyncMode says when a write of a primary returns.
type SemiSyncMode int

// The modes, with one acknowledgement; [SemiSync] may ask for more. An observer never counts.
const (
	// SemiSyncOff: when the primary wrote it.
	SemiSyncOff SemiSyncMode = iota
	// SemiSyncDegrade: when a standby wrote it to its disk too. After the timeout the
	// write returns all the same, and so do later ones, until a standby catches up;
	// they are counted.
	SemiSyncDegrade
	// SemiSyncStrict: when a standby wrote it to its disk too. After the timeout the write
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
	if o.Acks < 0 {
		return fmt.Errorf("semi-sync waits for %d standbys; want 1 or more", o.Acks)
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

// An ackTracker tracks acknowledgements: up to which position enough standbys have the log on their
// disks. Writes wait for them.
type ackTracker struct {
	o      SemiSync
	logger *slog.Logger
	latest func() uint64
	open   atomic.Bool // writes wait from now on
	// readable is the position up to which reads need not wait: enough standbys have it on
	// their disks, or the database had it when it was opened.
	readable atomic.Uint64
	lease    Lease                         // that writes need; nil without one
	gate     atomic.Pointer[chan struct{}] // closed when writes may begin; nil: they may

	mu             sync.Mutex
	synced         uint64 // up to which writes are acknowledged
	waiting        map[*wait]bool
	asked          chan struct{}       // closed when a write begins to wait
	sources        map[*ackSource]bool // the connected standbys, but observers
	syncStandbys   syncStandbys
	present        chan struct{} // closed while enough standbys are connected that count
	ended          error         // why no write can be acknowledged from now on
	done           chan struct{} // closed when ended is set
	degraded       bool
	draining       bool  // standbys acknowledge at once, since the server stops
	unacknowledged int64 // writes that have returned without their acknowledgements
}

// A wait is a write that waits for a standby.
type wait struct {
	at    uint64
	mode  SemiSyncMode
	since time.Time
	done  chan struct{} // closed when enough standbys have the position
}

// An ackSource is a connected standby whose acknowledgements may count.
type ackSource struct {
	name    string
	archive bool
	synced  uint64 // the position up to which the log is on its disk
	// While writes return without their acknowledgements: goal is the newest position at the
	// last acknowledgement, and caughtUp says that the next one reached it.
	goal     uint64
	caughtUp bool
}

func newAckTracker(o SemiSync, l *slog.Logger, latest func() uint64) *ackTracker {
	o.Timeout, o.Acks = cmp.Or(o.Timeout, DefaultSemiSyncTimeout), max(o.Acks, 1)
	return &ackTracker{o: o, logger: l, latest: latest, waiting: map[*wait]bool{}, asked: make(chan struct{}), sources: map[*ackSource]bool{}, present: make(chan struct{}), done: make(chan struct{})}
}

// begin makes writes wait from now on. The database is open: what opening it wrote is not
// a write of a client.
func (q *ackTracker) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.o.Mode == SemiSyncDegrade {
		q.degrade() // the first write need not find out that there is no standby
	}
	q.syncStandbys.floor = q.latest()
	q.readable.Store(q.syncStandbys.floor)
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
	for s := range q.sources { // an earlier connection, or another standby with this name
		if s.name == name {
			s.synced = min(s.synced, latest)
		}
	}
	m := &ackSource{name: name, goal: q.latest()}
	q.sources[m] = true
	q.updatePresent()
	return m
}

// connectArchive adds an archive that is reached, until disconnect is called.
func (q *ackTracker) connectArchive() *ackSource {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := &ackSource{name: "the archive", archive: true, goal: q.latest()}
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
	if q.o.Archive || m.archive {
		return q.o.Archive && m.archive
	}
	return !q.choosesSyncStandbys() || slices.Contains(q.syncStandbys.names, m.name)
}

// counting is up to where the connected standbys that count have the log on their disks. Several
// connections with one name count once.
func (q *ackTracker) counting() map[string]uint64 {
	synced := map[string]uint64{}
	for s := range q.sources {
		if q.counts(s) {
			synced[s.name] = max(synced[s.name], s.synced)
		}
	}
	return synced
}

// reachedBy is the highest position that n standbys have reached; 0 if there are fewer.
func reachedBy(synced map[string]uint64, n int) uint64 {
	if len(synced) < n {
		return 0
	}
	return slices.Sorted(maps.Values(synced))[len(synced)-n]
}

// updatePresent notes whether enough standbys are connected that count.
func (q *ackTracker) updatePresent() {
	there := len(q.counting()) >= q.o.Acks
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

// received records that a standby wrote the log up to a position to its disk.
func (q *ackTracker) received(m *ackSource, synced uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m.synced = synced
	if !q.counts(m) {
		return
	}
	if q.degraded {
		m.caughtUp, m.goal = synced >= m.goal, q.latest()
		q.endDegraded(synced)
	}
	q.acknowledge()
}

// degrade makes writes of the mode degrade return at once, until enough standbys have caught up.
func (q *ackTracker) degrade() {
	q.degraded = true
	for m := range q.sources {
		m.caughtUp, m.goal = false, q.latest()
	}
}

// endDegraded makes writes wait again if enough standbys have caught up.
func (q *ackTracker) endDegraded(at uint64) {
	caught := map[string]bool{}
	for m := range q.sources {
		if m.caughtUp && q.counts(m) {
			caught[m.name] = true
		}
	}
	if len(caught) >= q.o.Acks {
		q.degraded = false
		q.logger.Info("enough standbys have caught up; writes wait for them", "standbys", slices.Sorted(maps.Keys(caught)), "position", at)
	}
}

// acknowledge ends the waits of writes that enough standbys have.
func (q *ackTracker) acknowledge() {
	synced := reachedBy(q.counting(), q.o.Acks)
	if synced <= q.synced {
		return
	}
	q.synced = synced
	q.readable.Store(max(synced, q.syncStandbys.floor))
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

// drain waits until standbys have the log up to a position on their disks: as many as have to
// acknowledge a write, and the other connected ones for a moment longer. It does not wait for a
// standby that is not connected, but for one with a lease, and for all synchronous standbys.
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
		counting, enough := q.counting(), q.o.Acks
		if !q.choosesSyncStandbys() {
			enough = max(min(enough, len(counting)), 1)
		}
		done := q.synced >= at || reachedBy(counting, enough) >= at
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

// waitForStandby waits until enough standbys are connected, if a write must not happen without
// them.
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
		return fmt.Errorf("%w: %s; its semi-sync is strict", cf.ErrUnavailable, q.tooFew())
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", q.tooFew(), ctx.Err())
	}
}

// tooFew says why a write must not happen: too few standbys are connected.
func (q *ackTracker) tooFew() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.o.Archive {
		return "nothing was written, since the archive is not reached, which has to acknowledge it"
	}
	if q.o.Acks == 1 {
		return "nothing was written, since no standby is connected that could acknowledge it"
	}
	n, hint := len(q.counting()), ""
	if n < len(q.sources) && !q.choosesSyncStandbys() {
		hint = " (those with one name count once; give each its own)"
	}
	return fmt.Sprintf("nothing was written, since %d standbys have to acknowledge it, and only %d can%s", q.o.Acks, n, hint)
}

// checkSyncStandby is an error if too few standbys are connected, and writes wait strictly.
func (q *ackTracker) checkSyncStandby() error {
	if q.mode(context.Background()) != SemiSyncStrict {
		return nil
	}
	q.mu.Lock()
	present := q.present
	q.mu.Unlock()
	select {
	case <-present:
		return nil
	default:
		return fmt.Errorf("%w: %s; its semi-sync is strict", cf.ErrUnavailable, q.tooFew())
	}
}

var errStops = fmt.Errorf("%w: the server stops", cf.ErrUnavailable)

// noAck says how many standbys have acknowledged what waits.
func (q *ackTracker) noAck() string {
	if q.o.Archive {
		return "the archive has not acknowledged"
	}
	if q.o.Acks == 1 {
		return "no standby has acknowledged"
	}
	return fmt.Sprintf("fewer than %d standbys have acknowledged", q.o.Acks)
}

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
			return fmt.Errorf("%w: %s the writes that this read has seen; its semi-sync is strict", cf.ErrUnavailable, q.noAck())
		}
	}
	if err := q.checkLease(); err != nil {
		return fmt.Errorf("the read may be too old: %w", err)
	}
	return nil
}

// await waits until enough standbys have a write on their disks.
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
	why := fmt.Errorf("it is on the disk of this server, and %s it", q.noAck())
	select {
	case <-w.done:
	case <-q.done:
	case <-timeout.C:
		why = fmt.Errorf("%w within %v", why, q.o.Timeout)
	case <-ctx.Done():
		why = fmt.Errorf("%w: %w", why, ctx.Err())
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
		return fmt.Errorf("%w: %w: %v", cf.ErrNotAcknowledged, why, q.ended)
	case w.mode == SemiSyncStrict || errors.Is(why, context.Canceled) || errors.Is(why, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", cf.ErrNotAcknowledged, why)
	}
	q.unacknowledged++
	if !q.degraded && q.ended == nil {
		q.degrade()
		if q.o.Archive {
			q.logger.Warn("the archive does not acknowledge writes; they return without it until it has caught up", "timeout", q.o.Timeout)
			return nil
		}
		q.logger.Warn("too few standbys acknowledge writes; they return without them until enough have caught up", "acks", q.o.Acks, "connected", len(q.counting()), "timeout", q.o.Timeout)
	}
	return nil
}

func (q *ackTracker) describe(to *smolwcpb.ListReplicasResponse) {
	q.mu.Lock()
	defer q.mu.Unlock()
	to.SemiSync, to.Degraded, to.Unacknowledged = q.o.Mode.String(), q.degraded, q.unacknowledged
	to.Acks, to.Acknowledging = int32(min(q.o.Acks, math.MaxInt32)), int32(len(q.counting()))
	describeLease(q.lease, to)
}
