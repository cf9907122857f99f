package moments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/history"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/standby"
)

// Run sends until the context ends, and what was written before that, if the target takes it within a second. One Run
// at a time makes sense. If another server sends to the archive, the error matches [ErrOtherWriter] if that server
// replaced this one.
func (s *Sender) Run(ctx context.Context) error {
	if s == nil || s.db == nil || ctx == nil {
		return nil
	}
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	last := lastTime
	defer context.AfterFunc(ctx, func() { time.AfterFunc(last, cancel) })()
	first := min(s.o.Every, mostWait)
	wait, said, saidAt := first, "", time.Time{}
	for {
		began := time.Now()
		err := s.session(ctx, sending)
		s.note(func(st *Status) { st.Online = false; st.Err = err })
		if s.o.Lost != nil {
			s.o.Lost()
		}
		if err == nil || sending.Err() != nil || ctx.Err() != nil && errors.Is(err, errReplaced) {
			return nil
		}
		if errors.Is(err, errReplaced) {
			s.o.Logger.Error("the log is no longer sent to the archive", "err", err)
			return err
		}
		if time.Since(began) > mostWait {
			wait = first
		}
		if now := err.Error(); now != said || time.Since(saidAt) > time.Minute {
			said, saidAt = now, time.Now()
			s.o.Logger.Error("the log is not sent to the archive; it is kept, and sent later", "err", err, "advice", archive.Advice(err))
		}
		ends := ctx.Done()
		if ctx.Err() != nil {
			ends, wait = nil, 100*time.Millisecond
		}
		select {
		case <-ends:
		case <-sending.Done():
			return nil
		case <-time.After(wait):
		}
		wait = min(2*wait, mostWait)
	}
}

// session sends until something fails, which sending ends too, or ctx ends and the rest is sent.
func (s *Sender) session(ctx, sending context.Context) (err error) {
	store, err := s.log.KeepLog(standby.Async(sending))
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.store = store
	s.mu.Unlock()
	n := &session{Sender: s, store: store, bases: make(chan base, 1), confirmed: time.Now()}
	if n.archive, err = archive.Open(sending, s.target); err != nil {
		return err
	}
	n.objects = n.archive.Objects()
	if err := n.objects.CreatesOnce(sending); err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	defer n.backing.Wait()
	defer stop()
	if err := n.begin(sending); err != nil {
		return err
	}
	defer n.log.Close()
	s.note(func(st *Status) { st.Online, st.Err = true, nil })
	return n.run(ctx, sending, working)
}

// begin goes on where the archive ends, or starts a new log after a gap.
func (n *session) begin(ctx context.Context) error {
	latest, err := n.store.SyncLog(ctx)
	if err != nil {
		return err
	}
	id, err := identify(ctx, n.store)
	if err != nil {
		return err
	}
	engine, err := query.EngineOf(n.store.Home())
	if err != nil {
		return err
	}
	epoch := id.history.Current()
	n.head = header{Database: id.uuid, Engine: engine, extent: extent{History: id.history.ID, Epoch: id.history.Epoch, EpochID: epoch.ID}}
	c, err := readChain(ctx, n.archive)
	if err != nil {
		return err
	}
	for _, g := range c.gens {
		if g.Database != id.uuid {
			return fmt.Errorf("it %w, %s; this one is %s", archive.ErrOtherDatabase, g.Database, id.uuid)
		}
	}
	if len(c.segments) == 0 {
		n.foundMoments(n.db.Plumbing().Wall())
		return n.restart(latest, "the archive begins")
	}
	newest := c.segments[len(c.segments)-1]
	blocks, err := readSegment(ctx, n.objects, newest)
	if errors.Is(err, archive.ErrDamaged) { // its successor says so
		n.head.Number, n.head.Since, n.head.Prev = newest.last+1, n.db.Plumbing().Wall().UnixMicro(), archive.Sum{}
		n.foundMoments(n.db.Plumbing().Wall())
		return n.restart(latest, fmt.Sprintf("the newest segment is damaged: %v", err))
	} else if err != nil {
		return err
	}
	end := blocks[len(blocks)-1]
	if end.Database != id.uuid {
		return fmt.Errorf("it %w, %s; this one is %s", archive.ErrOtherDatabase, end.Database, id.uuid)
	}
	n.head.Number, n.head.Since, n.head.Prev = end.Number+1, end.Until, end.sum
	n.foundMoments(timeOf(end.Until))
	from, why, err := n.follow(ctx, id.history, end)
	if err != nil {
		return err
	}
	if why != "" {
		return n.restart(latest, why)
	}
	n.head.After, n.head.Last = from, from
	if n.o.Sent != nil {
		n.o.Sent(from)
	}
	if last := c.runs; len(last) > 0 {
		r := last[len(last)-1]
		n.start = r.parts[0].After
		if at, ok := r.earliest(); ok {
			n.note(func(st *Status) { st.Earliest = timeOf(at) })
		}
		for _, b := range r.bases {
			if r.leads(b, len(r.parts)-1, from) {
				n.based = timeOf(b.At)
			}
		}
	}
	n.note(func(st *Status) { st.Position, st.Until = from, timeOf(end.Until) })
	n.o.Logger.Info("the log is sent to the archive", "from_position", from, "segment", n.head.Number)
	return nil
}

// foundMoments notes the newest moment, the first time.
func (s *Sender) foundMoments(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.foundAt.IsZero() {
		s.found, s.foundAt = until, time.Now()
	}
}

