package moments

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/cf"
)

// send sends what is on the disk now.
func (n *session) send(ctx context.Context) error {
	for {
		now := n.db.Plumbing().Wall().UnixMicro() // read before the position, which covers all earlier commits
		latest, err := n.store.SyncLog(ctx)
		if err != nil {
			return err
		}
		b, more, err := n.gather(ctx, uint64(latest), now)
		if err != nil {
			return err
		}
		idle := len(b.records) == 0 && len(b.Bases) == 0 && b.Begins == ""
		n.note(func(st *Status) { st.Latest, st.Behind = uint64(latest), n.log.Behind() })
		if idle && !n.ending && time.Since(n.beat) < beatEvery {
			if latest := uint64(latest); latest == n.head.Last {
				n.note(func(st *Status) { st.Behind = 0 })
			}
			return nil
		}
		if err := n.put(ctx, b); err != nil {
			return err
		}
		if !more {
			return nil
		}
	}
}

// gather makes a block of the next records.
func (n *session) gather(ctx context.Context, latest uint64, now int64) (b *block, more bool, err error) {
	b = &block{header: n.head}
	size := 0
	if now < b.Since {
		n.clockBehind(b.Since - now)
	}
	for {
		if n.next == nil {
			if n.next, err = n.log.Next(ctx); err != nil {
				return nil, false, err
			}
		}
		r := n.next
		if r == nil || uint64(r.Last) > latest {
			break
		}
		if size > 0 && size+len(r.Data) > n.o.Bytes {
			more = true
			break
		}
		if uint64(r.After) != b.Last {
			return nil, false, fmt.Errorf("%w: the log continues after position %d, and the archive ends at %d", cf.ErrCorrupt, r.After, b.Last)
		}
		b.records = append(b.records, record{uint64(r.After), uint64(r.Last), r.Time, r.Data})
		b.Last, size = uint64(r.Last), size+len(r.Data)
		if err := n.sendLoads(ctx, b, r); err != nil {
			return nil, false, err
		}
		n.next = nil
	}
	b.setTimes(now, !more)
	return b, more, nil
}

// setTimes sets the times of a block's records. A record without a time takes the next one's, or now. Times never
// go back, and all are after Since: all commits up to then are in earlier blocks. all says that all commits before
// now are in the block.
func (b *block) setTimes(now int64, all bool) {
	for i, next := len(b.records)-1, now; i >= 0; i-- {
		if r := &b.records[i]; r.time == 0 {
			r.time = next
		} else {
			next = min(next, r.time)
		}
	}
	at := b.Since
	for i := range b.records {
		at = max(at, b.Since+1, b.records[i].time)
		b.records[i].time = at
	}
	if b.Until = at; all {
		b.Until = max(at, now)
	}
}

// clockBehind says that the clock was set back.
func (n *session) clockBehind(micros int64) {
	behind := time.Duration(micros) * time.Microsecond
	if behind > time.Minute && (n.turned == 0 || micros > 2*n.turned) {
		n.turned = micros
		n.o.Logger.Warn("the clock is behind the newest moment in the archive; until it has passed that, moments are told apart by positions and not by times", "behind", behind)
	}
}

// sendLoads sends the files of a load that ends in a record.
func (n *session) sendLoads(ctx context.Context, b *block, r *cf.LogRecord) error {
	ops, ok := n.store.(interface {
		Ops(*cf.LogRecord, func(*cf.LoggedOp) error) error
	})
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	err := ops.Ops(r, func(op *cf.LoggedOp) error {
		if id, ok := strings.CutPrefix(string(op.Key), cf.LoadedPrefix); ok && op.Family == "" {
			seen[id] = true
		}
		return nil
	})
	for id := range seen {
		if err == nil {
			var l load
			if l, err = n.sendLoad(ctx, b.Number, id); err == nil {
				b.Loads = append(b.Loads, l)
			}
		}
	}
	return err
}

func (n *session) sendLoad(ctx context.Context, number uint64, id string) (l load, err error) {
	dir, err := n.store.LoadDir(id)
	if err != nil {
		return l, err
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return l, err
	}
	l.ID = id
	for _, e := range names {
		f := loadFile{Name: e.Name()}
		path := filepath.Join(dir, e.Name())
		if f.Size, f.Sum, err = archive.SumOf(ctx, path); err == nil {
			err = n.objects.PutFile(ctx, loadKey(number, f.Sum), path, f.Size, f.Sum)
		}
		if err != nil {
			return l, fmt.Errorf("load %s: %w", id, err)
		}
		l.Files = append(l.Files, f)
	}
	return l, nil
}

// put puts a block into the archive, as a segment of its own. Only one server can do so.
func (n *session) put(ctx context.Context, b *block) error {
	text, sum, err := encodeSegment([]*block{b})
	if err != nil {
		return err
	}
	key := segmentKey(b.Number, b.Number)
	step("send: encoded")
	created, err := n.objects.Create(ctx, key, text)
	if err != nil {
		return err
	}
	if !created {
		there, found, err := n.objects.Get(ctx, key, maxSegment)
		if err != nil {
			return err
		}
		if !found || !bytes.Equal(there, text) {
			return fmt.Errorf("%w: segment %d is there already", ErrOtherWriter, b.Number)
		}
	}
	if time.Since(n.confirmed) > confirmAfter {
		if err := n.confirm(ctx, b.Number); err != nil {
			return err
		}
	}
	step("send: created")
	n.known.Store(key, sum)
	n.confirmed, n.beat = time.Now(), time.Now()
	if n.head.Begins != "" || len(b.Bases) > 0 {
		n.noteEarliest(b)
	}
	n.head.Number, n.head.Since, n.head.Prev = b.Number+1, b.Until, b.sum
	n.head.After, n.head.Begins, n.head.Bases, n.head.Last = b.Last, "", nil, b.Last
	n.note(func(st *Status) {
		st.Online, st.Err = true, nil
		st.Position, st.Until = b.Last, timeOf(b.Until)
		if b.Begins != "" && b.Number > 1 {
			st.Gaps++
			st.Gap = b.Begins
		}
		st.Segments++
		st.Bytes += int64(len(text))
		if st.Position >= st.Latest {
			st.Behind = 0
		}
	})
	if n.o.Sent != nil {
		n.o.Sent(b.Last)
	}
	return nil
}

// confirm finds out whether the newest segment is this sender's: if it stood still for long, another server may have
// sent and merged, and the name of the segment was free again.
func (n *session) confirm(ctx context.Context, number uint64) error {
	list, obsolete, err := listSegments(ctx, n.objects)
	if err != nil {
		return err
	}
	last := uint64(0)
	if len(list) > 0 {
		last = list[len(list)-1].last
	}
	for _, s := range obsolete {
		if s.first == number {
			last = max(last, number+1)
		}
	}
	switch {
	case last > number:
		return fmt.Errorf("%w: it has sent segment %d meanwhile", ErrOtherWriter, last)
	case last < number:
		return fmt.Errorf("segment %d is gone from the archive: something removes its files", number)
	}
	return nil
}

func (n *session) noteEarliest(b *block) {
	n.note(func(st *Status) {
		for _, x := range b.Bases {
			if at := timeOf(x.At); st.Earliest.IsZero() || at.Before(st.Earliest) {
				st.Earliest = at
			}
		}
	})
}
