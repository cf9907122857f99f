package moments

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/history"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/standby"
)

// Options say how a [Sender] sends.
type Options struct {
	// Every is how long records are gathered before they are sent, at least a millisecond; 0 is a second. It and
	// the time of a request to the target are the delay.
	Every time.Duration
	// Bytes ends the gathering earlier; 0 is 8 MiB.
	Bytes int
	// Keep is how long moments stay restorable, at least; 0 is 7 days, less than 0 is for ever. Older segments are removed, and
	// the backups with which only older moments begin, unless people made them.
	Keep time.Duration
	// BaseEvery is the time from one backup that the sender makes to the next; 0 is a day. The shorter it is, the
	// less log a restore replays. With Schedule the sender only makes those that it cannot do without.
	BaseEvery time.Duration
	// Schedule makes backups of the same database at the same target; nil if nothing does.
	Schedule *archive.Schedule
	// Sent is called with the position up to which the log is in the archive, by one goroutine; nil is
	// allowed. It must return at once. Lost is called when the sender no longer reaches the target.
	Sent func(position uint64)
	Lost func()
	// Waiting reports whether a write waits for Sent: then records are not gathered. Its channel is closed when another
	// one begins to wait. Nil is allowed.
	Waiting func() (bool, <-chan struct{})
	// Strict says that no write is acknowledged before Sent; it is only for [Status].
	Strict bool
	// Logger gets messages for an operator; nil discards them.
	Logger *slog.Logger
}

// DefaultKeep is how long moments stay restorable by default.
const DefaultKeep = 7 * 24 * time.Hour

const (
	defaultEvery = time.Second
	defaultBytes = 8 << 20
	defaultBase  = 24 * time.Hour
	// beatEvery is how often a sender says that there was nothing to send.
	beatEvery = time.Minute
	// confirmAfter is how long the newest segment may be the sender's own without a look: another
	// server merges segments only when they are older.
	confirmAfter = 30 * time.Second
	// silence is how long a server of another history must have sent nothing before one takes over its archive.
	silence = 3 * beatEvery
	// mostWait is the longest pause between two tries.
	mostWait = 5 * time.Second
)

// lastTime is how long the rest of the log may take when a sender ends; tests set it.
var lastTime = time.Second

// A Log keeps the log of the database: a [standby.Primary].
type Log interface {
	KeepLog(context.Context) (cf.Shipper, error)
}

// ErrOtherWriter matches the error of a sender whose archive another server writes.
var ErrOtherWriter = errors.New("another server sends the log to this archive")

// A Sender sends the log of a database to an archive. It is safe for concurrent use.
type Sender struct {
	db     *query.DB
	log    Log
	target string
	o      Options

	mu      sync.Mutex
	status  Status
	store   cf.Shipper // of the last session
	found   time.Time  // the newest moment of the archive at foundAt, when the sender first saw it
	foundAt time.Time
	turned  int64 // micros by which the clock was last seen behind
}

// A Status is a sender's progress.
type Status struct {
	Target string
	// Strict and Keep repeat the options; Keep is 0 if moments are never removed.
	Strict bool
	Keep   time.Duration
	// Online: the last segment or beat arrived.
	Online bool
	// Position is how far the log is in the archive, and Latest how far it reaches. All commits up to the time
	// Until are in the archive.
	Position, Latest uint64
	Until            time.Time
	// Behind is the number of bytes of the log that are not in the archive, about.
	Behind int64
	// Earliest is the first moment since which all can be restored; zero without one.
	Earliest time.Time
	// Segments and Bytes were sent since the sender was made.
	Segments, Bytes int64
	// Gaps counts the gaps of the archive that begin since the sender was made, and Gap says why the last one did.
	Gaps int64
	Gap  string
	// Err is the last error, nil if all went well since.
	Err error
}

// Delay is how far the archive is behind the database at a moment.
func (s Status) Delay(now time.Time) time.Duration {
	if s.Until.IsZero() || s.Online && s.Position >= s.Latest {
		return 0
	}
	return max(0, now.Sub(s.Until))
}

