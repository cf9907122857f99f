package standby

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
)

// A Promotion is the result of [Standby.Promote].
type Promotion struct {
	// Epoch is the new epoch of the database, and After the last position of the epoch
	// before.
	Epoch int64
	After uint64
	// Moment is when the last change of a standby with a delay was written, zero if that is not known.
	Moment time.Time
	// Unfenced is why the old primary was not fenced within half a second; nil if it takes no
	// writes. Fencing goes on until it succeeds, also after a restart. With a lease, that
	// fences it.
	Unfenced error
	// Primary feeds the standbys of the new primary. [query.Open] of the standby's
	// directory, with the Hook of Primary, opens the database for writing at once: its
	// files are open already.
	Primary *Primary
}

// fenceTimeout is how long a promotion waits for the answer of the old primary.
const fenceTimeout = 500 * time.Millisecond

// Fenced reports whether a directory holds a primary in whose place a standby was
// promoted.
func Fenced(dir string) bool { return exists(filepath.Join(dir, plumbing.FencedFile)) }

// Promote makes the standby the primary: it ends following, and begins the next epoch.
// leader is the address by which others reach the server, HOST:PORT; they are told to write
// there. The old primary is fenced: it takes no writes from then on. If it cannot be
// reached, it is fenced as soon as it can.
//
// The database of s goes on serving reads of what was there at the promotion or later,
// with the schema of the promotion. It must be closed, with Close of s, before the
// database that [query.Open] opens.
//
// After an error before the epoch began, s goes on following. After a later one it is
// lost, and opening the directory as a primary ends the promotion.
func (s *Standby) Promote(ctx context.Context, leader string, durability query.Durability) (*Promotion, error) {
	return s.PromoteTo(ctx, 0, leader, durability)
}

// PromoteTo is [Standby.Promote] with the number of the epoch that begins, which must be
// later than the standby's; 0 is the next one.
func (s *Standby) PromoteTo(ctx context.Context, number int64, leader string, durability query.Durability) (*Promotion, error) {
	return s.promoteTo(ctx, number, time.Time{}, leader, durability)
}

// PromoteAt is [Standby.Promote] of a standby with a delay, with all that was written up to a moment within that, and nothing later; the
// zero moment is the newest one. What it leaves out stays with the old primary.
func (s *Standby) PromoteAt(ctx context.Context, at time.Time, leader string, durability query.Durability) (*Promotion, error) {
	return s.promoteTo(ctx, 0, at, leader, durability)
}

func (s *Standby) promoteTo(ctx context.Context, number int64, at time.Time, leader string, durability query.Durability) (*Promotion, error) {
	if s == nil || s.opened == nil {
		return nil, errors.New("there is no standby; Open gives one")
	}
	if ctx == nil || leader == "" {
		return nil, errors.New("a promotion needs a context, and the address by which others reach the server")
	}
	s.phase.Lock()
	defer s.phase.Unlock()
	if s.ended || s.o.Primary == "" {
		return nil, errors.New("the standby was closed, or was promoted, or is a fenced primary")
	}
	s.stop(errPromotes)
	s.running.Wait()
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("the standby is lost: %w", err)
	}
	micros, err := s.advance(ctx, at)
	if err != nil {
		s.start()
		return nil, err
	}
	next, err := s.commit(ctx, number, leader)
	if err != nil && exists(filepath.Join(s.dir.dir, plumbing.StandbyFile)) {
		s.start()
		return nil, err
	}
	s.ended = true
	ctx = context.WithoutCancel(ctx)
	if err == nil {
		err = s.reader.change(func() error {
			return s.opened.Promote(ctx, durability == query.DurabilityAsync, func() error { return beginEpoch(ctx, s.opened, s.leaveSpool) })
		})
	}
	if err != nil {
		s.fail(fmt.Errorf("the promotion has begun, and opening the directory as a primary ends it: %w", err))
		return nil, s.Err()
	}
	s.reader.promoted.Store(true)
	s.logger.Info("the standby is the primary now", "epoch", next.Number, "after", next.After)
	p := NewPrimary(PrimaryOptions{LogBytes: s.o.LogBytes, SemiSync: s.o.SemiSync, Lease: s.o.Lease, Switched: s.o.Switched, Token: s.o.Token, TLS: s.o.TLS, Logger: s.logger})
	p.hook.Store, p.feed.copying, p.retry = s.opened, s.feed.copying, s.o.Retry
	return &Promotion{Epoch: next.Number, After: next.After, Moment: momentOf(micros), Primary: p, Unfenced: s.fenceOldPrimary(p, next)}, nil
}

