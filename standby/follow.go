package standby

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
)

const (
	mostWait  = 10 * time.Second // between two tries to connect
	trimEvery = time.Minute
	trimBytes = 64 << 20 // of the log, at least, before it is trimmed earlier
	// lazyBytes are applied at most without a sync, while no write waits for the standby.
	lazyBytes = 8 << 20
)

// follow connects to the primary, again and again, until the context ends or the standby
// is lost.
func (s *Standby) follow(ctx context.Context) {
	wait, doubted := s.o.Retry, uint64(math.MaxUint64)
	doubtful := func(err error) bool { return errors.Is(err, cf.ErrDiverged) || errors.Is(err, errLoadTrimmed) }
	for ctx.Err() == nil {
		err := s.connect(ctx)
		if s.offline() {
			wait = s.o.Retry
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errOwn):
			s.fail(err)
			return
		case errors.Is(err, errUpstreamDiffers):
			s.failForGood(err)
			return
		case doubtful(err) && s.Position() != doubted:
			doubted, wait = s.Position(), s.o.Retry // a number or a name may have changed on the way: the next try finds out
		case errors.Is(err, cf.ErrDiverged):
			s.fail(fmt.Errorf("%w: %w", ErrRebuild, err))
			return
		case errors.Is(err, errLogTrimmed) && s.o.Archive != nil:
			why := s.catchUp(ctx)
			if why == nil {
				wait = s.o.Retry
				continue
			}
			if ctx.Err() != nil {
				return
			}
			if errors.Is(why, ErrNotYet) {
				err = why
				break
			}
			s.logger.Error("the archive does not lead to the log of the primary, which is copied", "error", why)
			s.archiveFails.Store(true)
			if errors.Is(why, cf.ErrDiverged) {
				err = fmt.Errorf("%w: %w", ErrRebuild, why)
			}
			s.fail(err)
			return
		case errors.Is(err, ErrRebuild), errors.Is(err, cf.ErrClosed):
			s.fail(err)
			return
		}
		level := slog.LevelWarn
		if status.Code(err) == codes.FailedPrecondition {
			// The primary may have lost its disk and serve another database. The
			// standby may be the only copy: it serves, and can be promoted.
			level, wait = slog.LevelError, mostWait
		}
		s.logger.Log(ctx, level, "the standby is not connected to its primary", "primary", s.o.Primary, "error", s.link.explain(err), "again_in", wait)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait/2 + rand.N(wait/2+1)):
		}
		wait = min(2*wait, mostWait)
	}
}

// catchUp reads the archive, after the primary said that it no longer keeps the log that the standby
// needs. It fails unless that brings the standby further.
func (s *Standby) catchUp(ctx context.Context) (err error) {
	from, err := s.hello(ctx)
	if err != nil {
		return err
	}
	l, err := s.dial() // see connect
	if err != nil {
		return err
	}
	of, err := l.archived(ctx)
	_ = l.conn.Close() // no call is running
	if err != nil {
		return notYet{fmt.Errorf("%s: %w", s.Primary(), err)}
	}
	s.logger.Info("the primary no longer keeps the log that the standby needs; it is read from the archive", "from_position", from.GetLast())
	take := s.apply
	if s.spool != nil {
		take = s.keep
	}
	untrimmed := 0
	err = s.o.Archive.Log(ctx, of, from.GetAfter(), time.Time{}, func(r *cf.LogRecord, l Loads) error {
		switch last := uint64(r.Last); {
		case last == from.GetLast() && from.GetCrc() != 0 && crc(r.Data) != from.GetCrc():
			return fmt.Errorf("%w: the record at position %d is not the one in the archive", cf.ErrDiverged, last)
		case last <= from.GetLast():
			return nil
		}
		if err := take(ctx, l, r); err != nil {
			return err
		}
		if untrimmed += len(r.Data); untrimmed < trimArchived || s.spool != nil {
			return nil
		}
		untrimmed = 0
		return s.opened.TrimLog()
	})
	at := s.received()
	if err == nil && at <= from.GetLast() {
		err = fmt.Errorf("the archive has no record after position %d either", at)
	}
	if err == nil {
		s.logger.Info("the standby has all that the archive has", "position", at)
	}
	return err
}

