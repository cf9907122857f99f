package queue_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
)

func (f *fixture) schedule(s queue.Schedule) error {
	return f.db.Update(ctx, func(tx *query.Tx) error { return f.q.SetSchedule(ctx, tx, s) })
}

var nightly = queue.Schedule{Name: "nightly", Cron: "30 4 * * *", Zone: "acme", Item: queue.Item{Type: "report"}}

func (f *fixture) schedules() (all []queue.Schedule) {
	f.do(func(tx *query.Tx) error {
		all = nil
		for s, err := range f.q.Schedules(ctx, tx) {
			if err != nil {
				return err
			}
			all = append(all, s)
		}
		return nil
	})
	return all
}

// Each time gives one item, however many workers keep the schedule; times that were
// missed give one together.
func TestAScheduleGivesOneItemEachTime(t *testing.T) {
	f := begin(t)
	must(t, f.schedule(nightly))
	keepTogether := func() {
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() { must(t, f.q.Keep(ctx)) })
		}
		all.Wait()
	}
	keepTogether()
	for days, want := range map[int]int{1: 1, 5: 1} {
		f.pass(time.Duration(days) * 24 * time.Hour)
		keepTogether()
		jobs := f.take("acme", 10, time.Hour)
		if len(jobs) != want || jobs[0].Type() != "report" {
			t.Errorf("after %d days there are %d items, want %d", days, len(jobs), want)
		}
		for _, j := range jobs {
			must(t, f.complete(j))
		}
	}
}

func TestASchedulesNextTime(t *testing.T) {
	f := begin(t) // at noon, UTC
	for cron, want := range map[string]string{
		"30 4 * * *":                    "2026-03-02T04:30:00Z",
		"CRON_TZ=Asia/Tokyo 30 4 * * *": "2026-03-01T19:30:00Z",
		"TZ=Asia/Tokyo 30 4 * * *":      "2026-03-01T19:30:00Z",
		"@hourly":                       "2026-03-01T13:00:00Z",
		"@every 90s":                    "2026-03-01T12:01:30Z",
		"0 0 29 2 *":                    "2028-02-29T00:00:00Z",
		// Europe/Paris has no 2:30 on this day: it is at the change of the clocks.
		"CRON_TZ=Europe/Paris 30 2 29 3 *": "2026-03-29T01:00:00Z",
	} {
		s := nightly
		s.Name, s.Cron = cron, cron
		must(t, f.schedule(s))
		for _, s := range f.schedules() {
			if got := s.Next.UTC().Format(time.RFC3339); s.Name == cron && got != want {
				t.Errorf("%s is next at %s, want %s", cron, got, want)
			}
		}
	}
}

// Where clocks are changed, a schedule of a time of day has one time on each day, as with
// Vixie's cron: the moment of the change if clocks skip it, and the first one if it comes
// twice. A schedule of every hour, or of every few minutes, goes on.
func TestSchedulesWhereClocksAreChanged(t *testing.T) {
	for _, c := range []struct{ cron, now, next string }{
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-23T12:00", "2026-10-24T00:30 2026-10-25T00:30 2026-10-26T01:30"},
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-03-27T12:00", "2026-03-28T01:30 2026-03-29T01:00 2026-03-30T00:30"},
		{"CRON_TZ=Europe/Berlin 0 3 * * *", "2026-03-28T12:00", "2026-03-29T01:00 2026-03-30T01:00"},
		{"CRON_TZ=Europe/Berlin 15,45 2,3 * * *", "2026-03-28T12:00", "2026-03-29T01:00 2026-03-29T01:15 2026-03-29T01:45 2026-03-30T00:15"},
		{"CRON_TZ=Europe/Berlin 15,45 2 * * *", "2026-10-25T00:00", "2026-10-25T00:15 2026-10-25T00:45 2026-10-26T01:15"},
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-25T01:10", "2026-10-26T01:30"},
		{"CRON_TZ=Europe/Berlin 0 0 * * 0", "2026-10-24T00:00", "2026-10-24T22:00 2026-10-31T23:00"},
		{"CRON_TZ=Europe/Berlin @hourly", "2026-10-24T23:30", "2026-10-25T00:00 2026-10-25T01:00 2026-10-25T02:00"},
		{"CRON_TZ=Europe/Berlin 30 * * * *", "2026-03-29T00:00", "2026-03-29T00:30 2026-03-29T01:30 2026-03-29T02:30"},
		{"CRON_TZ=Europe/Berlin */30 * * * *", "2026-10-25T00:15", "2026-10-25T00:30 2026-10-25T01:00 2026-10-25T01:30 2026-10-25T02:00"},
		{"CRON_TZ=Europe/Berlin */30 2 * * *", "2026-10-24T23:50", "2026-10-25T00:00 2026-10-25T00:30 2026-10-25T01:00 2026-10-25T01:30 2026-10-26T01:00"},
		{"CRON_TZ=Africa/Cairo 0 0 * * *", "2026-04-22T00:00", "2026-04-22T22:00 2026-04-23T22:00 2026-04-24T21:00"},
		{"CRON_TZ=Africa/Cairo @daily", "2026-10-28T00:00", "2026-10-28T21:00 2026-10-29T22:00 2026-10-30T22:00"},
		{"CRON_TZ=Asia/Beirut 30 0 * * *", "2026-03-27T12:00", "2026-03-27T22:30 2026-03-28T22:00 2026-03-29T21:30"},
		{"CRON_TZ=America/Santiago 0 0 * * *", "2026-09-05T12:00", "2026-09-06T04:00 2026-09-07T03:00"},
		{"CRON_TZ=America/Santiago 30 23 * * *", "2026-04-04T12:00", "2026-04-05T02:30 2026-04-06T03:30"},
		{"CRON_TZ=America/Havana 0 0 * * *", "2026-10-31T12:00", "2026-11-01T04:00 2026-11-02T05:00"},
		{"CRON_TZ=America/Asuncion 0 0 * * *", "2023-09-30T12:00", "2023-10-01T04:00 2023-10-02T03:00"},
		{"CRON_TZ=Australia/Lord_Howe 15 2 * * *", "2026-10-02T16:00", "2026-10-03T15:30 2026-10-04T15:15"},
		{"CRON_TZ=Australia/Lord_Howe 45 1 * * *", "2026-04-04T12:00", "2026-04-04T14:45 2026-04-05T15:15"},
		{"CRON_TZ=Australia/Lord_Howe 0 * * * *", "2026-10-03T14:45", "2026-10-03T16:00 2026-10-03T17:00"},
		// Samoa left out 30 December 2011.
		{"CRON_TZ=Pacific/Apia 0 12 * * *", "2011-12-29T00:00", "2011-12-29T22:00 2011-12-30T22:00"},
		{"CRON_TZ=Pacific/Apia 0 * * * *", "2011-12-30T08:30", "2011-12-30T09:00 2011-12-30T10:00 2011-12-30T11:00"},
	} {
		const layout = "2006-01-02T15:04"
		now, err := time.Parse(layout, c.now)
		must(t, err)
		for _, want := range strings.Fields(c.next) {
			next, err := queue.NextTime(c.cron, now)
			must(t, err)
			if got := next.UTC().Format(layout); got != want {
				t.Errorf("%s after %v is at %s, want %s", c.cron, now, got, want)
			}
			now = next
		}
	}
}

