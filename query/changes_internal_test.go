package query

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A commit under way stops the watermark. It does not delay a reader that begins.
func TestAReadingBeginsBesideACommitUnderWay(t *testing.T) {
	db, err := OpenInMemory(Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", ChangeStream: schema.MinChangeStream}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	taken, goAhead, over := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		over <- db.state.Changes.Commit(ctx, &db.state.Clock, func(note func(*cf.Batch) error) (cf.Position, error) {
			err := note(new(cf.Batch))
			close(taken)
			<-goAhead
			return 0, err
		})
	}()
	<-taken
	began := db.Now()
	time.Sleep(time.Millisecond)
	beats := 0
	for c, err := range db.Table("t").Changes(ctx, ChangesSince(db.Now().Time()), ChangesUntil(db.Now().Time()), Heartbeats(time.Millisecond)) {
		if err != nil {
			t.Fatal(err)
		}
		switch beats++; {
		case beats > 1 && beats < 5 && c.Watermark > db.Now():
			t.Errorf("the watermark is %d, and a commit of %d or before is under way", c.Watermark, began)
		case beats == 5:
			close(goAhead) // so the loop ends
		}
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
	if beats < 5 {
		t.Errorf("the reading ended after %d heartbeats, before a commit of its time", beats)
	}
}

// slowCommits makes a commit of a row wait between taking its timestamp and entering
// the log.
type slowCommits struct {
	cf.Store
	row            string
	taken, goAhead chan struct{}
}

func (s slowCommits) Update(ctx context.Context, rows []cf.RowID, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	return s.Store.Update(ctx, rows, func(snap cf.Snapshot, b *cf.Batch) error {
		err := fn(snap, b)
		if len(rows) == 1 && rows[0].Row == s.row {
			close(s.taken)
			<-s.goAhead
		}
		return err
	})
}

// A reading until a time, and a reading that continues from its last token, together
// have every change, even if the log has a change after one with a later time.
func TestAReadingUntilATimeLeavesNothingOut(t *testing.T) {
	db, err := OpenInMemory(Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", ChangeStream: schema.MinChangeStream, Families: []schema.Family{{Name: "f"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	began := db.Now().Time()
	put := func(key string) {
		m := write.NewMutation()
		m.Set("f", "q", cells.I64(1))
		if err := db.Table("t").Apply(ctx, key, m); err != nil {
			t.Error(err)
		}
	}
	slow := slowCommits{db.state.Store, "early", make(chan struct{}), make(chan struct{})}
	db.state.Store = slow
	done := make(chan struct{})
	go func() { put("early"); close(done) }()
	<-slow.taken
	put("between")
	until := db.state.Clock.Latest()
	put("late")
	put("later")
	close(slow.goAhead)
	<-done
	put("last")

	var keys []string
	var token string
	for c, err := range db.Table("t").Changes(ctx, ChangesSince(began), ChangesUntil(until.Time())) {
		if err != nil {
			t.Fatal(err)
		}
		keys, token = append(keys, c.Key), c.Token()
	}
	if want := []string{"between", "late", "later", "early"}; !slices.Equal(keys, want) {
		t.Errorf("until the time of %s there are %s", want[0], keys)
	}
	for c, err := range db.Table("t").Changes(ctx, ChangesAfter(token), ChangesUntil(db.state.Clock.Latest().Time())) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, c.Key)
	}
	if want := []string{"between", "late", "later", "early", "last"}; !slices.Equal(keys, want) {
		t.Errorf("together there are %s, want %s", keys, want)
	}
}

// lateCommits runs a function between the function of a transaction and its commit.
type lateCommits struct {
	cf.Store
	before func()
}

type lateTxn struct {
	cf.Txn
	before func()
}

func (s lateCommits) Begin(ctx context.Context) (cf.Txn, error) {
	txn, err := s.Store.Begin(ctx)
	return lateTxn{txn, s.before}, err
}

func (t lateTxn) Commit(ctx context.Context, last func(*cf.Batch) error) (cf.Position, error) {
	t.before()
	return t.Txn.Commit(ctx, last)
}

// A transaction that writes a row without reading it does not run again because of
// other writes of the row. The times of the row's changes still ascend.
func TestATransactionTakesItsTimeUnderItsLocks(t *testing.T) {
	db, err := OpenInMemory(Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", ChangeStream: schema.MinChangeStream, Families: []schema.Family{{Name: "f"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, began := t.Context(), db.Now().Time()
	put := func(apply func(string, *write.Mutation) error, ts cells.Timestamp) {
		m := write.NewMutation()
		m.SetAt("f", "q", ts, cells.I64(int64(ts)))
		if err := apply("r", m); err != nil {
			t.Error(err)
		}
	}
	plain := func(key string, m *write.Mutation) error { return db.Table("t").Apply(ctx, key, m) }
	db.state.Store = lateCommits{db.state.Store, func() { put(plain, 2) }}
	runs := 0
	if err := db.Update(ctx, func(tx *Tx) error {
		runs++
		put(plain, 1)
		put(func(key string, m *write.Mutation) error { return tx.Apply(ctx, "t", key, m) }, 3)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if runs != 1 {
		t.Errorf("the transaction ran %d times", runs)
	}
	var got []cells.Timestamp
	last := cells.Timestamp(0)
	for c, err := range db.Table("t").Changes(ctx, ChangesSince(began), ChangesUntil(db.state.Clock.Latest().Time())) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, c.Changes[0].Since); c.Time <= last {
			t.Errorf("the change of %d has the time %d, the one before it %d", c.Changes[0].Since, c.Time, last)
		}
		last = c.Time
	}
	if want := []cells.Timestamp{1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("changes %d, want %d", got, want)
	}
}
