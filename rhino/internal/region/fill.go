package region

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/smolwc/smolwc/rhino"
	"github.com/smolwc/smolwc/rhino/internal/facts"
)

// retryPause is between two attempts to get facts.
const retryPause = 200 * time.Millisecond

// Fill gets all facts from the control, as for an empty disk. It returns when the region
// holds them, or the context ends.
func (r *Region) Fill(ctx context.Context) {
	waits := false
	for ctx.Err() == nil {
		err := r.FillOnce(ctx)
		if err == nil {
			return
		}
		if !waits && ctx.Err() == nil {
			r.o.Logger.Warn("the region waits for facts", "region", r.o.Name, "err", err)
		}
		waits = true
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

// FillOnce is one attempt of Fill.
func (r *Region) FillOnce(ctx context.Context) error {
	if r.Ready() {
		return nil
	}
	err := r.fill(ctx)
	if err == nil {
		r.ready.Store(true)
		r.o.Logger.Info("the region has all facts", "region", r.o.Name)
	}
	return err
}

func (r *Region) fill(ctx context.Context) error {
	for ask := (rhino.GetFacts{}); ; {
		reply, err := r.ask(ctx, r.o.Control, ask)
		if err != nil {
			return err
		}
		page, ok := reply.(rhino.Facts)
		if _, older := reply.(rhino.InvalidRequest); older { // only the queue of an earlier smolwc brings facts
			return nil
		}
		if !ok {
			return fmt.Errorf("the control answered %s %+v", rhino.Name(reply), reply)
		}
		var all []facts.Fact
		for _, w := range page.Facts {
			f, _, ok, err := facts.Of(w.Message())
			if err == nil && !ok {
				err = errors.New("it is empty")
			}
			if err != nil {
				return fmt.Errorf("a fact of the control: %w", err)
			}
			all = append(all, f)
		}
		if err := r.facts.Apply(ctx, all...); err != nil {
			return err
		}
		if len(page.Next) == 0 {
			return r.facts.SetComplete(ctx)
		}
		if bytes.Compare(page.Next, ask.After) <= 0 {
			return errors.New("the control sends the same facts again and again")
		}
		ask.After = page.Next
	}
}
