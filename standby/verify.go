package standby

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/plumbing"
)

// A Verification is the result of [Standby.Verify].
type Verification struct {
	Position uint64        // of both databases
	Began    time.Time     // by this machine's clock
	Took     time.Duration // until the result
	Tables   []VerifiedTable
}

// A VerifiedTable is a table in a standby and in its primary. The one without a name is
// the catalog, whose rows are entries.
type VerifiedTable struct {
	Name          string
	Here, Primary CellSum
	// Difference says what is different in Row, the first row that differs; "" if the
	// table is the same in both.
	Difference, Row string
}

// A CellSum is the number, the size and the checksum of cells.
type CellSum struct {
	Rows, Cells int64
	Bytes       int64 // of row keys, qualifiers and values
	Checksum    uint64
}

// Equal reports whether the standby is equal to its primary.
func (v *Verification) Equal() bool { return v != nil && v.Difference() == "" }

// Difference describes the first difference; "" if both are equal.
func (v *Verification) Difference() string {
	if v == nil {
		return ""
	}
	for _, t := range v.Tables {
		switch {
		case t.Difference == "":
		case t.Name == "":
			return fmt.Sprintf("the catalog's entry %q %s", t.Row, t.Difference)
		default:
			return fmt.Sprintf("row %q of table %s %s", t.Row, t.Name, t.Difference)
		}
	}
	return ""
}

// A VerifyProgress says how far [Standby.Verify] is.
type VerifyProgress struct {
	Table        string // the one under way; "" is the catalog
	Cells, Bytes int64  // so far, in all tables
}

// ErrDiffers matches the error of [Standby.Err] for a standby whose cells differ from its
// primary's. It also matches [ErrRebuild].
var ErrDiffers = fmt.Errorf("%w: it differs from its primary", ErrRebuild)

// Verify compares the cells of the standby with its primary's, both as of one position,
// while both go on. progress is called now and then by one goroutine; it may be nil. One
// verification runs at a time.
//
// If they differ, the standby is lost: it serves nothing until [Standby.Rebuild], which
// keeps its files aside. The result then says where they differ, and the error is nil. A
// standby whose own files are damaged is lost too, with an error. After any other error
// nothing is known.
func (s *Standby) Verify(ctx context.Context, progress func(VerifyProgress)) (*Verification, error) {
	v, done, err := s.verifyOnce(ctx, progress)
	done()
	return v, err
}

// verifyOnce is Verify. The caller calls done after reporting the result: a standby
// that differs is lost then. It is not promoted in between.
func (s *Standby) verifyOnce(ctx context.Context, progress func(VerifyProgress)) (v *Verification, done func(), err error) {
	if s == nil || s.opened == nil || ctx == nil {
		return nil, func() {}, errors.New("a verification needs a standby and a context; Open gives a standby")
	}
	s.phase.Lock()
	if s.ended || s.o.Primary == "" {
		s.phase.Unlock()
		return nil, func() {}, errors.New("the standby was closed, or was promoted, or is a fenced primary")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	following := s.following
	defer context.AfterFunc(following, func() { cancel(context.Cause(following)) })()
	s.running.Add(1)
	s.phase.Unlock()
	v, lose, err := s.verify(ctx, progress)
	return v, func() { lose(); s.running.Done() }, err
}

// verify compares, and notes the result. The context must end before the standby does.
func (s *Standby) verify(ctx context.Context, progress func(VerifyProgress)) (_ *Verification, lose func(), err error) {
	lose = func() {}
	if !s.verifying.TryLock() {
		return nil, lose, fmt.Errorf("%w: another verification is under way; try again when it has ended", cf.ErrUnavailable)
	}
	defer s.verifying.Unlock()
	v, err := s.compare(ctx, progress)
	if why := s.Err(); why != nil {
		return nil, lose, fmt.Errorf("the standby is lost: %w", why)
	}
	var own *ownError
	switch {
	case errors.As(err, &own) && errors.Is(err, cf.ErrCorrupt):
		return nil, func() { s.failForGood(fmt.Errorf("%w: its files are damaged: %w", ErrRebuild, err)) }, err
	case err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), ctx.Err()):
		return nil, lose, fmt.Errorf("the verification has ended early: %w", context.Cause(ctx))
	case err != nil:
		return nil, lose, s.link.explain(err)
	}
	s.state.Lock()
	s.verified = v
	if !v.Equal() {
		s.differed++
	}
	s.state.Unlock()
	if !v.Equal() {
		return v, func() { s.failForGood(fmt.Errorf("%w: %s, at position %d", ErrDiffers, v.Difference(), v.Position)) }, nil
	}
	s.logger.Info("the standby is equal to its primary", "position", v.Position, "tables", len(v.Tables)-1, "duration", v.Took.Round(time.Millisecond))
	if err := s.changeRole(func(r *role) { r.Verified = v.Began.UnixMicro() }); err != nil {
		s.logger.Warn("the time of the verification cannot be noted", "error", err)
	}
	return v, lose, nil
}

