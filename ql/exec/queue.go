package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/queue"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/tuple"
)

// A queueAt is the queue of a table, and the zone that a statement is about.
type queueAt struct {
	*queue.Queue
	db    *query.DB
	table ql.Name // with the place for errors about the table
	zone  ql.Name
}

// queueAt finds the queue that a statement is about.
func (r *Runner) queueAt(st ql.Statement, of ql.Queue) (*queueAt, error) {
	in := of.In
	if in.Text == "" {
		in = ql.Name{Text: queue.DefaultTable, Pos: st.Position()}
	}
	t, err := r.table(in)
	if err != nil {
		return nil, declareQueue(in, err)
	}
	f, err := usualFamily(t, queue.DefaultFamily, in.Pos)
	if err != nil {
		return nil, err
	}
	if f.Type != cells.TypeAny && f.Type != cells.TypeBytes || f.GC != nil {
		return nil, faultAt(in.Pos, query.KindFailedPrecondition, "table %s is not that of a queue: family %s has %s, and the family of a queue has the type bytes or no type, and no rule", lex.QuoteName(t.Name), f.Name, familyTraits(f))
	}
	q := queue.New(r.DB, queue.Options{Table: t.Name, Family: f.Name})
	return &queueAt{q, r.DB, in, of.Zone}, nil
}

// declareQueue adds to the error about an unknown table how one is declared.
func declareQueue(in ql.Name, err error) error {
	bad, ok := err.(*lex.Error)
	if ok && !strings.HasSuffix(bad.Msg, "?") { // it says what was meant
		bad.Msg += fmt.Sprintf("; a queue has a table of its own, declared as {name: %s, families: [{name: %s}]}", lex.Printable(lex.Clip(in.Text)), queue.DefaultFamily)
	}
	return err
}

// familyTraits describes the type and rule of a family.
func familyTraits(f schema.Family) string {
	var traits []string
	if f.Type != cells.TypeAny {
		traits = append(traits, "the type "+f.Type.String())
	}
	if f.GC != nil {
		traits = append(traits, "the rule "+f.GC.String())
	}
	return joined(traits)
}

// faultAt is an error with a kind and a place.
func faultAt(at lex.Pos, kind query.Kind, format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	return &lex.Error{Pos: at, Msg: msg, Err: &query.Error{Op: "look up", Kind: kind, Err: errors.New(msg)}}
}

// view runs fn, which reads, as of one moment.
func (at *queueAt) view(ctx context.Context, fn func(tx *query.Tx) error) error {
	return at.db.Update(ctx, fn)
}

// check fails if there is no such zone in the queue.
func (at *queueAt) check(ctx context.Context, tx *query.Tx) error {
	if name := at.zone.Text; utf8.ValidString(name) && len(name) <= queue.MaxName {
		for found, err := range at.Zones(ctx, tx, name) { // the first one is the zone
			if err != nil || found == name {
				return err
			}
			break
		}
	}
	var known []string
	for name, err := range at.Zones(ctx, tx, "") {
		if err != nil {
			return err
		}
		if known = append(known, name); len(known) == mostSiblings {
			break
		}
	}
	if len(known) == 0 {
		if err := at.checkRows(ctx, tx); err != nil {
			return err
		}
	}
	return unknown(at.zone, "zone", known, " in the queue of table "+lex.QuoteName(at.table.Text))
}

// checkRows fails if the table contains rows that do not belong to a queue. Row keys of
// a queue are tuples that begin with a number.
func (at *queueAt) checkRows(ctx context.Context, tx *query.Tx) error {
	for row, err := range tx.PeekRows(ctx, at.table.Text, read.KeysOnly(), read.Limit(1)) {
		if err != nil {
			return err
		}
		t, err := tuple.Unpack([]byte(row.Key()))
		if err == nil && len(t) > 0 {
			if _, ok := t[0].(int64); ok {
				return nil
			}
		}
		return faultAt(at.table.Pos, query.KindFailedPrecondition, "table %s is not that of a queue: its first row is %s", lex.QuoteName(at.table.Text), lex.QuoteKey(lex.Clip(row.Key())))
	}
	return nil
}