func TestWrongSchedules(t *testing.T) {
	f := begin(t)
	for _, cron := range []string{
		"", " ", "*", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "5-1 * * * *",
		"*/0 * * * *", "*/-1 * * * *", "*/99999999999999999999 * * * *", "a b c d e", "- - - - -", "* * 30 2 *",
		"@", "@never", "@every", "@every ", "@every x", "@every 1", "CRON_TZ=", "CRON_TZ=UTC", "CRON_TZ=Nowhere/X * * * * *", "TZ=", "TZ=UTC",
		"@every -5m", "@every 0s", "@every 1ms", "@every 999ms", "@every 1500ms", "CRON_TZ=Asia/Tokyo @every -1h", "@every 1s x",
		"1,,2 * * * *", ", * * * *", "1, * * * *", "*-5 * * * *", "+5 * * * *", "5-7-9 * * * *", "*/90 * * * *", "0 */25 * * *", "1/2/3 * * * *",
		"CRON_TZ=Local * * * * *", "CRON_TZ= * * * * *", "TZ=UTC TZ=UTC * * * * *", "TZ=UTC TZ=", "CRON_TZ=UTC @daily x",
		"CRON_TZ=../../etc/passwd * * * * *", "TZ=UTC @", "\x00", "\xff * * * *", "* * * * *\x00", string(make([]byte, 10000)),
	} {
		s := nightly
		s.Cron = cron
		if err := f.schedule(s); query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("%.40q: %v", cron, err)
		}
	}
	for _, wrong := range []queue.Schedule{
		{}, {Name: "x", Cron: "@daily", Zone: "acme"}, {Name: "x", Cron: "@daily", Item: queue.Item{Type: "mail"}},
		{Name: "x", Cron: "@daily", Zone: "acme", Item: queue.Item{Type: "mail", At: time.Now()}},
		{Name: "x", Cron: "@daily", Zone: "acme", Item: queue.Item{Type: "mail", Priority: 16}},
	} {
		if err := f.schedule(wrong); query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	if all := f.schedules(); len(all) != 0 {
		t.Errorf("there are %v", all)
	}
}

func TestSchedulesAreReplacedAndRemoved(t *testing.T) {
	f := begin(t)
	must(t, f.schedule(nightly))
	s := nightly
	s.Item.Payload = []byte("new")
	f.pass(48 * time.Hour)
	must(t, f.schedule(s)) // a program that starts after the time has passed
	must(t, f.q.Keep(ctx))
	if job := f.one("acme"); string(job.Payload()) != "new" {
		t.Errorf("the item has the payload %q", job.Payload())
	}
	s.Cron = "@hourly"
	must(t, f.schedule(s))
	if all := f.schedules(); len(all) != 1 || all[0].Cron != "@hourly" || all[0].Next.Sub(timeOf(f)) > time.Hour {
		t.Errorf("there are %+v", all)
	}
	f.do(func(tx *query.Tx) error { return f.q.RemoveSchedule(ctx, tx, s.Name) })
	wantErr(t, f.db.Update(ctx, func(tx *query.Tx) error { return f.q.RemoveSchedule(ctx, tx, s.Name) }), queue.ErrNotFound)
	f.pass(24 * time.Hour)
	must(t, f.q.Keep(ctx))
	if s := f.stats("acme"); s.Ready != 0 {
		t.Error("a removed schedule goes on")
	}
}

