package changes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/history"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/write"
)

// A Reader is one reading of a table's changes.
type Reader struct {
	from   Source
	table  string
	stream int64
	spec   *Spec
	parts  []part // ascending, together the rows

	begins    cells.Timestamp // with Spec.Kept
	history   *history.History
	version   uint64 // of the catalog that the history is of, in a store that is behind
	log       cf.Changes
	waiting   []*Change // of the last commit
	at        position
	watermark cells.Timestamp
	told      time.Time // when the caller last got a change or a heartbeat; zero is never

	// In the log, a commit with a time after Spec.Until may come before a commit with a
	// time before it. The reading then includes both, so that a token after the second
	// one misses no change.
	late    bool        // a commit with a time after Until was left out; at stays before it
	through cf.Position // up to here no commit is left out for its time
}

// Open returns a reader of a table's changes.
func Open(ctx context.Context, from Source, table string, spec *Spec) (*Reader, error) {
	if err := spec.check(from.Clock.Latest()); err != nil {
		return nil, err
	}
	info, stream, err := streamOf(from.Catalog.Load(), table)
	if err != nil {
		return nil, err
	}
	r := &Reader{from: from, table: info.Name, stream: stream.ID, spec: spec}
	if r.history, err = r.historyNow(ctx); err != nil {
		return nil, err
	}
	return r, r.start(ctx, stream)
}

// start finds the place in the log to begin at.
func (r *Reader) start(ctx context.Context, s *catalog.Stream) (err error) {
	switch {
	case len(r.spec.Tokens) > 0:
		if r.parts, err = r.parseTokens(r.spec.Tokens); err != nil {
			return err
		}
	case r.spec.Kept:
		r.begins = r.oldest(s)
		before, err := r.find(ctx, r.begins)
		if errors.Is(err, ErrGone) { // the log begins later, with a copy
			var first commitNote
			if first, _, err = r.firstNote(ctx, before); err == nil {
				r.begins = max(r.begins, first.At)
			}
		}
		if err != nil {
			return err
		}
		r.parts = []part{{rows: r.spec.Rows, at: position{before: before}, watermark: r.begins, since: r.begins}}
	case r.from.Behind != nil && !r.spec.HasSince: // no clock of this process says where now is
		r.parts = []part{{rows: r.spec.Rows, at: position{before: r.from.Behind.Latest()}, watermark: s.Since, since: s.Since}}
	default:
		if !r.spec.HasSince {
			if r.spec.Since, err = r.from.low(ctx); err != nil {
				return err
			}
		}
		if oldest := r.oldest(s); r.spec.Since < oldest {
			return fault.Errorf(fault.FailedPrecondition, "%w from %s on: the table has them from %s on", ErrGone, stamp(r.spec.Since), stamp(oldest))
		}
		before, err := r.find(ctx, r.spec.Since)
		if err != nil {
			return err
		}
		r.parts = []part{{rows: r.spec.Rows, at: position{before: before}, watermark: r.spec.Since, since: r.spec.Since}}
	}
	r.at, r.watermark = r.parts[0].at, r.parts[0].watermark
	for _, p := range r.parts {
		if r.at.covers(p.at) {
			r.at = p.at
		}
		r.watermark = min(r.watermark, p.watermark)
	}
	r.log, err = r.from.Store.Changes(r.at.before)
	return gone(err)
}

// oldest is the time from which the table keeps its changes.
func (r *Reader) oldest(s *catalog.Stream) cells.Timestamp {
	return max(s.Since, r.from.Clock.Now()-cells.Timestamp(s.Keep.Microseconds()))
}

// Begins is the time from which on no change is missing, of a reading of all that is kept.
func (r *Reader) Begins() cells.Timestamp { return r.begins }

// Finish makes a reading of all that is kept end after the commits that are under way: a
// snapshot may show them before the log does. In a store that is behind it ends with the
// log.
func (r *Reader) Finish(ctx context.Context) (err error) {
	var next cells.Timestamp
	switch {
	case r.from.Behind != nil:
		return nil
	case r.from.Shared != nil:
		next, err = r.from.low(ctx)
	default:
		next = r.from.Clock.Pass()
	}
	r.spec.Kept, r.spec.HasUntil, r.spec.Until = false, true, next-1
	return err
}

func stamp(t cells.Timestamp) string { return t.Time().UTC().Format(time.RFC3339Nano) }