// offline notes that there is no connection, and reports whether there was one.
func (s *Standby) offline() (was bool) {
	s.state.Lock()
	defer s.state.Unlock()
	was, s.online = s.online, false
	return was
}

// hello describes the standby's state to its primary.
func (s *Standby) hello(ctx context.Context) (*smolwcpb.Hello, error) {
	if err := s.pauseApplying(ctx); err != nil { // with a delay, another goroutine applies
		return nil, err
	}
	defer func() { <-s.turn }()
	id, err := identify(ctx, s.opened)
	if err != nil {
		return nil, err
	}
	if s.spool != nil && !s.spool.empty() && s.spooledHistory != nil {
		id.history = *s.spooledHistory
	}
	h := &smolwcpb.Hello{
		Database: id.uuid, History: id.history.ID, Epoch: messageOf(id.history.Current()), Name: s.o.Name, Observer: s.o.Observer || s.o.Delay > 0, DelayMicros: s.o.Delay.Microseconds(), Format: query.FormatVersion,
		After: uint64(s.opened.Latest()), Last: uint64(s.opened.Latest()), Latest: uint64(s.opened.Latest()),
	}
	for _, e := range id.history.Epochs {
		h.Epochs = append(h.Epochs, messageOf(e))
	}
	if h.Loading, err = s.opened.Loading(ctx); err != nil {
		return nil, err
	}
	records, err := s.opened.LastRecords(ctx)
	if err != nil {
		return nil, err
	}
	if s.spool != nil && !s.spool.empty() {
		last := s.spool.newest()
		h.After, h.Last, h.Crc, h.Latest = uint64(last.after), uint64(last.last), last.crc, uint64(last.last)
	} else if n := len(records) - 1; n >= 0 {
		last := records[n]
		h.After, h.Last, h.Crc = uint64(last.After), uint64(last.Last), crc(last.Data)
		h.Since = uint64(records[0].After)
		for _, r := range records[:n] {
			h.CrcSince = crc32.Update(h.CrcSince, castagnoli, r.Data)
		}
		if n > 0 {
			h.CrcSince = max(1, h.CrcSince)
		}
	}
	h.CrcOfHello, h.CrcOfEpochs, h.CrcOfRest = crcOfHello(h), crcOfEpochs(h), crcOfRest(h)
	return h, nil
}

// errOwn is the error of a standby whose store fails: no other connection mends that.
var errOwn = errors.New("the standby cannot read its own files; opening it again may mend that")

// connect follows the primary over a connection of its own: bytes that have changed on the
// way can leave a connection on which every call fails.
func (s *Standby) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hello, err := s.hello(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errOwn, err)
	}
	l, err := s.dial()
	if err != nil {
		return err
	}
	defer func() { _ = l.conn.Close() }() // no call is running
	stream, err := l.Follow(l.context(ctx))
	if err != nil {
		return err
	}
	if err := stream.Send(&smolwcpb.FollowRequest{Hello: hello}); err != nil {
		_, err = stream.Recv() // which gives the reason
		return err
	}
	a := &acker{standby: s, stream: stream, news: make(chan struct{}, 1)}
	var acking sync.WaitGroup
	defer acking.Wait()
	defer cancel()
	acking.Go(func() { a.run(ctx, cancel) })
	return s.receive(ctx, l, stream, a)
}

func (s *Standby) dial() (*link, error) {
	primary, _ := s.upstream()
	return dial(primary, s.o.Token, s.o.TLS, s.o.Retry)
}

