package moments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/smolwc/smolwc/archive"
)

// The keys of the archive.
const (
	segmentsPrefix = "moments/segments/"
	loadsPrefix    = "moments/loads/"
	suffix         = ".seg"
)

// segmentKey is the key of the segment with some blocks.
func segmentKey(first, last uint64) string {
	return fmt.Sprintf("%s%020d-%020d%s", segmentsPrefix, first, last, suffix)
}

// loadKey is the key of a file of a load that a block names. Keys sort by block, for [Prune].
func loadKey(number uint64, sum archive.Sum) string {
	return fmt.Sprintf("%s%020d/%s", loadsPrefix, number, sum)
}

// A segment is one that was found in the archive.
type segment struct {
	key         string
	first, last uint64 // blocks
	size        int64
	summary     summary
	damage      error // why there is no summary
}

// listSegments lists the segments by their first blocks. obsolete are the ones that were merged into a larger one.
func listSegments(ctx context.Context, o archive.Objects) (list, obsolete []*segment, err error) {
	keys, err := o.List(ctx, segmentsPrefix)
	if err != nil {
		return nil, nil, err
	}
	var all []*segment
	for key, size := range keys {
		name, ok := strings.CutSuffix(strings.TrimPrefix(key, segmentsPrefix), suffix)
		a, b, two := strings.Cut(name, "-")
		first, err1 := strconv.ParseUint(a, 10, 64)
		last, err2 := strconv.ParseUint(b, 10, 64)
		if ok && two && err1 == nil && err2 == nil && first > 0 && first <= last && segmentKey(first, last) == key {
			all = append(all, &segment{key: key, first: first, last: last, size: size})
		}
	}
	slices.SortFunc(all, func(a, b *segment) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(b.last, a.last)) })
	for _, s := range all {
		if n := len(list); n > 0 && s.last <= list[n-1].last {
			obsolete = append(obsolete, s)
			continue
		}
		list = append(list, s)
	}
	return list, obsolete, nil
}

// A chain is an archive's segments and the bases that they continue.
type chain struct {
	objects  archive.Objects
	segments []*segment
	obsolete []*segment
	runs     []*run
	damage   []*archive.DamageError
	gens     map[int]archive.Generation // intact
}

// A run is a part of the chain in which the log continues without a gap. A base of a run leads to every
// later moment in it.
type run struct {
	begins string // why the log did not continue
	parts  []runPart
	bases  []base // whose backups are there, by UpTo
	// lost says that blocks are missing after the run: they were removed, or are damaged.
	lost error
}

// A runPart is a part of one segment.
type runPart struct {
	part
	lastBlock uint64
	segment   *segment
}

func (r *run) end() runPart { return r.parts[len(r.parts)-1] }

// readChain reads the summaries of an archive.
func readChain(ctx context.Context, a *archive.Archive) (*chain, error) {
	c := &chain{objects: a.Objects(), gens: map[int]archive.Generation{}}
	gens, err := a.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range gens {
		if g.Damaged == "" {
			c.gens[g.ID] = g
		}
	}
	for try := 0; ; try++ {
		if c.segments, c.obsolete, err = listSegments(ctx, c.objects); err != nil {
			return nil, err
		}
		missing, err := c.readSummaries(ctx)
		if err != nil {
			return nil, err
		}
		if !missing || try == 3 {
			break
		} // segments were merged or pruned meanwhile
	}
	c.join()
	return c, nil
}

