package moments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/cf"
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