// queues counts the items of all zones, or of one.
func (r *Runner) queues(ctx context.Context, st *ql.Queues) (Result, error) {
	at, err := r.queueAt(st, st.Queue)
	if err != nil {
		return nil, err
	}
	configs, err := at.configs(ctx)
	if err != nil {
		return nil, err
	}
	stats, err := at.Stats(ctx, st.Zone.Text)
	if err != nil {
		return nil, err
	}
	for zone := range configs {
		if !slices.ContainsFunc(stats, func(s queue.Stats) bool { return s.Zone == zone }) {
			stats = append(stats, queue.Stats{Zone: zone})
		}
	}
	slices.SortFunc(stats, func(a, b queue.Stats) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Type, b.Type))
	})
	l := &Listing{Columns: []string{"zone", "type", "ready", "delayed", "blocked", "leased", "expired", "dead", "oldest", "settings"}, Format: st.Format}
	items, zones := 0, 0
	for i, s := range stats {
		if i == 0 || s.Zone != stats[i-1].Zone {
			zones++
		}
		items += s.Ready + s.Delayed + s.Blocked + s.Leased + s.Expired + s.Dead
		l.Lines = append(l.Lines, statsLine(s, configs[s.Zone], r.DB.Plumbing().Wall()))
	}
	l.Notes = []string{humanize.Count(items, "item") + " in " + humanize.Count(zones, "zone")}
	return l, nil
}

// configs are the configurations of the zones that have one.
func (at *queueAt) configs(ctx context.Context) (configs map[string]queue.ZoneConfig, err error) {
	err = at.view(ctx, func(tx *query.Tx) error {
		configs = map[string]queue.ZoneConfig{}
		add := func(zone string) error {
			c, err := at.Config(ctx, tx, zone)
			if c != (queue.ZoneConfig{}) {
				configs[zone] = c
			}
			return err
		}
		if at.zone.Text != "" {
			return cmp.Or(at.check(ctx, tx), add(at.zone.Text))
		}
		found := false
		for zone, err := range at.Zones(ctx, tx, "") {
			if found = true; err == nil {
				err = add(zone)
			}
			if err != nil {
				return err
			}
		}
		if !found {
			return at.checkRows(ctx, tx)
		}
		return nil
	})
	return configs, err
}

func statsLine(s queue.Stats, c queue.ZoneConfig, now time.Time) []any {
	line := []any{Word(s.Zone), Word(s.Type)}
	if s.Type == "" { // a zone without items
		line[1] = ""
	}
	for _, n := range []int{s.Ready, s.Delayed, s.Blocked, s.Leased, s.Expired, s.Dead} {
		line = append(line, int64(n))
	}
	oldest := ""
	if !s.Oldest.IsZero() {
		oldest = ageText(now.Sub(s.Oldest))
	}
	return append(line, oldest, settings(c))
}

// ageText is an age in its two largest units: 3d4h, 2m5s, 0s.
func ageText(d time.Duration) string {
	d = max(d.Truncate(time.Second), 0)
	text, units := "", 0
	for _, u := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		n := d / u.size
		if d -= n * u.size; n > 0 {
			text += fmt.Sprintf("%d%s", n, u.name)
		}
		if text != "" {
			units++
		}
		if units == 2 {
			break
		}
	}
	return cmp.Or(text, "0s")
}

// settings is the configuration of a zone as text; "" for the default one.
func settings(c queue.ZoneConfig) string {
	var all []string
	if c.Paused {
		all = append(all, "paused")
	}
	for _, s := range []struct {
		name string
		n    int
	}{{"weight", c.Weight}, {"limit", c.Limit}, {"per key", c.PerKey}} {
		if s.n != 0 {
			all = append(all, fmt.Sprintf("%s %d", s.name, s.n))
		}
	}
	return strings.Join(all, ", ")
}

// itemsShown is how many items peek and dead show if there is no limit.
const itemsShown = 100

// itemList adds items to a listing, up to a limit.
func itemList(l *Listing, found []queue.Info, limit int, one string, line func(queue.Info) []any) *Listing {
	l.Lines = nil
	for _, i := range found[:min(limit, len(found))] {
		l.Lines = append(l.Lines, line(i))
	}
	l.Notes = []string{humanize.Count(len(l.Lines), one)}
	if len(found) > limit {
		l.Notes[0] += ", and there are more: limit= sets how many are shown"
	}
	return l
}

