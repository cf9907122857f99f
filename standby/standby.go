package standby

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/standbys"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/history"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
)

// Options say how a standby is run.
type Options struct {
	// Primary is the address of the server that is followed, HOST:PORT: a primary, or
	// another standby. Without it, Open opens a primary that was fenced, for reads.
	Primary string
	Token   string      // with the right to administer all tables; "" is no token
	TLS     *tls.Config // nil: no TLS
	// Name is shown at the primary; "" is the name of the machine.
	Name string
	// LogBytes is how much of the log is kept for standbys of this one, and for its
	// change streams once it is promoted; 0 is [DefaultLogBytes]. With less than 0 neither
	// the standby nor the primary that it becomes takes standbys, and the latter keeps no
	// log for them.
	LogBytes int64
	// SemiSync says which writes wait for a standby once this one is promoted.
	SemiSync SemiSync
	// Lease is what the database needs for taking writes once it is promoted; nil is no
	// lease.
	Lease Lease
	// Switched is as in [PrimaryOptions], once this one is promoted.
	Switched func(leader string)
	// Observer makes writes of the primary never wait for this standby.
	Observer bool
	// Delay is how long the standby waits before it applies a record, from when that was written, by the clock of the
	// database. What it receives meanwhile is on its disk: it can be promoted to each moment of that time, and loses nothing by a
	// promotion. Writes of the primary never wait for it, as for an observer, and it cannot compare itself with its primary.
	Delay time.Duration
	// DelayBytes bounds the waiting records on the disk, in bytes, about; 0 is no bound. When it is reached, the oldest records are
	// applied before the delay has passed.
	DelayBytes int64
	// VerifyEvery is how often the standby compares itself with its primary; see
	// [Standby.Verify]. The first time is after a copy. 0 is never.
	VerifyEvery time.Duration
	// Database gives the memory, background rate and logger of the database, and the
	// engine that the primary must use, if not any. All other fields must be zero.
	Database query.Options
	// Archive has the log of the primary; nil is allowed. A new standby begins from it, and one whose primary no longer
	// keeps the log that it needs goes on with it. If the archive fails, the primary is copied.
	Archive Archive
	// Retry is the first wait after a connection fails; it doubles up to 10 s. 0 is 100
	// ms.
	Retry time.Duration
	// Promote is called when a client asks the standby's [Standby.Service] for a promotion. leader
	// is an address by which others reach the server, and at the moment, if it is not zero. It calls [Standby.PromoteAt], and
	// returns when the primary is served. Nil refuses such calls.
	Promote func(ctx context.Context, s *Standby, leader string, at time.Time) (*Promotion, error)
}

// A Standby follows a primary. It is safe for concurrent use.
type Standby struct {
	feed   *feed
	logger *slog.Logger
	o      Options
	dir    dataDir
	link   *link

	opened   cf.Follower
	reader   *reader
	db       *query.DB
	identity identity
	// spool keeps what was received and not applied, with a delay; nil otherwise.
	// spooledHistory is the newest history in it.
	spool          *spool
	spooledHistory *history.History

	archiveFails atomic.Bool // the archive did not lead to the primary's log

	following context.Context // until the standby is stopped; its cause is why
	stop      context.CancelCauseFunc
	running   sync.WaitGroup
	closing   sync.Once
	phase     sync.Mutex // held while the standby is promoted or closed
	ended     bool       // it was promoted or closed
	lost      chan struct{}

	turn          chan struct{}  // holds an element while a record is applied
	snapshotPoint *snapshotPoint // of a verification; only the goroutine with the turn uses it
	verifying     sync.Mutex     // one verification at a time
	roles         sync.Mutex     // held while the file STANDBY is changed

	state    sync.Mutex
	why      error // set before lost is closed
	own      tail  // with ErrRebuild: the changes that the primary does not have
	lag      lag
	rebuilds int64
	online   bool
	verified *Verification // the last one
	differed int64         // verifications that have found a difference
}

// ErrRebuild matches the error of [Standby.Err] for a standby that must be rebuilt.
var ErrRebuild = errors.New("the standby has to be rebuilt")

// errLogTrimmed is the ErrRebuild of a standby without changes of its own.
var errLogTrimmed = fmt.Errorf("%w: %s", ErrRebuild, behind)

// errUpstreamDiffers is the ErrRebuild of a standby that followed one with wrong rows.
var errUpstreamDiffers = fmt.Errorf("%w: %s", ErrRebuild, upstreamDiffers)

// errLoadTrimmed is the errLogTrimmed for a load.
var errLoadTrimmed = fmt.Errorf("%w, with the files of a load", errLogTrimmed)

