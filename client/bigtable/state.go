package bigtable

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/smolwc/smolwc/query/read"
)

// A state is how far the copy in a target is.
type state int

const (
	fresh state = iota
	unfinished
	whole
)

// state compares the copy with the one that the target notes.
func (c *copying) state(ctx context.Context) (state, error) {
	c.record = record{Source: c.from.place.String(), Tables: slices.Sorted(slices.Values(c.o.Tables)), Prefix: []byte(c.o.Prefix), Sample: c.o.Sample}
	for _, m := range c.o.Masks {
		c.record.Masks = append(c.record.Masks, m.String())
	}
	if slices.ContainsFunc(c.o.Masks, func(m Mask) bool { return m.Method != Null }) {
		c.record.Key = c.masker.fingerprint()
	}
	notes, err := c.to.Plumbing().Notes(ctx, recordNote)
	if err != nil {
		return fresh, err
	}
	of, marked, err := c.to.Unfinished(ctx)
	if err != nil {
		return fresh, err
	}
	run, err := c.to.Plumbing().Notes(ctx, runNote)
	if err != nil {
		return fresh, err
	}
	if string(run[runNote]) == atOnce {
		return fresh, errAtOnce
	}
	text, ok := notes[recordNote]
	switch {
	case !ok && marked && of != c.id():
		return fresh, refused("", "the target is the unfinished copy of the database with the id %s; copy into a new one", of)
	case !ok:
		return fresh, nil
	}
	var old record
	if err := json.Unmarshal(text, &old); err != nil {
		return fresh, damagedNote(recordNote, err)
	}
	if err := c.sameAs(old); err != nil {
		return fresh, err
	}
	switch {
	case !old.Whole || marked && of == c.id(): // perhaps killed before the mark was removed
		c.report.Resumed = true
		return unfinished, nil
	case !c.o.Verify:
		return fresh, refused("", "the target is a whole copy of %s already; copy into a new database, or compare them with --verify", old.Source)
	}
	return whole, nil
}

// sameAs refuses the target of a copy with other options.
func (c *copying) sameAs(old record) error {
	differs := func(what string, was, is any) error {
		return refused("", "the target is a copy of %s with %s %v, not %v; give the same, or copy into a new database", old.Source, what, was, is)
	}
	is := c.record
	switch {
	case old.Source != is.Source:
		return refused("", "the target is a copy of %s, not of %s; copy into a new database", old.Source, is.Source)
	case !slices.Equal(old.Tables, is.Tables):
		return differs("the tables", old.Tables, is.Tables)
	case string(old.Prefix) != string(is.Prefix):
		return differs("the prefix", fmt.Sprintf("%q", old.Prefix), fmt.Sprintf("%q", is.Prefix))
	case old.Sample != is.Sample:
		return differs("the sample", old.Sample, is.Sample)
	case !slices.Equal(old.Masks, is.Masks):
		return differs("the masks", old.Masks, is.Masks)
	case old.Key != is.Key && len(c.o.MaskKey) == 0:
		return refused("", "the key of the masks in the target is gone or in a file; give that file, or copy into a new database, with a key in a file")
	case old.Key != is.Key:
		return refused("", "the target was masked with another key; give that one, or copy into a new database")
	}
	return nil
}

// id stands for the source in the mark of an unfinished copy.
func (c *copying) id() uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(c.from.place.String()))
}

// begin marks a target as unfinished and gives it the tables.
func (c *copying) begin(ctx context.Context, s state) error {
	if s == fresh {
		if err := c.empty(ctx); err != nil {
			return err
		}
		if err := c.to.Plumbing().SetCopying(ctx, c.id()); err != nil {
			return err
		}
	}
	if err := c.claim(ctx); err != nil {
		return err
	}
	if c.o.Follow {
		notes := map[string][]byte{}
		if s != fresh { // it may have tables that are new since
			var err error
			if notes, err = c.to.Plumbing().Notes(ctx, allNotes); err != nil {
				return err
			}
		}
		if err := c.beginChanges(ctx, notes); err != nil {
			return err
		}
	}
	if s == fresh {
		if err := c.setNote(ctx, recordNote, c.record); err != nil {
			return err
		}
	}
	return written(ctx, "", c.to.ApplyPlan(ctx, c.missing()))
}

// empty refuses a target with rows.
func (c *copying) empty(ctx context.Context) error {
	for _, t := range c.to.Schema().Tables {
		for _, err := range c.to.Table(t.Name).ReadRows(ctx, read.Limit(1), read.KeysOnly()) {
			if err != nil {
				return err
			}
			return refused(t.Name, "the target has rows; copy into a new database, or one whose tables are empty")
		}
	}
	return nil
}

// finish removes what only an unfinished copy needs.
func (c *copying) finish(ctx context.Context) error {
	if c.report.Found {
		return nil
	}
	if err := c.owned(ctx); err != nil {
		return err
	}
	notes, err := c.to.Plumbing().Notes(ctx, allNotes)
	if err != nil {
		return err
	}
	c.record.Whole = true
	if err := c.setNote(ctx, recordNote, c.record); err != nil {
		return err
	}
	// The mark goes before the notes: a copy that is killed here is finished by the next one.
	if err := c.to.Plumbing().SetCopying(ctx, uuid.Nil); err != nil {
		return err
	}
	for name := range notes {
		if name == recordNote {
			continue
		}
		if err := c.to.Plumbing().SetNote(ctx, name, nil); err != nil {
			return err
		}
	}
	return nil
}