// An ownError is an error of the standby's own files.
type ownError struct{ error }

func (e *ownError) Unwrap() error { return e.error }

// ownErr is an error of the standby's own files, if it is one.
func ownErr(err error) error {
	if err == nil {
		return nil
	}
	return &ownError{err}
}

// tries is how often a comparison is begun again: because no record of the primary ends
// at its moment, or because cells expired while their difference was looked for.
const tries = 10

func (s *Standby) compare(ctx context.Context, progress func(VerifyProgress)) (v *Verification, err error) {
	for range tries {
		c := &comparison{standby: s, progress: progress, since: map[string]int64{}}
		c.found.Began = time.Now()
		if err = c.run(ctx); !errors.Is(err, errNoCommonPosition) {
			c.found.Took = time.Since(c.found.Began)
			return &c.found, err
		}
	}
	return nil, err
}

// A comparison is a Verify under way.
type comparison struct {
	standby  *Standby
	progress func(VerifyProgress)
	here     *cf.LogSnapshot
	there    smolwcpb.Standbys_SumsClient
	families []string         // of either, in the store
	since    map[string]int64 // by family: older cells are not compared
	done     VerifyProgress
	found    Verification
}

func (c *comparison) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := c.open(ctx); err != nil {
		return err
	}
	defer c.here.Close()
	c.found.Position = uint64(c.here.At)
	if err := c.table(ctx, "", nil); err != nil {
		return err
	}
	tables, err := c.tables(ctx)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := c.table(ctx, t.name, t.families); err != nil {
			return err
		}
	}
	c.found.Took = time.Since(c.found.Began)
	return c.reportResult()
}

// reportResult sends the result to the primary.
func (c *comparison) reportResult() error {
	if err := c.ask(&smolwcpb.SumsRequest{Result: c.found.message()}); err != nil {
		return nil // the result stands
	}
	_ = c.there.CloseSend() // as above
	_, _ = c.there.Recv()   // the end
	return nil
}

// A storedTable is the families of a table in the store.
type storedTable struct {
	name     string
	families []string
}

// tables are the tables by their names. Families that are being dropped may be gone in one
// of the two databases.
func (c *comparison) tables(ctx context.Context) (all []storedTable, err error) {
	entries, err := c.here.MetaPrefix(ctx, "")
	if err != nil {
		return nil, ownErr(err)
	}
	names, of := tableNames(entries), map[string][]string{}
	for _, f := range c.families {
		if entries["drop/"+f] != nil {
			continue
		}
		stored, _, _ := cutFamily(f)
		name, ok := names[stored]
		if !ok {
			name = stored + " (deleted)"
		}
		of[name] = append(of[name], f)
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, storedTable{name, of[name]})
	}
	return all, nil
}

// partBytes is about the size of a part of a table that is compared at once.
const partBytes = 64 << 20

// table compares a table, or the catalog.
func (c *comparison) table(ctx context.Context, name string, families []string) error {
	c.done.Table = name
	t := VerifiedTable{Name: name}
	var here, there rangeSum
	for _, rows := range c.parts(ctx, families) {
		a, b, d, err := c.part(ctx, part{families: families, rows: rows}, t.Difference == "")
		if err != nil {
			return err
		}
		here.add(a)
		there.add(b)
		if d != nil {
			t.Difference, t.Row = d.what, d.row
		}
		c.done.Cells += a.Cells
		c.done.Bytes += a.Bytes
		if c.progress != nil {
			c.progress(c.done)
		}
	}
	t.Here, t.Primary = here.cells(), there.cells()
	c.found.Tables = append(c.found.Tables, t)
	return nil
}

