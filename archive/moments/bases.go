package moments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/smolwc/smolwc/archive"
)

// look begins what is due: a base, and the care of old segments.
func (n *session) look(ctx, working context.Context) error {
	if n.o.Schedule != nil {
		if last := n.o.Schedule.Status(); last.Made > 0 && last.Last.ID != n.scheduled && last.Elapsed > 0 && last.Last.Position >= n.start {
			if err := n.objects.KeepBase(ctx, last.Last.ID); err != nil {
				return err
			}
			n.scheduled = last.Last.ID
			n.addBase(base{Generation: last.Last.ID, From: last.Last.Position, UpTo: uint64(n.store.Latest()), At: n.db.Plumbing().Wall().UnixMicro()})
		}
	}
	now := n.db.Plumbing().Wall()
	due := n.based.IsZero() || n.o.Schedule == nil && now.Sub(n.based) >= n.o.BaseEvery
	if due && n.head.Begins == "" { // the log from it on is there
		n.based = now
		n.backing.Go(func() { n.makeBase(working) })
	}
	if time.Since(n.tidied) > tidyEvery {
		n.tidied = time.Now()
		n.backing.Go(func() { n.tidy(working) })
	}
	return nil
}

// addBase says in the next block that there is a base.
func (n *session) addBase(b base) {
	if b.Generation == 0 {
		n.based = time.Time{} // it failed
		return
	}
	n.based = n.db.Plumbing().Wall()
	if n.db.Plumbing().Wall().UnixMicro() < n.head.Since { // the clock was set back
		b.At = n.head.Since
	}
	n.head.Bases = append(n.head.Bases, b)
}

// makeBase makes a backup, again and again until that succeeds, and gives it to the sender.
func (n *session) makeBase(ctx context.Context) {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		b, err := n.tryBase(ctx)
		if err == nil {
			select {
			case n.bases <- b:
			case <-ctx.Done():
			}
			return
		}
		if ctx.Err() != nil {
			return
		}
		level := slog.LevelError
		if errors.Is(err, archive.ErrLocked) {
			level = slog.LevelInfo
		}
		n.o.Logger.Log(ctx, level, "the backup with which restorable moments begin was not made; it is tried again", "err", err, "tried_again_in", wait)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if n.o.Schedule != nil && n.o.Schedule.Status().Made > 0 && errors.Is(err, archive.ErrLocked) {
			return // the schedule made one
		}
	}
}

func (n *session) tryBase(ctx context.Context) (b base, err error) {
	var once sync.Once
	o := archive.BackupOptions{Scheduled: true, KeepFor: max(0, n.o.Keep)}
	o.Report = func(archive.Progress) { // the first time, the copy was just made
		once.Do(func() { b.UpTo, b.At = uint64(n.store.Latest()), n.db.Plumbing().Wall().UnixMicro() })
	}
	res, err := archive.Local{DB: n.db}.BackUp(ctx, n.target, o)
	if res.ID == 0 {
		return b, cmp.Or(err, errors.New("no backup was made"))
	}
	b.Generation, b.From = res.ID, res.Position
	b.UpTo = max(b.UpTo, b.From)
	if err := n.objects.KeepBase(ctx, b.Generation); err != nil {
		return b, err
	}
	gens, err := n.archive.List(ctx)
	if err != nil {
		return b, err
	}
	for _, g := range gens {
		if g.ID == b.Generation {
			return b, nil
		}
	}
	return b, fmt.Errorf("backup %d was removed at once", b.Generation)
}
