package standby

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
)

const (
	messageBytes = 256 << 10 // of records in one message, about
	beatEvery    = 500 * time.Millisecond
	// batchDelay is how long records are gathered while no write waits for the standby.
	batchDelay = 5 * time.Millisecond
	// drainTime is how long a server that stops goes on sending its log.
	drainTime = time.Second
)

// errServerStops is for standbys when their primary stops.
var errServerStops = status.Error(codes.Unavailable, "the server stops")

// silence is how long one side waits for a word of the other one. Both speak with each beat.
var silence = 20 * beatEvery

// A logSender sends the log to one standby. Only what is on the disk is sent, so that a
// loss of power leaves no standby with more than its primary.
type logSender struct {
	feed    *feed
	store   cf.Shipper
	log     cf.Log
	stream  smolwcpb.Standbys_FollowServer
	replica *replica

	next    *cf.LogRecord // read, and not on the disk yet
	records []*smolwcpb.LogRecord
	size    int
	behind  int64
	beat    bool // a message is due, also without records
	lazy    bool // by default no write waits for this standby
	heeds   bool // some may
	sent    time.Time
}

// run sends until the context ends, or the server stops. It sends a message without records
// now and then, so that the standby knows that it is up to date.
func (s *logSender) run(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go s.limit(ctx, end)
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		news, asked := s.store.News(), s.asked() // before looking, so that nothing is missed
		if err := s.send(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.feed.closed:
			return cmp.Or(s.send(ctx), errServerStops) // the standby may be promoted next
		case <-s.feed.wrong:
			return s.feed.checkUsable()
		case <-news:
			s.rest(ctx)
		case <-asked:
		case <-beat.C:
			s.beat = true
			if time.Since(time.Unix(0, s.replica.heard.Load())) > silence {
				return status.Errorf(codes.Unavailable, "the standby has said nothing for %v", silence)
			}
		}
	}
}

// asked makes a message due if a write waits for a standby that gathers records: the standby
// may have its record, and say so later. The channel is closed when another write begins to
// wait; it is nil for other standbys.
func (s *logSender) asked() <-chan struct{} {
	if !s.lazy || !s.heeds {
		return nil
	}
	waits, asked := s.feed.acks.waits()
	s.beat = s.beat || waits
	return asked
}

// gathers reports whether the standby need not acknowledge at once.
func (s *logSender) gathers() bool {
	if !s.lazy || !s.heeds {
		return s.lazy
	}
	waits, _ := s.feed.acks.waits()
	return !waits
}

// limit ends the context some time after the server stops.
func (s *logSender) limit(ctx context.Context, end context.CancelCauseFunc) {
	select {
	case <-ctx.Done():
		return
	case <-s.feed.closed:
	}
	select {
	case <-ctx.Done():
	case <-time.After(drainTime):
		end(errServerStops)
	}
}

// rest waits a moment after a message, unless writes wait: one message with many records
// costs both sides less than many messages. The first change after a pause is sent at once.
func (s *logSender) rest(ctx context.Context) {
	if wait := batchDelay - time.Since(s.sent); wait > 0 && s.gathers() {
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// send sends the records that are on the disk now.
func (s *logSender) send(ctx context.Context) error {
	if err := s.feed.checkUsable(); err != nil {
		return err
	}
	settled := s.settled() // read before the position, which covers all earlier commits
	latest, err := s.store.SyncLog(ctx)
	if err != nil {
		return err
	}
	for {
		if s.next == nil {
			if s.next, err = s.log.Next(ctx); err != nil {
				return err
			}
		}
		if s.next == nil || s.next.Last > latest {
			break
		}
		if err := s.add(s.next, latest); err != nil {
			return err
		}
		s.next = nil
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if s.size == 0 && !s.beat {
		return nil
	}
	return s.flush(latest, settled)
}

// settled is a time before which no commit can come now, 0 if it is not known.
func (s *logSender) settled() int64 {
	if fn := s.feed.settled.Load(); fn != nil {
		return (*fn)()
	}
	return 0 // the database is not open yet
}

// add puts a record into the message, in parts if it is large.
func (s *logSender) add(r *cf.LogRecord, latest cf.Position) error {
	for data := r.Data; ; {
		n := min(len(data), messageBytes)
		part := &smolwcpb.LogRecord{After: uint64(r.After), Last: uint64(r.Last), Data: data[:n], More: n < len(data), TimeMicros: r.Time}
		data = data[n:]
		if !part.GetMore() {
			part.Crc = crc(r.Data)
		}
		s.records = append(s.records, part)
		if s.size += n; s.size >= messageBytes {
			if err := s.flush(latest, 0); err != nil {
				return err
			}
		}
		if !part.GetMore() {
			return nil
		}
	}
}

// flush sends a message. settled is 0 if it does not have all records up to latest.
func (s *logSender) flush(latest cf.Position, settled int64) error {
	if s.beat {
		s.beat, s.behind = false, s.log.Behind()
		s.feed.mu.Lock()
		s.replica.behind = s.behind
		s.feed.mu.Unlock()
	}
	m := &smolwcpb.FollowResponse{Records: s.records, Latest: uint64(latest), BehindBytes: s.behind, Lazy: s.gathers(), SettledMicros: settled}
	if settled != 0 {
		m.Crc = crcOfSettled(m)
	}
	s.records, s.size, s.sent = nil, 0, time.Now()
	return s.stream.Send(m)
}