func (s rangeSum) cells() CellSum { return CellSum{s.rows, s.Cells, s.Bytes, s.Checksum} }

// parts divides a table.
func (c *comparison) parts(ctx context.Context, families []string) (all []cf.Range) {
	split := func(n int) []cf.Part {
		parts, err := c.standby.opened.Splits(ctx, families, cf.Range{}, n)
		if err != nil || len(parts) == 0 { // a family is gone
			return []cf.Part{{}}
		}
		return parts
	}
	if len(families) == 0 {
		return []cf.Range{{}}
	}
	start := ""
	for _, p := range split(int(min(split(1)[0].Bytes/partBytes+1, 1<<16))) {
		all = append(all, cf.Range{Start: start, End: p.End})
		start = p.End
	}
	return all
}

// A difference is in one row.
type difference struct{ row, what string }

// part compares a part, and looks for the first difference if it should.
func (c *comparison) part(ctx context.Context, p part, find bool) (here, there rangeSum, d *difference, err error) {
	for range tries {
		if here, there, err = c.sums(ctx, p); err != nil || here.same(there) || !find {
			return here, there, nil, err
		}
		if d, err = c.first(ctx, p, here, there); err != nil || d != nil {
			return here, there, d, err
		}
	}
	return here, there, nil, fmt.Errorf("%w: cells expire while they are compared", errNoCommonPosition)
}

// sums adds a part up in both databases. If cells may have been dropped meanwhile, it does
// so again, without them.
func (c *comparison) sums(ctx context.Context, p part) (here, there rangeSum, err error) {
	for {
		p.since = c.since
		if err := c.ask(&smolwcpb.SumsRequest{Range: p.message()}); err != nil {
			_, err = c.there.Recv() // which gives the reason
			return here, there, err
		}
		if here, err = p.sum(ctx, c.here, nil); err != nil {
			return here, there, ownErr(err)
		}
		m, err := c.answered()
		if err != nil {
			return here, there, err
		}
		if len(m.GetDropped()) != len(p.families) {
			return here, there, fmt.Errorf("%w: a sum of %d families says what %d have dropped", errDamaged, len(p.families), len(m.GetDropped()))
		}
		again := false
		for i, f := range p.families {
			if dropped := max(c.standby.opened.DroppedBefore(f), m.GetDropped()[i]); dropped > c.since[f] {
				c.since[f], again = dropped, true
			}
		}
		if !again {
			return here, rangeSumOf(m.GetSum()), nil
		}
	}
}

// fanout is the number of ranges into which one with a difference is divided.
const fanout = 16

// first finds the first row that differs in a part whose sums are different; nil if the
// difference is gone, because cells have expired.
func (c *comparison) first(ctx context.Context, p part, here, there rangeSum) (*difference, error) {
	one := p.rows == cf.Single(p.rows.Start)
	switch {
	case there.rows == 0:
		return &difference{here.first, "is not in the primary"}, nil
	case here.rows == 0:
		return &difference{there.first, "is missing"}, nil
	case one:
		return &difference{p.rows.Start, "has other cells"}, nil
	}
	ranges, err := c.divide(ctx, p, here.rows)
	if err != nil {
		return nil, err
	}
	for _, rows := range ranges {
		p.rows = rows
		here, there, err := c.sums(ctx, p)
		if err != nil {
			return nil, err
		}
		if !here.same(there) {
			return c.first(ctx, p, here, there)
		}
	}
	return nil, nil
}