// peek shows the items that would be taken next.
func (r *Runner) peek(ctx context.Context, st *ql.Peek) (Result, error) {
	at, err := r.queueAt(st, st.Queue)
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(st.Limit, itemsShown)
	var found []queue.Info
	err = at.view(ctx, func(tx *query.Tx) (err error) {
		if err = at.check(ctx, tx); err == nil {
			found, err = at.Peek(ctx, tx, at.zone.Text, limit+1)
		}
		return err
	})
	l := &Listing{Columns: []string{"id", "type", "priority", "visible", "attempts", "error", "payload"}, Format: st.Format}
	return itemList(l, found, limit, "item", func(i queue.Info) []any {
		return []any{i.ID.String(), Word(i.Type), int64(i.Priority), timestamp(i.Time), int64(i.Attempts), valueOf([]byte(i.Err)), valueOf(i.Payload)}
	}), err
}

// deadLetters shows the dead letters of a zone, or of all zones.
func (r *Runner) deadLetters(ctx context.Context, st *ql.DeadLetters) (Result, error) {
	at, err := r.queueAt(st, st.Queue)
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(st.Limit, itemsShown)
	var found []queue.Info
	err = at.view(ctx, func(tx *query.Tx) error {
		found = nil
		zones := []string{at.zone.Text}
		if at.zone.Text != "" {
			err = at.check(ctx, tx)
		} else {
			zones, err = at.zones(ctx, tx)
		}
		if err != nil {
			return err
		}
		for _, zone := range zones {
			for info, err := range at.Dead(ctx, tx, zone) {
				if err != nil || len(found) > limit {
					return err
				}
				found = append(found, info)
			}
		}
		return nil
	})
	l := &Listing{Columns: []string{"zone", "id", "type", "died", "attempts", "error", "payload"}, Format: st.Format}
	return itemList(l, found, limit, "dead letter", func(i queue.Info) []any {
		return []any{Word(i.Zone), i.ID.String(), Word(i.Type), timestamp(i.Time), int64(i.Attempts), valueOf([]byte(i.Err)), valueOf(i.Payload)}
	}), err
}

// zones are the names of all zones. There must be some, or a table without other rows.
func (at *queueAt) zones(ctx context.Context, tx *query.Tx) (names []string, err error) {
	for name, err := range at.Zones(ctx, tx, "") {
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	if names == nil {
		err = at.checkRows(ctx, tx)
	}
	return names, err
}

func timestamp(t time.Time) cells.Timestamp { return cells.Timestamp(t.UnixMicro()) }

// valueOf is a payload or an error as a value: text if it is UTF-8. An empty one is an
// empty field.
func valueOf(b []byte) any {
	switch {
	case len(b) == 0:
		return ""
	case utf8.Valid(b):
		return cells.String(string(b))
	}
	return cells.Bytes(b)
}

// item shows an item with its whole payload.
func (r *Runner) item(ctx context.Context, st *ql.ShowItem) (Result, error) {
	at, err := r.queueAt(st, st.Queue)
	if err != nil {
		return nil, err
	}
	var i queue.Info
	err = at.view(ctx, func(tx *query.Tx) (err error) {
		i, err = at.find(ctx, tx, st.ID)
		return err
	})
	l := &Listing{
		Columns: []string{"id", "zone", "type", "state", "time", "enqueued", "priority", "attempts", "max_attempts", "key", "unique_key", "error", "payload", "result"},
		Format:  st.Format, Upright: true,
	}
	l.Lines = [][]any{{
		i.ID.String(), Word(i.Zone), Word(i.Type), i.State.String(), timestamp(i.Time), timestamp(i.Enqueued), int64(i.Priority), int64(i.Attempts), int64(i.MaxAttempts),
		valueOf([]byte(i.Key)), valueOf([]byte(i.Unique)), valueOf([]byte(i.Err)), valueOf(i.Payload), valueOf(i.Result),
	}}
	return l, err
}

// schedules shows the schedules of a queue.
func (r *Runner) schedules(ctx context.Context, st *ql.Schedules) (Result, error) {
	at, err := r.queueAt(st, ql.Queue{In: st.In})
	if err != nil {
		return nil, err
	}
	l := &Listing{Columns: []string{"name", "cron", "zone", "type", "next"}, Format: st.Format}
	err = at.view(ctx, func(tx *query.Tx) error {
		l.Lines = nil
		for s, err := range at.Schedules(ctx, tx) {
			if err != nil {
				return err
			}
			l.Lines = append(l.Lines, []any{Word(s.Name), valueOf([]byte(s.Cron)), Word(s.Zone), Word(s.Item.Type), timestamp(s.Next)})
		}
		if l.Lines == nil {
			return at.checkRows(ctx, tx)
		}
		return nil
	})
	l.Notes = []string{humanize.Count(len(l.Lines), "schedule")}
	return l, err
}
