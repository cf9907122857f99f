package moments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/replay"
	"github.com/smolwc/smolwc/internal/bar"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/standby"
)

// replay applies the records to the backup.
func (r *restoring) replay(ctx context.Context, dir string) (err error) {
	store, err := standby.OpenFollower(dir)
	if err != nil {
		return err
	}
	defer func() {
		if e := store.Close(); err == nil {
			err = e
		}
	}()
	if r.at = uint64(store.Latest()); r.at > r.to.last {
		return fmt.Errorf("%w: backup %d ends at position %d, and not at %d or before, as the log says", archive.ErrDamaged, r.base.Generation, r.at, r.base.UpTo)
	}
	r.until, r.res.Records, r.read = r.to.last, 0, 0
	show := bar.OfBytes(r.o.Progress, "replaying", r.res.Bytes)
	defer show.Finish()
	var in *block // with the record
	one := func(ctx context.Context, x *cf.LogRecord) error {
		need, err := store.Prepare(ctx, x)
		if err == nil && len(need.Files) > 0 {
			err = r.fetchLoad(ctx, in, need)
		}
		if err != nil {
			return err
		}
		return store.Apply(ctx, x)
	}
	o := replay.Options{
		Apply: one, Memory: replayMemory, Least: replayLeast,
		Versions: func(ctx context.Context) (map[string]int, error) { return plumbing.VisibleVersions(ctx, store) },
	}
	var tail *replay.Tail
	if r.way == fromTheEnd {
		if tail, err = replay.NewTail(ctx, store, cf.Position(r.to.last), o); err != nil {
			return err
		}
		defer func() { err = cmp.Or(err, tail.Close()) }()
		if err := r.readTail(ctx, show, tail); err != nil {
			return err
		}
		if tail.Worth() {
			r.until = uint64(tail.After())
			o.Versions = nil // readers see more of what was there then
		} else {
			if err := tail.Close(); err != nil {
				return err
			}
			r.res.Records, r.read = 0, 0
		}
	}
	rest := replay.New(store, o)
	defer func() { err = cmp.Or(err, rest.Close()) }()
	err = r.replayFiles(ctx, show, func(b *block, x *cf.LogRecord) error {
		step("restore: record")
		if in = b; r.way == oneByOne {
			return one(ctx, x)
		}
		return rest.Add(ctx, x)
	})
	if err == nil {
		err = rest.End(ctx)
	}
	if err == nil && r.until < r.to.last {
		step("restore: tail")
		err = tail.Load(ctx)
	}
	if err != nil {
		return err
	}
	if at := uint64(store.Latest()); at != r.to.last {
		return fmt.Errorf("%w: the log leads to position %d, and not to %d", archive.ErrDamaged, at, r.to.last)
	}
	r.res.Position = r.to.last
	return store.Promote(ctx, false, func() error { return nil })
}

// The bounds of [replay.Options]; 0 is theirs.
var replayMemory, replayLeast int

// errStop ends reading.
var errStop = errors.New("stop")

// readFiles calls take with the blocks of each of some segments. It reads one ahead of that.
func (r *restoring) readFiles(ctx context.Context, files []*segment, take func(context.Context, *segment, []*block) error) error {
	g, ctx := errgroup.WithContext(ctx)
	results := make(chan chan []*block, 1) // more would take more memory
	g.Go(func() error {
		defer close(results)
		for _, s := range files {
			one := make(chan []*block, 1)
			select {
			case results <- one:
			case <-ctx.Done():
				return ctx.Err()
			}
			known := r.cache[s]
			g.Go(func() (err error) {
				blocks := known
				if blocks == nil {
					blocks, err = readSegment(ctx, r.chain.objects, s)
				}
				if err == nil {
					one <- blocks
				}
				return err
			})
		}
		return nil
	})
	g.Go(func() error {
		i := 0
		for one := range results {
			var blocks []*block
			select {
			case blocks = <-one:
			case <-ctx.Done():
				return ctx.Err()
			}
			if err := take(ctx, files[i], blocks); err != nil {
				return err
			}
			i++
		}
		return nil
	})
	if err := g.Wait(); !errors.Is(err, errStop) {
		return err
	}
	return nil
}

// replayFiles calls take with each record that counts, up to r.until.
func (r *restoring) replayFiles(ctx context.Context, show *bar.Bar, take func(*block, *cf.LogRecord) error) error {
	if r.at >= r.until {
		return nil
	}
	number, sum := uint64(0), archive.Sum{}
	return r.readFiles(ctx, r.files, func(ctx context.Context, s *segment, blocks []*block) error {
		if number != 0 && (s.first != number+1 || blocks[0].Prev != sum) {
			return damaged(s.key, fmt.Errorf("it does not follow segment %d", number))
		}
		number, sum = s.last, blocks[len(blocks)-1].sum
		for _, b := range blocks {
			if r.at >= r.until {
				return errStop
			}
			if err := r.apply(ctx, b, take); err != nil {
				return fmt.Errorf("segment %d: %w", b.Number, err)
			}
		}
		r.hasRead(s, show)
		return nil
	})
}

