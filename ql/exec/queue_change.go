package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
)

// find is the item that a statement names.
func (at *queueAt) find(ctx context.Context, tx *query.Tx, name ql.Name) (queue.Info, error) {
	id, err := queue.ParseID(name.Text)
	if err != nil {
		return queue.Info{}, faultAt(name.Pos, query.KindInvalidArgument, "%s is not the id of an item, as in 0190a0b0-0000-7000-8000-000000000001; peek and dead show ids", quoteAlways(name.Text))
	}
	info, err := at.Get(ctx, tx, at.zone.Text, id)
	if !errors.Is(err, queue.ErrNotFound) {
		return info, placed(at.zone.Pos, err)
	}
	if err := at.check(ctx, tx); err != nil {
		return queue.Info{}, err
	}
	return queue.Info{}, unknown(name, "item", nil, " in zone "+ql.QuoteWord(at.zone.Text))
}

// requeue makes an item visible now, or all dead letters of a zone.
func (r *Runner) requeue(ctx context.Context, st *ql.Requeue) (Result, error) {
	at, err := r.queueAt(st, st.Queue)
	if err != nil {
		return nil, err
	}
	if st.All {
		return at.requeueAll(ctx)
	}
	did := ""
	err = at.db.Update(ctx, func(tx *query.Tx) error {
		i, err := at.find(ctx, tx, st.ID)
		if err != nil {
			return err
		}
		did = fmt.Sprintf("requeued item %s of zone %s", i.ID, ql.QuoteWord(i.Zone))
		if i.State != queue.Ready {
			return placed(st.ID.Pos, at.Replay(ctx, tx, i.Zone, i.ID))
		}
		if !i.Time.After(at.db.Plumbing().Wall()) {
			did = fmt.Sprintf("item %s of zone %s can be taken already", i.ID, ql.QuoteWord(i.Zone))
		}
		return placed(st.ID.Pos, at.Hurry(ctx, tx, i.Zone, i.ID))
	})
	return &Done{did}, err
}

// requeueAll requeues the zone's present dead letters. Items that die meanwhile stay,
// so it ends.
func (at *queueAt) requeueAll(ctx context.Context) (Result, error) {
	ids, err := at.deadIDs(ctx)
	if err != nil {
		return nil, err
	}
	requeued, stay := 0, 0
	for some := range slices.Chunk(ids, queue.MaxDrain) {
		n, duplicates, err := at.replay(ctx, some)
		if err != nil && requeued > 0 {
			err = fmt.Errorf("%w; %s requeued before", err, humanize.Count(requeued, "dead letter was", "dead letters were"))
		}
		if err != nil {
			return nil, err
		}
		requeued, stay = requeued+n, stay+duplicates
	}
	did := fmt.Sprintf("requeued %s of zone %s", humanize.Count(requeued, "dead letter"), ql.QuoteWord(at.zone.Text))
	if stay > 0 {
		did += "; " + humanize.Count(stay, "stays", "stay") + ", because another item has the same unique key"
	}
	return &Done{did}, nil
}

// deadIDs are the ids of the zone's dead letters.
func (at *queueAt) deadIDs(ctx context.Context) (ids []queue.ID, err error) {
	err = at.view(ctx, func(tx *query.Tx) error {
		ids = nil
		if err := at.check(ctx, tx); err != nil {
			return err
		}
		for info, err := range at.Dead(ctx, tx, at.zone.Text) {
			if err != nil {
				return err
			}
			ids = append(ids, info.ID)
		}
		return nil
	})
	return ids, err
}

// replay requeues dead letters, in one transaction, and counts the ones that stay
// because another item holds their unique key. It passes over items that are no longer
// dead.
func (at *queueAt) replay(ctx context.Context, ids []queue.ID) (n, duplicates int, err error) {
	err = at.db.Update(ctx, func(tx *query.Tx) error {
		n, duplicates = 0, 0
		for _, id := range ids {
			i, err := at.Get(ctx, tx, at.zone.Text, id)
			if errors.Is(err, queue.ErrNotFound) || err == nil && i.State != queue.Dead {
				continue
			}
			if err == nil {
				err = at.Replay(ctx, tx, at.zone.Text, id)
			}
			switch {
			case err == nil:
				n++
			case errors.Is(err, queue.ErrDuplicate):
				duplicates++
			default:
				return err
			}
		}
		return nil
	})
	return n, duplicates, err
}

// cancel removes an item.
func (r *Runner) cancel(ctx context.Context, st *ql.CancelItem) (Result, error) {
	at, err := r.queueAt(st, st.Queue)
	if err != nil {
		return nil, err
	}
	did := ""
	err = at.db.Update(ctx, func(tx *query.Tx) error {
		i, err := at.find(ctx, tx, st.ID)
		if err != nil {
			return err
		}
		did = fmt.Sprintf("cancelled item %s of zone %s, which was %s", i.ID, ql.QuoteWord(i.Zone), i.State)
		return placed(st.ID.Pos, at.Cancel(ctx, tx, i.Zone, i.ID))
	})
	return &Done{did}, err
}

