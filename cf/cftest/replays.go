package cftest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/replay"
)

var (
	replaySteps = flag.Int("replay-steps", 60, "how many steps the histories of replays take")
	replayTimes = flag.Int("replay-times", 3, "histories of replays")
	replaySeed  = flag.Uint64("replay-seed", 0, "the history of a replay; 0 is another one each time")
)

// Replays tests that records that are applied together leave what they leave one by one:
// with deletes of all kinds, merges, families that come and go, loads, and spills. open opens the
// store in a directory as one that follows or not.
func Replays(t *testing.T, open func(dir string, follows bool) (cf.Follower, error)) {
	for range *replayTimes {
		seed := rand.Uint64()
		if *replaySeed != 0 {
			seed = *replaySeed
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := &replayed{pair: &pair{T: t, open: open, rand: rand.New(rand.NewPCG(seed, 0)), families: []string{"t/a", "t/b"}}}
			p.run()
		})
	}
}

// A replayed is a primary whose log is replayed.
type replayed struct {
	*pair
	before int64 // of t/b's expiry, which is not lowered: that protects only cells written afterwards
}

func (p *replayed) run() {
	ctx := p.Context()
	p.primary = p.openIn(filepath.Join(p.TempDir(), "db"), false)
	p.must(p.primary.CreateFamily(ctx, p.families...))
	p.must(p.primary.Ship("history", 1<<30))
	for range p.rand.IntN(20) {
		p.step()
	}
	slow, quick, quickest := p.bareCopy(), p.bareCopy(), p.bareCopy()
	for range *replaySteps {
		p.step()
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := slow.Skip(gone, slow.Latest()+2); !errors.Is(err, context.Canceled) {
		p.Errorf("a skip with a context that has ended: %v", err)
	}
	versions := map[string]int{"t/a": 1 + p.rand.IntN(2)}
	to := p.records(slow.Latest(), 0)
	to = to[:1+p.rand.IntN(len(to))]
	end := max(to[len(to)-1].Last, quickest.Latest()) // copying writes, so the copies differ
	for slow.Latest() < end {
		p.must(Follow(ctx, p.primary, slow, 1))
	}
	end = slow.Latest()
	p.replay(quick, end, versions)
	p.must(sameContent(ctx, slow, quick, versions))
	p.replayTail(quickest, end, versions)
	p.must(sameContent(ctx, slow, quickest, versions))
	p.must(quickest.Close())
	dir := quick.Home()
	p.must(quick.Promote(ctx, false, func() error { return nil }))
	p.must(quick.Close())
	quick = p.openIn(dir, false)
	p.must(slow.Promote(ctx, false, func() error { return nil }))
	if a, b := slow.Latest(), quick.Latest(); b < a {
		p.Errorf("position %d when it is opened again; want %d", b, a)
	}
	for _, s := range []cf.Follower{slow, quick} { // it takes writes
		for _, family := range s.Families() {
			_, err := s.Write(ctx, nil, func(b *cf.Batch) error {
				b.Row(id("row1"))
				b.Put(family, "late", 1, []byte("v"))
				return nil
			})
			p.must(err)
		}
	}
	x, err := slow.LogSnapshot(ctx)
	p.must(err)
	y, err := quick.LogSnapshot(ctx)
	p.must(err)
	p.must(sameCells(ctx, x, y, versions))
	x.Close()
	y.Close()
	for _, s := range []cf.Follower{slow, quick, p.primary} {
		p.must(s.Close())
	}
}

// bareCopy is a store that follows the primary, and is kept for nobody.
func (p *replayed) bareCopy() cf.Follower {
	dir := filepath.Join(p.TempDir(), "db")
	_, err := p.primary.Checkpoint(p.Context(), dir)
	p.must(err)
	return p.openIn(dir, true)
}

// records reads the primary's records between two positions; 0 is the end of the log.
func (p *replayed) records(after, to cf.Position) (all []*cf.LogRecord) {
	log, err := p.primary.Log(after)
	p.must(err)
	defer log.Close()
	for {
		x, err := log.Next(p.Context())
		p.must(err)
		if x == nil || to != 0 && x.Last > to {
			return all
		}
		all = append(all, x)
	}
}

func (p *replayed) options(to cf.Follower, versions map[string]int) replay.Options {
	return replay.Options{
		Memory: 1 << (8 + p.rand.IntN(6)), Least: 1 << p.rand.IntN(11),
		Apply:    func(ctx context.Context, r *cf.LogRecord) error { return followOne(ctx, p.primary, to, r) },
		Versions: func(context.Context) (map[string]int, error) { return versions, nil },
	}
}

// replay applies records together.
func (p *replayed) replay(to cf.Follower, end cf.Position, versions map[string]int) {
	ctx := p.Context()
	r := replay.New(to, p.options(to, versions))
	for _, x := range p.records(to.Latest(), end) {
		p.must(r.Add(ctx, x))
	}
	p.must(r.End(ctx))
	p.must(r.Close())
	_, err := to.SyncLog(ctx)
	p.must(err)
}

// replayTail applies the last records together, read backward, after the others.
func (p *replayed) replayTail(to cf.Follower, end cf.Position, versions map[string]int) {
	ctx := p.Context()
	all := p.records(to.Latest(), end)
	tail, err := replay.NewTail(ctx, to, end, p.options(to, versions))
	p.must(err)
	n := len(all)
	for ; n > 0; n-- {
		more, err := tail.Add(ctx, all[n-1])
		if errors.Is(err, replay.ErrUnfit) {
			p.must(tail.Close())
			p.replay(to, end, versions)
			return
		}
		p.must(err)
		if !more {
			break
		}
	}
	if !tail.Worth() {
		n = len(all)
	}
	for _, x := range all[:n] {
		p.must(followOne(ctx, p.primary, to, x))
	}
	if tail.Worth() {
		if err := tail.Load(ctx); errors.Is(err, replay.ErrUnfit) {
			p.must(tail.Close())
			p.replay(to, end, versions)
			return
		} else {
			p.must(err)
		}
	}
	p.must(tail.Close())
	_, err = to.SyncLog(ctx)
	p.must(err)
}

// step changes the primary.
func (p *replayed) step() {
	ctx, r := p.Context(), p.rand
	family := p.families[r.IntN(len(p.families))]
	row := func() string { return fmt.Sprint("row", r.IntN(12)) }
	switch r.IntN(40) {
	case 0:
		p.must(LoadCell(ctx, p.primary, family, row(), "q0", fmt.Sprint("load", r.Uint32())))
	case 1:
		p.made++
		name := fmt.Sprintf("t/%d", p.made)
		p.must(p.primary.CreateFamily(ctx, name))
		p.families = append(p.families, name)
	case 2:
		if len(p.families) > 2 {
			p.must(p.primary.DropFamily(ctx, p.families[2]))
			p.families = slices.Delete(p.families, 2, 3)
		}
	case 3:
		p.must(p.primary.PutMeta(ctx, fmt.Sprint("key", r.IntN(5)), []byte(row())))
	case 4, 5, 6:
		p.must(p.primary.PutMeta(ctx, "smolwc/clock", []byte(row())))
	case 8:
		p.before = max(p.before, r.Int64N(4))
		p.must(p.primary.SetExpiry("t/b", cf.Expiry{Before: p.before}))
	case 7:
		from, to := row(), row()
		p.must(p.primary.DropRange(ctx, []string{family}, cf.Range{Start: min(from, to), End: max(from, to) + "z"}))
	default:
		_, err := p.primary.Write(ctx, nil, func(b *cf.Batch) error {
			for range 1 + r.IntN(6) {
				b.Row(id(row()))
				p.change(b, p.families[r.IntN(len(p.families))])
			}
			return nil
		})
		p.must(err)
	}
}

// change adds a change of the row.
func (p *replayed) change(b *cf.Batch, family string) {
	r := p.rand
	q, at := fmt.Sprint("q", r.IntN(3)), r.Int64N(5)
	switch r.IntN(12) {
	case 0, 1, 2:
		b.Merge(family, "sum", 0, cf.MergeSum, sumValue(r.Int64N(100)))
	case 3:
		b.DeleteCell(family, "sum", 0)
	case 4:
		b.DeleteCell(family, q, at)
	case 5:
		b.DeleteVersions(family, q, at, at+r.Int64N(3))
	case 6:
		b.DeleteRow(family)
	case 7:
		b.Put(family, "sum", 0, sumValue(r.Int64N(100)))
	default:
		b.Put(family, q, at, []byte(fmt.Sprint("value", r.Uint32())))
	}
}
