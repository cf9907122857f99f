package moments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/smolwc/smolwc/archive"
)

const (
	// tidyEvery is how often a sender merges segments, and pruneEvery how often it removes old ones.
	tidyEvery  = time.Minute
	pruneEvery = time.Hour
	// mergeAge is how old a segment is at least when it is merged: see confirmAfter.
	mergeAge = time.Minute
	// maxMerged bounds the size of a merged segment, but for one that was larger before.
	maxMerged = 32 << 20
)

// tidy merges segments, and removes old ones. Errors are only logged: the next time goes on.
func (n *session) tidy(ctx context.Context) {
	if !n.tidying.CompareAndSwap(false, true) {
		return
	}
	defer n.tidying.Store(false)
	now := n.db.Plumbing().Wall()
	res, err := merge(ctx, n.archive, now, &n.known)
	if err == nil && res.Merged > 0 {
		n.o.Logger.Debug("segments were merged", "segments", res.Merged, "into", res.Into)
	}
	if n.o.Keep > 0 && time.Since(n.pruned) >= pruneEvery {
		n.pruned = time.Now()
		p, failed := Prune(ctx, n.archive, n.sure(now).Add(-n.o.Keep))
		if err = cmp.Or(err, failed); failed == nil && p.Segments > 0 {
			n.o.Logger.Info("old moments were removed", "segments", p.Segments, "bytes", p.Bytes, "earliest", p.Earliest)
		}
		n.note(func(st *Status) { // somebody else may have pruned, too
			if !st.Earliest.IsZero() && p.Earliest.After(st.Earliest) {
				st.Earliest = p.Earliest
			}
		})
	}
	if err != nil && ctx.Err() == nil {
		n.o.Logger.Warn("segments were not merged, or old ones not removed; both are tried again", "err", err)
	}
}

// sure returns a time that has certainly come: a clock that is set far ahead must remove nothing. It is the archive's
// time when the sender found it, plus the time since then.
func (s *Sender) sure(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.found.Add(time.Since(s.foundAt)); at.Before(now) {
		return at
	}
	return now
}

// A merged says what a merge did.
type merged struct{ Merged, Into int }

// merge joins the segments of each minute that is over, then of each hour and day. It writes the new segment before it
// removes the others, so it may be interrupted at any moment. known holds the summaries that it need not read again.
func merge(ctx context.Context, a *archive.Archive, now time.Time, known *sync.Map) (res merged, err error) {
	o := a.Objects()
	list, obsolete, err := listSegments(ctx, o)
	if err != nil {
		return res, err
	}
	for _, s := range obsolete { // of a merge that was interrupted
		if err := removeMerged(ctx, o, list, s); err != nil {
			return res, err
		}
	}
	for _, s := range list {
		switch there, _ := known.Load(s.key); there := there.(type) {
		case summary:
			s.summary = there
			continue
		case *archive.DamageError:
			s.damage = there
			continue
		}
		s.summary, _, err = readSummary(ctx, o, s.key)
		if err == nil {
			known.Store(s.key, s.summary)
		}
		if err != nil {
			if errors.Is(err, archive.ErrDamaged) {
				s.damage, err = err, nil
				continue
			}
			return res, err
		}
	}
	var damage error
	for _, group := range groups(list, now) {
		err := mergeGroup(ctx, o, group)
		if d, ok := errors.AsType[*archive.DamageError](err); ok {
			damage = cmp.Or(damage, err)
			known.Store(d.Object, d) // the next merge goes around it
			continue
		}
		if err != nil {
			return res, err
		}
		for _, s := range group {
			known.Delete(s.key)
		}
		res.Merged += len(group)
		res.Into++
	}
	return res, damage
}

// groups are the segments that are merged into one, each time.
func groups(list []*segment, now time.Time) (all [][]*segment) {
	var group []*segment
	var size int64
	var raw int64
	end := func() {
		if len(group) > 1 {
			all = append(all, group)
		}
		group, size, raw = nil, 0, 0
	}
	span := ""
	for i, s := range list {
		if s.damage != nil || len(s.summary.Parts) == 0 {
			end()
			continue
		}
		in, over := spanOf(s, now)
		if i > 0 && (list[i-1].last+1 != s.first || s.summary.Engine != list[i-1].summary.Engine || s.summary.Database != list[i-1].summary.Database || s.summary.Prev != list[i-1].summary.Sum) || in != span || size+s.size > maxMerged || raw+s.summary.Bytes > 2*maxMerged {
			end()
		}
		if !over {
			end()
			break
		}
		span = in
		group, size, raw = append(group, s), size+s.size, raw+s.summary.Bytes
	}
	end()
	return all
}

// spanOf is the span of time into which a segment is merged now; over is false if none is over yet.
func spanOf(s *segment, now time.Time) (span string, over bool) {
	until := timeOf(s.summary.Parts[len(s.summary.Parts)-1].Until)
	for _, d := range []time.Duration{24 * time.Hour, time.Hour, time.Minute} {
		begins := until.Truncate(d)
		if now.Sub(begins.Add(d)) >= mergeAge {
			return fmt.Sprint(d, begins), true
		}
	}
	return "", false
}

func mergeGroup(ctx context.Context, o archive.Objects, group []*segment) error {
	var blocks []*block
	for _, s := range group {
		b, err := readSegment(ctx, o, s)
		if err != nil {
			return err
		}
		blocks = append(blocks, b...)
	}
	text, _, err := encodeSegment(blocks)
	if err != nil {
		return damaged(group[0].key, err)
	}
	step("merge: read")
	key := segmentKey(group[0].first, group[len(group)-1].last)
	if _, err := o.Create(ctx, key, text); err != nil {
		return err
	}
	step("merge: created")
	// Read it once more: what it replaces goes now.
	whole := &segment{key: key, first: group[0].first, last: group[len(group)-1].last}
	if _, err := readSegment(ctx, o, whole); err != nil {
		return err
	}
	shown, err := o.List(ctx, segmentsPrefix)
	if _, there := shown[key]; err != nil || !there { // a list that shows neither would let a sender begin before it; the next merge removes them
		return err
	}
	for _, s := range group {
		step("merge: remove")
		if err := o.Remove(ctx, s.key); err != nil {
			return err
		}
	}
	return nil
}

// removeMerged removes a segment whose blocks were merged into another one, once that was
// read.
func removeMerged(ctx context.Context, o archive.Objects, list []*segment, s *segment) error {
	for _, in := range list {
		if in.first > s.first || in.last < s.last {
			continue
		}
		blocks, err := readSegment(ctx, o, in)
		if errors.Is(err, archive.ErrDamaged) {
			return nil // then it is still needed
		}
		if err != nil {
			return err
		}
		own, err := readSegment(ctx, o, s)
		if errors.Is(err, archive.ErrDamaged) {
			return nil // Verify names it
		}
		if err != nil {
			return err
		}
		if blocks[s.first-in.first].sum != own[0].sum {
			return nil // it is another server's, and proves it
		}
		return o.Remove(ctx, s.key)
	}
	return nil
}

// step is called at each step that a test interrupts.
var step = func(string) {}
