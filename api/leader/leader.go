// Package leader finds out which of several servers takes the writes of their database.
//
// Servers answer the standard health check to everyone. One that takes no writes names the
// server that takes them among the headers ([wire.LeaderHeader]); each gives its epoch,
// which grows with each promotion, and a standby its lag. [Ask] asks a server, [Follow]
// goes on asking it, and [Of] says which of them leads. [Resolver] is for gRPC: a
// connection goes to the server that leads at the moment.
package leader

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
)

const (
	// Every is the time between two questions to a server.
	Every = 250 * time.Millisecond
	// timeout bounds one question.
	timeout = time.Second
	// patience is how long a server that does not answer in time keeps its role:
	// it may have much to do. One that cannot be reached leads no longer, at once.
	patience = 5 * time.Second
)

// An Answer is a server's report about itself.
type Answer struct {
	Addr   string
	Leads  bool          // it takes writes
	Epoch  int64         // how often a server of the database was promoted, plus 1; 0: it never had a standby
	Leader string        // where to write, of a server that does not lead; "": it does not know
	Lag    time.Duration // how long ago a standby had everything; 0 at the server that leads
	At     time.Time     // when it answered; zero: never
	Err    error         // why there is no newer answer
}

// String describes it in an error or a log.
func (a Answer) String() string {
	switch {
	case a.Err != nil:
		return fmt.Sprintf("%s does not answer: %s", a.Addr, status.Convert(a.Err).Message())
	case a.At.IsZero():
		return a.Addr + " was not asked yet"
	case a.Leads:
		return fmt.Sprintf("%s takes writes (epoch %d)", a.Addr, a.Epoch)
	case a.Leader != "":
		return fmt.Sprintf("%s takes no writes and names %s", a.Addr, a.Leader)
	}
	return a.Addr + " takes no writes"
}

// Ask asks a server. It waits a second at most.
func Ask(ctx context.Context, addr string, conn grpc.ClientConnInterface) Answer {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var header metadata.MD
	said, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, new(grpc_health_v1.HealthCheckRequest), grpc.Header(&header))
	if err == nil && said.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		err = status.Errorf(codes.Unavailable, "it is stopping")
	}
	a := Answer{Addr: addr, At: time.Now(), Err: err}
	if err != nil {
		return a
	}
	leader := header.Get(wire.LeaderHeader)
	if a.Leads = len(leader) == 0; !a.Leads {
		a.Leader = leader[0]
	}
	for _, text := range header.Get(wire.PositionHeader) {
		if p, err := wire.ParsePosition(text); err == nil {
			a.Epoch = p.Epoch
		}
	}
	for _, text := range header.Get(wire.LagHeader) {
		if lag, err := time.ParseDuration(text); err == nil {
			a.Lag = lag
		}
	}
	return a
}

// Follow asks a server until the context ends, four times a second, and at once after
// sooner receives. It calls heard with each answer, one after the other. An answer that is
// late changes nothing for five seconds.
func Follow(ctx context.Context, addr string, conn grpc.ClientConnInterface, sooner <-chan struct{}, heard func(Answer)) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	var last Answer
	for ctx.Err() == nil {
		a := Ask(ctx, addr, conn)
		switch {
		case ctx.Err() != nil:
			return
		case a.Err == nil:
			last = a
		case status.Code(a.Err) == codes.DeadlineExceeded && last.Err == nil && a.At.Sub(last.At) < patience:
			a = last
		default:
			last = a
		}
		heard(a)
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-sooner:
		}
	}
}

// Of returns the server that leads: of those that take writes, the one with the latest
// epoch, since a server that cannot be reached by the others may not know that another one
// was promoted. The first one comes first among equals. ok is false if none leads.
func Of(answers []Answer) (leads Answer, ok bool) {
	for _, a := range answers {
		if a.Err == nil && a.Leads && (!ok || cmp.Compare(a.Epoch, leads.Epoch) > 0) {
			leads, ok = a, true
		}
	}
	return leads, ok
}
