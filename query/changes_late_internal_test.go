package query

import (
	"context"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// slowRows delays the writes of some rows after they have taken their time.
type slowRows struct {
	cf.Store
	taken, goAhead map[string]chan struct{}
}

func (s slowRows) Update(ctx context.Context, rows []cf.RowID, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	return s.Store.Update(ctx, rows, func(snap cf.Snapshot, b *cf.Batch) error {
		err := fn(snap, b)
		if c := s.taken[rows[0].Row]; c != nil {
			close(c)
			<-s.goAhead[rows[0].Row]
		}
		return err
	})
}

// The token of a late change, with a time after the requested end, has a place before
// the watermark. A reader that continues from it still gets no change from before the
// requested start.
func TestATokenOfALateChangeGivesNothingOlder(t *testing.T) {
	db, err := OpenInMemory(Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", ChangeStream: schema.MinChangeStream, Families: []schema.Family{{Name: "f"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	put := func(key string) {
		m := write.NewMutation()
		m.Set("f", "q", cells.I64(1))
		if err := db.Table("t").Apply(ctx, key, m); err != nil {
			t.Error(err)
		}
	}
	channels := func() map[string]chan struct{} {
		return map[string]chan struct{}{"before": make(chan struct{}), "wanted": make(chan struct{})}
	}
	slow := slowRows{db.state.Store, channels(), channels()}
	db.state.Store = slow
	done := map[string]chan struct{}{"before": make(chan struct{}), "wanted": make(chan struct{})}
	go func() { put("before"); close(done["before"]) }()
	<-slow.taken["before"]
	since := db.Now()
	for db.state.Clock.Latest() <= since {
		time.Sleep(time.Microsecond)
	}
	since = db.state.Clock.Latest()
	time.Sleep(time.Millisecond)
	go func() { put("wanted"); close(done["wanted"]) }()
	<-slow.taken["wanted"]
	until := db.state.Clock.Latest()
	time.Sleep(time.Millisecond)
	put("late")
	close(slow.goAhead["before"])
	<-done["before"]

	released := false
	token := ""
	for c, err := range db.Table("t").Changes(ctx, ChangesSince(since.Time()), ChangesUntil(until.Time()), Heartbeats(20*time.Millisecond)) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Heartbeat() && c.Watermark > since && !released {
			released = true
			close(slow.goAhead["wanted"])
			<-done["wanted"]
		}
		if c.Key == "late" {
			token = c.Token()
		}
	}
	for c, err := range db.Table("t").Changes(ctx, ChangesAfter(token), ChangesUntil(db.state.Clock.Latest().Time())) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Time < since {
			t.Errorf("change of %q at %d, made before %d, was not asked for", c.Key, c.Time, since)
		}
	}
}
