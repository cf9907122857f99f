//go:build cgo && linux && !norocksdb

package rocks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// A changes implements cf.Changes. It holds no file open between two calls.
type changes struct {
	store *Store
	after cf.Position

	files []logFile
	begun uint64      // the number of logs begun before files was listed
	log   *wal.Reader // nil before the first log

	next, nextFirst uint64 // the next log and the sequence number of its first change; 0 when not known
	looked          uint64 // 1 + the latest sequence number when next was last searched for

	waiting []*cf.Commit

	raw    bool          // the reading is of records; see recordLog
	asked  cf.Position   // the position after which it begins
	before uint64        // the sequence number after the last record that was read; 0 before the first one
	record *cf.LogRecord // the next one

	families *families // the families in names
	names    map[uint32]string
}

// Changes implements cf.ChangeLog.
func (s *Store) Changes(after cf.Position) (cf.Changes, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, cf.ErrClosed
	}
	c := &changes{store: s, after: after}
	return c, c.start()
}

// start finds the first log to read.
func (c *changes) start() error {
	latest := c.store.db.GetLatestSequenceNumber()
	if uint64(c.after) > latest {
		return fmt.Errorf("%w: position %d is beyond the latest, %d", cf.ErrTrimmed, c.after, latest)
	}
	if err := c.list(); err != nil {
		return err
	}
	found := false
	for _, f := range c.files {
		first, ok, err := c.store.firstChange(f.number)
		if errors.Is(err, cf.ErrTrimmed) {
			continue
		}
		if err != nil {
			return err
		}
		switch {
		case !ok:
		case first <= uint64(c.after)+1:
			c.open(f.number)
			found = true
		case !found && first <= latest:
			return fmt.Errorf("%w: %d; the log begins with %d", cf.ErrTrimmed, c.after, first)
		}
	}
	switch {
	case found:
	case uint64(c.after) < latest:
		if err := c.cutHead(0, math.MaxUint64, fmt.Sprintf("there is no whole record, and changes up to %d have been written", latest)); err != nil {
			return err
		}
		return fmt.Errorf("%w: %d; all up to %d is gone", cf.ErrTrimmed, c.after, latest)
	case len(c.files) > 0:
		c.open(c.files[len(c.files)-1].number) // it is still empty; its first changes must be read
	}
	return nil
}

func (c *changes) list() (err error) {
	c.begun, c.looked = c.store.engine.logs.Begun(), 0
	c.files, err = c.store.logFiles()
	return err
}

func (c *changes) open(number uint64) {
	c.log = c.store.logReader(number)
}

// Position implements cf.Changes.
func (c *changes) Position() cf.Position {
	if len(c.waiting) > 0 {
		return c.waiting[0].Before
	}
	return c.after
}

// Close implements cf.Changes.
func (c *changes) Close() { c.waiting, c.log, c.files = nil, nil, nil }

// Next implements cf.Changes. It looks at the context between records.
func (c *changes) Next(ctx context.Context) (*cf.Commit, error) {
	for len(c.waiting) == 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if more, err := c.step(); err != nil || !more {
			return nil, err
		}
	}
	next := c.waiting[0]
	c.waiting[0] = nil
	c.waiting = c.waiting[1:]
	c.after = max(c.after, next.At)
	return next, nil
}

// step reads one record, or goes on to the next log; more is false at the end of the
// last log.
func (c *changes) step() (more bool, err error) {
	s := c.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return false, cf.ErrClosed
	}
	// latest is read before the list, so that the list covers all changes up to it.
	latest := s.db.GetLatestSequenceNumber()
	if s.engine.logs.Begun() != c.begun {
		if err := c.list(); err != nil {
			return false, err
		}
	}
	if err := c.findNext(latest); err != nil {
		return false, err
	}
	if c.log == nil {
		return c.turn(), nil
	}
	at := c.log.At
	record, err := c.log.Next()
	if errors.Is(err, wal.ErrEnd) {
		if err := c.checkEnd(latest); err != nil {
			return false, err
		}
		if c.turn() { // the next log already existed, so the end of this one is final
			return true, nil
		}
		c.after = max(c.after, cf.Position(latest)) // the missing sequence numbers were never in a log
		return false, nil
	}
	if err != nil {
		return false, err
	}
	head, err := wal.ParseHead(record)
	if err != nil {
		return false, err
	}
	c.log.End = max(c.log.End, head.End())
	switch {
	case c.next != 0 && head.First >= c.nextFirst:
		return true, nil // its write failed, and its sequence numbers were used again
	case head.End() > latest+1:
		c.log.At = at // not published yet
		return false, nil
	}
	before := c.before
	c.before = head.End()
	if head.End() <= uint64(c.after)+1 {
		return true, nil
	}
	if c.raw {
		return true, c.takeRecord(record, head, before)
	}
	return true, c.take(record, head)
}

