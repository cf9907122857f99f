package memory

import (
	"context"
	"slices"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// KeepChanges implements [cf.ChangeLog].
func (m *Store) KeepChanges(since time.Time) error {
	return m.do(context.Background(), func() error {
		switch {
		case since.IsZero():
			m.log = commitLog{}
			return nil
		case !m.log.kept:
			m.log = commitLog{kept: true, begin: m.state.at}
		}
		old := cf.Position(since.UnixMicro() - 1)
		if i := m.log.after(old); i > 0 {
			m.log.begin, m.log.commits = m.log.commits[i-1].At, slices.Clone(m.log.commits[i:])
		}
		return nil
	})
}

// KeepsChanges implements [cf.ChangeLog].
func (m *Store) KeepsChanges() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.kept
}

// ChangeStarts implements [cf.ChangeLog].
func (m *Store) ChangeStarts() (starts []cf.Position, err error) {
	return starts, m.do(context.Background(), func() error {
		if m.log.kept {
			starts = append(starts, m.log.begin)
		}
		for _, c := range m.log.commits {
			starts = append(starts, c.At)
		}
		starts = append(starts, m.state.at)
		return nil
	})
}

// Changes implements [cf.ChangeLog].
func (m *Store) Changes(after cf.Position) (cf.Changes, error) {
	c := &changes{m, after}
	return c, m.do(context.Background(), c.there)
}

// changes implements [cf.Changes].
type changes struct {
	store *Store
	at    cf.Position
}

// there reports a log that does not have the position. The store is locked.
func (c *changes) there() error {
	if l := &c.store.log; !l.kept || c.at < l.begin || c.at > c.store.state.at {
		return cf.ErrTrimmed
	}
	return nil
}

// Next implements [cf.Changes].
func (c *changes) Next(ctx context.Context) (next *cf.Commit, err error) {
	err = c.store.do(ctx, func() error {
		if err := c.there(); err != nil {
			return err
		}
		l := &c.store.log
		i := l.after(c.at)
		if i == len(l.commits) {
			return nil
		}
		next = l.commits[i].known(c.store.state)
		c.at = next.At
		return nil
	})
	return next, err
}

// Position implements [cf.Changes].
func (c *changes) Position() cf.Position { return c.at }

// Close implements [cf.Changes].
func (c *changes) Close() {}