// receive applies what the primary sends.
func (s *Standby) receive(ctx context.Context, l *link, stream smolwcpb.Standbys_FollowClient, a *acker) error {
	var part []byte // of a record
	unsynced := 0   // bytes that were applied since the acker was told
	trimmed, untrimmed := time.Now(), int64(0)
	s.reader.settled.Store(0) // it may be another primary
	for {
		a.waits.Store(time.Now().UnixNano())
		m, err := stream.Recv()
		if err != nil {
			return errors.Join(a.err(), err)
		}
		a.waits.Store(0)
		came := time.Now()
		if m.GetRebuild() != "" {
			if err := intact(m.GetCrc(), crcOfRebuild(m)); err != nil {
				return err
			}
			switch m.GetRebuild() {
			case behind:
				return errLogTrimmed
			case upstreamDiffers:
				return errUpstreamDiffers
			}
			if after := cf.Position(m.GetOwnAfter()); s.spool != nil && after != 0 && after >= s.opened.Latest() && s.spool.end() > after {
				s.spooledHistory = nil
				s.logger.Warn("the primary does not have the records received last; they were not applied, and are left out", "after", after, "reason", m.GetRebuild())
				return cmp.Or(s.spool.cut(after, s.noteSpooled), errSpoolCut)
			}
			s.own = tail{After: m.GetOwnAfter(), Reason: m.GetRebuild()}
			return fmt.Errorf("%w: %s", ErrRebuild, m.GetRebuild())
		}
		s.hear(m.GetLatest(), came)
		for _, r := range m.GetRecords() {
			part = append(part, r.GetData()...)
			if r.GetMore() {
				continue
			}
			if crc(part) != r.GetCrc() {
				return fmt.Errorf("%w: a record of the log", errDamaged)
			}
			record := &cf.LogRecord{After: cf.Position(r.GetAfter()), Last: cf.Position(r.GetLast()), Data: part, Time: r.GetTimeMicros()}
			take := s.apply
			if s.spool != nil {
				take = s.keep
			}
			if err := take(ctx, s.loadsOf(l), record); err != nil {
				return err
			}
			unsynced, untrimmed = unsynced+len(part), untrimmed+int64(len(part))
			part = nil
		}
		s.note(m.GetLatest(), came)
		if err := s.settle(m); err != nil {
			return err
		}
		if !m.GetLazy() || unsynced >= lazyBytes {
			unsynced = 0
			a.wake()
		}
		if s.spool == nil && (time.Since(trimmed) > trimEvery || untrimmed > max(s.o.LogBytes/4, trimBytes)) {
			trimmed, untrimmed = time.Now(), 0
			if err := s.opened.TrimLog(); err != nil {
				s.logger.Warn("the log cannot be trimmed", "error", err)
			}
		}
	}
}

// hear records the primary's position before applying, which may take long.
func (s *Standby) hear(latest uint64, came time.Time) {
	applied := s.received()
	s.state.Lock()
	defer s.state.Unlock()
	if s.online && !s.lag.behind {
		s.lag.since = came
	}
	s.lag.note(latest, applied, came)
}

// note notes that a message was applied.
func (s *Standby) note(latest uint64, came time.Time) {
	applied := s.received()
	s.state.Lock()
	defer s.state.Unlock()
	if !s.online {
		s.joined()
	}
	s.online = true
	s.lag.note(latest, applied, came)
}

// settle records, after a message was applied, up to which time the standby holds all
// commits.
func (s *Standby) settle(m *smolwcpb.FollowResponse) error {
	at := m.GetSettledMicros()
	if at == 0 {
		return nil
	}
	if m.GetCrc() != crcOfSettled(m) {
		return fmt.Errorf("%w: the time of the primary", errDamaged)
	}
	if uint64(s.opened.Latest()) >= m.GetLatest() {
		s.reader.settled.Store(max(s.reader.settled.Load(), at))
	}
	return nil
}

// apply applies a record. from has the files of its load; nil is the primary.
func (s *Standby) apply(ctx context.Context, from Loads, r *cf.LogRecord) error {
	if err := s.pauseApplying(ctx); err != nil {
		return err
	}
	defer func() { s.takeSnapshotIfDue(ctx); <-s.turn }()
	need, err := s.opened.Prepare(ctx, r)
	if err != nil {
		return err
	}
	if len(need.Files) > 0 {
		if err := s.bringLoad(ctx, from, need); err != nil {
			return err
		}
	}
	if !need.Catalog {
		return s.opened.Apply(ctx, r)
	}
	return s.reader.change(func() error { return s.opened.Apply(ctx, r) })
}