func (c *changes) take(record []byte, head wal.Head) error {
	commits, err := wal.ParseRecord(record, c.family)
	if err != nil {
		return err
	}
	c.waiting = slices.DeleteFunc(commits, func(k *cf.Commit) bool { return k.At <= c.after })
	if len(c.waiting) == 0 {
		c.after = cf.Position(head.End() - 1)
	}
	return nil
}

// checkEnd returns an error if the end of the log is damage that hides further records,
// and nil if a crash cut the log off there or it is still being written. The log is
// damaged if the next log does not continue with the next sequence number, or if there
// is no next log and changes up to latest are missing.
func (c *changes) checkEnd(latest uint64) error {
	wanted := c.wanted()
	if c.next == 0 {
		if latest < wanted || latest <= c.store.changes.loaded.Load() {
			return nil
		}
		last := c.log
		for _, f := range c.files {
			if f.number > last.Number {
				last = c.store.logReader(f.number)
			}
		}
		return last.Damaged(last.At, fmt.Sprintf("there is no whole record, and changes up to %d have been written", latest))
	}
	if c.nextFirst <= wanted {
		return nil
	}
	// The sequence numbers of loads are not in a log: they are missing between logs
	// that end well.
	what := fmt.Sprintf("a record is cut off, and what comes next is missing up to change %d", c.nextFirst)
	if c.log.Cut {
		return c.log.Damaged(c.log.At, what)
	}
	return c.cutHead(c.log.Number+1, c.next, what)
}

// cutHead is the damage to the first log in [from, to) whose first record is not whole.
func (c *changes) cutHead(from, to uint64, what string) error {
	for _, f := range c.files {
		if f.number < from || f.number >= to {
			continue
		}
		r := c.store.logReader(f.number)
		if _, err := r.Head(); errors.Is(err, wal.ErrEnd) && r.Cut {
			return r.Damaged(0, what)
		}
	}
	return nil
}

// wanted is the sequence number that the next change in the log should have.
func (c *changes) wanted() uint64 {
	if c.log.End != 0 {
		return c.log.End
	}
	if first, ok, err := c.store.firstChange(c.log.Number); ok && err == nil {
		return first
	}
	return uint64(c.after) + 1
}

// turn goes on to the next log. It returns false if there is no next log.
func (c *changes) turn() bool {
	if c.next == 0 {
		return false
	}
	c.open(c.next)
	c.next, c.looked = 0, 0
	return true
}

// findNext searches for the next log with a change, unless it is known or nothing was
// written since the last search.
func (c *changes) findNext(latest uint64) error {
	if c.next != 0 || c.looked == latest+1 {
		return nil
	}
	c.looked = latest + 1
	from := 0
	if c.log != nil {
		from, _ = slices.BinarySearchFunc(c.files, c.log.Number+1, func(f logFile, n uint64) int { return cmp.Compare(f.number, n) })
	}
	for _, f := range c.files[from:] {
		first, ok, err := c.store.firstChange(f.number)
		if err != nil {
			return err
		}
		if ok {
			c.next, c.nextFirst = f.number, first
			return nil
		}
	}
	return nil
}

// family is the name of an open family, "" for other families.
func (c *changes) family(id uint32) string {
	if open := c.store.families.Load(); open != c.families {
		c.families, c.names = open, map[uint32]string{}
		for name, f := range *open {
			if name != catalogFamily {
				c.names[f.id] = name
			}
		}
	}
	return c.names[id]
}