// commit writes down the next epoch, durably: once the file STANDBY is removed, the
// directory holds a primary.
func (s *Standby) commit(ctx context.Context, number int64, leader string) (next promotion, err error) {
	latest, err := s.opened.SyncLog(ctx)
	if err != nil {
		return next, err
	}
	id, err := identify(ctx, s.opened)
	if err != nil {
		return next, err
	}
	if number = cmp.Or(number, id.history.Epoch+1); number <= id.history.Epoch {
		return next, fmt.Errorf("epoch %d cannot begin: the standby has epoch %d already", number, id.history.Epoch)
	}
	next = promotion{id.history.ID, epoch{Number: number, ID: rand.Text(), After: uint64(latest), Leader: leader}, s.o.Primary}
	noted := next
	if s.o.Lease != nil {
		noted.OldPrimary = "" // it takes no writes without the lease
	}
	if err := writeFile(s.dir.dir, plumbing.PromotedFile, noted); err != nil {
		return next, err
	}
	step("begun")
	err = removeFile(s.dir.dir, plumbing.StandbyFile)
	step("decided")
	return next, err
}

// step is for tests, which stop the process there.
var step = func(string) {}

// beginEpoch writes the epoch of a promotion into the catalog, unless it is there. Before that is noted it calls leave with the last
// position of the epoch before: a promotion that is killed does it again.
func beginEpoch(ctx context.Context, store cf.Shipper, leave func(after uint64) error) error {
	var next promotion
	if ok, err := readFile(store.Home(), plumbing.PromotedFile, &next); err != nil || !ok {
		return err
	}
	id, err := identify(ctx, store)
	if err != nil {
		return err
	}
	if id.history.Epoch < next.Number {
		if err := writeHistory(ctx, store, id.history.Begin(next.epoch)); err != nil {
			return err
		}
	}
	step("written")
	if err := leave(next.After); err != nil {
		return err
	}
	step("left")
	err = next.noteBegun(store.Home())
	step("ended")
	return err
}

// endPromotion ends a promotion that was interrupted. Its epoch begins before anything else is
// written, such as the end of a load.
func endPromotion(dir string) error {
	if exists(filepath.Join(dir, plumbing.StandbyFile)) || !exists(filepath.Join(dir, plumbing.PromotedFile)) {
		return nil
	}
	store, err := openStore(dir, query.Options{}, true)
	if err != nil {
		return err
	}
	ctx := context.Background()
	leave := func(after uint64) error { return leaveSpool(dir, after) }
	err = store.Promote(ctx, false, func() error { return beginEpoch(ctx, store, leave) })
	return errors.Join(err, store.Close())
}

// fenceOldPrimary begins to fence the old primary, and waits only a moment for the result.
func (s *Standby) fenceOldPrimary(p *Primary, now promotion) error {
	if s.o.Lease != nil { // which fences it already
		p.fenceOldPrimaries(s.opened, now, nil)
		return nil
	}
	answer := make(chan error, 1)
	p.fenceOldPrimaries(s.opened, now, answer)
	select {
	case err := <-answer:
		return err
	case <-time.After(fenceTimeout):
		return fmt.Errorf("%s has not answered yet", now.OldPrimary)
	}
}

// promote is the call of a client.
func (s *Standby) promote(ctx context.Context, leader string, at time.Time) (*smolwcpb.PromoteResponse, error) {
	if err := s.feed.checkUsable(); err != nil {
		return nil, status.Errorf(codes.FailedPrecondition, "%s; then it can be promoted", status.Convert(err).Message())
	}
	if s.o.Promote == nil {
		return nil, status.Error(codes.FailedPrecondition, "this process cannot serve a primary in the standby's place")
	}
	p, err := s.o.Promote(ctx, s, leader, at)
	if err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	resp := &smolwcpb.PromoteResponse{Epoch: p.Epoch, After: p.After}
	if !p.Moment.IsZero() {
		resp.MomentMicros = p.Moment.UnixMicro()
	}
	if p.Unfenced != nil {
		resp.Unfenced = status.Convert(p.Unfenced).Message()
	}
	return resp, nil
}

// forwardFence tells the primary that it was replaced.
func (s *Standby) forwardFence(ctx context.Context, req *smolwcpb.FenceRequest) error {
	_, up := s.upstream()
	_, err := up.Fence(up.context(ctx), req)
	return err
}

// Promote implements [smolwcpb.StandbysServer].
func (f *feed) Promote(ctx context.Context, req *smolwcpb.PromoteRequest) (*smolwcpb.PromoteResponse, error) {
	if req.GetLeader() == "" {
		return nil, status.Error(codes.InvalidArgument, "the address by which others reach the server is missing")
	}
	return f.promote(ctx, req.GetLeader(), momentOf(req.GetAtMicros()))
}