// follow opens the log where a block ends. why says why it cannot be continued there.
func (n *session) follow(ctx context.Context, h history.History, end *block) (from uint64, why string, err error) {
	from = end.Last
	switch {
	case end.Engine != n.head.Engine:
		return 0, fmt.Sprintf("the database is on %s now, and was on %s", n.head.Engine, end.Engine), nil
	case end.History != h.ID:
		age := n.db.Plumbing().Wall().Sub(timeOf(end.Until))
		if age < silence && age > -silence {
			return 0, "", fmt.Errorf("%w: one with another history of the database, %v ago; if that one is gone, this one begins after %v", ErrOtherWriter, age.Round(time.Second), silence)
		}
		return 0, "the database was restored, or its log was not kept meanwhile: it has another history", nil
	case end.Epoch > h.Epoch:
		return 0, "", fmt.Errorf("%w: it has epoch %d, and this one has %d", errReplaced, end.Epoch, h.Epoch)
	case h.Numbered(end.Epoch).ID != end.EpochID:
		if end.Epoch == h.Epoch {
			return 0, "", fmt.Errorf("%w: another one was promoted to epoch %d too", errReplaced, h.Epoch)
		}
		from = math.MaxUint64 // the fork is before its epoch
	}
	for _, e := range h.Epochs {
		if e.Number > end.Epoch || h.Numbered(end.Epoch).ID != end.EpochID && e.Number == end.Epoch {
			from = min(from, e.After)
		}
	}
	if n.log, why, err = n.openAt(ctx, from, end); why != "" || err != nil {
		return 0, why, err
	}
	return from, "", nil
}

// openAt opens the log after a position, and compares the last record that is in the archive, if it is the one before.
func (n *session) openAt(ctx context.Context, from uint64, end *block) (log cf.Log, why string, err error) {
	known := len(end.records) > 0 && end.Last == from
	at := from
	if known {
		at = end.records[len(end.records)-1].after
	}
	log, err = n.store.Log(cf.Position(at))
	if known && errors.Is(err, cf.ErrTrimmed) {
		known = false
		log, err = n.store.Log(cf.Position(from))
	}
	switch {
	case errors.Is(err, cf.ErrTrimmed):
		return nil, fmt.Sprintf("the log after position %d is no longer kept: the archive was away for too long, or the database is older than its archive", from), nil
	case errors.Is(err, cf.ErrDiverged):
		return nil, fmt.Sprintf("no record of the log ends at position %d: the log is another one", from), nil
	case err != nil || !known:
		return log, "", err
	}
	last := end.records[len(end.records)-1]
	r, err := log.Next(ctx)
	if err == nil && (r == nil || uint64(r.Last) != last.last || !bytes.Equal(r.Data, last.data)) {
		log.Close()
		return nil, fmt.Sprintf("the record at position %d is not the one in the archive: the log is another one", from), nil
	}
	if err != nil {
		log.Close()
		return nil, "", err
	}
	return log, "", nil
}

// restart begins another log of the archive, at a position; a base follows.
func (n *session) restart(at cf.Position, why string) (err error) {
	if n.head.Number == 0 {
		n.head.Number, n.head.Since = 1, n.db.Plumbing().Wall().UnixMicro()
	}
	if n.log, err = n.store.Log(at); err != nil {
		return err
	}
	n.head.After, n.head.Last, n.head.Begins, n.start = uint64(at), uint64(at), why, uint64(at)
	n.note(func(st *Status) { st.Earliest, st.Position = time.Time{}, uint64(at) })
	if n.head.Number == 1 {
		n.o.Logger.Info("the log is sent to the archive", "from_position", at)
		return nil
	}
	n.o.Logger.Error("the archive has a gap: no moment between the last segment and the next backup can be restored; a backup begins", "reason", why, "gap_begins", timeOf(n.head.Since))
	return nil
}

// run sends until something fails, or ctx ends and the rest is sent.
func (n *session) run(ctx, sending, working context.Context) error {
	tick := time.NewTicker(min(n.o.Every, beatEvery))
	defer tick.Stop()
	for {
		news := n.store.News() // before looking, so that nothing is missed
		n.ending = ctx.Err() != nil
		if err := n.send(sending); err != nil || n.ending {
			return err
		}
		if err := n.look(sending, working); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case b := <-n.bases:
			n.addBase(b)
		case <-tick.C:
		case <-news:
			n.rest(ctx)
		}
	}
}

// rest waits for more records, which go into the same segment, unless a write waits for them.
func (n *session) rest(ctx context.Context) {
	var asked <-chan struct{}
	if n.o.Waiting != nil {
		waits, next := n.o.Waiting()
		if waits {
			return
		}
		asked = next
	}
	select {
	case <-ctx.Done():
	case <-asked:
	case <-time.After(n.o.Every):
	}
}

// An identity is what the catalog says of a database.
type identity struct {
	uuid    string
	history history.History
}

func identify(ctx context.Context, store cf.Reader) (id identity, err error) {
	snap, err := store.Snapshot(ctx)
	if err != nil {
		return id, err
	}
	defer snap.Close()
	name, err := snap.Meta(ctx, "smolwc/uuid")
	if err != nil {
		return id, err
	}
	id.uuid = string(name)
	text, err := snap.Meta(ctx, history.Key)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &id.history)
	}
	if err == nil && id.history.ID == "" {
		err = errors.New("the database does not keep its log")
	}
	return id, err
}