// divide splits a range with n rows here into smaller ones. In the last step each row is a
// range, and so is each gap.
func (c *comparison) divide(ctx context.Context, p part, n int64) (ranges []cf.Range, err error) {
	step := (n + fanout - 1) / fanout
	start, at := p.rows.Start, int64(0)
	p.since = c.since
	_, err = p.sum(ctx, c.here, func(key string) {
		switch {
		case step == 1:
			row := cf.Single(key)
			ranges = append(ranges, cf.Range{Start: start, End: key}, row)
			start = row.End
		case at > 0 && at%step == 0:
			ranges = append(ranges, cf.Range{Start: start, End: key})
			start = key
		}
		at++
	})
	if err != nil {
		return nil, ownErr(err)
	}
	if start != p.rows.End || start == "" {
		ranges = append(ranges, cf.Range{Start: start, End: p.rows.End})
	}
	return slices.DeleteFunc(ranges, func(r cf.Range) bool { return r.End != "" && r.Start >= r.End }), nil
}

// message is the verification as it is sent.
func (v *Verification) message() *smolwcpb.Verification {
	if v == nil {
		return nil
	}
	m := &smolwcpb.Verification{Position: v.Position, BeganMicros: v.Began.UnixMicro(), TookMicros: v.Took.Microseconds(), Difference: v.Difference()}
	for _, t := range v.Tables {
		m.Tables = append(m.Tables, &smolwcpb.VerifiedTable{Name: t.Name, Here: t.Here.message(), Primary: t.Primary.message(), Difference: t.Difference, Row: []byte(t.Row)})
	}
	return m
}

func (s CellSum) message() *smolwcpb.Sum {
	return &smolwcpb.Sum{Rows: s.Rows, Cells: s.Cells, Bytes: s.Bytes, Checksum: s.Checksum}
}

const (
	// verifyRetry is the time after a verification that failed, and between two looks
	// whether one is due.
	verifyRetry = time.Minute
	verifyLook  = time.Second
)

// verifyOften verifies the standby on a schedule, until the context ends.
func (s *Standby) verifyOften(ctx context.Context) {
	wait := min(verifyLook, s.o.VerifyEvery)
	var r role
	if _, err := readFile(s.dir.dir, plumbing.StandbyFile, &r); err != nil {
		s.logger.Warn("the time of the last verification cannot be read", "error", err)
	}
	due := time.UnixMicro(r.Verified).Add(s.o.VerifyEvery)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if _, connected := s.Lag(); !connected || time.Now().Before(due) {
			continue
		}
		v, lose, err := s.verify(ctx, nil)
		lose()
		if v != nil && !v.Equal() || ctx.Err() != nil {
			return
		}
		due = time.Now().Add(s.o.VerifyEvery)
		if err != nil {
			due = time.Now().Add(min(verifyRetry, s.o.VerifyEvery))
			s.logger.Log(ctx, slog.LevelWarn, "the standby could not be compared with its primary", "error", err, "again_in", time.Until(due).Round(time.Millisecond))
		}
	}
}

// Verify implements [smolwcpb.StandbysServer].
func (f *feed) Verify(req *smolwcpb.VerifyRequest, stream smolwcpb.Standbys_VerifyServer) error {
	if f.verify == nil {
		return status.Error(codes.FailedPrecondition, "this server is no standby; ask a standby of it to compare itself with it")
	}
	return f.verify(req, stream)
}

// serveVerify is the call of a client.
func (s *Standby) serveVerify(req *smolwcpb.VerifyRequest, stream smolwcpb.Standbys_VerifyServer) error {
	if against, primary := req.GetAgainst(), s.Primary(); against != primary && primary != "" {
		return status.Errorf(codes.InvalidArgument, "this standby follows %s, and is not compared with %s", primary, against)
	}
	if s.spool != nil {
		return status.Error(codes.FailedPrecondition, "a standby with a delay has other rows than its primary, and is not compared with it")
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	var told time.Time
	v, done, err := s.verifyOnce(ctx, func(p VerifyProgress) {
		if time.Since(told) < progressEvery {
			return
		}
		told = time.Now()
		_ = stream.Send(&smolwcpb.VerifyResponse{Table: p.Table, Cells: p.Cells, Bytes: p.Bytes}) // its context ends otherwise
	})
	defer done()
	if err != nil {
		return status.Error(kindOf(err), err.Error())
	}
	return stream.Send(&smolwcpb.VerifyResponse{Result: v.message()})
}

// progressEvery is the time between two messages about the progress.
const progressEvery = 200 * time.Millisecond
