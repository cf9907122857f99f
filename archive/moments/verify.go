package moments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/internal/bar"
	"github.com/smolwc/smolwc/query"
)

// A Gap is a time without moments that can be restored.
type Gap struct {
	From, To time.Time // To is zero if it has not ended
	Reason   string
}

// A Report describes the moments in an archive.
type Report struct {
	// Earliest and Latest are the first and the last moment that can be restored; zero without one.
	Earliest, Latest time.Time
	Position         uint64 // of the last record
	Segments         int    // objects
	Bytes            int64  // of segments
	Bases            int    // backups to which the log leads on
	Gaps             []Gap
	// Damage is what is wrong with segments and loads: the chain of checksums does not hold there.
	Damage []*archive.DamageError
	// Records, Loads and Samples were verified, by [Verify].
	Records, Loads, Samples int
	Elapsed                 time.Duration
}

// Look reads the summaries of an archive. The content of segments is not looked at.
func Look(ctx context.Context, a *archive.Archive) (Report, error) {
	c, err := readChain(ctx, a)
	if err != nil {
		return Report{}, fail("look for moments at "+a.Target(), err)
	}
	return c.report(), nil
}

func (c *chain) report() (r Report) {
	r.Segments, r.Damage = len(c.segments), c.damage
	for _, s := range c.segments {
		r.Bytes += s.size
	}
	reason := ""
	for _, x := range c.runs {
		r.Bases += len(x.bases)
		r.Position = x.end().Last
		from, ok := x.earliest()
		if !ok {
			continue
		}
		if r.Earliest.IsZero() {
			r.Earliest = timeOf(from)
		} else {
			if reason == "" {
				reason = x.begins
			}
			r.Gaps = append(r.Gaps, Gap{r.Latest, timeOf(from), reason})
		}
		r.Latest, reason = timeOf(x.end().Until), ""
		if x.lost != nil {
			reason = x.lost.Error()
		}
	}
	if n := len(c.runs); n > 0 && !r.Latest.IsZero() {
		if last := c.runs[n-1]; len(last.bases) == 0 {
			r.Gaps = append(r.Gaps, Gap{From: r.Latest, Reason: last.begins})
		}
	}
	return r
}

// VerifyOptions say what [Verify] does.
type VerifyOptions struct {
	archive.Options
	// Sample is how many random moments are restored, in a temporary directory, and checked.
	Sample int
	// Planned is called before each of them, as in [RestoreOptions].
	Planned func(Plan) error
	// Dir is where that directory is made; "" is the system's.
	Dir string
}

// Verify reads all segments and files of loads, and compares them with their checksums, which lead from one segment to
// the next. It does not read the backups; [archive.Archive.Verify] does. With Sample it also
// restores random moments, and reads each to its end. If anything is damaged, the error matches [archive.ErrDamaged], and the report says what.
func Verify(ctx context.Context, a *archive.Archive, o VerifyOptions) (Report, error) {
	began := time.Now()
	r, err := verify(ctx, a, o)
	r.Elapsed = time.Since(began)
	return r, fail("verify moments at "+a.Target(), err)
}

func verify(ctx context.Context, a *archive.Archive, o VerifyOptions) (Report, error) {
	c, err := readChain(ctx, a)
	if err != nil {
		return Report{}, err
	}
	r := c.report()
	if r.Records, r.Loads, err = c.readAll(ctx, o, &r); err != nil {
		return r, err
	}
	if len(r.Damage) == 0 {
		for range o.Sample {
			if err := c.sample(ctx, a, o, r); err != nil {
				return r, err
			}
			r.Samples++
		}
	}
	switch n := len(r.Damage); n {
	case 0:
		return r, nil
	case 1:
		return r, r.Damage[0]
	default:
		return r, fmt.Errorf("%w, and %d more are damaged", r.Damage[0], n-1)
	}
}

