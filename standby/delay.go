package standby

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/history"
)

// A standby with a delay keeps what it receives in a spool, on its disk, and applies each record
// when it is old enough. So it loses nothing if it is promoted, and can be promoted to each moment
// in the spool.

// MinDelayBytes is the least value of Options.DelayBytes.
const MinDelayBytes = 1 << 20

const (
	spoolDir     = "delayed"
	spoolLeftDir = "delayed.left" // what the last promotion to a moment left out
)

// errSpoolCut: the primary does not have the newest records, which were not applied.
var errSpoolCut = fmt.Errorf("%w: records that the primary does not have were left out before they were applied", cf.ErrUnavailable)

// openSpool opens the spool, if there is a delay, or was one.
func (s *Standby) openSpool() error {
	dir := filepath.Join(s.dir.dir, spoolDir)
	if s.o.Delay == 0 && !exists(dir) {
		return nil
	}
	var err error
	if s.spool, err = openSpool(dir, s.opened.Latest(), s.noteSpooled); err != nil {
		return fmt.Errorf("what was received and not applied cannot be read: %w", err)
	}
	s.spool.most = s.o.DelayBytes
	if s.o.Delay == 0 && s.spool.empty() {
		err = s.spool.remove()
		s.spool = nil
		return err
	}
	return s.tidySpool(context.Background())
}

// tidySpool removes what was applied, when it is on the disk.
func (s *Standby) tidySpool(ctx context.Context) error {
	return s.spool.tidy(func() error { _, err := s.opened.SyncLog(ctx); return err })
}

// noteSpooled notes the promotions in a record that is not applied yet: they belong to
// the history that the standby follows.
func (s *Standby) noteSpooled(r *cf.LogRecord) error {
	return s.opened.Ops(r, func(op *cf.LoggedOp) error {
		if op.Family != "" || op.Kind != cf.OpPut || string(op.Key) != history.Key {
			return nil
		}
		h := new(history.History)
		if err := json.Unmarshal(op.Value, h); err != nil {
			return fmt.Errorf("%w: catalog entry %s: %w", cf.ErrCorrupt, history.Key, err)
		}
		s.spooledHistory = h
		return nil
	})
}

// received returns the position up to which the standby received the log.
func (s *Standby) received() uint64 {
	at := uint64(s.opened.Latest())
	if s.spool != nil {
		at = max(at, uint64(s.spool.end()))
	}
	return at
}

// wall is the time by which a delay is measured.
func (s *Standby) wall() time.Time {
	if clock := s.o.Database.Clock; clock != nil {
		return clock()
	}
	return time.Now()
}

// keep puts a record into the spool, with the files of a load. A record was not written after it came, whatever it says.
func (s *Standby) keep(ctx context.Context, from Loads, r *cf.LogRecord) error {
	if now := s.wall().UnixMicro(); r.Time == 0 || r.Time > now {
		r.Time = now
	}
	if r.After != cf.Position(s.received()) {
		return fmt.Errorf("%w: the record after position %d does not continue position %d", cf.ErrDiverged, r.After, s.received())
	}
	loads := map[string]bool{}
	err := s.opened.Ops(r, func(op *cf.LoggedOp) error {
		if id, ok := strings.CutPrefix(string(op.Key), cf.LoadedPrefix); ok && op.Family == "" && filepath.IsLocal(id) {
			loads[id] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id := range loads {
		dir := filepath.Join(s.spool.dir, spoolLoads, id)
		if exists(dir) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return err
		}
		if err := putLoad(ctx, from, cf.Need{Load: id, Dir: dir}, s.logger); err != nil {
			return err
		}
		size, err := sizeBelow(dir)
		if err != nil {
			return err
		}
		s.spool.addLoads(size)
	}
	if err := s.spool.room(ctx, len(r.Data)); err != nil {
		return err
	}
	if err := s.noteSpooled(r); err != nil {
		return err
	}
	return s.spool.append(r)
}

// applySpooled applies a record of the spool.
func (s *Standby) applySpooled(ctx context.Context, r *cf.LogRecord) error {
	if err := s.apply(ctx, nil, r); err != nil {
		return err
	}
	s.spool.applied(r)
	return s.tidySpool(ctx)
}

// moveLoad brings the files of a load from the spool; false if it does not have them.
func (s *Standby) moveLoad(need cf.Need) (bool, error) {
	from := filepath.Join(s.spool.dir, spoolLoads, need.Load)
	if !filepath.IsLocal(need.Load) || !exists(from) {
		return false, nil
	}
	size, err := sizeBelow(from)
	if err = errors.Join(err, os.RemoveAll(need.Dir), os.MkdirAll(filepath.Dir(need.Dir), 0o755)); err != nil {
		return false, err
	}
	if err := rename(from, need.Dir); err != nil {
		return false, err
	}
	s.spool.addLoads(-size)
	return true, nil
}

// delayed applies what is old enough, until the context ends or the standby is lost.
func (s *Standby) delayed(ctx context.Context) {
	const often = time.Second // the clock may be set
	trimmed, said, full := time.Now(), "", time.Time{}
	for ctx.Err() == nil {
		news := s.spool.news()
		r, err := s.spool.next()
		wait := often
		if err == nil && r != nil {
			wait = time.UnixMicro(r.Time).Add(s.o.Delay).Sub(s.wall())
			if wait > 0 && s.spool.tight() {
				if time.Since(full) > trimEvery {
					s.logger.Warn("the disk space for waiting records is full: they are applied before the delay has passed", "bytes", s.o.DelayBytes, "behind", s.wall().Sub(time.UnixMicro(r.Time)))
				}
				wait, full = 0, time.Now()
			}
			if wait <= 0 {
				err = s.applySpooled(ctx, r)
			}
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, cf.ErrDiverged), errors.Is(err, cf.ErrCorrupt), errors.Is(err, errLoadTrimmed):
			s.fail(fmt.Errorf("%w: %w", ErrRebuild, err))
			return
		case errors.Is(err, cf.ErrClosed):
			s.fail(err)
			return
		case err != nil:
			if text := err.Error(); text != said {
				said = text
				s.logger.Error("received records cannot be applied; they are tried again", "error", err)
			}
			wait = often
		}
		if time.Since(trimmed) > trimEvery && s.pauseApplying(ctx) == nil {
			trimmed, err = time.Now(), s.opened.TrimLog()
			<-s.turn
			if err != nil {
				s.logger.Warn("the log cannot be trimmed", "error", err)
			}
		}
		if r != nil && wait <= 0 {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(wait, often)):
		case <-news:
		}
	}
}

