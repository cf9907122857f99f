package cftest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

var followSteps = flag.Int("follow-steps", 80, "how many steps the test of standbys takes")

// Followers tests standbys of an engine. open opens the store in a directory, which it makes
// unless it is there, as one that follows or not.
func Followers(t *testing.T, open func(dir string, follows bool) (cf.Follower, error)) {
	for range 2 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := &pair{T: t, open: open, rand: rand.New(rand.NewPCG(seed, 0)), families: []string{"t/a", "t/b"}}
			p.begin()
			for range *followSteps {
				p.step()
			}
			p.compare()
			p.end()
		})
	}
}

// A pair is a store, one that follows it, and one that follows that one, if there is one.
type pair struct {
	*testing.T
	open                    func(dir string, follows bool) (cf.Follower, error)
	rand                    *rand.Rand
	primary, standby, third cf.Follower
	families                []string
	made                    int
}

func (p *pair) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *pair) begin() {
	p.primary = p.openIn(filepath.Join(p.TempDir(), "db"), false)
	p.must(p.primary.CreateFamily(p.Context(), p.families...))
	p.must(p.primary.Ship("history", 1<<30))
	p.standby = p.copyOf(p.primary)
}

func (p *pair) end() {
	for _, s := range []cf.Follower{p.primary, p.standby, p.third} {
		if s != nil {
			p.must(s.Close())
		}
	}
}

func (p *pair) openIn(dir string, follows bool) cf.Follower {
	p.Helper()
	s, err := p.open(dir, follows)
	p.must(err)
	return s
}

// copyOf is a store that follows another one, from a copy of its files.
func (p *pair) copyOf(s cf.Follower) cf.Follower {
	p.Helper()
	dir := filepath.Join(p.TempDir(), "db")
	_, err := s.Checkpoint(p.Context(), dir)
	p.must(err)
	c := p.openIn(dir, true)
	p.must(c.Ship("history", 1<<30))
	if at, of := c.Latest(), s.Latest(); at != of {
		p.Fatalf("a copy of a store at position %d has position %d", of, at)
	}
	return c
}

func (p *pair) step() {
	ctx, r := p.Context(), p.rand
	family := p.families[r.IntN(len(p.families))]
	row := fmt.Sprint("row", r.IntN(30))
	switch r.IntN(20) {
	case 0:
		p.must(LoadCell(ctx, p.primary, family, row, "q", fmt.Sprint("load", r.Uint32())))
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
		p.must(p.primary.DropRange(ctx, []string{family}, cf.Range{Start: row, End: row + "z"}))
	case 4:
		p.must(p.primary.PutMeta(ctx, fmt.Sprint("key", r.IntN(5)), []byte(row)))
	case 5:
		p.must(p.primary.Flush(ctx, family))
	case 6:
		p.must(p.standby.Flush(ctx, p.standby.Families()[0]))
	case 7:
		p.primary = p.again(p.primary, false)
	case 8:
		p.standby = p.again(p.standby, true)
	case 9:
		if p.third != nil {
			p.must(p.third.Close())
		}
		p.third = p.copyOf(p.standby)
	case 10:
		p.compare()
	case 11:
		p.swap()
	case 12, 13:
		p.must(Follow(ctx, p.primary, p.standby, 1+r.IntN(10)))
	case 14:
		if p.third != nil && p.third.Latest() <= p.standby.Latest() { // it may have followed the primary
			p.must(Follow(ctx, p.standby, p.third, 1+r.IntN(10)))
		}
	default:
		p.write(family, row)
	}
}

func (p *pair) write(family, row string) {
	n := int64(p.rand.IntN(100))
	_, err := p.primary.Write(p.Context(), nil, func(b *cf.Batch) error {
		b.Row(id(row))
		switch p.rand.IntN(4) {
		case 0:
			b.Merge(family, "sum", 0, cf.MergeSum, sumValue(n))
		case 1:
			b.DeleteCell(family, "q", n)
		default:
			b.Put(family, "q", n, []byte(fmt.Sprint("value", p.rand.Uint32())))
		}
		if n%10 == 0 {
			b.Note([]byte(row))
		}
		return nil
	})
	p.must(err)
}

// again closes a store and opens it anew.
func (p *pair) again(s cf.Follower, follows bool) cf.Follower {
	p.Helper()
	dir, at := s.Home(), s.Latest()
	p.must(s.Close())
	s = p.openIn(dir, follows)
	if got := s.Latest(); got != at {
		p.Fatalf("position %d, and %d when the store is opened again", at, got)
	}
	return s
}

// swap promotes the standby, and makes the primary one.
func (p *pair) swap() {
	p.must(Follow(p.Context(), p.primary, p.standby, 0))
	why := errors.New("fenced")
	p.primary.Fence(why)
	if err := p.primary.PutMeta(p.Context(), "late", nil); !errors.Is(err, why) {
		p.Errorf("a write after the fence: %v", err)
	}
	p.must(p.standby.Promote(p.Context(), p.rand.IntN(2) == 0, func() error { return p.standby.PutMeta(p.Context(), "epoch", nil) }))
	p.primary, p.standby = p.standby, p.again(p.primary, true)
	if p.third != nil { // it may have nothing that the others have not
		p.must(Follow(p.Context(), p.primary, p.third, 0))
	}
}

