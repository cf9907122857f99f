package standby

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/plumbing"
)

// A promotion is the content of the file PROMOTED. Once the epoch is in the catalog, the file
// is renamed to UNTOLD-N, by the number of the epoch: the old primary must be fenced.
type promotion struct {
	// History is what both servers shared at the promotion.
	History string `json:"history,omitempty"`
	epoch
	// OldPrimary is its address; "" if it need not be fenced.
	OldPrimary string `json:"former,omitempty"`
}

// pendingFencePrefix is before the number in the names of these files.
const pendingFencePrefix = "UNTOLD-"

func isPendingFence(name string) bool {
	number, ok := strings.CutPrefix(name, pendingFencePrefix)
	_, err := strconv.ParseInt(number, 10, 64)
	return ok && err == nil
}

func (p promotion) pendingFile() string { return fmt.Sprint(pendingFencePrefix, p.Number) }

// noteBegun renames the file PROMOTED, or removes it if there is nobody to fence.
func (p promotion) noteBegun(dir string) error {
	if p.OldPrimary == "" {
		return removeFile(dir, plumbing.PromotedFile)
	}
	return rename(filepath.Join(dir, plumbing.PromotedFile), filepath.Join(dir, p.pendingFile()))
}

// pendingFencesIn lists promotions whose old primary may not have been fenced, and the names of
// files that cannot be read.
func pendingFencesIn(dir string) (all []promotion, unread []string, err error) {
	names, err := os.ReadDir(dir)
	for _, e := range names {
		if !isPendingFence(e.Name()) {
			continue
		}
		var p promotion
		ok, wrong := readFile(dir, e.Name(), &p)
		if ok {
			all = append(all, p)
		}
		if wrong != nil {
			unread, err = append(unread, e.Name()), errors.Join(err, wrong)
		}
	}
	return all, unread, err
}

// A fencer fences the old primaries in whose place this server was promoted.
type fencer struct {
	*feed
	store cf.Shipper
	id    identity // of the database
	token string
	tls   *tls.Config
	retry time.Duration
	// leased: by now the lease fences an old primary whose fence is in no file.
	leased bool
}

// run fences all of them, until it succeeds or the context ends. now is a promotion that may have
// no file, and answer gets the result of the first try to fence its old primary.
func (c fencer) run(ctx context.Context, now promotion, answer chan<- error) {
	all, unread, err := pendingFencesIn(c.store.Home())
	if now.OldPrimary != "" && !slices.Contains(all, now) {
		all = append(all, now)
	}
	if len(all) > 0 {
		id, wrong := identify(ctx, c.store)
		if c.id = id; wrong != nil {
			all, err = nil, errors.Join(err, wrong)
		}
		all = slices.DeleteFunc(all, func(p promotion) bool { return c.isObsolete(p) })
	}
	if err != nil && ctx.Err() == nil {
		c.logger.Error("could not fence the old primary; make sure it accepts no writes", "error", err)
	}
	var running sync.WaitGroup
	for _, p := range all {
		running.Go(func() {
			if p == now {
				c.retryFence(ctx, p, answer)
			} else {
				c.retryFence(ctx, p, nil)
			}
		})
	}
	for _, name := range unread {
		running.Go(func() { c.watchUnreadable(ctx, name) })
	}
	running.Wait()
}

// watchUnreadable reports a pending fence until a person removes its file, which cannot
// be read.
func (c fencer) watchUnreadable(ctx context.Context, name string) {
	p := promotion{OldPrimary: "that " + name + " names"}
	c.setPending(p, true)
	defer c.setPending(p, false)
	for wait := c.retry; ctx.Err() == nil && exists(filepath.Join(c.store.Home(), name)); wait = min(2*wait, mostWait) {
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// isObsolete reports whether the database's epoch is earlier than a promotion: it was copied since
// from a server that leads in spite of that.
func (c fencer) isObsolete(p promotion) bool {
	if p.Number <= c.id.history.Epoch {
		return false
	}
	c.logger.Warn("the old primary is not fenced: the database was copied from a server with an earlier epoch", "address", p.OldPrimary, "file", p.pendingFile(), "epoch", c.id.history.Epoch)
	return true
}

// retryFence fences an old primary again and again until it succeeds. It ends early when a person
// removes the file.
func (c fencer) retryFence(ctx context.Context, p promotion, answer chan<- error) {
	dir, said := c.store.Home(), codes.OK
	noted := func() bool { return exists(filepath.Join(dir, p.pendingFile())) }
	level := slog.LevelWarn
	if c.leased && !noted() { // already fenced by the lease: this only informs it
		level = slog.LevelDebug
	} else {
		c.setPending(p, true)
		defer c.setPending(p, false)
	}
	for wait, was := c.retry, noted(); ; wait = min(2*wait, mostWait) {
		err := c.fenceOnce(ctx, p)
		select {
		case answer <- err:
		default:
		}
		code := status.Code(err)
		switch {
		case err == nil:
			c.logger.Info("fenced the old primary; it accepts no writes", "address", p.OldPrimary)
			if err := removeFile(dir, p.pendingFile()); err != nil {
				c.logger.Warn("the old primary is fenced once more after the next start", "error", err)
			}
			return
		case code == said || ctx.Err() != nil:
		case code == codes.Unavailable:
			c.logger.Log(ctx, level, "could not reach the old primary to fence it; if it runs, it accepts writes until then", "address", p.OldPrimary, "error", err)
		default:
			c.logger.Log(ctx, level, "could not fence the old primary; make sure it accepts no writes", "address", p.OldPrimary, "error", err)
		}
		said = code
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if was && !noted() {
			c.logger.Warn("the old primary is no longer fenced: its file was removed", "address", p.OldPrimary, "file", p.pendingFile())
			return
		}
	}
}

// setPending notes whether the fence of an old primary is pending.
func (f *feed) setPending(p promotion, may bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if may {
		f.pending = append(f.pending, p)
	} else {
		f.pending = slices.DeleteFunc(f.pending, func(o promotion) bool { return o == p })
	}
}

// fenceOnce fences an old primary once. The error is nil if it takes no writes.
func (c fencer) fenceOnce(ctx context.Context, p promotion) error {
	l, err := dial(p.OldPrimary, c.token, c.tls, c.retry)
	if err != nil {
		return err
	}
	defer func() { _ = l.conn.Close() }() // no call is running
	id := c.id
	id.history.ID = p.History // this server may have another one by now
	_, err = l.Fence(l.context(ctx), fenceRequest(id, messageOf(p.epoch)))
	if status.Code(err) == codes.FailedPrecondition {
		err = c.alreadyFenced(ctx, l, p, err)
	}
	return l.explain(err)
}

// alreadyFenced returns nil if the old primary, which refused the fence, takes no writes by itself,
// or only in a later epoch: it came back as a standby, or somebody else fenced it. A standby of an
// earlier epoch only passed on the refusal of the server that it follows. Otherwise the error is
// the refusal, or why the server cannot be asked.
func (c fencer) alreadyFenced(ctx context.Context, l *link, p promotion, refusal error) error {
	there, err := l.ListReplicas(l.context(ctx), new(smolwcpb.ListReplicasRequest))
	switch {
	case err != nil:
		return err
	case there.GetDatabase() != c.id.uuid || there.GetHistory() != p.History && there.GetHistory() != c.id.history.ID:
	case there.GetFencedBy() != "" || there.GetEpoch() > p.Number || there.GetStandby() && there.GetEpoch() == p.Number:
		return nil
	}
	return refusal
}
