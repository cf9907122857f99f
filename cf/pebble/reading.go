package pebble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// A reading goes through the records of the history. It holds no file open between two
// calls.
type reading struct {
	store *Store
	at    cf.Position // the next record ends after it
	ends  cf.Position // where the last record that was read ends; 0 before the first one

	log   *wal.Reader // nil before the first log
	later []uint64    // the numbers of the logs after it, as far as they are known
}

// reaches finds the log that contains the position.
func (c *reading) reaches() error {
	s := c.store
	s.log.mu.Lock()
	from := s.log.from
	s.log.mu.Unlock()
	acked := cf.Position(s.acked.Load())
	if c.at > acked || c.at < from {
		return fmt.Errorf("%w: %d; there are changes from %d to %d", cf.ErrTrimmed, c.at, from, acked)
	}
	numbers, err := s.logNumbers()
	if err != nil {
		return err
	}
	c.log, c.later = nil, nil
	found, some := false, false // log with a change
	for _, n := range numbers {
		first, ok, err := s.firstChange(n)
		some = some || ok
		switch {
		case err != nil:
			return err
		case ok && first <= uint64(c.at)+1:
			c.log, found = s.logReader(n), true
		case ok && !found && !s.beganAt(c.at):
			return fmt.Errorf("%w: %d; the log begins with %d", cf.ErrTrimmed, c.at, first)
		case c.log == nil:
			c.log = s.logReader(n)
		}
	}
	if !some && c.at < acked { // the logs that had them are gone
		return fmt.Errorf("%w: %d; there are no changes up to %d any longer", cf.ErrTrimmed, c.at, acked)
	}
	return nil
}

// read reads the next record after the position, nil if there is no such record now.
func (c *reading) read(ctx context.Context) (*record, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r, more, err := c.step(); err != nil || !more || r != nil {
			return r, err
		}
	}
}

// step reads one record, or goes on to the next log; more is false at the end of the last
// one. It passes over records up to the position.
func (c *reading) step() (r *record, more bool, err error) {
	s := c.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return nil, false, err
	}
	acked := cf.Position(s.acked.Load())
	if c.at >= acked {
		return nil, false, nil
	}
	if c.log == nil {
		if err := c.reaches(); err != nil || c.log == nil {
			return nil, false, err
		}
	}
	start := c.log.At
	data, err := c.log.Next()
	if errors.Is(err, wal.ErrEnd) {
		more, err := c.turn(acked)
		return nil, more, err
	}
	if err != nil {
		return nil, false, err
	}
	next, err := recordOf(data)
	switch {
	case err != nil:
		return nil, false, err
	case next.own:
		return nil, true, nil
	case next.last > acked:
		c.log.At = start // it is not acknowledged yet
		return nil, false, nil
	case next.last <= c.at:
		c.ends = next.last
		return nil, true, nil
	}
	return &next, true, nil
}

// took goes past a record.
func (c *reading) took(r *record) { c.at, c.ends = r.last, r.last }

// turn is called at the end of a log. It goes on to the next one, if that was known before
// the end was read: otherwise something may have been written behind the end meanwhile. The
// directories, which may have thousands of logs, are listed where none is known.
func (c *reading) turn(acked cf.Position) (more bool, err error) {
	s := c.store
	if len(c.later) > 0 {
		// A number that is missing between two logs says nothing: a kill loses a log before
		// it is written, and a load takes a number without a log.
		switch end, known, err := s.fs.knownEnd(logName(c.log.Number)); {
		case err != nil:
			return false, err
		case known && c.log.At < end:
			return false, c.log.Damaged(c.log.At, fmt.Sprintf("there is no whole record, and the last one ended at byte %d", end))
		}
		c.log, c.later = s.logReader(c.later[0]), c.later[1:]
		return true, nil
	}
	numbers, err := s.logNumbers()
	if err != nil {
		return false, err
	}
	numbers = slices.DeleteFunc(numbers, func(n uint64) bool { return n <= c.log.Number })
	if len(numbers) == 0 {
		return false, c.log.Damaged(c.log.At, fmt.Sprintf("there is no whole record, and changes up to %d have been written", acked))
	}
	ends, err := s.fs.disk.List(s.fs.archive())
	if err != nil && !notExist(err) {
		return false, wrap(err)
	}
	// The oldest logs are trimmed first: while this one is there, so are the later ones.
	if _, err := s.readLog(c.log.Number, 0, nil); err != nil {
		return false, err
	}
	for _, name := range ends {
		n, err := strconv.ParseUint(strings.TrimSuffix(name, ".end"), 10, 64)
		if err != nil || !strings.HasSuffix(name, ".end") || n <= c.log.Number {
			continue
		}
		switch i, there := slices.BinarySearch(numbers, n); {
		case there || i == len(numbers):
		case i == 0:
			return false, lostFile(s.fs.archive(), logName(n))
		default:
			numbers = numbers[:i] // the readers of these come to the gap
		}
	}
	c.later = numbers
	return true, nil
}