// compare compares the stores, their logs and their last positions.
func (p *pair) compare() {
	p.Helper()
	p.must(Follow(p.Context(), p.primary, p.standby, 0))
	p.same(p.primary, p.standby)
	if p.third != nil {
		p.must(Follow(p.Context(), p.standby, p.third, 0))
		p.same(p.standby, p.third)
	}
}

func (p *pair) same(a, b cf.Follower) {
	p.Helper()
	if err := Same(p.Context(), a, b); err != nil {
		p.Fatal(err)
	}
}

// Follow applies at most n records of one store to another one, all if n is 0.
func Follow(ctx context.Context, from, to cf.Follower, n int) error {
	log, err := from.Log(to.Latest())
	if err != nil {
		return err
	}
	defer log.Close()
	for i := 0; n == 0 || i < n; i++ {
		r, err := log.Next(ctx)
		if r == nil || err != nil {
			return err
		}
		if err := followOne(ctx, from, to, r); err != nil {
			return err
		}
	}
	_, err = to.SyncLog(ctx)
	return err
}

// followOne applies a record of one store to another one.
func followOne(ctx context.Context, from, to cf.Follower, r *cf.LogRecord) error {
	need, err := to.Prepare(ctx, r)
	if err != nil {
		return err
	}
	if len(need.Files) > 0 {
		dir, err := from.LoadDir(need.Load)
		if err != nil {
			return err
		}
		if err := errors.Join(os.RemoveAll(need.Dir), os.CopyFS(need.Dir, os.DirFS(dir))); err != nil {
			return err
		}
	}
	if err := to.Apply(ctx, r); err != nil {
		return err
	}
	if to.Latest() != r.Last {
		return fmt.Errorf("position %d after the record up to %d", to.Latest(), r.Last)
	}
	return nil
}

// Same compares two stores at one position: their cells, their catalogs, and the last
// records of the second one, which the first one must contain.
func Same(ctx context.Context, a, b cf.Follower) error {
	if err := sameContent(ctx, a, b, nil); err != nil {
		return err
	}
	return sameRecords(ctx, a, b)
}

// sameContent compares the cells and the catalogs of two stores, of some families only the newest versions.
func sameContent(ctx context.Context, a, b cf.Follower, versions map[string]int) error {
	x, err := a.LogSnapshot(ctx)
	if err != nil {
		return err
	}
	defer x.Close()
	y, err := b.LogSnapshot(ctx)
	if err != nil {
		return err
	}
	defer y.Close()
	if x.At != y.At || !slices.Equal(x.Families, y.Families) {
		return fmt.Errorf("positions %d and %d, families %v and %v", x.At, y.At, x.Families, y.Families)
	}
	if err := sameCells(ctx, x, y, versions); err != nil {
		return err
	}
	want, err := x.MetaPrefix(ctx, "")
	if err != nil {
		return err
	}
	got, err := y.MetaPrefix(ctx, "")
	if err != nil {
		return err
	}
	if fmt.Sprint(want) != fmt.Sprint(got) {
		return fmt.Errorf("at position %d, the catalog\n has %q\nwant %q", x.At, got, want)
	}
	return nil
}

func sameCells(ctx context.Context, x, y *cf.LogSnapshot, versions map[string]int) error {
	for _, family := range x.Families {
		scan := everything(family)
		if text, err := x.Meta(ctx, cf.ExpiryPrefix+family); err != nil {
			return err
		} else if text != nil { // what may be dropped may be there
			var e cf.Expiry
			if err := json.Unmarshal(text, &e); err != nil {
				return err
			}
			scan.Filter.Since = max(scan.Filter.Since, e.Before)
		}
		if n := versions[family]; n > 0 {
			scan.Filter.Retention = []cf.Retention{{Versions: n, UpTo: math.MaxInt64}}
		}
		want, _, err := Collect(ctx, x, scan)
		if err != nil {
			return err
		}
		got, _, err := Collect(ctx, y, scan)
		if err != nil {
			return err
		}
		if !want.Equal(got) {
			return fmt.Errorf("at position %d, family %s\n has %s\nwant %s", x.At, family, got, want)
		}
	}
	return nil
}

func sameRecords(ctx context.Context, a, b cf.Follower) error {
	last, err := b.LastRecords(ctx)
	if err != nil || len(last) == 0 {
		return err
	}
	log, err := a.Log(last[0].After)
	if errors.Is(err, cf.ErrTrimmed) {
		return nil // a copy, whose log begins later
	}
	if err != nil {
		return err
	}
	defer log.Close()
	for _, want := range last {
		got, err := log.Next(ctx)
		if err != nil || got == nil || got.Last != want.Last || string(got.Data) != string(want.Data) {
			return fmt.Errorf("after position %d, the record %+v is %+v in the other log: %v", want.After, want, got, err)
		}
	}
	return nil
}