func (c *chain) readSummaries(ctx context.Context) (missing bool, err error) {
	c.damage = nil
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4 * archive.DefaultParallel)
	gone := make([]bool, len(c.segments))
	for i, s := range c.segments {
		g.Go(func() error {
			var found bool
			var err error
			s.summary, found, err = readSummary(ctx, c.objects, s.key)
			gone[i] = !found && err == nil
			if errors.Is(err, archive.ErrDamaged) {
				s.damage, err = err, nil
			}
			if found && s.damage == nil && (s.summary.First != s.first || s.summary.Last != s.last) {
				s.damage = damaged(s.key, fmt.Errorf("it has segments %d to %d", s.summary.First, s.summary.Last))
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return false, err
	}
	for i, s := range c.segments {
		if gone[i] {
			s.damage, missing = damaged(s.key, errors.New("it is missing")), true
		}
	}
	return missing, nil
}

func damaged(key string, problem error) *archive.DamageError {
	return &archive.DamageError{Object: key, Problem: problem.Error()}
}

func readSummary(ctx context.Context, o archive.Objects, key string) (s summary, found bool, err error) {
	for n := int64(headBytes); ; n = maxHeader + headBytes {
		head, found, err := o.GetHead(ctx, key, n)
		if !found || err != nil {
			return s, found, err
		}
		s, _, err = decodeSummary(head)
		if errors.Is(err, errShort) && int64(len(head)) == n && n == headBytes {
			continue
		}
		if err != nil {
			err = damaged(key, err)
		}
		return s, true, err
	}
}

// readSegment reads a segment whole. If it was merged meanwhile, it reads the one that
// now contains its blocks.
func readSegment(ctx context.Context, o archive.Objects, s *segment) ([]*block, error) {
	text, found, err := o.Get(ctx, s.key, maxSegment)
	if err != nil {
		return nil, err
	}
	if found {
		return decodeFound(s, text)
	}
	list, _, err := listSegments(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, in := range list {
		if in.first > s.first || in.last < s.last || in.key == s.key {
			continue
		}
		blocks, err := readSegment(ctx, o, in)
		if err != nil {
			return nil, err
		}
		return blocks[s.first-in.first : s.last-in.first+1], nil
	}
	return nil, damaged(s.key, errors.New("it is missing"))
}

func decodeFound(s *segment, text []byte) ([]*block, error) {
	blocks, sum, err := decodeSegment(text)
	if err == nil && (sum.First != s.first || sum.Last != s.last) {
		err = fmt.Errorf("it has segments %d to %d", sum.First, sum.Last)
	}
	if err != nil {
		return nil, damaged(s.key, err)
	}
	return blocks, nil
}

// join puts the summaries together.
func (c *chain) join() {
	var now *run
	next, sum := uint64(0), archive.Sum{}
	end := func(why *archive.DamageError) {
		c.damage = append(c.damage, why)
		if now != nil {
			now.lost = why
		}
		now = nil
	}
	for _, s := range c.segments {
		switch {
		case s.damage != nil:
			d, _ := errors.AsType[*archive.DamageError](s.damage)
			end(d)
			next, sum = s.last+1, archive.Sum{}
			continue
		case next != 0 && s.first != next:
			end(damaged(s.key, fmt.Errorf("segments %d to %d are missing before it", next, s.first-1)))
		case next != 0 && now != nil && s.summary.Prev != sum:
			end(damaged(s.key, fmt.Errorf("it does not follow the segment %d that is there, but another one", next-1)))
		}
		now = c.add(now, s)
		next, sum = s.last+1, s.summary.Sum
	}
	for _, r := range c.runs {
		r.bases = slices.DeleteFunc(r.bases, func(b base) bool {
			_, there := c.gens[b.Generation]
			return !there
		})
		slices.SortStableFunc(r.bases, func(a, b base) int { return cmp.Compare(a.UpTo, b.UpTo) })
	}
}

// add adds a segment's parts to the run, or to a new one.
func (c *chain) add(now *run, s *segment) *run {
	parts := s.summary.Parts
	for i, p := range parts {
		last := s.last
		if i+1 < len(parts) {
			last = parts[i+1].First - 1
		}
		if now != nil && p.Begins == "" {
			end := now.end()
			b := block{header: header{Number: p.First, extent: p.extent}}
			if err := b.follows(end.lastBlock, archive.Sum{}, &end.part); err != nil {
				d := damaged(s.key, err)
				c.damage, now.lost, now = append(c.damage, d), d, nil
			}
		}
		if now == nil || p.Begins != "" {
			now = &run{begins: p.Begins}
			c.runs = append(c.runs, now)
		}
		now.parts = append(now.parts, runPart{p, last, s})
		for _, b := range s.summary.Bases {
			if b.Number >= p.First && b.Number <= last {
				now.bases = append(now.bases, b)
			}
		}
	}
	return now
}

// partOf is the index of the part with a block.
func (r *run) partOf(number uint64) int {
	for i, p := range r.parts {
		if number <= p.lastBlock {
			return i
		}
	}
	return len(r.parts) - 1
}

// leavesOut reports whether a part begins after a promotion that lost something contained
// in a base.
func (r *run) leavesOut(i int, b base) bool {
	return i > 0 && r.parts[i].After < r.parts[i-1].Last && r.parts[i].After < b.UpTo
}

// leads reports whether a base leads to a position in a part: no promotion between them left something of it out, and
// the log is there from it on.
func (r *run) leads(b base, to int, at uint64) bool {
	from := r.partOf(b.Number)
	for i := min(from, to) + 1; i <= max(from, to); i++ {
		if r.leavesOut(i, b) {
			return false
		}
	}
	return b.UpTo <= at && b.From >= r.parts[0].After
}

// earliest returns the first moment of the run.
func (r *run) earliest() (at int64, ok bool) {
	for _, b := range r.bases {
		if r.leads(b, r.partOf(b.Number), b.UpTo) && (!ok || b.At < at) {
			at, ok = b.At, true
		}
	}
	return at, ok
}

func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }
