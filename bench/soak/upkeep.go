package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

var tables = []string{"groups", "numbers", "events"}

func (s *soak) collect(ctx context.Context, rng *rand.Rand) error {
	if !s.pause(ctx, rng, 3) {
		return nil
	}
	s.counts.collections.Add(1)
	return s.tolerant(func(db *query.DB) error {
		_, err := db.GC(ctx, tables[rng.IntN(len(tables))], query.GCOptions{Compact: rng.IntN(10) == 0})
		return err
	})
}

func (s *soak) compact(ctx context.Context, rng *rand.Rand) error {
	if !s.pause(ctx, rng, 2) {
		return nil
	}
	return s.tolerant(func(db *query.DB) error {
		t := db.Table(tables[rng.IntN(len(tables))])
		switch rng.IntN(10) {
		case 0:
			return t.Compact(ctx)
		case 1, 2:
			from := rng.IntN(groupCount)
			return db.Table("groups").CompactRows(ctx, groupRange(from, min(from+300, groupCount)))
		}
		return t.Flush(ctx)
	})
}

// backUp makes a backup, and sometimes restores one. A backup holds a state that
// existed while it was made.
func (s *soak) backUp(ctx context.Context, rng *rand.Rand) error {
	if !s.pause(ctx, rng, 6) {
		return nil
	}
	err := s.with(func(db *query.DB) error {
		known := s.rows.before()
		made, err := s.backups.Backup(ctx, db, archive.BackupOptions{Keep: 3})
		if err != nil {
			return err
		}
		s.generated[made.ID] = s.rows.after(known)
		s.counts.backups.Add(1)
		return nil
	})
	if err == errReopening {
		return nil
	}
	if err != nil || rng.IntN(3) != 0 {
		return err
	}
	return s.restore(ctx, rng)
}

// restore restores a generation and checks it. Meanwhile it keeps the database from
// being closed, because a close would count the restored database's open files too.
func (s *soak) restore(ctx context.Context, rng *rand.Rand) error {
	s.use.RLock()
	defer s.use.RUnlock()
	list, err := s.backups.List(ctx)
	if err != nil {
		return err
	}
	for id := range s.generated {
		if id < list[0].ID {
			delete(s.generated, id)
		}
	}
	id := list[rng.IntN(len(list))].ID
	dir := filepath.Join(s.Dir, "restored")
	if _, err := s.backups.Restore(ctx, id, dir, archive.RestoreOptions{}); err != nil {
		return err
	}
	db, err := query.Open(dir, query.Options{Memory: s.Memory, GCInterval: -1, MustExist: true})
	if err != nil {
		return err
	}
	s.counts.restores.Add(1)
	err = s.rows.checkAll(ctx, db, func() span { return s.generated[id] })
	if err == nil {
		err = checked(ctx, db)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("backup %d, restored: %w", id, err)
	}
	return os.RemoveAll(dir)
}

// changeSchema creates a table, writes to it, changes it and drops it.
func (s *soak) changeSchema(ctx context.Context, rng *rand.Rand) error {
	if !s.pause(ctx, rng, 5) {
		return nil
	}
	return s.tolerant(func(db *query.DB) error {
		for _, t := range db.Schema().Tables { // left over if the database was closed
			if !slices.Contains(tables, t.Name) {
				if err := db.DropTable(ctx, t.Name); err != nil {
					return err
				}
			}
		}
		name := fmt.Sprintf("t%d", rng.IntN(1e6))
		if err := db.CreateTable(ctx, schema.Table{Name: name, Families: []schema.Family{{Name: "f"}}}); err != nil {
			return err
		}
		m := write.NewMutation()
		m.Set("f", "q", cells.Bytes(s.rows.noise[:rng.IntN(10_000)]))
		for i := range 20 {
			if err := db.Table(name).Apply(ctx, groupRow(i, 0), m); err != nil {
				return err
			}
		}
		if err := db.AddFamily(ctx, name, schema.Family{Name: "g"}); err != nil {
			return err
		}
		if err := db.SetFamily(ctx, name, schema.Family{Name: "f", GC: schema.MaxVersions(1)}); err != nil {
			return err
		}
		n, err := db.Table(name).Count(ctx)
		if err != nil {
			return err
		}
		if n.Rows != 20 {
			return fmt.Errorf("%d rows in %s; 20 were written", n.Rows, name)
		}
		return db.DropTable(ctx, name)
	})
}

// maxLate is the maximum number of consecutive failed openings. An opening fails if the
// writer's files change faster than it can open them, on a busy machine.
const maxLate = 5

// mayBeLate ignores up to maxLate consecutive failed openings.
func (s *soak) mayBeLate(err error) error {
	if query.KindOf(err) != query.KindUnavailable {
		s.late = 0
		return err
	}
	if s.late++; s.late > maxLate {
		return err
	}
	return nil
}

// follow reads while the writer writes, through a separate read-only opening.
func (s *soak) follow(ctx context.Context, rng *rand.Rand) error {
	if !s.pause(ctx, rng, 10) {
		return nil
	}
	return s.tolerant(func(*query.DB) (err error) {
		known := s.rows.before()
		db, err := query.OpenReadOnly(filepath.Join(s.Dir, "db"), query.Options{Memory: s.Memory})
		if err != nil {
			return s.mayBeLate(err)
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		for range 3 {
			if err := s.rows.checkAll(ctx, db, s.rows.bounds(known)); err != nil {
				return fmt.Errorf("read beside: %w", err)
			}
			if !s.pause(ctx, rng, 0.5) {
				return nil
			}
			known = s.rows.before()
			if err := db.Refresh(ctx); err != nil {
				return s.mayBeLate(err)
			}
		}
		return s.mayBeLate(nil)
	})
}