// Why a standby stopped following for a moment or for good.
var (
	errRedirected    = fmt.Errorf("%w: the standby follows another server from now on; try again", cf.ErrUnavailable)
	errStandbyCloses = fmt.Errorf("%w: the standby is being closed", cf.ErrUnavailable)
	errPromotes      = errors.New("the standby is being promoted")
)

// Open opens the standby in a directory and follows its primary, until Close. Without a
// database in the directory, it first copies the primary's, or continues an interrupted
// copy. A directory with a primary becomes a standby if the server was promoted in its
// place. A directory with a restored backup of the primary's database gives the copy its
// files, and is kept aside. Any other database that is no standby is refused.
//
// Open needs the primary only for a copy: without it the standby serves its rows as of
// its position, and connects later.
func Open(ctx context.Context, dir string, o Options) (*Standby, error) {
	if ctx == nil {
		return nil, errors.New("the context is nil; context.Background gives one")
	}
	if o.Primary == "" && !Fenced(dir) {
		return nil, errors.New("a standby needs the address of its primary")
	}
	if err := o.SemiSync.check(); err != nil {
		return nil, err
	}
	if o.DelayBytes < 0 || o.DelayBytes > 0 && (o.Delay == 0 || o.DelayBytes < MinDelayBytes) {
		return nil, fmt.Errorf("the disk space for a delay is %d bytes; want %d or more, and a delay", o.DelayBytes, MinDelayBytes)
	}
	if o.Delay < 0 || o.Delay > 0 && (o.VerifyEvery > 0 || o.Lease != nil) {
		return nil, fmt.Errorf("the delay of a standby is %v; it must not be less than 0, and a standby with a delay has no lease and does not verify itself", o.Delay)
	}
	at, err := dataDirOf(dir)
	if err != nil {
		return nil, fmt.Errorf("standby %s: %w", dir, err)
	}
	s := &Standby{feed: newFeed(o.Database.Logger, SemiSync{}), o: o, dir: at, lost: make(chan struct{}), turn: make(chan struct{}, 1)}
	s.logger, s.feed.follows = s.feed.logger, s.Primary
	s.feed.begin = func(context.Context) error { return nil }
	s.feed.describe, s.feed.promote, s.feed.fence = s.describe, s.promote, s.forwardFence
	s.feed.verify = s.serveVerify
	if s.o.LogBytes = cmp.Or(o.LogBytes, DefaultLogBytes); o.LogBytes < 0 {
		s.feed.refusal = errRefused
	}
	s.o.Database.Logger = s.logger
	s.o.Retry = cmp.Or(o.Retry, firstRetry)
	if s.o.Name == "" {
		s.o.Name, _ = os.Hostname()
	}
	if s.link, err = dial(cmp.Or(o.Primary, "127.0.0.1:0"), o.Token, o.TLS, s.o.Retry); err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("standby %s: %w", dir, err), s.link.conn.Close())
	}
	return s, nil
}

func (s *Standby) open(ctx context.Context) error {
	refusal := func() error {
		primary, _ := s.upstream()
		return fmt.Errorf("%w: it is a standby; write to its primary, %s", cf.ErrReadOnly, primary)
	}
	if s.o.Primary == "" {
		by := new(fence)
		if _, err := readFile(s.dir.dir, plumbing.FencedFile, by); err != nil {
			return err
		}
		refusal = by.refusal
		s.feed.fencedBy.Store(by)
		s.feed.fence = s.feed.takeFence
	} else if err := s.prepare(ctx); err != nil {
		return err
	}
	var err error
	if s.opened, err = openStore(s.dir.dir, s.o.Database, true); err != nil {
		return err
	}
	if ships := s.opened.Ships(); ships != "" && s.o.Primary != "" {
		if err := s.opened.Ship(ships, s.logBytes()); err != nil {
			return errors.Join(err, s.opened.Close())
		}
	}
	s.reader = newReader(s.opened, refusal)
	var store cf.Store = s.reader // of a fenced primary, whose last changes may be lost
	if s.o.Primary != "" {
		store = follower{s.reader}
		settled := s.reader.settled.Load
		s.feed.settled.Store(&settled)
	}
	if s.identity, err = identify(ctx, s.opened); err == nil && s.o.Primary != "" {
		err = s.openSpool()
	}
	if err == nil {
		s.db, err = query.OpenStore(ctx, store, query.Options{ReadOnly: true, Memory: s.o.Database.Memory, Logger: s.logger, Clock: s.o.Database.Clock})
	}
	if err != nil {
		return errors.Join(err, s.opened.Close())
	}
	s.feed.serveStore(s.opened)
	s.lag.since = time.Now()
	s.start()
	return nil
}

// OpenStopped opens the database of a standby that no process runs, for reads and for copies of its
// files. The directory stays a standby's.
func OpenStopped(ctx context.Context, dir string, o query.Options) (*query.DB, error) {
	if ctx == nil {
		return nil, errors.New("the context is nil; context.Background gives one")
	}
	at, err := dataDirOf(dir)
	if err != nil {
		return nil, fmt.Errorf("standby %s: %w", dir, err)
	}
	var r role
	is, err := look(at.dir)
	if err == nil && is != dirStandby {
		err = errors.New("the directory has no standby")
	}
	if err == nil {
		_, err = readFile(at.dir, plumbing.StandbyFile, &r)
	}
	switch {
	case err != nil:
	case r.Seed:
		err = errors.New("it has the rows of the backup from which it begins; smolwc serve --standby-of copies its primary first")
	case r.Differs != "":
		err = fmt.Errorf("it differs from its primary, and is rebuilt before it is read: %s", r.Differs)
	}
	if err != nil {
		return nil, fmt.Errorf("standby %s: %w", dir, err)
	}
	store, err := openStore(at.dir, o, true)
	if errors.Is(err, cf.ErrBusy) || errors.Is(err, cf.ErrOpenHere) {
		err = &query.Error{Op: "open", Kind: query.KindBusy, Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("standby %s: %w", dir, err)
	}
	refusal := func() error {
		return fmt.Errorf("%w: it is a standby of %s; write to that one", cf.ErrReadOnly, r.Primary)
	}
	db, err := query.OpenStore(ctx, follower{newReader(store, refusal)}, query.Options{ReadOnly: true, Memory: o.Memory, Logger: o.Logger, Clock: o.Clock})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("standby %s: %w", dir, err), store.Close())
	}
	return db, nil
}

// logBytes is how much of its log the standby keeps: at least its last file, whose last
// record is compared with the primary's.
func (s *Standby) logBytes() int64 { return max(s.o.LogBytes, 1) }

// prepare makes the directory one that follows the primary.
func (s *Standby) prepare(ctx context.Context) error {
	dir := s.dir.dir
	is, err := s.dir.recover()
	switch {
	case err != nil:
		return err
	case is == nothing:
		err = s.recopy(ctx, true)
	case is == dirStandby:
		err = s.recopyIfUnusable(ctx)
	case isRestored(dir):
		err = s.copyFromBackup(ctx)
	case hasDatabase(dir):
		err = s.rejoin(ctx)
	default:
		err = s.dir.refusal()
	}
	if err != nil {
		return err
	}
	if err := s.dir.followed(s.o.Primary); err != nil {
		return err
	}
	// A promotion that did not come to its end never happened, and neither did a copy.
	return errors.Join(removeFile(dir, plumbing.PromotedFile), removeFile(dir, plumbing.FencedFile), removeFile(dir, divergedFile))
}

// errNoStandby is for a directory that cannot become a standby.
var errNoStandby = errors.New("the directory has a database that is no standby; name another directory, or an empty one")

// isRestored reports whether a directory may hold a restored backup: a database that has
// kept no log since.
func isRestored(dir string) bool {
	return hasDatabase(dir) && exists(filepath.Join(dir, markerFile)) && !exists(filepath.Join(dir, "archive")) &&
		!exists(filepath.Join(dir, plumbing.PromotedFile)) && !exists(filepath.Join(dir, plumbing.FencedFile))
}

// copyFromBackup begins with a restored backup of the primary's database.
func (s *Standby) copyFromBackup(ctx context.Context) error {
	db, err := query.Open(s.dir.dir, query.Options{ReadOnly: true, Memory: s.o.Database.Memory, Logger: s.logger})
	if err != nil {
		return err
	}
	uuid := db.UUID().String()
	if err := db.Close(); err != nil {
		return err
	}
	there, err := s.link.ListReplicas(s.link.context(ctx), new(smolwcpb.ListReplicasRequest))
	if err != nil {
		return notYet{fmt.Errorf("the directory has a database, and %s, which is to lead it, does not answer: %w", s.o.Primary, s.link.explain(err))}
	}
	if there.GetDatabase() != uuid {
		return errNoStandby
	}
	s.logger.Info("the directory has a backup of the primary; its files are used for the copy, and kept", "dir", s.dir.dir)
	if err := writeFile(s.dir.dir, plumbing.StandbyFile, role{Primary: s.o.Primary, WasPrimary: true, Seed: true}); err != nil {
		return err
	}
	return s.recopy(ctx, false)
}

