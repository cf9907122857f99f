package moments

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/replay"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/query"
)

// A Moment is a state of a database: with every commit up to Time, or with the log up to Position, in the
// newest history of the database. The zero Moment is the latest.
type Moment struct {
	Time     time.Time
	Position uint64
}

func (m Moment) String() string {
	switch {
	case m.Position != 0:
		return fmt.Sprintf("position %d", m.Position)
	case !m.Time.IsZero():
		return formatTime(m.Time)
	}
	return "the latest moment"
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// ErrNoMoment matches the error for a moment that the archive does not have.
var ErrNoMoment = errors.New("this moment cannot be restored")

// RestoreOptions say how a moment is restored.
type RestoreOptions struct {
	archive.RestoreOptions
	// Planned is called with what will be read, before that; nil is allowed. With an error nothing is read.
	Planned func(Plan) error
}

// A Plan is what a restore reads.
type Plan struct {
	Backup   archive.Generation
	Segments int   // objects
	Bytes    int64 // of segments; the size of the backup comes to it
}

// A Restored is a moment that was restored.
type Restored struct {
	Plan
	Database string
	// The last record was written at Time and ends at Position. Nothing followed it up to Until, which is not after the
	// time that was asked for.
	Position    uint64
	Time, Until time.Time
	Records     int
	Elapsed     time.Duration
	// Expires are the families whose cells expire by their age, as table:family, with the ages: by the clock of now, they
	// may be gone soon.
	Expires map[string]time.Duration
}

// Restore makes a database as it was at a moment, in a directory that does not exist or is empty. As with
// [archive.Archive.Restore], a restore that fails or is interrupted leaves the directory as it was.
func Restore(ctx context.Context, a *archive.Archive, m Moment, dir string, o RestoreOptions) (Restored, error) {
	began := time.Now()
	r := &restoring{o: o, dir: dir}
	err := r.run(ctx, a, m)
	r.res.Elapsed = time.Since(began)
	return r.res, fail("restore "+m.String()+" from "+a.Target(), err)
}

func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*query.Error](err); ok {
		return e
	}
	kind := query.KindUnavailable
	for _, k := range []struct {
		err  error
		kind query.Kind
	}{
		{context.Canceled, query.KindCanceled}, {context.DeadlineExceeded, query.KindCanceled},
		{ErrNoMoment, query.KindNotFound}, {archive.ErrDamaged, query.KindCorruption}, {cf.ErrCorrupt, query.KindCorruption}, {cf.ErrDiverged, query.KindCorruption},
		{query.ErrNoEngine, query.KindFailedPrecondition}, {archive.ErrLocked, query.KindBusy}, {archive.ErrDenied, query.KindFailedPrecondition},
	} {
		if errors.Is(err, k.err) {
			kind = k.kind
			break
		}
	}
	return &query.Error{Op: op, Kind: kind, Err: err}
}

// A target is where a restore ends.
type target struct {
	run   *run
	part  int    // of the run, with the last record
	last  uint64 // position
	time  int64  // of the record at last
	until int64
}

// A way is how records are applied. Each takes what the one before it may refuse.
type way int

const (
	fromTheEnd way = iota // the last ones backward, and together
	together
	oneByOne
)

type restoring struct {
	o     RestoreOptions
	dir   string
	chain *chain
	cache map[*segment][]*block // of the segment with the target
	to    target
	base  base
	files []*segment
	// limits are the positions up to which the records of the parts count, by the parts' indexes.
	limits map[int]uint64
	at     uint64 // the records up to here were applied, or are in the backup
	// way is how records are applied, and until where, if not to the target, by [restoring.replayFiles].
	way   way
	until uint64
	res   Restored
	read  int64 // bytes of segments
	// fetched is how much of the backup was fetched, if somebody wants to know.
	fetched int64
}

