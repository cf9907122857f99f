package moments

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/archive"
)

// A Pruned is what [Prune] removed.
type Pruned struct {
	Segments, Loads int
	Bytes           int64     // of segments
	Backups         []int     // no longer kept for moments; pruning backups may remove them
	Earliest        time.Time // the first moment that can be restored now; zero without one
}

// Prune removes segments that no moment from a time on needs. A restore of each moment from then on needs a backup from before, so some
// earlier moments stay. It may be interrupted at any moment, and the next one goes on. A sender may send, and merge, meanwhile.
func Prune(ctx context.Context, a *archive.Archive, from time.Time) (Pruned, error) {
	p, err := planPrune(ctx, a, from.UnixMicro())
	if err == nil {
		err = p.carryOut(ctx)
	}
	return p.done, fail("prune moments at "+a.Target(), err)
}

// WouldPrune says what [Prune] would remove.
func WouldPrune(ctx context.Context, a *archive.Archive, from time.Time) (Pruned, error) {
	p, err := planPrune(ctx, a, from.UnixMicro())
	p.done.Segments, p.done.Loads, p.done.Backups = len(p.segments), len(p.loads), p.bases
	for _, s := range p.segments {
		p.done.Bytes += s.size
	}
	return p.done, fail("look for moments to prune at "+a.Target(), err)
}

// A pruning is what a prune removes.
type pruning struct {
	objects  archive.Objects
	segments []*segment
	obsolete []*segment
	loads    []string // keys
	bases    []int
	done     Pruned
}

func planPrune(ctx context.Context, a *archive.Archive, from int64) (p pruning, err error) {
	kept, err := a.Bases(ctx) // before the backups, so that each of these is among them
	if err != nil {
		return p, err
	}
	step("prune: bases listed")
	c, err := readChain(ctx, a)
	if err != nil {
		return p, err
	}
	first := c.firstNeeded(from)
	for _, r := range c.runs {
		for _, b := range r.bases {
			if r.stillLeads(b, first) && (p.done.Earliest.IsZero() || timeOf(b.At).Before(p.done.Earliest)) {
				p.done.Earliest = timeOf(b.At)
			}
		}
	}
	p.objects = c.objects
	stays := func(s *segment) bool { return s.last >= first }
	p.segments = slices.DeleteFunc(slices.Clone(c.segments), stays)
	p.obsolete = slices.DeleteFunc(slices.Clone(c.obsolete), stays)
	whole := first // a segment that stays keeps all its loads
	for _, s := range c.segments {
		if s.first <= first && first <= s.last {
			whole = s.first
		}
	}
	loads, err := p.objects.List(ctx, loadsPrefix)
	if err != nil {
		return p, err
	}
	for key := range loads {
		number, _, _ := strings.Cut(strings.TrimPrefix(key, loadsPrefix), "/")
		if n, err := strconv.ParseUint(number, 10, 64); err == nil && n < whole {
			p.loads = append(p.loads, key)
		}
	}
	if len(c.damage) > 0 {
		return p, nil // any backup may be named in what cannot be read
	}
	for _, id := range slices.Sorted(maps.Keys(kept)) {
		if !c.stillBase(id, first) {
			p.bases = append(p.bases, id)
		}
	}
	return p, nil
}

// carryOut removes the oldest segments first, so that the chain is whole whenever this ends.
func (p *pruning) carryOut(ctx context.Context) error {
	for _, s := range p.segments {
		step("prune: segment")
		if err := p.objects.Remove(ctx, s.key); err != nil {
			return err
		}
		p.done.Segments++
		p.done.Bytes += s.size
	}
	for _, s := range p.obsolete {
		if err := p.objects.Remove(ctx, s.key); err != nil {
			return err
		}
	}
	for _, key := range p.loads {
		step("prune: load")
		if err := p.objects.Remove(ctx, key); err != nil {
			return err
		}
		p.done.Loads++
	}
	for _, id := range p.bases {
		step("prune: base")
		if err := p.objects.FreeBase(ctx, id); err != nil {
			return err
		}
		p.done.Backups = append(p.done.Backups, id)
	}
	return nil
}

// firstNeeded is the first block that moments from a time on need: the one where the newest backup before that time
// continues.
func (c *chain) firstNeeded(from int64) uint64 {
	first := uint64(1)
	for i, r := range c.runs {
		later := slices.ContainsFunc(c.runs[i+1:], func(r *run) bool { _, ok := r.earliest(); return ok })
		if r.end().Until < from && later {
			first = max(first, r.end().lastBlock+1) // the whole run
			continue
		}
		for _, b := range r.bases {
			if b.At > from || !r.leads(b, r.partOf(b.Number), b.UpTo) {
				continue
			}
			// A later promotion may have begun before it; then an earlier backup is needed.
			if !r.leadsOn(b) {
				continue
			}
			first = max(first, r.firstOf(b))
		}
		break
	}
	if n := len(c.segments); n > 0 { // the next segment needs the newest one
		first = min(first, c.segments[n-1].first)
	}
	return first
}

// leadsOn reports whether a base leads to everything that comes later.
func (r *run) leadsOn(b base) bool {
	for i := r.partOf(b.Number) + 1; i < len(r.parts); i++ {
		if r.leavesOut(i, b) {
			return false
		}
	}
	return true
}

// firstOf returns the first block that a base needs: of the part with what follows it, or
// the one that names it.
func (r *run) firstOf(b base) uint64 {
	first := r.parts[0].First
	for _, p := range r.parts {
		if p.After <= b.From {
			first = p.First
		}
		if p.Last > b.From {
			break
		}
	}
	return min(first, b.Number)
}

// stillLeads reports whether a base leads to any moment if the blocks before first are gone.
func (r *run) stillLeads(b base, first uint64) bool {
	return r.leads(b, r.partOf(b.Number), b.UpTo) && r.firstOf(b) >= first
}

// stillBase reports whether a backup is a base in the blocks from first on, or may become one.
func (c *chain) stillBase(id int, first uint64) bool {
	g, there := c.gens[id]
	if !there {
		return false
	}
	named := false
	var until time.Time
	for _, r := range c.runs {
		until = timeOf(r.end().Until)
		for _, b := range r.bases {
			named = named || b.Generation == id
			if b.Generation == id && r.stillLeads(b, first) {
				return true
			}
		}
	}
	return !named && until.Sub(g.Time) < defaultBase // its sender is about to name it
}