// recopyIfUnusable copies the primary if the standby is a backup still, or if its rows are wrong.
func (s *Standby) recopyIfUnusable(ctx context.Context) error {
	var r role
	if _, err := readFile(s.dir.dir, plumbing.StandbyFile, &r); err != nil || !r.Seed && r.Differs == "" {
		return err
	}
	if r.Differs != "" {
		s.logger.Error("the standby is rebuilt before it serves", "reason", r.Differs)
		if err := writeFile(s.dir.dir, divergedFile, tail{Reason: r.Differs}); err != nil {
			return err
		}
	}
	return s.recopy(ctx, false)
}

// followed notes the address of the primary.
func (p dataDir) followed(primary string) error {
	var r role
	if _, err := readFile(p.dir, plumbing.StandbyFile, &r); err != nil || r.Primary == primary {
		return err
	}
	r.Primary = primary
	return writeFile(p.dir, plumbing.StandbyFile, r)
}

// firstRetry is the default of Options.Retry.
const firstRetry = 100 * time.Millisecond

// start follows the primary, if there is one, until stop is called. A standby that was a primary
// may have fences pending.
func (s *Standby) start() {
	ctx, stop := context.WithCancelCause(context.Background())
	s.state.Lock() // of fail
	s.following, s.stop = ctx, stop
	s.state.Unlock()
	t := fencer{feed: s.feed, store: s.opened, token: s.o.Token, tls: s.o.TLS, retry: s.o.Retry}
	s.running.Go(func() { t.run(ctx, promotion{}, nil) })
	if s.o.Primary == "" {
		return
	}
	s.running.Go(func() { s.follow(ctx) })
	if s.spool != nil {
		s.running.Go(func() { s.delayed(ctx) })
	}
	if s.o.VerifyEvery > 0 {
		s.running.Go(func() { s.verifyOften(ctx) })
	}
}

// upstream is the primary's address, and the connection to it.
func (s *Standby) upstream() (string, *link) {
	s.state.Lock()
	defer s.state.Unlock()
	return s.o.Primary, s.link
}

// Primary is the address of the server that the standby follows, "" for a fenced primary.
func (s *Standby) Primary() string {
	if s == nil || s.opened == nil {
		return ""
	}
	primary, _ := s.upstream()
	return primary
}

// Redirect makes the standby follow the server at another address from now on. Reads go on.
// A standby that is lost follows it when it is rebuilt.
func (s *Standby) Redirect(primary string) error {
	if s == nil || s.opened == nil {
		return errors.New("there is no standby; Open gives one")
	}
	s.phase.Lock()
	defer s.phase.Unlock()
	if before, _ := s.upstream(); primary == "" || before == "" {
		return errors.New("a standby needs the address of its primary, and a fenced primary follows nobody")
	}
	to, err := dial(primary, s.o.Token, s.o.TLS, s.o.Retry)
	if err != nil {
		return err
	}
	if !s.ended {
		s.stop(errRedirected)
		s.running.Wait()
	}
	s.state.Lock()
	before := s.link
	s.o.Primary, s.link = primary, to
	s.state.Unlock()
	_ = before.conn.Close() // Rebuild may have closed it
	if s.ended {
		return to.conn.Close()
	}
	if s.Err() == nil {
		err = errors.Join(err, s.dir.followed(primary))
		s.start()
	}
	return err
}

// DB is the database, for reads. It belongs to the standby, which closes it. Writes fail
// with an error that matches [query.ErrReadOnly] and names the primary.
func (s *Standby) DB() *query.DB {
	return s.db
}

// Lost is closed when the standby stops following for good; [Standby.Err] gives the
// reason.
func (s *Standby) Lost() <-chan struct{} {
	return s.lost
}

// Err returns why the standby stopped following, nil while it follows. An error that
// matches [ErrRebuild] is mended by [Standby.Rebuild].
func (s *Standby) Err() error {
	if s == nil || s.feed == nil {
		return nil
	}
	s.state.Lock()
	defer s.state.Unlock()
	return s.why
}

// fail ends the standby: its rows must no longer be read.
func (s *Standby) fail(err error) {
	s.reader.lose(fmt.Errorf("%w: %w", cf.ErrUnavailable, err))
	s.state.Lock()
	defer s.state.Unlock()
	if s.why == nil {
		s.why = err
		close(s.lost)
		s.stop(err)
	}
}