// drain removes the waiting items of a zone.
func (r *Runner) drain(ctx context.Context, st *ql.Drain) (Result, error) {
	at, err := r.queueAt(st, st.Queue)
	if err != nil {
		return nil, err
	}
	if err := at.view(ctx, func(tx *query.Tx) error { return at.check(ctx, tx) }); err != nil {
		return nil, err
	}
	stats, err := at.Stats(ctx, at.zone.Text)
	if err != nil {
		return nil, err
	}
	waiting := 0
	for _, s := range stats {
		waiting += s.Ready + s.Delayed + s.Blocked
	}
	zone := ql.QuoteWord(at.zone.Text)
	if waiting == 0 {
		return &Done{"zone " + zone + " has no items to drain"}, nil
	}
	what := humanize.Count(waiting, "item") + " of zone " + zone
	if err := r.ask(st, st.Yes, "cancel "+what+"?", "this cancels "+what+" for good", "nothing was cancelled"); err != nil {
		return nil, err
	}
	cancelled := 0
	for {
		n := 0
		err := at.db.Update(ctx, func(tx *query.Tx) (err error) {
			n, err = at.Drain(ctx, tx, at.zone.Text)
			return err
		})
		if err != nil && cancelled > 0 {
			err = fmt.Errorf("%w; %s cancelled before", err, humanize.Count(cancelled, "item was", "items were"))
		}
		if cancelled += n; err != nil || n == 0 {
			return &Done{fmt.Sprintf("cancelled %s of zone %s", humanize.Count(cancelled, "item"), zone)}, err
		}
	}
}

func (r *Runner) pause(ctx context.Context, st *ql.PauseZone) (Result, error) {
	return r.setPaused(ctx, st, st.Queue, true, "paused zone ")
}

func (r *Runner) resume(ctx context.Context, st *ql.ResumeZone) (Result, error) {
	return r.setPaused(ctx, st, st.Queue, false, "resumed zone ")
}

func (r *Runner) setPaused(ctx context.Context, st ql.Statement, of ql.Queue, paused bool, did string) (Result, error) {
	at, err := r.queueAt(st, of)
	if err != nil {
		return nil, err
	}
	err = at.db.Update(ctx, func(tx *query.Tx) error {
		if err := at.check(ctx, tx); err != nil {
			return err
		}
		c, err := at.Config(ctx, tx, at.zone.Text)
		if err != nil || c.Paused == paused {
			return err
		}
		c.Paused = paused
		return at.Configure(ctx, tx, at.zone.Text, c)
	})
	return &Done{did + ql.QuoteWord(at.zone.Text)}, err
}

// ZoneNames returns the zones of a queue whose names begin with a prefix. It returns
// nothing if there are more than most, or if they cannot be read. table is "" for the
// usual table.
func (r *Runner) ZoneNames(ctx context.Context, table, prefix string, most int) (names []string) {
	at := r.queueForNames(ctx, table, "")
	if at == nil {
		return nil
	}
	err := at.view(ctx, func(tx *query.Tx) error {
		names = nil
		for name, err := range at.Zones(ctx, tx, prefix) {
			if err != nil || len(names) > most {
				return err
			}
			names = append(names, name)
		}
		return nil
	})
	return unlessMore(names, most, err)
}

// DeadLetterIDs returns the ids of a zone's dead letters that begin with a prefix. It
// returns nothing in the cases of [Runner.ZoneNames].
func (r *Runner) DeadLetterIDs(ctx context.Context, table, zone, prefix string, most int) (ids []string) {
	at := r.queueForNames(ctx, table, zone)
	if at == nil {
		return nil
	}
	err := at.view(ctx, func(tx *query.Tx) error {
		ids = nil
		for info, err := range at.Dead(ctx, tx, zone) {
			if err != nil || len(ids) > most {
				return err
			}
			if id := info.ID.String(); strings.HasPrefix(id, prefix) {
				ids = append(ids, id)
			}
		}
		return nil
	})
	return unlessMore(ids, most, err)
}

func (r *Runner) queueForNames(ctx context.Context, table, zone string) *queueAt {
	if r == nil || r.DB == nil || ctx == nil {
		return nil
	}
	at, err := r.queueAt(&ql.Queues{}, ql.Queue{In: ql.Name{Text: table}, Zone: ql.Name{Text: zone}})
	if err != nil {
		return nil
	}
	return at
}

func unlessMore(names []string, most int, err error) []string {
	if err != nil || len(names) > most {
		return nil
	}
	return names
}
