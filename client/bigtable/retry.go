package bigtable

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/query"
)

// again makes a call until it succeeds or fails for good.
func (c *copying) again(ctx context.Context, table string, call func() error) error {
	for tries := 1; ; tries++ {
		err := call()
		if err == nil || tries >= c.o.attempts || !passes(err) || ctx.Err() != nil {
			return c.from.failed(ctx, table, err)
		}
		if err := c.pause(ctx, table, tries, err); err != nil {
			return err
		}
	}
}

// passes reports whether the reason for which a source fails a call may pass.
func passes(err error) bool {
	s, ok := status.FromError(err)
	if !ok {
		return false
	}
	switch s.Code() {
	case codes.Unavailable, codes.Aborted, codes.DeadlineExceeded, codes.ResourceExhausted:
		return true
	case codes.Internal: // of a connection that ended
		text := strings.ToLower(s.Message())
		return strings.Contains(text, "rst_stream") || strings.Contains(text, "eos") || strings.Contains(text, "rst stream")
	}
	return false
}

// pause waits longer with each try, up to ten seconds, and tells why.
func (c *copying) pause(ctx context.Context, table string, tries int, why error) error {
	c.mu.Lock()
	if c.told.Fault = c.from.failed(ctx, table, why); why != nil && c.o.Progress != nil {
		c.o.Progress(c.told)
	}
	c.mu.Unlock()
	most := min(c.o.pause<<min(tries, 10), 10*time.Second)
	timer := time.NewTimer(most/2 + rand.N(most/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return canceled(ctx, table)
	}
}

// firstOf is the error of the group, if that ended the context of err, or else err.
func firstOf(group *errgroup.Group, err error) error {
	if query.KindOf(err) != query.KindCanceled {
		group.Go(func() error { return err })
		return group.Wait()
	}
	if earlier := group.Wait(); earlier != nil {
		return earlier
	}
	return err
}