// Rebuild closes a standby that is lost, copies the primary, and opens the copy. The files
// of the standby stay until the copy is whole. If they may have rows that the primary does
// not have, they stay for good, in a directory with .diverged added to its name, or
// .diverged.2 and so on up to 4; with more of them Rebuild fails, and changes nothing. The
// result replaces s.
func (s *Standby) Rebuild(ctx context.Context) (*Standby, error) {
	if s == nil || s.feed == nil || !errors.Is(s.Err(), ErrRebuild) {
		return nil, errors.New("the standby need not be rebuilt")
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	var err error
	if s.link, err = s.dial(); err != nil {
		return nil, err
	}
	before, _ := s.dir.aside()
	if err = s.leave(); err == nil {
		// Present rows, which the primary has, are nearest; those of before the delay are in the archive.
		err = s.recopy(ctx, s.o.Delay > 0 && !s.archiveFails.Load() && !differs(s.Err()))
	}
	if kept, _ := s.dir.aside(); len(kept) > len(before) {
		s.logger.Warn("the previous files are kept, since the primary may not have all of their rows", "dirs", kept, "at_most", maxKept)
	}
	if err = errors.Join(err, s.link.conn.Close()); err != nil {
		return nil, fmt.Errorf("standby %s: %w", s.dir.dir, err)
	}
	next, err := Open(ctx, s.dir.dir, s.o)
	if err != nil {
		return nil, err
	}
	next.state.Lock()
	defer next.state.Unlock()
	next.rebuilds, next.verified, next.differed = s.rebuilds+1, s.verified, s.differed
	return next, nil
}

// leave notes in the directory why it is rebuilt, for the case that it is kept aside.
func (s *Standby) leave() error {
	why, own := s.Err(), s.own
	err := s.changeRole(func(r *role) { r.Keep = !errors.Is(why, errLogTrimmed) })
	if differs(why) {
		own = tail{Reason: why.Error()}
	}
	if err != nil || own.After == 0 && !differs(why) {
		return err
	}
	return writeFile(s.dir.dir, divergedFile, own)
}

// Close stops following and closes the database.
func (s *Standby) Close() error {
	if s == nil || s.db == nil {
		return nil
	}
	var err error
	s.closing.Do(func() {
		s.phase.Lock()
		defer s.phase.Unlock()
		s.ended = true
		s.feed.Stop()
		s.stop(errStandbyCloses)
		s.running.Wait()
		if s.spool != nil {
			err = s.spool.close()
		}
		err = errors.Join(err, s.db.Close(), s.link.conn.Close())
	})
	return err
}

// Position returns the position up to which the standby holds the primary's changes.
func (s *Standby) Position() uint64 {
	if s == nil || s.opened == nil {
		return 0
	}
	return uint64(s.opened.Latest())
}

// Lag returns how long ago the standby was last up to date with its primary, by this
// machine's clock; 0 if it is now. connected says whether the primary is there.
func (s *Standby) Lag() (lag time.Duration, connected bool) {
	if s == nil || s.feed == nil {
		return 0, false
	}
	s.state.Lock()
	defer s.state.Unlock()
	return s.lag.now(time.Now(), s.online), s.online
}

// Service serves the calls of standbys of this one. It is an option of package server.
func (s *Standby) Service() standbys.Service {
	if s == nil || s.feed == nil {
		return nil
	}
	return s.feed
}

func (s *Standby) describe(to *smolwcpb.ListReplicasResponse) {
	lag, connected := s.Lag()
	s.state.Lock()
	defer s.state.Unlock()
	if s.o.Primary == "" {
		return
	}
	to.Standby, to.Primary, to.Connected = true, s.o.Primary, connected
	to.LagMicros, to.Rebuilds, to.DelayMicros = lag.Microseconds(), s.rebuilds, s.o.Delay.Microseconds()
	describeLease(s.o.Lease, to)
	to.Verified, to.Differed = s.verified.message(), s.differed
	if s.spool != nil {
		to.DelayedBytes = s.spool.bytes()
		if at, known, err := s.spool.begins(); err == nil && known {
			to.DelayedSinceMicros = at
		}
	}
}

// A lag measures how far a standby is behind.
type lag struct {
	since  time.Time // when the standby last had everything that the primary had then
	latest uint64    // of the message that is waited for
	sent   time.Time // when that message came; zero: none is waited for
	behind bool
}

// note notes a message with the primary's latest position, and the standby's own.
func (l *lag) note(latest, applied uint64, came time.Time) {
	if l.sent.IsZero() {
		l.latest, l.sent = latest, came
	}
	if applied >= l.latest {
		l.since, l.sent = l.sent, time.Time{}
	}
	if l.behind = applied < latest; !l.behind {
		l.since = came
	}
}

// now is the lag at a moment.
func (l *lag) now(at time.Time, online bool) time.Duration {
	if online && !l.behind && at.Sub(l.since) < 3*beatEvery {
		return 0
	}
	return at.Sub(l.since)
}
