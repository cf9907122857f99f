package standby

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
)

const (
	// switchLag is the number of changes that the standby may lack when writes are stopped.
	switchLag = 1000
	// switchCatchUp bounds how long a switchover waits for this lag, and switchPause how long
	// writes then wait for the rest.
	switchCatchUp = time.Minute
	switchPause   = 5 * time.Second
	// switchUnknown bounds how long the primary asks for the outcome of a promotion.
	switchUnknown = 10 * time.Second
	switchPoll    = 2 * time.Millisecond
)

// errSwitches refuses a write that comes between two servers.
var errSwitches = fmt.Errorf("%w: nothing was written, since another server is about to lead; try again", cf.ErrUnavailable)

// Switchover implements [smolwcpb.StandbysServer].
func (f *feed) Switchover(ctx context.Context, req *smolwcpb.SwitchoverRequest) (*smolwcpb.SwitchoverResponse, error) {
	switch {
	case req.GetTo() == "":
		return nil, status.Error(codes.InvalidArgument, "the address of the standby is missing")
	case f.switchover == nil:
		return nil, status.Errorf(codes.FailedPrecondition, "this server is a standby, and only a primary hands over; ask its primary, %s", f.Leader())
	}
	return f.switchover(ctx, req.GetTo())
}

// switchover makes a standby the primary, in the place of this one.
func (p *Primary) switchover(ctx context.Context, to string) (*smolwcpb.SwitchoverResponse, error) {
	f := p.feed
	store, err := f.shipper()
	if err := cmp.Or(err, f.checkUsable()); err != nil {
		return nil, err
	}
	if !p.switching.TryLock() {
		return nil, status.Error(codes.Unavailable, "a switchover is under way")
	}
	defer p.switching.Unlock()
	if err := f.acks.checkLease(); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	id, err := identify(ctx, store)
	if err != nil {
		return nil, err
	}
	target, err := p.targetOf(ctx, to, id)
	if err != nil {
		return nil, err
	}
	defer target.close()
	if err := target.reach(ctx, switchCatchUp, func() uint64 { return max(uint64(store.Latest()), switchLag) - switchLag }); err != nil {
		return nil, err
	}
	f.logger.Info("handing over", "to", to)
	resume := p.pause(ctx, store)
	latest, err := store.SyncLog(ctx)
	if err == nil {
		err = target.reach(ctx, switchPause, func() uint64 { return uint64(latest) })
	}
	if err != nil {
		resume()
		return nil, err
	}
	if f.acks.o.Mode != SemiSyncOff { // writes under way get their acknowledgement
		soon, cancel := context.WithTimeout(ctx, drainTime)
		_ = f.acks.drain(soon, uint64(latest)) // else their outcome is unknown to their clients
		cancel()
	}
	if err := target.promote(context.WithoutCancel(ctx), uint64(latest)); err != nil {
		if status.Code(err) != codes.Unknown {
			resume()
		}
		f.acks.release() // writes are refused
		return nil, err
	}
	f.acks.release()
	f.logger.Info("handed over", "to", to, "after", uint64(latest))
	if p.o.Switched != nil {
		go p.o.Switched(to)
	}
	return &smolwcpb.SwitchoverResponse{After: uint64(latest)}, nil
}

// pause stops writes: new ones wait, and those that had begun have ended when it returns. resume
// lets them go on.
func (p *Primary) pause(ctx context.Context, store cf.Shipper) (resume func()) {
	f := p.feed
	if f.flush != nil {
		if err := f.flush(cf.Async(ctx)); err != nil {
			f.logger.Debug("deferred writes are lost", "error", err)
		}
	}
	f.acks.holdWrites()
	f.drained(true)
	store.Fence(errSwitches)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if by := f.fencedBy.Load(); by == nil { // else it was fenced meanwhile
			store.Fence(nil)
		}
		f.drained(false)
		f.acks.release()
	}
}

// A switchTarget is the standby that takes over.
type switchTarget struct {
	*Primary
	id   identity // of the database
	to   string
	link *link // nil with a lease
}