// find is a position such that all commits made at a time or later are after it.
// Every commit notes such a position for its own time, so find looks for a commit
// that was made earlier.
func (r *Reader) find(ctx context.Context, since cells.Timestamp) (cf.Position, error) {
	starts, err := r.from.Store.ChangeStarts()
	if err != nil {
		return 0, err
	}
	// The first position after which no commit is earlier.
	found := cf.Position(0)
	i := sort.Search(len(starts), func(i int) bool {
		if err != nil {
			return true
		}
		var n commitNote
		var ok bool
		if n, ok, err = r.firstNote(ctx, starts[i]); err != nil || !ok || n.At > since {
			return true
		}
		found = max(found, n.before)
		return false
	})
	if err != nil {
		return 0, err
	}
	if found >= starts[0] && i > 0 {
		return found, nil
	}
	return starts[0], r.reaches(ctx, starts[0], since)
}

// reaches refuses a time if commits made then or later may be missing before the first
// position of the log. They may be in a standby, and in one that was promoted: their logs
// begin with a copy, and a standby keeps its log by size.
func (r *Reader) reaches(ctx context.Context, first cf.Position, since cells.Timestamp) error {
	if r.from.Behind == nil && len(r.history.Epochs) == 0 {
		return nil
	}
	if first <= r.from.Times.started && since > r.from.Clock.Begin() {
		return nil // all commits up to the start are earlier
	}
	log, err := r.from.Store.Changes(first)
	if err != nil {
		return gone(err)
	}
	defer log.Close()
	for {
		k, err := log.Next(ctx)
		if err != nil {
			return gone(err)
		}
		if k == nil {
			break
		}
		n, err := r.from.noteOf(k)
		if err != nil {
			return err
		}
		if n.before < first { // commits up to first may be later than this one
			continue
		}
		if n.At <= since {
			return nil
		}
		break
	}
	return fault.Errorf(fault.FailedPrecondition, "%w from %s on: the log of this server begins later; another server may have them", ErrGone, stamp(since))
}

// firstNote is the note of the first logged commit after a position.
func (r *Reader) firstNote(ctx context.Context, after cf.Position) (n commitNote, ok bool, err error) {
	log, err := r.from.Store.Changes(after)
	if errors.Is(err, cf.ErrTrimmed) { // it was trimmed just now
		return commitNote{At: 0, before: after}, true, nil
	}
	if err != nil {
		return n, false, err
	}
	defer log.Close()
	k, err := log.Next(ctx)
	if k == nil || err != nil {
		return n, false, err
	}
	n, err = r.from.noteOf(k)
	return n, err == nil, err
}

// Close ends the reading.
func (r *Reader) Close() {
	if r.log != nil {
		r.log.Close()
	}
}

// Next is the next change, or a heartbeat; nil at the end.
func (r *Reader) Next(ctx context.Context) (*Change, error) {
	c, err := r.next(ctx)
	if c == nil || err != nil {
		return nil, err
	}
	// Only after the log was read: a change that a standby may lack comes after the
	// standby's history.
	if r.history, err = r.historyNow(ctx); err != nil {
		return nil, err
	}
	c.history = r.history
	return c, nil
}

// historyNow is the history of the database. Where another process writes it, each change
// of the catalog may be a new epoch.
func (r *Reader) historyNow(ctx context.Context) (*history.History, error) {
	if r.from.Behind == nil {
		return r.from.historyNow(ctx, r.history)
	}
	version, err := r.from.Behind.Version()
	if err != nil || r.history != nil && version == r.version {
		return r.history, err
	}
	r.version = version
	return r.from.historyNow(ctx, nil)
}

// freshen brings the schema to the log's, or a later one, in a store that is behind.
func (r *Reader) freshen(ctx context.Context) error {
	if r.from.Behind == nil {
		return nil
	}
	version, err := r.from.Behind.Version()
	if err != nil || version == r.from.Catalog.Load().Version {
		return err
	}
	return r.from.Freshen(ctx)
}