func (r *restoring) run(ctx context.Context, a *archive.Archive, m Moment) (err error) {
	if r.chain, err = readChain(ctx, a); err != nil {
		return err
	}
	r.cache = map[*segment][]*block{}
	if err := r.find(ctx, m); err != nil {
		return err
	}
	if err := r.choose(); err != nil {
		return err
	}
	g := r.chain.gens[r.base.Generation]
	r.res.Plan = Plan{Backup: g, Segments: len(r.files)}
	for _, s := range r.files {
		r.res.Bytes += s.size
		if s.summary.Engine != g.Engine {
			return fmt.Errorf("%w: backup %d is of a database on %s, and segments of one on %s follow it", archive.ErrDamaged, g.ID, g.Engine, s.summary.Engine)
		}
	}
	if err := canReplay(g.Engine); err != nil {
		return fmt.Errorf("the database is on %s: %w", g.Engine, err)
	}
	if r.o.Planned != nil {
		if err := r.o.Planned(r.res.Plan); err != nil {
			return err
		}
	}
	o := r.o.RestoreOptions
	if report := o.Report; report != nil {
		o.Report = func(p archive.Progress) {
			r.fetched = p.Done
			report(archive.Progress{Done: p.Done, Total: p.Total + r.res.Bytes})
		}
	}
	o.Then = func(dir string) error {
		end, err := unfinished(dir)
		if err != nil {
			return err
		}
		if err := r.replay(ctx, dir); err != nil {
			return err
		}
		if err := end(); err != nil {
			return err
		}
		return r.describe(ctx, dir)
	}
	_, err = a.Restore(ctx, r.base.Generation, r.dir, o)
	for r.way < oneByOne && errors.Is(err, replay.ErrUnfit) {
		r.way++
		_, err = a.Restore(ctx, r.base.Generation, r.dir, o)
	}
	return err
}

// canReplay refuses an engine on which records cannot be replayed here.
func canReplay(e query.Engine) error {
	if e == query.EngineRocksDB && !query.HasRocksDB {
		return query.ErrNoEngine
	}
	return nil
}

// blocksOf reads a segment, once.
func (r *restoring) blocksOf(ctx context.Context, s *segment) ([]*block, error) {
	if b := r.cache[s]; b != nil {
		return b, nil
	}
	b, err := readSegment(ctx, r.chain.objects, s)
	if err == nil {
		r.cache[s] = b
	}
	return b, err
}

// find finds where the restore ends.
func (r *restoring) find(ctx context.Context, m Moment) error {
	if len(r.chain.runs) == 0 && len(r.chain.gens) == 0 {
		return fmt.Errorf("%w: there is nothing at this place, neither backups nor segments of the log", ErrNoMoment)
	}
	if len(r.chain.runs) == 0 {
		return fmt.Errorf("%w: there are no segments of the log in the archive; smolwc serve --continuous sends them, and without --at the newest backup is restored", ErrNoMoment)
	}
	switch {
	case m.Position != 0:
		return r.findPosition(ctx, m.Position)
	case m.Time.IsZero():
		last := r.chain.runs[len(r.chain.runs)-1]
		return r.findTime(ctx, last, last.end().Until)
	}
	at := m.Time.UnixMicro()
	for _, x := range r.chain.runs {
		if from, ok := x.earliest(); ok && from <= at && at <= x.end().Until {
			return r.findTime(ctx, x, at)
		}
	}
	return r.chain.noMoment(at)
}

// noMoment says why a time is no moment of the archive.
func (c *chain) noMoment(at int64) error {
	var before, after *run
	for _, x := range c.runs {
		from, ok := x.earliest()
		switch {
		case ok && x.end().Until < at:
			before = x
		case ok && from > at && after == nil:
			after = x
		}
	}
	switch {
	case before == nil && after == nil:
		return fmt.Errorf("%w: no backup leads to any moment of the archive", ErrNoMoment)
	case before == nil:
		from, _ := after.earliest()
		return fmt.Errorf("%w: the earliest one that can is %s", ErrNoMoment, formatTime(timeOf(from)))
	case after == nil:
		return fmt.Errorf("%w: the latest one that can is %s; while nothing is written, a server sends a later one each minute", ErrNoMoment, formatTime(timeOf(before.end().Until)))
	}
	from, _ := after.earliest()
	why := after.begins
	if before.lost != nil {
		why = before.lost.Error()
	}
	return fmt.Errorf("%w: it is in a gap, from %s to %s: %s", ErrNoMoment, formatTime(timeOf(before.end().Until)), formatTime(timeOf(from)), why)
}

