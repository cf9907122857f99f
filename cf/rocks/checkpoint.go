//go:build cgo

package rocks

import (
	"context"
	"fmt"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

var _ cf.Checkpointer = (*Store)(nil)

// flushAlways makes a checkpoint flush memory first, so that it copies a short log.
const flushAlways = 0

// Checkpoint implements cf.Checkpointer. Families may be created and dropped meanwhile.
func (s *Store) Checkpoint(ctx context.Context, dir string) (cf.Position, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.options.InMemory {
		return 0, fmt.Errorf("a database in memory has no files to copy: %w", cf.ErrUnavailable)
	}
	if err := s.inPlace(); err != nil {
		return 0, err
	}
	if err := s.ingesting.Lock(ctx); err != nil { // a copy has a load whole or not at all
		return 0, err
	}
	defer s.ingesting.Unlock()
	var at cf.Position
	err := s.maintain(catalogFamily, func(*family) error {
		at = cf.Position(s.db.GetLatestSequenceNumber())
		c, err := s.db.NewCheckpoint()
		if err != nil {
			return native.Wrap(err)
		}
		defer c.Destroy()
		return native.Wrap(c.CreateCheckpoint(dir, flushAlways))
	})
	return at, err
}