// advance applies what was received up to a moment, and all of it if that is zero. It says when the last record was written, 0 if
// that is not known.
func (s *Standby) advance(ctx context.Context, at time.Time) (micros int64, err error) {
	switch {
	case s.spool == nil && at.IsZero():
		return 0, nil
	case s.spool == nil:
		return 0, errors.New("the standby has no delay, and so only the newest moment; restore another one from a backup")
	case !at.IsZero() && at.After(s.wall()):
		return 0, fmt.Errorf("%s is in the future; it is %s", momentText(at), momentText(s.wall()))
	}
	first, known, err := s.spool.begins()
	if err != nil {
		return 0, err
	}
	if !at.IsZero() && (!known || at.UnixMicro() < first) {
		if !known {
			return 0, errors.New("the standby holds no moment but the one that it has applied; promote it without a moment, or restore one from a backup")
		}
		return 0, fmt.Errorf("the earliest moment that the standby holds is %s; restore %s from a backup", momentText(time.UnixMicro(first)), momentText(at))
	}
	micros = s.spool.appliedTime()
	for {
		r, err := s.spool.next()
		if err != nil || r == nil || !at.IsZero() && r.Time > at.UnixMicro() {
			return micros, err
		}
		if err := s.applySpooled(ctx, r); err != nil {
			return micros, err
		}
		micros = max(micros, r.Time)
	}
}

// momentOf is the time of some microseconds, zero for 0.
func momentOf(micros int64) (t time.Time) {
	if micros != 0 {
		t = time.UnixMicro(micros).UTC()
	}
	return t
}

func momentText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// leaveSpool ends the spool of a promotion. An error does not end that: the next standby here puts the spool aside.
func (s *Standby) leaveSpool(after uint64) error {
	if s.spool == nil {
		return nil
	}
	if !s.spool.empty() {
		s.logger.Warn("the promotion leaves out what was written later; it stays with the old primary, and here", "dir", filepath.Join(s.dir.dir, spoolLeftDir))
	}
	if err := cmp.Or(s.spool.close(), leaveSpool(s.dir.dir, after)); err != nil {
		s.logger.Error("what the promotion left out cannot be moved", "dir", s.spool.dir, "error", err)
	}
	return nil
}

// leaveSpool ends the spool in a directory that was promoted with all records up to a position. What it left out is kept until
// the next promotion.
func leaveSpool(dir string, after uint64) error {
	path := filepath.Join(dir, spoolDir)
	if !exists(path) {
		return nil
	}
	s, err := openSpool(path, cf.Position(after), func(*cf.LogRecord) error { return nil })
	switch {
	case err != nil:
		return putSpoolAside(dir) // unreadable ones are kept, too
	case s.empty():
		return s.remove()
	}
	return cmp.Or(s.close(), putSpoolAside(dir))
}

// putSpoolAside keeps what a promotion left out: part of a log that the database no
// longer follows.
func putSpoolAside(dir string) error {
	from, left := filepath.Join(dir, spoolDir), filepath.Join(dir, spoolLeftDir)
	if !exists(from) {
		return nil
	}
	if err := os.RemoveAll(left); err != nil {
		return err
	}
	return rename(from, left)
}