// targetOf checks that a standby can take over.
func (p *Primary) targetOf(ctx context.Context, to string, id identity) (*switchTarget, error) {
	t := &switchTarget{Primary: p, id: id, to: to}
	if p.o.Lease != nil {
		if _, err := t.position(ctx); err != nil {
			return nil, err
		}
		return t, nil
	}
	token := "" // the caller's: its own is not for an address that a caller names
	if given := metadata.ValueFromIncomingContext(ctx, "authorization"); len(given) > 0 {
		token = bearerOf(given[0])
	}
	var err error
	if t.link, err = dial(to, token, p.o.TLS, p.retry); err != nil {
		return nil, err
	}
	if _, err := t.position(ctx); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// bearerOf is the token in a header.
func bearerOf(header string) string {
	const scheme = "Bearer "
	if len(header) > len(scheme) {
		return header[len(scheme):]
	}
	return ""
}

func (t *switchTarget) close() {
	if t.link != nil {
		_ = t.link.conn.Close() // no call is running
	}
}

// position returns up to where the standby holds the changes of this primary.
func (t *switchTarget) position(ctx context.Context) (uint64, error) {
	if t.link == nil {
		return t.feed.positionOf(t.to)
	}
	there, err := t.link.ListReplicas(t.link.context(ctx), new(smolwcpb.ListReplicasRequest))
	switch {
	case err != nil:
		return 0, status.Errorf(codes.Unavailable, "%s does not answer this server: %v", t.to, t.link.explain(err))
	case !there.GetStandby():
		return 0, status.Errorf(codes.FailedPrecondition, "%s is no standby", t.to)
	case there.GetDatabase() != t.id.uuid || there.GetHistory() != t.id.history.ID || there.GetEpoch() != t.id.history.Epoch:
		return 0, status.Errorf(codes.FailedPrecondition, "%s does not follow this server: it has epoch %d of the database %s, and this server has epoch %d of %s", t.to, there.GetEpoch(), there.GetDatabase(), t.id.history.Epoch, t.id.uuid)
	case !there.GetConnected():
		return 0, status.Errorf(codes.Unavailable, "%s is not connected to its primary, %s", t.to, there.GetPrimary())
	}
	return there.GetPosition(), nil
}

// positionOf returns the position up to which the connected standby with a name applied
// the log.
func (f *feed) positionOf(name string) (at uint64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := false
	for r := range f.replicas {
		if r.name == name && !r.observer {
			found, at = true, max(at, r.synced)
		}
	}
	if !found {
		return 0, status.Errorf(codes.FailedPrecondition, "no standby with the name %s is connected that may lead; smolwc replicas lists them", name)
	}
	return at, nil
}

// reach waits until the standby reaches a position.
func (t *switchTarget) reach(ctx context.Context, most time.Duration, position func() uint64) error {
	end := time.Now().Add(most)
	for {
		at, err := t.position(ctx)
		want := position()
		switch {
		case err != nil:
			return err
		case at >= want:
			return nil
		case time.Now().After(end):
			return status.Errorf(codes.Unavailable, "%s is at position %d, and did not reach %d within %v; this server goes on", t.to, at, want, most)
		}
		select {
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-time.After(switchPoll):
		}
	}
}

// promote makes the standby, which holds everything, take over, and fences this server. With the
// code UNKNOWN it may have been promoted; with others it was not.
func (t *switchTarget) promote(ctx context.Context, after uint64) error {
	if t.link == nil {
		return t.transfer(ctx, after)
	}
	call, cancel := context.WithTimeout(ctx, switchUnknown)
	defer cancel()
	p, err := t.link.Promote(t.link.context(call), &smolwcpb.PromoteRequest{Leader: t.to})
	switch status.Code(err) {
	case codes.OK:
		return t.fenceSelf(ctx, p.GetEpoch(), after)
	case codes.FailedPrecondition, codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented, codes.InvalidArgument:
		if epoch, known := t.became(ctx); known && epoch > t.id.history.Epoch { // a server that cannot serve says so after its promotion
			return t.fenceSelf(ctx, epoch, after)
		}
		return status.Errorf(codes.FailedPrecondition, "%s was not promoted: %v", t.to, t.link.explain(err))
	}
	for end := time.Now().Add(switchUnknown); time.Now().Before(end); time.Sleep(10 * switchPoll) {
		if epoch, known := t.became(ctx); known && epoch > t.id.history.Epoch {
			return t.fenceSelf(ctx, epoch, after)
		}
	}
	t.feed.logger.Error("this server takes no writes, since nobody knows whether the standby was promoted; start this server again if it was not", "standby", t.to, "error", err)
	return status.Errorf(codes.Unknown, "nobody knows whether %s was promoted, so no server takes writes: %v; ask it with smolwc replicas, and start this server again if it was not", t.to, t.link.explain(err))
}

// became returns the epoch of the standby, or of the primary that it became.
func (t *switchTarget) became(ctx context.Context) (epoch int64, known bool) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	there, err := t.link.ListReplicas(t.link.context(ctx), new(smolwcpb.ListReplicasRequest))
	return there.GetEpoch(), err == nil && there.GetDatabase() == t.id.uuid
}

// fenceSelf fences this server by the epoch of the one that was promoted, which fences it too.
func (t *switchTarget) fenceSelf(ctx context.Context, epoch int64, after uint64) error {
	err := t.feed.takeFence(ctx, fenceRequest(t.id, &smolwcpb.Epoch{Number: epoch, After: after, Leader: t.to}))
	if err != nil && t.feed.fencedBy.Load() == nil {
		return status.Errorf(codes.Unknown, "%s was promoted, and this server could not note it: %v", t.to, err)
	}
	return nil
}

// transfer gives the lease to the standby.
func (t *switchTarget) transfer(ctx context.Context, after uint64) error {
	if err := t.o.Lease.Transfer(ctx, t.to, after); err != nil {
		code := codes.Unavailable
		if t.feed.acks.checkLease() != nil { // nothing is written without it in any case
			code = codes.Unknown
		}
		return status.Errorf(code, "the lease was not given to %s: %v", t.to, err)
	}
	return nil
}
