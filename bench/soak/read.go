package soak

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
)

// read makes one read and checks the result.
func (s *soak) read(ctx context.Context, rng *rand.Rand) error {
	do := s.get
	switch n := rng.IntN(1000); {
	case n < 2:
		do = s.scanAll
	case n < 20:
		do = s.scan
	case n < 40:
		do = s.numbers
	case n < 100:
		do = s.events
	case n < 250:
		do = s.list
	case n < 400:
		do = s.group
	case n < 420:
		do = s.page
	}
	s.counts.reads.Add(1)
	return s.tolerant(func(db *query.DB) error { return do(ctx, db, rng) })
}

// get reads a row.
func (s *soak) get(ctx context.Context, db *query.DB, rng *rand.Rand) error {
	g, i := rng.IntN(groupCount), rng.IntN(rowsPerGroup)
	least := s.rows.groups[g].acked.Load()
	row, err := db.Table("groups").ReadRow(ctx, groupRow(g, i))
	return s.expect(row, err, g, least)
}

// expect checks a row of a group that was read alone.
func (s *soak) expect(row *query.Row, err error, g int, least uint64) error {
	version := uint64(0)
	switch {
	case err == nil && row != nil:
		s.counts.cells.Add(int64(row.Len()))
		if version, err = s.rows.rowVersion(row); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	of := &s.rows.groups[g]
	return of.explains(fmt.Sprint("a row of group ", g), version, least, of.tried.Load())
}

// list reads rows of several groups at once.
func (s *soak) list(ctx context.Context, db *query.DB, rng *rand.Rand) error {
	groups, known, keys := make([]int, 1+rng.IntN(20)), []uint64{}, []string{}
	for i := range groups {
		groups[i] = rng.IntN(groupCount)
		known = append(known, s.rows.groups[groups[i]].acked.Load())
		keys = append(keys, groupRow(groups[i], rng.IntN(rowsPerGroup)))
	}
	rows, err := db.Table("groups").ReadRowList(ctx, keys)
	if err != nil {
		return err
	}
	for i, row := range rows {
		if err := s.expect(row, nil, groups[i], known[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *soak) group(ctx context.Context, db *query.DB, rng *rand.Rand) error {
	g := rng.IntN(groupCount)
	return s.groups(ctx, db, g, g+1, read.Prefix(groupPrefix(g)))
}

func (s *soak) scan(ctx context.Context, db *query.DB, rng *rand.Rand) error {
	from := rng.IntN(groupCount)
	to := min(from+1+rng.IntN(600), groupCount)
	return s.groups(ctx, db, from, to, s.order(rng, groupRange(from, to))...)
}

func (s *soak) scanAll(ctx context.Context, db *query.DB, rng *rand.Rand) error {
	return s.groups(ctx, db, 0, groupCount, s.order(rng)...)
}

func (s *soak) order(rng *rand.Rand, opts ...read.Option) []read.Option {
	if rng.IntN(3) == 0 {
		opts = append(opts, read.Reverse())
	}
	return opts
}

func (s *soak) groups(ctx context.Context, db *query.DB, from, to int, opts ...read.Option) error {
	bounds := s.rows.bounds(s.rows.before())
	n, err := s.rows.checkGroups(db.Table("groups").ReadRows(ctx, opts...), from, to, bounds)
	s.counts.cells.Add(n)
	return err
}

// page reads a page and stops in the middle of a scan.
func (s *soak) page(ctx context.Context, db *query.DB, rng *rand.Rand) error {
	from := rng.IntN(groupCount)
	known := s.rows.before().groups
	page, err := db.Table("groups").ReadPage(ctx, groupRange(from, groupCount), read.PageSize(1+rng.IntN(50)))
	if err != nil {
		return err
	}
	for _, row := range page.Rows {
		var g int
		if _, err := fmt.Sscanf(row.Key(), "group#%06d#", &g); err != nil || g < from || g >= groupCount {
			return fmt.Errorf("row %q, of groups from %d on, was read", row.Key(), from)
		}
		if err := s.expect(row, nil, g, known[g][0]); err != nil {
			return err
		}
	}
	return nil
}

func (s *soak) numbers(ctx context.Context, db *query.DB, _ *rand.Rand) error {
	bounds := s.rows.bounds(s.rows.numbersBefore())
	return s.rows.checkNumbers(db.Table("numbers").ReadRows(ctx), bounds)
}

func (s *soak) events(ctx context.Context, db *query.DB, rng *rand.Rand) error {
	w := rng.IntN(writerCount)
	acked, began := s.rows.events[w].newest(), db.Now()
	row, err := db.Table("events").ReadRow(ctx, eventRow(w))
	if err != nil {
		return err
	}
	return s.rows.checkEvents(w, row, acked, began, db.Now())
}