func timeOf(f *fixture) time.Time { return time.UnixMicro(f.q.Now()) }

// An item that is still there when the schedule's next one comes is not doubled if it
// has a unique key.
func TestAScheduleWithAUniqueKey(t *testing.T) {
	f := begin(t)
	s := nightly
	s.Item.Unique = "report"
	must(t, f.schedule(s))
	for range 3 {
		f.pass(24 * time.Hour)
		must(t, f.q.Keep(ctx))
	}
	f.one("acme")
}

// A schedule that cannot enqueue does not keep others from it.
func TestADamagedScheduleHoldsNobodyUp(t *testing.T) {
	f := begin(t)
	for _, name := range []string{"a", "b", "c"} {
		s := nightly
		s.Name, s.Zone = name, name
		must(t, f.schedule(s))
	}
	f.rust("schedule", "a")
	f.enqueue("b", queue.Item{Delay: 1000 * time.Hour})
	f.rust("zone", "b")
	f.pass(24 * time.Hour)
	if err := f.q.Keep(ctx); query.KindOf(err) != query.KindCorruption {
		t.Errorf("the damage is not reported: %v", err)
	}
	f.one("c")
	must(t, f.db.Table("queues").DeleteRange(ctx, everything))
}

func TestResultsExpire(t *testing.T) {
	f := begin(t)
	id := f.enqueue("acme", queue.Item{KeepResult: time.Hour})
	job := f.one("acme")
	f.do(func(tx *query.Tx) error { return job.Complete(ctx, tx, []byte("42")) })
	f.pass(time.Hour - time.Second)
	must(t, f.q.Keep(ctx))
	if i := f.get("acme", id); string(i.Result) != "42" || i.State != queue.Done {
		t.Errorf("it is %v with the result %q", i.State, i.Result)
	}
	f.pass(time.Second)
	must(t, f.q.Keep(ctx))
	err := f.db.Update(ctx, func(tx *query.Tx) error {
		_, err := f.q.Get(ctx, tx, "acme", id)
		return err
	})
	wantErr(t, err, queue.ErrNotFound)
}

func TestUniqueKeys(t *testing.T) {
	f := begin(t)
	again := func(i queue.Item) error {
		i.Type, i.Unique = "mail", "u"
		return f.db.Update(ctx, func(tx *query.Tx) error {
			_, err := f.q.Enqueue(ctx, tx, "acme", i)
			return err
		})
	}
	must(t, again(queue.Item{}))
	wantErr(t, again(queue.Item{}), queue.ErrDuplicate)
	f.enqueue("other", queue.Item{Unique: "u"}) // keys are those of a zone
	job := f.one("acme")
	wantErr(t, again(queue.Item{}), queue.ErrDuplicate)
	must(t, f.complete(job))
	must(t, again(queue.Item{UniqueFor: time.Hour}))
	must(t, f.complete(f.one("acme")))
	wantErr(t, again(queue.Item{}), queue.ErrDuplicate)
	f.pass(time.Hour)
	must(t, again(queue.Item{})) // whether the key was removed or not
	must(t, f.q.Keep(ctx))
	wantErr(t, again(queue.Item{}), queue.ErrDuplicate)
	job = f.one("acme")
	f.do(func(tx *query.Tx) error { return job.Bury(ctx, tx, errors.New("x")) })
	must(t, again(queue.Item{}))
	wantErr(t, f.db.Update(ctx, func(tx *query.Tx) error { return f.q.Replay(ctx, tx, "acme", job.ID()) }), queue.ErrDuplicate)
	must(t, f.complete(f.one("acme")))
	f.do(func(tx *query.Tx) error { return f.q.Replay(ctx, tx, "acme", job.ID()) })
	wantErr(t, again(queue.Item{}), queue.ErrDuplicate)
}

// A duplicate is told in a transaction that goes on.
func TestADuplicateEndsNoTransaction(t *testing.T) {
	f := begin(t)
	first := f.enqueue("acme", queue.Item{Unique: "u"})
	f.do(func(tx *query.Tx) error {
		id, err := f.q.Enqueue(ctx, tx, "acme", queue.Item{Type: "mail", Unique: "u"})
		wantErr(t, err, queue.ErrDuplicate)
		if id != first || query.KindOf(err) != query.KindAlreadyExists {
			t.Errorf("the holder is %v, want %v: %v", id, first, err)
		}
		_, err = f.q.Enqueue(ctx, tx, "acme", queue.Item{Type: "mail", Payload: fmt.Append(nil, id)})
		return err
	})
	if s := f.stats("acme"); s.Ready != 2 {
		t.Errorf("there are %+v", s)
	}
}
