package pebble

import (
	"bytes"
	"errors"
	"math/rand/v2"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/isolation"
	"github.com/smolwc/smolwc/cf/merge"
)

// sumUp runs until the store is about to be closed.
func (s *Store) sumUp() {
	for {
		select {
		case <-s.life.Done():
			return
		case c := <-s.sums.due:
			c.merges.Store(rand.Int32N(pendingMerges / 2)) // of cells that take turns each is due at times
			_ = s.sumUpCell(c)                             // it stays as it is; reads and writes meet the same error
		}
	}
}

// sumUpCell puts a cell's value in the place of its merges. The lock of its rows keeps
// others from changing it meanwhile.
func (s *Store) sumUpCell(c mergedCell) error {
	if err := s.gate.letIn(s.life); err != nil {
		return err
	}
	hold := isolation.Hold{Updates: s.locks.SetOf(c.rows)}
	if err := s.locks.Lock(s.life, &hold); err != nil {
		return err
	}
	defer s.locks.Unlock(&hold)
	if err := s.caughtUp(s.life); err != nil {
		return err
	}
	defer s.mu.Share().RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	if err := s.beginWriting(s.life); err != nil {
		return err
	}
	all := *s.families.Load()
	f := all[c.family]
	// A lower bound of expiry waits for it: the janitor may have deleted the cell since it
	// was read.
	if f == nil || !f.expiring.TryRLock() {
		s.writing.RUnlock()
		return nil
	}
	ended := func() {
		f.expiring.RUnlock()
		s.writing.RUnlock()
	}
	batch, err := s.summedUp(all, f, c.key)
	if batch == nil || err != nil {
		ended()
		return err
	}
	flight := s.under.begin(bitsOf(c.rows))
	_, err = s.apply(s.life, batch, false, func(error) {
		s.under.end(flight)
		ended()
	})
	return err
}

// summedUp is a batch that puts a cell's value, nil if there is none.
func (s *Store) summedUp(all families, f *family, key []byte) (*engine.Batch, error) {
	stored, closer, err := s.db.Get(append(bytes.Clone(f.prefix), key...))
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, wrap(err)
	}
	defer closer.Close()
	if merge.IsUnmerged(plain(stored)) { // to write all of them again and again would cost more
		return nil, nil
	}
	var put cf.Batch
	put.Logged(&cf.LoggedOp{Kind: cf.OpPut, Family: f.name, Key: key, Value: plain(stored)})
	batch := s.newBatch(put.Size() + 64)
	if _, err := encode(batch, &put, all); err != nil {
		return nil, errors.Join(err, batch.Close())
	}
	return batch, nil
}
