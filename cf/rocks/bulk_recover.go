//go:build cgo && linux && !norocksdb

package rocks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
	"github.com/smolwc/smolwc/cf/rocks/internal/recovery"
	"github.com/smolwc/smolwc/cf/rocks/internal/steady"
	"github.com/smolwc/smolwc/cf/rocks/internal/tablefile"
)

// finishIngestions finishes the ingestions that a crash interrupted after the marker
// was written, and removes the files of all other ingestions.
func (s *Store) finishIngestions(ctx context.Context) error {
	if s.options.InMemory {
		return nil
	}
	markers, err := s.markers(ctx)
	if err != nil {
		return err
	}
	for _, m := range markers {
		if err := s.finishIngestion(ctx, m); err != nil {
			return fmt.Errorf("finishing load %s: %w", m.id, err)
		}
	}
	if s.options.ReadOnly || s.options.Standby && len(markers) > 0 {
		return nil
	}
	if err := os.RemoveAll(filepath.Join(s.dir, bulkDir)); err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	return nil
}

func (s *Store) markers(ctx context.Context) ([]*marker, error) {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	entries, err := snap.MetaPrefix(ctx, recovery.MarkerPrefix)
	if err != nil {
		return nil, err
	}
	var all []*marker
	for key, text := range entries {
		m := &marker{id: strings.TrimPrefix(key, recovery.MarkerPrefix)}
		m.dir = filepath.Join(s.dir, bulkDir, m.id)
		if err := json.Unmarshal(text, m); err != nil {
			return nil, fmt.Errorf("%w: catalog entry %s: %w", cf.ErrCorrupt, key, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// finishIngestion finishes an ingestion. If no family took its files yet, and files
// are missing, as in a copy of the database without them, it drops the ingestion.
func (s *Store) finishIngestion(ctx context.Context, m *marker) error {
	left, err := s.notIngested(m)
	if err != nil {
		return err
	}
	none := len(left) == len(m.Files)
	if s.options.Standby && none {
		return nil // the log says what comes next
	}
	if s.options.ReadOnly {
		if none || len(left) == 0 {
			return nil // a reader sees none of it or all of it
		}
		return steady.ErrHalfLoaded
	}
	for _, family := range left {
		for _, file := range m.Files[family] {
			err := tablefile.ClearSequence(filepath.Join(m.dir, file))
			if errors.Is(err, os.ErrNotExist) && none {
				m.noted = true // it never became visible
				return s.unmarkStalled(m, nil)
			}
			if err != nil {
				return fmt.Errorf("%w: %w", cf.ErrCorrupt, err)
			}
		}
	}
	if none { // a promoted standby did not keep the files yet
		if err := s.keepLoad(m, uint64(s.Latest())+1); err != nil {
			return err
		}
	}
	for _, family := range left {
		if err := cmp.Or(s.ingestFamily(family, m), s.step("ingested "+family)); err != nil {
			return err
		}
	}
	if s.options.Standby {
		return s.completeNote(ctx, m)
	}
	return s.unmarkStalled(m, m.Meta)
}

func (s *Store) unmarkStalled(m *marker, meta map[string][]byte) error {
	_, err := s.gate.LetIn(context.Background(), func() (cf.Position, int, error) {
		if err := s.noteLate(m); err != nil {
			return 0, 0, err
		}
		return 0, 0, s.unmark(m, meta)
	})
	return err
}

// notIngested are the families without the token.
func (s *Store) notIngested(m *marker) (left []string, err error) {
	opts := grocksdb.NewDefaultReadOptions()
	defer opts.Destroy()
	for family := range m.Files {
		f, err := s.families.Load().get(family)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", cf.ErrCorrupt, err)
		}
		token, err := s.db.GetCF(opts, f.Handle, tokenKey(m.id))
		if err != nil {
			return nil, native.Wrap(err)
		}
		if !token.Exists() {
			left = append(left, family)
		}
		token.Free()
	}
	return left, nil
}