func (r *Reader) next(ctx context.Context) (*Change, error) {
	if r.spec.Heartbeat > 0 && r.told.IsZero() {
		return r.beat(), nil
	}
	for {
		if len(r.waiting) > 0 {
			c := r.waiting[0]
			r.waiting = r.waiting[1:]
			c.Watermark, c.exact = r.watermark, r.exact(c.at)
			r.told = time.Now()
			return c, nil
		}
		if err := r.holds(); err != nil {
			return nil, err
		}
		news := r.from.news() // before looking, so that nothing is missed
		low, err := r.from.low(ctx)
		if err != nil {
			return nil, err
		}
		k, err := r.log.Next(ctx)
		if err != nil {
			return nil, gone(err)
		}
		if err := r.freshen(ctx); err != nil {
			return nil, err
		}
		if k != nil {
			if err := r.take(k); err != nil {
				return nil, err
			}
			if r.late && len(r.waiting) > 0 {
				if err := r.goBack(k.At); err != nil {
					return nil, err
				}
				continue
			}
		} else {
			r.pass(position{before: r.log.Position()})
			r.watermark = max(r.watermark, low)
		}
		switch {
		case len(r.waiting) > 0:
		case r.spec.HasUntil && r.watermark > r.spec.Until, r.spec.Kept && k == nil:
			return nil, nil
		case r.spec.Heartbeat > 0 && time.Since(r.told) >= r.spec.Heartbeat:
			return r.beat(), nil
		case k == nil:
			if err := r.wait(ctx, news); err != nil {
				return nil, err
			}
		}
	}
}

// pass moves the reader to a place in the log. Everything after the place is still
// unread.
func (r *Reader) pass(at position) {
	if !r.late {
		r.at = at
	}
}

// goBack reads again from the first commit that was late, up to one that was not.
func (r *Reader) goBack(through cf.Position) (err error) {
	r.waiting, r.late, r.through = nil, false, through
	r.log.Close()
	r.log, err = r.from.Store.Changes(r.at.before)
	return gone(err)
}

func (r *Reader) beat() *Change {
	r.told = time.Now()
	return &Change{Watermark: r.watermark, reader: r, at: r.at, exact: r.exact(r.at)}
}

// exact is the watermark of a place: all commits after the place are of this time or
// later. It is 0 while the reading stays at a late commit, or went back to one.
func (r *Reader) exact(at position) cells.Timestamp {
	if r.late || at.before < r.through {
		return 0
	}
	return r.watermark
}

// holds reports an error when the stream is ended.
func (r *Reader) holds() error {
	if r.from.Times.closed() {
		return cf.ErrClosed
	}
	_, s, err := streamOf(r.from.Catalog.Load(), r.table)
	if err == nil && s.ID != r.stream {
		err = fault.Errorf(fault.FailedPrecondition, "%w: the stream that was read has ended", ErrNoStream)
	}
	return err
}

// wait waits for something new, the next heartbeat, or the end. What other processes
// commit gives no news.
func (r *Reader) wait(ctx context.Context, news <-chan struct{}) error {
	const long, short, poll = time.Hour, time.Millisecond, 200 * time.Millisecond
	d := long
	if r.from.Shared != nil {
		d = poll
	}
	if r.spec.Heartbeat > 0 {
		d = min(d, r.spec.Heartbeat-time.Since(r.told))
	}
	if r.spec.HasUntil && r.from.Behind == nil { // the database's clock may run at another pace
		d = min(d, time.Duration(min(int64(r.spec.Until-r.watermark), math.MaxInt64/1000-1)+1)*time.Microsecond, time.Second)
	}
	timer := time.NewTimer(max(d, short))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-news:
	case <-timer.C:
	}
	return nil
}

// take turns a commit's rows into changes.
func (r *Reader) take(k *cf.Commit) error {
	note, err := r.from.noteOf(k)
	if err != nil {
		return err
	}
	rows, err := sections(k)
	if err != nil {
		return err
	}
	late := r.spec.HasUntil && note.At > r.spec.Until && k.At > r.through
	n := 0 // rows of the stream
	for i := range rows {
		row := &rows[i]
		if row.stream != r.stream {
			continue
		}
		at := position{k.Before, n}
		n++
		if !r.wanted(row.key, at, note.At) {
			continue
		}
		if late {
			r.pass(at)
			r.late = true
			break
		}
		c := &Change{Key: row.key, Time: note.At, TieBreaker: at.rows, Collected: row.collected, Position: k.At, reader: r, at: position{k.Before, n}}
		if c.Changes, err = r.changesOf(row); err != nil {
			return corruptCommit(k, err)
		}
		if len(c.Changes) > 0 {
			r.waiting = append(r.waiting, c)
		}
	}
	if len(r.waiting) > 0 {
		r.waiting[len(r.waiting)-1].at = position{before: k.At}
	}
	r.pass(position{before: k.At})
	r.watermark = max(r.watermark, note.low)
	return nil
}