// NewSender makes a sender of a database that is open for writing, and whose log log keeps. From now on the log says when its
// records were written. The target is checked, and not connected to. [Sender.Run] sends.
func NewSender(db *query.DB, log Log, target string, o Options) (*Sender, error) {
	const op = "send the log to an archive"
	wrong := func(format string, a ...any) error {
		return &query.Error{Op: op, Kind: query.KindInvalidArgument, Err: fmt.Errorf(format, a...)}
	}
	if db == nil || log == nil {
		return nil, wrong("there is no database, or nothing keeps its log; a standby.Primary does")
	}
	o.Every, o.Bytes, o.Keep, o.BaseEvery = cmp.Or(o.Every, defaultEvery), cmp.Or(o.Bytes, defaultBytes), cmp.Or(o.Keep, DefaultKeep), cmp.Or(o.BaseEvery, defaultBase)
	if o.Every < time.Millisecond || o.Bytes < 1 || o.BaseEvery < time.Second {
		return nil, wrong("a segment every %v or %d bytes, and a backup every %v; they must be a millisecond, a byte and a second or more", o.Every, o.Bytes, o.BaseEvery)
	}
	if _, err := archive.NewSchedule(db, target, archive.ScheduleOptions{}); err != nil {
		return nil, err
	}
	if _, err := log.KeepLog(standby.Async(context.Background())); err != nil {
		return nil, fail(op, err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = o.Logger.With("target", target)
	return &Sender{db: db, log: log, target: target, o: o, status: Status{Target: target, Strict: o.Strict, Keep: max(0, o.Keep)}}, nil
}

// Status returns the sender's progress so far.
func (s *Sender) Status() Status {
	if s == nil {
		return Status{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	if s.store != nil {
		st.Latest = max(st.Latest, uint64(s.store.Latest()))
	}
	return st
}

func (s *Sender) note(fn func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(&s.status)
}

// Run sends until the context ends, and what was written before that, if the target takes it within a second. One Run
// at a time makes sense. If another server sends to the archive, the error matches [ErrOtherWriter] if that server
// replaced this one.
func (s *Sender) Run(ctx context.Context) error {
	if s == nil || s.db == nil || ctx == nil {
		return nil
	}
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	last := lastTime
	defer context.AfterFunc(ctx, func() { time.AfterFunc(last, cancel) })()
	first := min(s.o.Every, mostWait)
	wait, said, saidAt := first, "", time.Time{}
	for {
		began := time.Now()
		err := s.session(ctx, sending)
		s.note(func(st *Status) { st.Online = false; st.Err = err })
		if s.o.Lost != nil {
			s.o.Lost()
		}
		if err == nil || sending.Err() != nil || ctx.Err() != nil && errors.Is(err, errReplaced) {
			return nil
		}
		if errors.Is(err, errReplaced) {
			s.o.Logger.Error("the log is no longer sent to the archive", "err", err)
			return err
		}
		if time.Since(began) > mostWait {
			wait = first
		}
		if now := err.Error(); now != said || time.Since(saidAt) > time.Minute {
			said, saidAt = now, time.Now()
			s.o.Logger.Error("the log is not sent to the archive; it is kept, and sent later", "err", err, "advice", archive.Advice(err))
		}
		ends := ctx.Done()
		if ctx.Err() != nil {
			ends, wait = nil, 100*time.Millisecond
		}
		select {
		case <-ends:
		case <-sending.Done():
			return nil
		case <-time.After(wait):
		}
		wait = min(2*wait, mostWait)
	}
}

// errReplaced: a later server sends to the archive.
var errReplaced = fmt.Errorf("%w, and has replaced this one", ErrOtherWriter)

// A session sends over one look at the archive.
type session struct {
	*Sender
	store   cf.Shipper
	archive *archive.Archive
	objects archive.Objects
	head    header // of the next block
	log     cf.Log
	next    *cf.LogRecord

	start     uint64    // the position where the log of the archive begins, without a gap since
	based     time.Time // when a base was begun last, or noted
	bases     chan base
	backing   sync.WaitGroup
	scheduled int // the last backup of the schedule that was seen
	confirmed time.Time
	tidied    time.Time
	tidying   atomic.Bool
	pruned    time.Time // belongs to tidy
	known     sync.Map  // summaries by the keys of their segments
	beat      time.Time // when something was sent last
	ending    bool      // the last segment says up to when nothing was written
}

// session sends until something fails, which sending ends too, or ctx ends and the rest is sent.
func (s *Sender) session(ctx, sending context.Context) (err error) {
	store, err := s.log.KeepLog(standby.Async(sending))
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.store = store
	s.mu.Unlock()
	n := &session{Sender: s, store: store, bases: make(chan base, 1), confirmed: time.Now()}
	if n.archive, err = archive.Open(sending, s.target); err != nil {
		return err
	}
	n.objects = n.archive.Objects()
	if err := n.objects.CreatesOnce(sending); err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	defer n.backing.Wait()
	defer stop()
	if err := n.begin(sending); err != nil {
		return err
	}
	defer n.log.Close()
	s.note(func(st *Status) { st.Online, st.Err = true, nil })
	return n.run(ctx, sending, working)
}

// begin goes on where the archive ends, or starts a new log after a gap.
func (n *session) begin(ctx context.Context) error {
	latest, err := n.store.SyncLog(ctx)
	if err != nil {
		return err
	}
	id, err := identify(ctx, n.store)
	if err != nil {
		return err
	}
	engine, err := query.EngineOf(n.store.Home())
	if err != nil {
		return err
	}
	epoch := id.history.Current()
	n.head = header{Database: id.uuid, Engine: engine, extent: extent{History: id.history.ID, Epoch: id.history.Epoch, EpochID: epoch.ID}}
	c, err := readChain(ctx, n.archive)
	if err != nil {
		return err
	}
	for _, g := range c.gens {
		if g.Database != id.uuid {
			return fmt.Errorf("it %w, %s; this one is %s", archive.ErrOtherDatabase, g.Database, id.uuid)
		}
	}
	if len(c.segments) == 0 {
		n.foundMoments(n.db.Plumbing().Wall())
		return n.anew(ctx, latest, "the archive begins")
	}
	newest := c.segments[len(c.segments)-1]
	blocks, err := readSegment(ctx, n.objects, newest)
	if errors.Is(err, archive.ErrDamaged) { // its successor says so
		n.head.Number, n.head.Since, n.head.Prev = newest.last+1, n.db.Plumbing().Wall().UnixMicro(), archive.Sum{}
		n.foundMoments(n.db.Plumbing().Wall())
		return n.anew(ctx, latest, fmt.Sprintf("the newest segment is damaged: %v", err))
	} else if err != nil {
		return err
	}
	end := blocks[len(blocks)-1]
	if end.Database != id.uuid {
		return fmt.Errorf("it %w, %s; this one is %s", archive.ErrOtherDatabase, end.Database, id.uuid)
	}
	n.head.Number, n.head.Since, n.head.Prev = end.Number+1, end.Until, end.sum
	n.foundMoments(timeOf(end.Until))
	from, why, err := n.follow(ctx, id.history, end)
	if err != nil {
		return err
	}
	if why != "" {
		return n.anew(ctx, latest, why)
	}
	n.head.After, n.head.Last = from, from
	if n.o.Sent != nil {
		n.o.Sent(from)
	}
	if last := c.runs; len(last) > 0 {
		r := last[len(last)-1]
		n.start = r.parts[0].After
		if at, ok := r.earliest(); ok {
			n.note(func(st *Status) { st.Earliest = timeOf(at) })
		}
		for _, b := range r.bases {
			if r.leads(b, len(r.parts)-1, from) {
				n.based = timeOf(b.At)
			}
		}
	}
	n.note(func(st *Status) { st.Position, st.Until = from, timeOf(end.Until) })
	n.o.Logger.Info("the log is sent to the archive", "from_position", from, "segment", n.head.Number)
	return nil
}

// foundMoments notes the newest moment, the first time.
func (s *Sender) foundMoments(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.foundAt.IsZero() {
		s.found, s.foundAt = until, time.Now()
	}
}

// follow opens the log where a block ends. why says why it cannot be continued there.
func (n *session) follow(ctx context.Context, h history.History, end *block) (from uint64, why string, err error) {
	from = end.Last
	switch {
	case end.Engine != n.head.Engine:
		return 0, fmt.Sprintf("the database is on %s now, and was on %s", n.head.Engine, end.Engine), nil
	case end.History != h.ID:
		age := n.db.Plumbing().Wall().Sub(timeOf(end.Until))
		if age < silence && age > -silence {
			return 0, "", fmt.Errorf("%w: one with another history of the database, %v ago; if that one is gone, this one begins after %v", ErrOtherWriter, age.Round(time.Second), silence)
		}
		return 0, "the database was restored, or its log was not kept meanwhile: it has another history", nil
	case end.Epoch > h.Epoch:
		return 0, "", fmt.Errorf("%w: it has epoch %d, and this one has %d", errReplaced, end.Epoch, h.Epoch)
	case h.Numbered(end.Epoch).ID != end.EpochID:
		if end.Epoch == h.Epoch {
			return 0, "", fmt.Errorf("%w: another one was promoted to epoch %d too", errReplaced, h.Epoch)
		}
		from = math.MaxUint64 // the fork is before its epoch
	}
	for _, e := range h.Epochs {
		if e.Number > end.Epoch || h.Numbered(end.Epoch).ID != end.EpochID && e.Number == end.Epoch {
			from = min(from, e.After)
		}
	}
	if n.log, why, err = n.openAt(ctx, from, end); why != "" || err != nil {
		return 0, why, err
	}
	return from, "", nil
}

// openAt opens the log after a position, and compares the last record that is in the archive, if it is the one before.
func (n *session) openAt(ctx context.Context, from uint64, end *block) (log cf.Log, why string, err error) {
	known := len(end.records) > 0 && end.Last == from
	at := from
	if known {
		at = end.records[len(end.records)-1].after
	}
	log, err = n.store.Log(cf.Position(at))
	if known && errors.Is(err, cf.ErrTrimmed) {
		known = false
		log, err = n.store.Log(cf.Position(from))
	}
	switch {
	case errors.Is(err, cf.ErrTrimmed):
		return nil, fmt.Sprintf("the log after position %d is no longer kept: the archive was away for too long, or the database is older than its archive", from), nil
	case errors.Is(err, cf.ErrDiverged):
		return nil, fmt.Sprintf("no record of the log ends at position %d: the log is another one", from), nil
	case err != nil || !known:
		return log, "", err
	}
	last := end.records[len(end.records)-1]
	r, err := log.Next(ctx)
	if err == nil && (r == nil || uint64(r.Last) != last.last || !bytes.Equal(r.Data, last.data)) {
		log.Close()
		return nil, fmt.Sprintf("the record at position %d is not the one in the archive: the log is another one", from), nil
	}
	if err != nil {
		log.Close()
		return nil, "", err
	}
	return log, "", nil
}

// anew begins the log anew, at a position; a base follows.
func (n *session) anew(ctx context.Context, at cf.Position, why string) (err error) {
	if n.head.Number == 0 {
		n.head.Number, n.head.Since = 1, n.db.Plumbing().Wall().UnixMicro()
	}
	if n.log, err = n.store.Log(at); err != nil {
		return err
	}
	n.head.After, n.head.Last, n.head.Begins, n.start = uint64(at), uint64(at), why, uint64(at)
	n.note(func(st *Status) { st.Earliest, st.Position = time.Time{}, uint64(at) })
	if n.head.Number == 1 {
		n.o.Logger.Info("the log is sent to the archive", "from_position", at)
		return nil
	}
	n.o.Logger.Error("the archive has a gap: no moment between the last segment and the next backup can be restored; a backup begins", "reason", why, "gap_begins", timeOf(n.head.Since))
	return nil
}

// run sends until something fails, or ctx ends and the rest is sent.
func (n *session) run(ctx, sending, working context.Context) error {
	tick := time.NewTicker(min(n.o.Every, beatEvery))
	defer tick.Stop()
	for {
		news := n.store.News() // before looking, so that nothing is missed
		n.ending = ctx.Err() != nil
		if err := n.send(sending); err != nil || n.ending {
			return err
		}
		if err := n.look(sending, working); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case b := <-n.bases:
			n.addBase(b)
		case <-tick.C:
		case <-news:
			n.rest(ctx)
		}
	}
}

// rest waits for more records, which go into the same segment, unless a write waits for them.
func (n *session) rest(ctx context.Context) {
	var asked <-chan struct{}
	if n.o.Waiting != nil {
		waits, next := n.o.Waiting()
		if waits {
			return
		}
		asked = next
	}
	select {
	case <-ctx.Done():
	case <-asked:
	case <-time.After(n.o.Every):
	}
}

// send sends what is on the disk now.
func (n *session) send(ctx context.Context) error {
	for {
		now := n.db.Plumbing().Wall().UnixMicro() // read before the position, which covers all earlier commits
		latest, err := n.store.SyncLog(ctx)
		if err != nil {
			return err
		}
		b, more, err := n.gather(ctx, uint64(latest), now)
		if err != nil {
			return err
		}
		idle := len(b.records) == 0 && len(b.Bases) == 0 && b.Begins == ""
		n.note(func(st *Status) { st.Latest, st.Behind = uint64(latest), n.log.Behind() })
		if idle && !n.ending && time.Since(n.beat) < beatEvery {
			if latest := uint64(latest); latest == n.head.Last {
				n.note(func(st *Status) { st.Behind = 0 })
			}
			return nil
		}
		if err := n.put(ctx, b); err != nil {
			return err
		}
		if !more {
			return nil
		}
	}
}

// gather makes a block of the next records.
func (n *session) gather(ctx context.Context, latest uint64, now int64) (b *block, more bool, err error) {
	b = &block{header: n.head}
	size := 0
	if now < b.Since {
		n.clockBehind(b.Since - now)
	}
	for {
		if n.next == nil {
			if n.next, err = n.log.Next(ctx); err != nil {
				return nil, false, err
			}
		}
		r := n.next
		if r == nil || uint64(r.Last) > latest {
			break
		}
		if size > 0 && size+len(r.Data) > n.o.Bytes {
			more = true
			break
		}
		if uint64(r.After) != b.Last {
			return nil, false, fmt.Errorf("%w: the log continues after position %d, and the archive ends at %d", cf.ErrCorrupt, r.After, b.Last)
		}
		b.records = append(b.records, record{uint64(r.After), uint64(r.Last), r.Time, r.Data})
		b.Last, size = uint64(r.Last), size+len(r.Data)
		if err := n.sendLoads(ctx, b, r); err != nil {
			return nil, false, err
		}
		n.next = nil
	}
	b.setTimes(now, !more)
	return b, more, nil
}

// setTimes sets the times of a block's records. A record without a time takes the next one's, or now. Times never
// go back, and all are after Since: all commits up to then are in earlier blocks. all says that all commits before
// now are in the block.
func (b *block) setTimes(now int64, all bool) {
	for i, next := len(b.records)-1, now; i >= 0; i-- {
		if r := &b.records[i]; r.time == 0 {
			r.time = next
		} else {
			next = min(next, r.time)
		}
	}
	at := b.Since
	for i := range b.records {
		at = max(at, b.Since+1, b.records[i].time)
		b.records[i].time = at
	}
	if b.Until = at; all {
		b.Until = max(at, now)
	}
}

// clockBehind says that the clock was set back.
func (n *session) clockBehind(micros int64) {
	behind := time.Duration(micros) * time.Microsecond
	if behind > time.Minute && (n.turned == 0 || micros > 2*n.turned) {
		n.turned = micros
		n.o.Logger.Warn("the clock is behind the newest moment in the archive; until it has passed that, moments are told apart by positions and not by times", "behind", behind)
	}
}

// sendLoads sends the files of a load that ends in a record.
func (n *session) sendLoads(ctx context.Context, b *block, r *cf.LogRecord) error {
	ops, ok := n.store.(interface {
		Ops(*cf.LogRecord, func(*cf.LoggedOp) error) error
	})
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	err := ops.Ops(r, func(op *cf.LoggedOp) error {
		if id, ok := strings.CutPrefix(string(op.Key), cf.LoadedPrefix); ok && op.Family == "" {
			seen[id] = true
		}
		return nil
	})
	for id := range seen {
		if err == nil {
			var l load
			if l, err = n.sendLoad(ctx, b.Number, id); err == nil {
				b.Loads = append(b.Loads, l)
			}
		}
	}
	return err
}

func (n *session) sendLoad(ctx context.Context, number uint64, id string) (l load, err error) {
	dir, err := n.store.LoadDir(id)
	if err != nil {
		return l, err
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return l, err
	}
	l.ID = id
	for _, e := range names {
		f := loadFile{Name: e.Name()}
		path := filepath.Join(dir, e.Name())
		if f.Size, f.Sum, err = archive.SumOf(ctx, path); err == nil {
			err = n.objects.PutFile(ctx, loadKey(number, f.Sum), path, f.Size, f.Sum)
		}
		if err != nil {
			return l, fmt.Errorf("load %s: %w", id, err)
		}
		l.Files = append(l.Files, f)
	}
	return l, nil
}

// put puts a block into the archive, as a segment of its own. Only one server can do so.
func (n *session) put(ctx context.Context, b *block) error {
	text, sum, err := encodeSegment([]*block{b})
	if err != nil {
		return err
	}
	key := segmentKey(b.Number, b.Number)
	step("send: encoded")
	created, err := n.objects.Create(ctx, key, text)
	if err != nil {
		return err
	}
	if !created {
		there, found, err := n.objects.Get(ctx, key, maxSegment)
		if err != nil {
			return err
		}
		if !found || !bytes.Equal(there, text) {
			return fmt.Errorf("%w: segment %d is there already", ErrOtherWriter, b.Number)
		}
	}
	if time.Since(n.confirmed) > confirmAfter {
		if err := n.confirm(ctx, b.Number); err != nil {
			return err
		}
	}
	step("send: created")
	n.known.Store(key, sum)
	n.confirmed, n.beat = time.Now(), time.Now()
	if n.head.Begins != "" || len(b.Bases) > 0 {
		n.noteEarliest(b)
	}
	n.head.Number, n.head.Since, n.head.Prev = b.Number+1, b.Until, b.sum
	n.head.After, n.head.Begins, n.head.Bases, n.head.Last = b.Last, "", nil, b.Last
	n.note(func(st *Status) {
		st.Online, st.Err = true, nil
		st.Position, st.Until = b.Last, timeOf(b.Until)
		if b.Begins != "" && b.Number > 1 {
			st.Gaps++
			st.Gap = b.Begins
		}
		st.Segments++
		st.Bytes += int64(len(text))
		if st.Position >= st.Latest {
			st.Behind = 0
		}
	})
	if n.o.Sent != nil {
		n.o.Sent(b.Last)
	}
	return nil
}

// confirm finds out whether the newest segment is this sender's: if it stood still for long, another server may have
// sent and merged, and the name of the segment was free again.
func (n *session) confirm(ctx context.Context, number uint64) error {
	list, obsolete, err := listSegments(ctx, n.objects)
	if err != nil {
		return err
	}
	last := uint64(0)
	if len(list) > 0 {
		last = list[len(list)-1].last
	}
	for _, s := range obsolete {
		if s.first == number {
			last = max(last, number+1)
		}
	}
	switch {
	case last > number:
		return fmt.Errorf("%w: it has sent segment %d meanwhile", ErrOtherWriter, last)
	case last < number:
		return fmt.Errorf("segment %d is gone from the archive: something removes its files", number)
	}
	return nil
}

func (n *session) noteEarliest(b *block) {
	n.note(func(st *Status) {
		for _, x := range b.Bases {
			if at := timeOf(x.At); st.Earliest.IsZero() || at.Before(st.Earliest) {
				st.Earliest = at
			}
		}
	})
}

// look begins what is due: a base, and the care of old segments.
func (n *session) look(ctx, working context.Context) error {
	if n.o.Schedule != nil {
		if last := n.o.Schedule.Status(); last.Made > 0 && last.Last.ID != n.scheduled && last.Elapsed > 0 && last.Last.Position >= n.start {
			if err := n.objects.KeepBase(ctx, last.Last.ID); err != nil {
				return err
			}
			n.scheduled = last.Last.ID
			n.addBase(base{Generation: last.Last.ID, From: last.Last.Position, UpTo: uint64(n.store.Latest()), At: n.db.Plumbing().Wall().UnixMicro()})
		}
	}
	now := n.db.Plumbing().Wall()
	due := n.based.IsZero() || n.o.Schedule == nil && now.Sub(n.based) >= n.o.BaseEvery
	if due && n.head.Begins == "" { // the log from it on is there
		n.based = now
		n.backing.Go(func() { n.makeBase(working) })
	}
	if time.Since(n.tidied) > tidyEvery {
		n.tidied = time.Now()
		n.backing.Go(func() { n.tidy(working) })
	}
	return nil
}

// addBase says in the next block that there is a base.
func (n *session) addBase(b base) {
	if b.Generation == 0 {
		n.based = time.Time{} // it failed
		return
	}
	n.based = n.db.Plumbing().Wall()
	if n.db.Plumbing().Wall().UnixMicro() < n.head.Since { // the clock was set back
		b.At = n.head.Since
	}
	n.head.Bases = append(n.head.Bases, b)
}

// makeBase makes a backup, again and again until that succeeds, and gives it to the sender.
func (n *session) makeBase(ctx context.Context) {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		b, err := n.tryBase(ctx)
		if err == nil {
			select {
			case n.bases <- b:
			case <-ctx.Done():
			}
			return
		}
		if ctx.Err() != nil {
			return
		}
		level := slog.LevelError
		if errors.Is(err, archive.ErrLocked) {
			level = slog.LevelInfo
		}
		n.o.Logger.Log(ctx, level, "the backup with which restorable moments begin was not made; it is tried again", "err", err, "tried_again_in", wait)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if n.o.Schedule != nil && n.o.Schedule.Status().Made > 0 && errors.Is(err, archive.ErrLocked) {
			return // the schedule made one
		}
	}
}

func (n *session) tryBase(ctx context.Context) (b base, err error) {
	var once sync.Once
	o := archive.BackupOptions{Scheduled: true, KeepFor: max(0, n.o.Keep)}
	o.Report = func(archive.Progress) { // the first time, the copy was just made
		once.Do(func() { b.UpTo, b.At = uint64(n.store.Latest()), n.db.Plumbing().Wall().UnixMicro() })
	}
	res, err := archive.Local{DB: n.db}.BackUp(ctx, n.target, o)
	if res.ID == 0 {
		return b, cmp.Or(err, errors.New("no backup was made"))
	}
	b.Generation, b.From = res.ID, res.Position
	b.UpTo = max(b.UpTo, b.From)
	if err := n.objects.KeepBase(ctx, b.Generation); err != nil {
		return b, err
	}
	gens, err := n.archive.List(ctx)
	if err != nil {
		return b, err
	}
	for _, g := range gens {
		if g.ID == b.Generation {
			return b, nil
		}
	}
	return b, fmt.Errorf("backup %d was removed at once", b.Generation)
}

// An identity is what the catalog says of a database.
type identity struct {
	uuid    string
	history history.History
}

func identify(ctx context.Context, store cf.Reader) (id identity, err error) {
	snap, err := store.Snapshot(ctx)
	if err != nil {
		return id, err
	}
	defer snap.Close()
	name, err := snap.Meta(ctx, "smolwc/uuid")
	if err != nil {
		return id, err
	}
	id.uuid = string(name)
	text, err := snap.Meta(ctx, history.Key)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &id.history)
	}
	if err == nil && id.history.ID == "" {
		err = errors.New("the database does not keep its log")
	}
	return id, err
}
