package standby

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/smolwcpb"
)

// A promotion is the content of the file PROMOTED. When the catalog has the epoch, the file gets
// the name UNTOLD-N, by the number of the epoch, until the server before knows of it.
type promotion struct {
	// History is that of both servers at the promotion.
	History string `json:"history,omitempty"`
	epoch
	// Former is the address of the server before; "" if nobody has to tell it.
	Former string `json:"former,omitempty"`
}

// untoldFiles is before the number in the names of these files.
const untoldFiles = "UNTOLD-"

func isUntold(name string) bool {
	number, ok := strings.CutPrefix(name, untoldFiles)
	_, err := strconv.ParseInt(number, 10, 64)
	return ok && err == nil
}

func (p promotion) untoldFile() string { return fmt.Sprint(untoldFiles, p.Number) }

// begun gives the file PROMOTED its other name, or removes it if there is nobody to tell.
func (p promotion) begun(dir string) error {
	if p.Former == "" {
		return removeFile(dir, query.PromotedFile)
	}
	return rename(filepath.Join(dir, query.PromotedFile), filepath.Join(dir, p.untoldFile()))
}

// untoldIn are the promotions in a directory that the servers before may not know of, and the
// names of the files that cannot be read.
func untoldIn(dir string) (all []promotion, unread []string, err error) {
	names, err := os.ReadDir(dir)
	for _, e := range names {
		if !isUntold(e.Name()) {
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

// A teller tells the servers in whose place this one was promoted.
type teller struct {
	*feed
	store cf.Shipper
	id    identity // of the database
	token string
	tls   *tls.Config
	retry time.Duration
}

// run tells all of them, until they know or the context ends. now is a promotion that may have no
// file, and answer gets what comes of the first try to tell of it.
func (t teller) run(ctx context.Context, now promotion, answer chan<- error) {
	all, unread, err := untoldIn(t.store.Home())
	if now.Former != "" && !slices.Contains(all, now) {
		all = append(all, now)
	}
	if len(all) > 0 {
		id, wrong := identify(ctx, t.store)
		if t.id = id; wrong != nil {
			all, err = nil, errors.Join(err, wrong)
		}
		all = slices.DeleteFunc(all, func(p promotion) bool { return t.isUndone(p) })
	}
	if err != nil && ctx.Err() == nil {
		t.logger.Error("a primary before is not told that this server took its place; see that it takes no writes", "error", err)
	}
	var telling sync.WaitGroup
	for _, p := range all {
		telling.Go(func() {
			if p == now {
				t.untilKnown(ctx, p, answer)
			} else {
				t.untilKnown(ctx, p, nil)
			}
		})
	}
	for _, name := range unread {
		telling.Go(func() { t.untilRemoved(ctx, name) })
	}
	telling.Wait()
}

// untilRemoved says that somebody has to be told, until a person has removed the file that does
// not say whom.
func (t teller) untilRemoved(ctx context.Context, name string) {
	p := promotion{Former: "the server that " + name + " names"}
	t.untell(p, true)
	defer t.untell(p, false)
	for wait := t.retry; ctx.Err() == nil && exists(filepath.Join(t.store.Home(), name)); wait = min(2*wait, mostWait) {
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// isUndone reports whether the database has an earlier epoch than a promotion: it was copied since
// from a server that leads in spite of that.
func (t teller) isUndone(p promotion) bool {
	if p.Number <= t.id.history.Epoch {
		return false
	}
	t.logger.Warn("the primary before is not told: the database was copied from a server with an earlier epoch", "address", p.Former, "file", p.untoldFile(), "epoch", t.id.history.Epoch)
	return true
}

// untilKnown tells a server again and again. It ends early when a person has removed the file.
func (t teller) untilKnown(ctx context.Context, p promotion, answer chan<- error) {
	t.untell(p, true)
	defer t.untell(p, false)
	dir, said := t.store.Home(), codes.OK
	noted := func() bool { return exists(filepath.Join(dir, p.untoldFile())) }
	for wait, was := t.retry, noted(); ; wait = min(2*wait, mostWait) {
		err := t.tell(ctx, p)
		select {
		case answer <- err:
		default:
		}
		code := status.Code(err)
		switch {
		case err == nil:
			t.logger.Info("the primary before no longer takes writes", "address", p.Former)
			if err := removeFile(dir, p.untoldFile()); err != nil {
				t.logger.Warn("the primary before is told once more after the next start", "error", err)
			}
			return
		case code == said || ctx.Err() != nil:
		case code == codes.Unavailable:
			t.logger.Warn("the primary before does not answer; if it runs it takes writes, until it is told", "address", p.Former, "error", err)
		default:
			t.logger.Warn("the primary before was not fenced; see that it takes no writes", "address", p.Former, "error", err)
		}
		said = code
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if was && !noted() {
			t.logger.Warn("the primary before is told no more: the file that says so is gone", "address", p.Former, "file", p.untoldFile())
			return
		}
	}
}

// untell notes whether a server may not know.
func (f *feed) untell(p promotion, may bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if may {
		f.untold = append(f.untold, p)
	} else {
		f.untold = slices.DeleteFunc(f.untold, func(o promotion) bool { return o == p })
	}
}

// tell tells a server once. The error is nil if it knows.
func (t teller) tell(ctx context.Context, p promotion) error {
	l, err := dial(p.Former, t.token, t.tls, t.retry)
	if err != nil {
		return err
	}
	defer func() { _ = l.conn.Close() }() // no call is running
	before := t.id
	before.history.ID = p.History // this server may have another one by now
	_, err = l.Fence(l.context(ctx), fenceRequest(before, messageOf(p.epoch)))
	if status.Code(err) == codes.FailedPrecondition {
		err = t.knows(ctx, l, p, err)
	}
	return l.explain(err)
}

// knows is nil if the server before, which has refused the fence, takes no writes by itself, or
// only those of a later epoch: it has come back as a standby, or was told by somebody else. A
// standby of an earlier epoch has only passed on the refusal of the server that it follows.
// Otherwise it is the refusal, or why the server cannot be asked.
func (t teller) knows(ctx context.Context, l *link, p promotion, refusal error) error {
	there, err := l.ListReplicas(l.context(ctx), new(smolwcpb.ListReplicasRequest))
	switch {
	case err != nil:
		return err
	case there.GetDatabase() != t.id.uuid || there.GetHistory() != p.History && there.GetHistory() != t.id.history.ID:
	case there.GetFencedBy() != "" || there.GetEpoch() > p.Number || there.GetStandby() && there.GetEpoch() == p.Number:
		return nil
	}
	return refusal
}