// wanted reports whether a change of a row is part of the reading and was not read
// before.
func (r *Reader) wanted(key string, at position, made cells.Timestamp) bool {
	for i := range r.parts {
		p := &r.parts[i]
		if key >= p.rows.Start && (p.rows.End == "" || key < p.rows.End) {
			return !p.at.covers(at) && made >= p.since
		}
	}
	return false
}

func commitNoteOf(k *cf.Commit) (n commitNote, err error) {
	if len(k.Ops) == 0 {
		return n, corruptCommit(k, errNote)
	}
	last := k.Ops[len(k.Ops)-1]
	if last.Kind != cf.OpNote || len(last.Value) == 0 || last.Value[0] != noteCommit {
		return n, corruptCommit(k, fmt.Errorf("%w: it has no end", errNote))
	}
	if n, err = parseCommitNote(last.Value); err != nil {
		err = corruptCommit(k, err)
	}
	return n, err
}

func corruptCommit(k *cf.Commit, err error) error {
	return fault.Errorf(fault.Corruption, "commit %d of the log: %w", k.At, err)
}

// A section is the part of a commit that concerns one row.
type section struct {
	rowOfStream
	ops [][]cf.LoggedOp // each a stretch of the commit
}

type rowOfStream struct {
	stream    int64
	key       string
	collected bool
}

// sections divides a commit by rows.
func sections(k *cf.Commit) (rows []section, err error) {
	at := map[rowOfStream]int{} // places in rows
	begin, open := 0, -1
	end := func(i int) {
		if open >= 0 && i > begin {
			rows[open].ops = append(rows[open].ops, k.Ops[begin:i])
		}
	}
	for i, op := range k.Ops {
		if op.Kind != cf.OpNote {
			continue
		}
		if len(op.Value) == 0 {
			return nil, corruptCommit(k, errNote)
		}
		switch kind := op.Value[0]; kind {
		case NoteRow, NoteCollected:
			end(i)
			begin = i + 1
			row := rowOfStream{collected: kind == NoteCollected}
			if row.stream, row.key, err = parseRowNote(op.Value); err != nil {
				return nil, corruptCommit(k, err)
			}
			var known bool
			if open, known = at[row]; !known {
				open = len(rows)
				at[row] = open
				rows = append(rows, section{rowOfStream: row})
			}
		case noteCommit, noteDeleteFamily, noteDeleteVersions:
		default:
			return nil, corruptCommit(k, fmt.Errorf("%w: its kind is %q", errNote, kind))
		}
	}
	end(len(k.Ops))
	return rows, nil
}

// changesOf are the changes of a row. A delete is described by its note, not by
// the cells that it removed.
func (r *Reader) changesOf(s *section) (changes []write.Change, err error) {
	for _, ops := range s.ops {
		for i := range ops {
			op := &ops[i]
			var c write.Change
			switch op.Kind {
			case cf.OpPut, cf.OpMerge:
				family, ok := strings.CutPrefix(op.Family, r.table+"/")
				if !ok || strings.Contains(family, "/") {
					continue // of a later write to a table without a change stream
				}
				if c, err = cellChange(op); err != nil {
					return nil, err
				}
				c.Family = family
			case cf.OpNote:
				if op.Value[0] == noteCommit {
					continue
				}
				if c, err = parseDeleteNote(op.Value); err != nil {
					return nil, err
				}
				if !r.hasFamily(c.Family) {
					continue
				}
			default:
				continue
			}
			changes = append(changes, c)
		}
	}
	return changes, nil
}

func (r *Reader) hasFamily(name string) bool {
	t, ok := r.from.Catalog.Load().Tables[r.table]
	return ok && slices.ContainsFunc(t.Families, func(f *catalog.Family) bool { return f.Name == name })
}

// cellChange is a set, or an add to an aggregate.
func cellChange(op *cf.LoggedOp) (c write.Change, err error) {
	_, qualifier, ts, err := cf.SplitCellKey(op.Key)
	if err != nil {
		return c, err
	}
	c = write.Change{Kind: write.SetChange, Qualifier: string(qualifier), Since: cells.Timestamp(ts)}
	value := op.Value
	if op.Kind == cf.OpMerge {
		if len(value) == 0 {
			return c, errors.New("an add of nothing")
		}
		c.Kind = write.AddChange
		if cf.MergeKind(value[0]) == cf.MergeDistinct {
			c.Kind = write.MergeChange
		}
		value = value[1:]
	}
	c.Value, err = cells.DecodeValue(value)
	return c, err
}
