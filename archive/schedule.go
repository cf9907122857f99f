package archive

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/smolwc/smolwc/query"
)

// ScheduleOptions say when a [Schedule] backs up.
type ScheduleOptions struct {
	// Every is the time from one backup to the next, at least a second; 0 is a day.
	Every time.Duration
	// Keep is how long its backups stay: after each backup, older ones of the schedule are
	// removed. 0 keeps all. Other backups at the target, and the newest one, are never
	// removed.
	Keep time.Duration
	// Logger gets a line for each backup, at the level of an error if it failed; nil
	// discards them.
	Logger *slog.Logger
}

// A Schedule backs a database up again and again, to one target and by the database's
// clock. It is safe for concurrent use.
type Schedule struct {
	db     *query.DB
	target string
	o      ScheduleOptions

	mu      sync.Mutex
	status  ScheduleStatus
	running time.Time // since when Run runs
}

// A ScheduleStatus is a schedule's progress.
type ScheduleStatus struct {
	// Last is the newest backup of the schedule, also one of another process; the zero
	// Generation if no backup was found or the target was not read yet.
	Last Generation
	// Elapsed and SentBytes describe Last; 0 if another process made it.
	Elapsed   time.Duration
	SentBytes int64
	// Made and Failed count the backups since the schedule was made.
	Made, Failed int64
	// Every and Keep are as in ScheduleOptions, with the default for 0.
	Every, Keep time.Duration
}

// How often a schedule looks whether a backup is due, and after which time at most it tries
// a failed one again.
const (
	schedulePeriod = time.Second
	scheduleRetry  = 10 * time.Minute
	lockedRetry    = 10 * time.Second // while another process backs up to the target
	scheduleEvery  = 24 * time.Hour
)

// NewSchedule makes a schedule of a database that is open for writing, or a standby's, and in a directory.
// It checks the target without connecting to it: a target that cannot be reached only
// fails a backup. [Schedule.Run] makes the backups.
func NewSchedule(db *query.DB, target string, o ScheduleOptions) (*Schedule, error) {
	const op = "schedule backups"
	if err := db.Plumbing().CanFreeze(); err != nil {
		return nil, fail(op, err)
	}
	if o.Every == 0 {
		o.Every = scheduleEvery
	}
	if o.Every < time.Second || o.Keep < 0 {
		return nil, fail(op, targetErrorf("a backup every %v, kept for %v; it must be every second or less often, and be kept for 0 or longer", o.Every, o.Keep))
	}
	t, err := parseTarget(target)
	if err != nil {
		return nil, fail(op, err)
	}
	if t.s3 == nil {
		target = t.dir
		if err := outside(t.dir, db.Plumbing().FilesDir()); err != nil {
			return nil, fail(op, err)
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Schedule{db: db, target: target, o: o, status: ScheduleStatus{Every: o.Every, Keep: o.Keep}}, nil
}

// Target is where the backups go.
func (s *Schedule) Target() string {
	if s == nil {
		return ""
	}
	return s.target
}

// Status returns the schedule's progress so far.
func (s *Schedule) Status() ScheduleStatus {
	if s == nil {
		return ScheduleStatus{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Run backs up until the context ends: at once if the newest backup of the schedule is older than
// Every, or if no backup was found, and then whenever Every has passed. A backup that failed is
// tried again after Every, or after ten minutes if that is sooner. Run returns when no backup is
// under way. One Run at a time makes sense. Schedules of several processes with one target, as of
// a primary and its standbys, together make one backup each time Every has passed.
func (s *Schedule) Run(ctx context.Context) {
	if s == nil || s.db == nil || ctx == nil {
		return
	}
	tick := time.NewTicker(schedulePeriod)
	defer tick.Stop()
	s.mu.Lock()
	s.running = s.db.Plumbing().Wall()
	s.mu.Unlock()
	due := s.next(ctx)
	for ctx.Err() == nil {
		// The clock may be set back: no backup is further away than Every.
		if now := s.db.Plumbing().Wall(); !now.Before(due) || due.Sub(now) > s.o.Every {
			due = s.backUp(ctx)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// next is when the next backup is due, by those that are there. If the target cannot be read,
// that is now, and the backup says why.
func (s *Schedule) next(ctx context.Context) (due time.Time) {
	all, err := Local{s.db}.ListBackups(ctx, s.target)
	if err != nil {
		return due
	}
	for _, g := range all {
		if g.Scheduled && g.Damaged == "" {
			s.mu.Lock()
			if g.ID != s.status.Last.ID {
				s.status.Elapsed, s.status.SentBytes = 0, 0
			}
			s.status.Last, due = g, g.Time.Add(s.o.Every)
			s.mu.Unlock()
		}
	}
	return due
}

// backUp makes one backup, and returns when the next one is due.
func (s *Schedule) backUp(ctx context.Context) (due time.Time) {
	res, err := Local{s.db}.BackUp(ctx, s.target, BackupOptions{Scheduled: true, KeepFor: s.o.Keep, unless: s.o.Every})
	log, now := s.o.Logger.With("target", s.target), s.db.Plumbing().Wall()
	if errors.Is(err, errRecent) {
		log.Info("another process has backed up on schedule")
		if due = s.next(ctx); due.After(now.Add(s.o.Every)) { // its clock is ahead
			due = now.Add(s.o.Every)
		}
		return due
	}
	_, held := errors.AsType[heldError](err)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case held && now.Sub(later(s.status.Last.Time, s.running)) < max(2*s.o.Every, scheduleRetry):
		log.Info("another process is at work at the target; then it is looked at again", "err", err)
		return now.Add(min(s.o.Every, lockedRetry))
	case res.ID != 0:
		s.status.Last, s.status.Elapsed, s.status.SentBytes = res.Generation, res.Elapsed, res.SentBytes
		s.status.Made++
		log.Info("backed up on schedule", "backup", res.ID, "sent_bytes", res.SentBytes, "removed", res.Pruned.Generations, "duration", res.Elapsed)
		if err != nil && ctx.Err() == nil {
			log.Warn("the backup is complete, but old ones could not be removed", "err", err, "advice", Advice(err))
		}
		return res.Time.Add(s.o.Every)
	case ctx.Err() != nil:
		return due
	}
	s.status.Failed++
	retry := min(s.o.Every, scheduleRetry)
	last := "there is no backup yet"
	if s.status.Last.ID != 0 {
		last = s.status.Last.Time.UTC().Format(time.RFC3339)
	}
	log.Error("the database was not backed up on schedule", "err", err, "advice", Advice(err), "last_backup", last, "tried_again_in", retry)
	return now.Add(retry)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Advice says what an operator can do about the error of a backup.
func Advice(err error) string {
	for _, a := range []struct {
		err  error
		text string
	}{
		{ErrDenied, "give this process the access keys, or the rights, for the target"},
		{ErrNoBucket, "create the bucket"},
		{ErrUnreachable, "check that this machine reaches the target; nothing else is needed, the backup is tried again"},
		{ErrNoSpace, "make room at the target, or beside the database"},
		{ErrLocked, "wait for the other backup; smolwc backup unlock TARGET names its process, and removes the lock of one that has ended"},
		{ErrOtherDatabase, "name another target for this database: smolwc serve --backup"},
		{ErrExists, "name an empty directory, or one with backups: smolwc serve --backup"},
		{ErrDamaged, "run smolwc verify TARGET, which names what is damaged"},
	} {
		if errors.Is(err, a.err) {
			return a.text
		}
	}
	return "see the error; the backup is tried again"
}