// findTime finds the last record of a run whose time is not after a time.
func (r *restoring) findTime(ctx context.Context, x *run, at int64) error {
	i := len(x.parts) - 1
	for i > 0 && x.parts[i].Since >= at {
		i--
	}
	for ; ; i-- {
		p := x.parts[i]
		r.to = target{run: x, part: i, last: p.After, time: p.Since, until: at}
		blocks, err := r.blocksOf(ctx, p.segment)
		if err != nil {
			return err
		}
		found := false
		for _, b := range blocks {
			for _, rec := range b.records {
				if b.Number >= p.First && b.Number <= p.lastBlock && rec.time <= at {
					r.to.last, r.to.time, found = rec.last, rec.time, true
				}
			}
		}
		if found || i == 0 || x.parts[i-1].Last == p.After { // otherwise a promotion comes later, and what it left out was there
			return nil
		}
	}
}

// findPosition finds the last record of the newest history that does not end after a position.
func (r *restoring) findPosition(ctx context.Context, at uint64) error {
	x := r.chain.runs[len(r.chain.runs)-1]
	i := len(x.parts) - 1
	if at < x.parts[0].After || at > x.parts[i].Last {
		return fmt.Errorf("%w: the archive has positions %d to %d of the newest history of the database", ErrNoMoment, x.parts[0].After, x.parts[i].Last)
	}
	for i > 0 && x.parts[i].After >= at {
		i--
	}
	p := x.parts[i]
	r.to = target{run: x, part: i, last: p.After, time: p.Since, until: p.Since}
	blocks, err := r.blocksOf(ctx, p.segment)
	if err != nil {
		return err
	}
	for _, b := range blocks {
		for _, rec := range b.records {
			if b.Number >= p.First && b.Number <= p.lastBlock && rec.last <= at {
				r.to.last, r.to.time, r.to.until = rec.last, rec.time, rec.time
			}
		}
	}
	return nil
}

// choose chooses the base and the segments to read.
func (r *restoring) choose() error {
	x, found := r.to.run, false
	for _, b := range x.bases {
		if x.leads(b, r.to.part, r.to.last) && (!found || b.UpTo >= r.base.UpTo) {
			r.base, found = b, true
		}
	}
	if !found {
		if from, ok := x.earliest(); ok {
			return fmt.Errorf("%w: the earliest one that can is %s", ErrNoMoment, formatTime(timeOf(from)))
		}
		return fmt.Errorf("%w: no backup leads to it", ErrNoMoment)
	}
	r.reach(r.base.From)
	return nil
}

// reach finds the segments that lead from a position to the target.
func (r *restoring) reach(after uint64) {
	x := r.to.run
	r.limits = map[int]uint64{}
	from, limit := r.to.part, r.to.last
	for ; ; from-- {
		p := x.parts[from]
		r.limits[from] = limit
		limit = min(limit, p.After)
		if limit <= after || from == 0 {
			break
		}
	}
	for _, p := range x.parts[from : r.to.part+1] {
		if n := len(r.files); n == 0 || r.files[n-1] != p.segment {
			r.files = append(r.files, p.segment)
		}
	}
}

// unfinished has a database that is no moment yet opened by nobody, until end is called: a process may be killed before.
func unfinished(dir string) (end func() error, err error) {
	const text = "the restore of a moment did not end; remove this directory and restore again"
	path := filepath.Join(dir, "SMOLWC") // says what the database is, and is read before it is opened
	whole := path + ".whole"
	if err := os.Rename(path, whole); err != nil {
		return nil, err
	}
	if err := os.WriteFile(path+".tmp", []byte(text), 0o644); err != nil {
		return nil, err
	}
	return func() error { return osfile.RenameSynced(whole, path) }, osfile.RenameSynced(path+".tmp", path)
}