// bringLoad brings the files of a load. from is nil if there need be no connection.
func (s *Standby) bringLoad(ctx context.Context, from Loads, need cf.Need) error {
	if s.spool != nil {
		if moved, err := s.moveLoad(need); moved || err != nil {
			return err
		}
	}
	if from == nil {
		l, err := s.dial()
		if err != nil {
			return err
		}
		defer func() { _ = l.conn.Close() }() // no call is running
		from = s.loadsOf(l)
	}
	return putLoad(ctx, from, need, s.logger)
}

// loadsOf gets the files of loads from the primary.
func (s *Standby) loadsOf(l *link) Loads {
	return func(ctx context.Context, load, dir string) error {
		err := receiveFiles(ctx, func(ctx context.Context) (fileStream, error) {
			return l.Load(l.context(ctx), &smolwcpb.LoadRequest{Id: load})
		}, dir, s.logger)
		if status.Code(err) == codes.NotFound { // the primary had the load, and keeps it no longer
			return errLoadTrimmed
		}
		return err
	}
}

// putLoad gets the files of a load. They have their directory when all of them are on the disk: a promotion
// meanwhile leaves out a load without files.
func putLoad(ctx context.Context, from Loads, need cf.Need, l *slog.Logger) error {
	part := need.Dir + ".part"
	for _, dir := range []string{part, need.Dir} { // of an earlier try
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(part, 0o755); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(part) }() // or the next opening does it
	if err := from(ctx, need.Load, part); err != nil {
		return err
	}
	for _, name := range need.Files {
		if !exists(filepath.Join(part, name)) {
			l.Warn("a file of a load is missing", "load", need.Load, "file", name)
			return errLoadTrimmed
		}
	}
	return rename(part, need.Dir)
}

// An acker syncs what was applied, and tells the primary, at least with each beat.
type acker struct {
	standby *Standby
	stream  smolwcpb.Standbys_FollowClient
	news    chan struct{}
	waits   atomic.Int64 // since when a message is waited for, in nanoseconds since 1970; 0: it is not

	mu     sync.Mutex
	failed error
}

// wake says that there may be more to sync.
func (a *acker) wake() {
	select {
	case a.news <- struct{}{}:
	default:
	}
}

func (a *acker) err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// run acknowledges until the context ends. If it cannot, or if the primary becomes
// silent, it ends the connection.
func (a *acker) run(ctx context.Context, end func()) {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	synced := cf.Position(0)
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-a.news:
		case <-beat.C:
			if since := a.waits.Load(); since != 0 && time.Since(time.Unix(0, since)) > silence {
				err = fmt.Errorf("%w: the primary has said nothing for %v", cf.ErrUnavailable, silence)
			}
		}
		if err == nil {
			synced, err = a.acknowledge(ctx, synced)
		}
		if err != nil {
			a.mu.Lock()
			a.failed = err
			a.mu.Unlock()
			end()
			return
		}
	}
}

// acknowledge syncs what was applied, unless it is on the disk, and tells the primary.
func (a *acker) acknowledge(ctx context.Context, before cf.Position) (synced cf.Position, err error) {
	latest := a.standby.opened.Latest()
	synced = before
	switch spool := a.standby.spool; {
	case spool != nil:
		if synced, err = spool.sync(); err != nil {
			return before, err
		}
		synced = max(synced, before, latest)
	case latest != synced:
		if synced, err = a.standby.opened.SyncLog(ctx); err != nil {
			return before, err
		}
	}
	lag, _ := a.standby.Lag()
	ack := &smolwcpb.Ack{Applied: uint64(latest), Synced: uint64(synced), LagMicros: lag.Microseconds()}
	ack.Crc = crcOfAck(ack)
	return synced, a.stream.Send(&smolwcpb.FollowRequest{Ack: ack})
}
