// Package bigtable copies tables of an instance of Bigtable into a database, whole or a
// part of them: some tables, the rows with a prefix, a sample of the rows, and with
// values that masks replace. The source is Google's service, its emulator or smolwc.
package bigtable

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/smolwc/smolwc/query"
)

// Copy copies tables of a source into a database. It creates missing tables and families
// as a server does for Bigtable's clients: with their rules of garbage collection and
// value types, and retention=lazy. In families that the target has already, every value
// must be one of their type, as Bigtable encodes it.
//
// The tables may be there, but no rows, unless the target is the unfinished one of the same
// copy. Until Copy returns nil the target is unfinished, as [query.DB.Unfinished] says:
// the next Copy with the same options goes on where the last one was noted. Each row is as
// it was when it was read; a source that is written meanwhile is not copied as of one
// moment.
//
// Calls that the source fails for reasons that pass are made again, for about half a
// minute without progress.
func Copy(ctx context.Context, from *Source, to *query.DB, o Options) (*Report, error) {
	c := &copying{from: from, to: to, o: o, report: new(Report)}
	if to == nil {
		return nil, invalid("there is no target")
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := c.run(ctx); err != nil {
		return c.report, err
	}
	return c.report, nil
}

// Check reports why [Copy] could not begin: tables that are not there, a mask that is about
// no family. It reads no rows.
func Check(ctx context.Context, from *Source, o Options) error {
	c := &copying{from: from, o: o, report: new(Report)}
	if err := c.check(); err != nil {
		return err
	}
	return c.plan(ctx)
}

func (c *copying) run(ctx context.Context) error {
	state, err := c.state(ctx)
	if err != nil {
		return err
	}
	if err := c.plan(ctx); err != nil {
		return err
	}
	if c.report.Found = state == whole; !c.report.Found {
		if err := c.begin(ctx, state); err != nil {
			return err
		}
		if err := c.copyTables(ctx); err != nil {
			return err
		}
		for _, m := range c.o.Masks {
			if !slices.Contains(c.met, m.String()) {
				c.report.Unmet = append(c.report.Unmet, m)
			}
		}
	}
	if c.o.Follow {
		return c.follow(ctx)
	}
	if c.o.Verify {
		if err := c.verify(ctx); err != nil {
			return err
		}
	}
	return c.finish(ctx)
}

func (c *copying) copyTables(ctx context.Context) error {
	notes, err := c.to.Plumbing().Notes(ctx, allNotes)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.o.Parallel)
	for _, t := range c.tables {
		parts, err := c.parts(ctx, t, notes)
		if err != nil {
			return firstOf(group, err)
		}
		for _, p := range parts {
			group.Go(func() error { return p.copy(ctx) })
		}
	}
	return group.Wait()
}