// readAll reads all segments, and the files that they name.
func (c *chain) readAll(ctx context.Context, o VerifyOptions, r *Report) (records, loads int, err error) {
	dir, err := os.MkdirTemp(o.Dir, "smolwc-verify-*")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	show := bar.OfBytes(o.Progress, "verifying moments", r.Bytes)
	defer show.Finish()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(archive.DefaultParallel)
	type result struct {
		records, loads int
		damage         []*archive.DamageError
	}
	all := slices.Concat(c.segments, c.obsolete)
	results := make([]result, len(all))
	var done atomic.Int64
	var reporting sync.Mutex
	for i, s := range all {
		g.Go(func() error {
			res := &results[i]
			defer func() {
				at := done.Add(s.size)
				show.Set(at)
				if o.Report != nil {
					reporting.Lock()
					defer reporting.Unlock()
					o.Report(archive.Progress{Done: at, Total: r.Bytes})
				}
			}()
			blocks, err := readSegment(ctx, c.objects, s)
			if d, ok := errors.AsType[*archive.DamageError](err); ok {
				if s.damage == nil && !c.gone(ctx, s.key) {
					res.damage = append(res.damage, d)
				}
				return nil
			}
			if err != nil {
				return err
			}
			for _, b := range blocks {
				res.records += len(b.records)
				for _, l := range b.Loads {
					for _, f := range l.Files {
						res.loads++
						path := filepath.Join(dir, fmt.Sprint(i))
						err := c.objects.GetFile(ctx, loadKey(b.Number, f.Sum), path, f.Size, f.Sum)
						if d, ok := errors.AsType[*archive.DamageError](err); ok {
							d.File = f.Name
							res.damage = append(res.damage, d)
						} else if err != nil {
							return err
						}
					}
				}
			}
			return nil
		})
	}
	err = g.Wait()
	for _, res := range results {
		records += res.records
		loads += res.loads
		r.Damage = append(r.Damage, res.damage...)
	}
	return records, loads, err
}

// gone reports whether an object was removed meanwhile.
func (c *chain) gone(ctx context.Context, key string) bool {
	_, found, err := c.objects.GetHead(ctx, key, 1)
	if found || err != nil {
		return false
	}
	list, _, err := listSegments(ctx, c.objects)
	if err != nil {
		return false
	}
	for _, s := range c.segments {
		if s.key != key {
			continue
		}
		covered := len(list) > 0 && s.last < list[0].first // pruned
		for _, x := range list {
			covered = covered || x.first <= s.first && x.last >= s.last
		}
		return covered
	}
	return true
}

// sample restores a random moment, and checks the database.
func (c *chain) sample(ctx context.Context, a *archive.Archive, o VerifyOptions, r Report) error {
	if r.Earliest.IsZero() {
		return fmt.Errorf("%w: no backup leads to any", ErrNoMoment)
	}
	at := r.random()
	dir, err := os.MkdirTemp(o.Dir, "smolwc-verify-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db := filepath.Join(dir, "db")
	if _, err := Restore(ctx, a, Moment{Time: at}, db, RestoreOptions{RestoreOptions: archive.RestoreOptions{Options: o.Options}, Planned: o.Planned}); err != nil {
		return fmt.Errorf("%s: %w", formatTime(at), err)
	}
	opened, err := query.Open(db, query.Options{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("%s: %w", formatTime(at), err)
	}
	report, err := opened.Check(ctx)
	if err == nil && !report.OK() {
		err = fmt.Errorf("%w: the database of %s has %d problems, as %v", archive.ErrDamaged, formatTime(at), report.Count, report.Problems[0])
	}
	return errors.Join(err, opened.Close())
}

// random is a moment that can be restored.
func (r *Report) random() time.Time {
	n := rand.N(r.restorable() + 1)
	at := r.Earliest.Add(n)
	for _, g := range r.Gaps {
		if at.After(g.From) && !g.To.IsZero() {
			at = at.Add(g.To.Sub(g.From))
		}
	}
	return at
}

// restorable is how long the time is whose moments can be restored.
func (r *Report) restorable() time.Duration {
	d := r.Latest.Sub(r.Earliest)
	for _, g := range r.Gaps {
		if !g.To.IsZero() {
			d -= g.To.Sub(g.From)
		}
	}
	return max(d, 0)
}