// fenceRequest tells of an epoch.
func fenceRequest(id identity, e *smolwcpb.Epoch) *smolwcpb.FenceRequest {
	req := &smolwcpb.FenceRequest{Database: id.uuid, History: id.history.ID, Epoch: e}
	req.Crc = crcOfFence(req)
	return req
}

// Fence implements [smolwcpb.StandbysServer].
func (f *feed) Fence(ctx context.Context, req *smolwcpb.FenceRequest) (*smolwcpb.FenceResponse, error) {
	if err := intact(req.GetCrc(), crcOfFence(req)); err != nil {
		return nil, err
	}
	return &smolwcpb.FenceResponse{}, f.fence(ctx, req)
}

// takeFence fences the database: from now on it takes no writes, also when it is opened
// again.
func (f *feed) takeFence(ctx context.Context, req *smolwcpb.FenceRequest) error {
	store, err := f.shipper()
	if err != nil {
		return err
	}
	id, err := identify(ctx, store)
	if err != nil {
		return err
	}
	by := fence{req.GetHistory(), epochOf(req.GetEpoch())}
	switch {
	case req.GetDatabase() != id.uuid || by.History != id.history.ID:
		return status.Error(codes.FailedPrecondition, "this server has another database, or another history of it")
	case by.Number <= id.history.Epoch:
		return status.Errorf(codes.FailedPrecondition, "this server has epoch %d, and epoch %d is no later one", id.history.Epoch, by.Number)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if before := f.fencedBy.Load(); before != nil {
		after := min(before.After, by.After) // one that was told of a later epoch may not know where the first one began
		if before.Number >= by.Number {
			by = *before
		}
		if by.After = after; by == *before {
			return nil
		}
	}
	store.Fence(by.refusal())
	f.acks.end(by.refusal())
	if err := writeFile(store.Home(), plumbing.FencedFile, by); err != nil {
		return err
	}
	if f.fencedBy.Swap(&by) == nil {
		close(f.fenced)
	}
	f.logger.Error("another server was promoted; this one no longer takes writes", "leader", by.Leader, "epoch", by.Number)
	return nil
}

// rejoin makes a directory with a primary a standby of the server that was promoted in its place.
// If it contains changes that the server lacks, it is rebuilt when it follows, and its files are
// kept aside. It may be a standby whose promotion did not end: then nothing was written in its
// epoch, but once that is in the catalog, a standby may have followed it, so the old primary must
// be told.
func (s *Standby) rejoin(ctx context.Context) error {
	dir := s.dir.dir
	var begun promotion
	begins, err := readFile(dir, plumbing.PromotedFile, &begun)
	if err != nil {
		return err
	}
	id, err := openPrimary(dir, s.o.Database, begins)
	if err != nil {
		return err
	}
	there, err := s.link.ListReplicas(s.link.context(ctx), new(smolwcpb.ListReplicasRequest))
	if err != nil {
		return notYet{fmt.Errorf("the directory has a database that was a primary, and %s, which is to lead it, does not answer: %w", s.o.Primary, s.link.explain(err))}
	}
	switch {
	case there.GetDatabase() != id.uuid || there.GetHistory() != id.history.ID:
		return fmt.Errorf("the directory has another database than %s; name another directory, or an empty one", s.o.Primary)
	case begins && there.GetEpoch() <= begun.Number:
		return fmt.Errorf("the directory has a standby whose promotion to epoch %d has not ended, and %s has epoch %d, which is no later one; serve it without --standby-of, which ends the promotion", begun.Number, s.o.Primary, there.GetEpoch())
	case there.GetEpoch() <= id.history.Epoch:
		return notYet{fmt.Errorf("the directory has a primary with epoch %d, and %s has epoch %d, which is no later one; serve the directory without --standby-of, or promote the other server first", id.history.Epoch, s.o.Primary, there.GetEpoch())}
	}
	if begins && id.history.Current() == begun.epoch {
		if err := begun.noteBegun(dir); err != nil {
			return err
		}
	}
	if err := putSpoolAside(dir); err != nil { // a promotion was killed before it did so
		return err
	}
	return writeFile(dir, plumbing.StandbyFile, role{Primary: s.o.Primary, WasPrimary: true})
}

// openPrimary is what the database of a primary is. Loads that a crash interrupted are ended
// first, so that its position counts them, but not while a promotion only begins.
func openPrimary(dir string, o query.Options, begins bool) (id identity, err error) {
	if !exists(filepath.Join(dir, markerFile)) || !exists(filepath.Join(dir, "archive")) {
		return id, errNoStandby
	}
	store, err := openStore(dir, o, begins)
	if err != nil {
		return id, err
	}
	if id, err = identify(context.Background(), store); err == nil && (id.history.ID == "" || store.Ships() != id.history.ID) {
		err = errNoStandby
	}
	return id, errors.Join(err, store.Close())
}