// hasRead shows that a segment was read; one may be read twice.
func (r *restoring) hasRead(s *segment, show *bar.Bar) {
	r.read = min(r.read+s.size, r.res.Bytes)
	show.Set(r.read)
	if r.o.Report != nil {
		r.o.Report(archive.Progress{Done: r.fetched + r.read, Total: r.fetched + r.res.Bytes})
	}
}

// readTail gives a tail the records before the target, the last one first.
func (r *restoring) readTail(ctx context.Context, show *bar.Bar, tail *replay.Tail) error {
	files := slices.Clone(r.files)
	slices.Reverse(files)
	var next *segment
	var sum archive.Sum // of the block before next
	return r.readFiles(ctx, files, func(ctx context.Context, s *segment, blocks []*block) error {
		if next != nil && (next.first != s.last+1 || sum != blocks[len(blocks)-1].sum) {
			return damaged(next.key, fmt.Errorf("it does not follow segment %d", s.last))
		}
		next, sum = s, blocks[0].Prev
		for _, b := range slices.Backward(blocks) {
			limit, ok := r.limitOf(b)
			if !ok {
				continue
			}
			for _, x := range slices.Backward(b.records) {
				if x.last > limit {
					continue
				}
				if x.last <= r.at {
					return errStop
				}
				step("restore: record")
				if more, err := tail.Add(ctx, x.logged()); err != nil || !more {
					return cmp.Or(err, errStop)
				}
				r.res.Records++
			}
		}
		r.hasRead(s, show)
		return nil
	})
}

func (x *record) logged() *cf.LogRecord {
	return &cf.LogRecord{After: cf.Position(x.after), Last: cf.Position(x.last), Data: x.data, Time: x.time}
}

// limitOf is the position up to which the records of a block count; false if it is of another run, or comes later.
func (r *restoring) limitOf(b *block) (uint64, bool) {
	i := r.to.run.partOf(b.Number)
	limit, ok := r.limits[i]
	p := r.to.run.parts[i]
	return limit, ok && b.Number >= p.First && b.Number <= p.lastBlock
}

// apply calls take with the records of a block that count.
func (r *restoring) apply(ctx context.Context, b *block, take func(*block, *cf.LogRecord) error) error {
	limit, ok := r.limitOf(b)
	if !ok {
		return nil
	}
	limit = min(limit, r.until)
	for _, x := range b.records {
		if err := ctx.Err(); err != nil {
			return err
		}
		if x.last > limit || x.last <= r.at {
			continue
		}
		if err := take(b, x.logged()); err != nil {
			return err
		}
		r.at = x.last
		r.res.Records++
	}
	return nil
}

// fetchLoad brings the files of a load that a record needs.
func (r *restoring) fetchLoad(ctx context.Context, b *block, need cf.Need) error {
	if err := os.MkdirAll(need.Dir, 0o755); err != nil {
		return err
	}
	if err := r.fetchFiles(ctx, b, need.Load, need.Dir); err != nil {
		return err
	}
	for _, name := range need.Files {
		if _, err := os.Stat(filepath.Join(need.Dir, name)); err != nil {
			return fmt.Errorf("%w: the segment does not name file %s of load %s", archive.ErrDamaged, name, need.Load)
		}
	}
	return nil
}

// fetchFiles brings the files of a load to a directory.
func (r *restoring) fetchFiles(ctx context.Context, b *block, id, dir string) error {
	for _, l := range b.Loads {
		if l.ID != id {
			continue
		}
		for _, f := range l.Files {
			if !filepath.IsLocal(f.Name) || filepath.Base(f.Name) != f.Name {
				return fmt.Errorf("%w: segment %d names the file %q of load %s", archive.ErrDamaged, b.Number, f.Name, id)
			}
			if err := r.chain.objects.GetFile(ctx, loadKey(b.Number, f.Sum), filepath.Join(dir, f.Name), f.Size, f.Sum); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%w: segment %d does not name the load %s", archive.ErrDamaged, b.Number, id)
}

// describe fills in the rest of the result.
func (r *restoring) describe(_ context.Context, dir string) (err error) {
	r.res.Database = r.chain.gens[r.base.Generation].Database
	r.res.Time, r.res.Until = timeOf(r.to.time), timeOf(max(r.to.until, r.to.time))
	db, err := query.Open(dir, query.Options{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("the moment was restored, but its database does not open: %w", err)
	}
	defer func() { err = cmp.Or(err, db.Close()) }()
	r.res.Expires = map[string]time.Duration{}
	for _, t := range db.Schema().Tables {
		for _, f := range t.Families {
			if age := shortestAge(f.GC); age > 0 {
				r.res.Expires[t.Name+":"+f.Name] = age
			}
		}
	}
	return nil
}

// shortestAge is the shortest age after which a rule may drop cells; 0 if it looks at none.
func shortestAge(r *schema.Rule) (age time.Duration) {
	if r == nil {
		return 0
	}
	age = r.MaxAge
	for _, sub := range slices.Concat(r.Any, r.All) {
		if a := shortestAge(sub); a > 0 && (age == 0 || a < age) {
			age = a
		}
	}
	return age
}
