package standby_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/standby"
)

// nextChanges are the rows of the next changes of a table, and the token after the last one.
func nextChanges(t *testing.T, db *query.DB, n int, from query.ChangesOption) (rows []string, token string) {
	t.Helper()
	if n == 0 {
		return nil, ""
	}
	for c, err := range db.Table("a").Changes(t.Context(), from) {
		must(t, err)
		if c.Watermark > c.Time {
			t.Errorf("the change of %s at %d is below the watermark %d", c.Key, c.Time, c.Watermark)
		}
		rows, token = append(rows, c.Key), c.Token()
		if len(rows) == n {
			break
		}
	}
	return rows, token
}

// The changes of a primary are read at its standby too, in the same order and with the same
// tokens: a reader goes on at either of them, and after a promotion, also of another server.
func TestChangesAtAStandby(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	a := table("a", "f")
	a.ChangeStream = 24 * time.Hour
	declare(t, p.db, a)
	dir, other := filepath.Join(t.TempDir(), "standby"), filepath.Join(t.TempDir(), "other")
	s, o := follow(t, dir, p.addr), follow(t, other, p.addr)
	must(t, try(t, p.db, "0"))
	must(t, try(t, p.db, "0")) // of these two, the second one has the place of the first in its note
	awaitPosition(t, p, s)
	awaitPosition(t, p, o)
	began := p.db.Now().Time()
	live := make(chan string, 1)
	first := make(chan struct{})
	begun := sync.OnceFunc(func() { close(first) })
	go func() { // from now on
		defer close(live)
		for c, err := range s.DB().Table("a").Changes(t.Context(), query.Heartbeats(time.Millisecond)) {
			switch {
			case err != nil:
				t.Error(err)
				return
			case !c.Heartbeat():
				live <- c.Key
				return
			default:
				begun()
			}
		}
	}()
	<-first
	for i := range 9 {
		must(t, try(t, p.db, fmt.Sprint(i+1)))
	}
	if row := <-live; row != "1" {
		t.Errorf("a reader at the standby begins with the change of %q", row)
	}
	awaitPosition(t, p, s)
	awaitPosition(t, p, o)
	var all []string
	token := ""
	for _, from := range []struct {
		db *query.DB
		n  int
	}{{s.DB(), 3}, {p.db, 2}, {o.DB(), 2}, {s.DB(), 2}} {
		since := query.ChangesSince(began)
		if token != "" {
			since = query.ChangesAfter(token)
		}
		rows, next := nextChanges(t, from.db, from.n, since)
		all, token = append(all, rows...), next
	}
	if got := fmt.Sprint(all); got != "[1 2 3 4 5 6 7 8 9]" {
		t.Errorf("the changes are of %s", got)
	}
	awaitPosition(t, p, o)
	n := promote(t, s, dir)
	must(t, o.Redirect(n.addr))
	must(t, try(t, n.db, "a"))
	must(t, try(t, n.db, "b"))
	rows, token := nextChanges(t, o.DB(), 1, query.ChangesAfter(token))
	more, _ := nextChanges(t, n.db, 1, query.ChangesAfter(token))
	if got := fmt.Sprint(rows, more); got != "[a] [b]" {
		t.Errorf("after the promotion the changes are of %s", got)
	}
	ended := make(chan error, 1)
	go func() {
		for _, err := range o.DB().Table("a").Changes(context.Background(), query.Heartbeats(time.Millisecond)) {
			if err != nil {
				ended <- err
			}
		}
	}()
	must(t, n.db.SetChangeStream(t.Context(), "a", 0))
	if err := <-ended; !errors.Is(err, query.ErrNoChangeStream) {
		t.Errorf("a stream that its primary has ended: %v", err)
	}
}

// A token of the primary that is ahead of a standby is not one whose changes are gone: the
// reader tries again.
func TestATokenAheadOfAStandby(t *testing.T) {
	t.Parallel()
	p, first, _ := streamed(t)
	awaitPosition(t, p, first)
	began := p.db.Now().Time()
	p.primary.Service().Stop()
	p.served.Stop()
	await(t, "the standby is connected", func() bool { _, connected := first.Lag(); return !connected })
	must(t, try(t, p.db, "ahead"))
	_, token := nextChanges(t, p.db, 1, query.ChangesSince(began))
	for _, err := range first.DB().Table("a").Changes(t.Context(), query.ChangesAfter(token)) {
		if query.KindOf(err) != query.KindUnavailable || errors.Is(err, query.ErrChangesGone) || !strings.Contains(err.Error(), "not yet the changes") {
			t.Errorf("a token ahead of the standby: %v", err)
		}
		break
	}
	p.close()
	p.open()
	awaitPosition(t, p, first)
	must(t, try(t, p.db, "next"))
	if rows, _ := nextChanges(t, first.DB(), 1, query.ChangesAfter(token)); fmt.Sprint(rows) != "[next]" {
		t.Errorf("after the token there are the changes of %v", rows)
	}
}

// streamed is a primary whose table "a" has a change stream, a standby of it, and a standby of
// that one.
func streamed(t *testing.T) (p *node, first, second *standby.Standby) {
	t.Helper()
	p = newPrimary(t, 0)
	a := table("a", "f")
	a.ChangeStream = 24 * time.Hour
	declare(t, p.db, a)
	first = follow(t, filepath.Join(t.TempDir(), "first"), p.addr)
	addr := "127.0.0.1:0"
	served := serve(t, first.Service(), &addr)
	t.Cleanup(func() { first.Service().Stop(); served.Stop() })
	second = follow(t, filepath.Join(t.TempDir(), "second"), addr)
	must(t, try(t, p.db, "first"))
	must(t, try(t, p.db, "first")) // from here on, the standbys know what they have
	return p, first, second
}

// The log of a standby begins with its copy. So the changes since an earlier time are refused
// there, also after its promotion; those since a later time are not, whether there is one or not.
func TestChangesBeforeACopy(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	a := table("a", "f")
	a.ChangeStream = 24 * time.Hour
	declare(t, p.db, a)
	before := p.db.Now().Time()
	must(t, try(t, p.db, "before"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	changes := func(db *query.DB, since time.Time) (rows []string, err error) {
		for c, err := range db.Table("a").Changes(t.Context(), query.ChangesSince(since), query.ChangesUntil(p.db.Now().Time())) {
			if err != nil {
				return nil, err
			}
			rows = append(rows, c.Key)
		}
		return rows, nil
	}
	// Before a commit the log does not tell when it begins. The catalog does, up to a second.
	await(t, "the changes since the copy are refused", func() bool {
		rows, err := changes(s.DB(), p.db.Now().Time())
		if err != nil && !errors.Is(err, query.ErrChangesGone) || len(rows) > 0 {
			t.Fatal(rows, err)
		}
		return err == nil
	})
	must(t, try(t, p.db, "1"))
	must(t, try(t, p.db, "2"))
	after := p.db.Now().Time()
	must(t, try(t, p.db, "3"))
	awaitPosition(t, p, s)
	test := func(who string, db *query.DB) {
		if rows, err := changes(db, before); !errors.Is(err, query.ErrChangesGone) {
			t.Errorf("%s: the changes since a time before the copy: %q, %v", who, rows, err)
		}
		if rows, err := changes(db, after); fmt.Sprint(rows) != "[3]" {
			t.Errorf("%s: the changes since a time after the copy: %q, %v", who, rows, err)
		}
	}
	if rows, err := changes(p.db, before); fmt.Sprint(rows) != "[before 1 2 3]" {
		t.Errorf("at the primary: %q, %v", rows, err)
	}
	test("at the standby", s.DB())
	test("after the promotion", promote(t, s, dir).db)
}

// A primary that writes nothing tells its standbys how late it is: readings there end, and
// their watermarks go on. Nothing is written for that.
func TestChangesOfAnIdlePrimary(t *testing.T) {
	t.Parallel()
	p, first, second := streamed(t)
	awaitPosition(t, p, first)
	awaitPosition(t, p, second)
	began := p.db.Now().Time()
	for i := range 3 {
		must(t, try(t, p.db, fmt.Sprint(i)))
	}
	before := position(t, p.primary)
	for _, s := range []*standby.Standby{first, second} {
		var rows []string
		for c, err := range s.DB().Table("a").Changes(t.Context(), query.ChangesSince(began), query.ChangesUntil(p.db.Now().Time())) {
			must(t, err)
			rows = append(rows, c.Key)
		}
		if got := fmt.Sprint(rows); got != "[0 1 2]" {
			t.Errorf("the changes until now are of %s", got)
		}
		for _, err := range s.DB().Table("a").Changes(t.Context(), query.ChangesUntil(p.db.Now().Time())) {
			t.Errorf("there is a change from now until now (%v)", err)
		}
		grown, last := 0, cells.Timestamp(0)
		for c, err := range s.DB().Table("a").Changes(t.Context(), query.Heartbeats(time.Millisecond)) {
			must(t, err)
			if c.Watermark > last {
				grown, last = grown+1, c.Watermark
			}
			if grown == 3 {
				break
			}
		}
	}
	if after := position(t, p.primary); after != before {
		t.Errorf("position %d has become %d without a write", before, after)
	}
}

// While the primary is written, no change comes at a standby with a time before the watermark
// that was told before.
func TestWatermarksAtAStandby(t *testing.T) {
	t.Parallel()
	p, first, second := streamed(t)
	awaitPosition(t, p, first)
	awaitPosition(t, p, second)
	began := p.db.Now().Time()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writers, readers sync.WaitGroup
	written := make([]int, 4)
	for w := range written {
		writers.Go(func() {
			for ctx.Err() == nil {
				if err := try(t, p.db, fmt.Sprint(w, written[w])); err != nil {
					t.Error(err)
					return
				}
				if written[w]++; written[w]%64 == w { // between its beats the primary says its time only with records
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	read := make([]int, 2)
	ends := make(chan cells.Timestamp, len(read))
	for i, s := range []*standby.Standby{first, second} {
		readers.Go(func() {
			defer stop()
			told, grown, until := cells.Timestamp(0), 0, cells.Timestamp(0)
			for c, err := range s.DB().Table("a").Changes(t.Context(), query.ChangesSince(began), query.Heartbeats(time.Millisecond)) {
				if err != nil {
					t.Error(err)
					return
				}
				switch {
				case !c.Heartbeat():
					if read[i]++; c.Time < told {
						t.Errorf("the change of %s has the time %d, and the watermark was %d", c.Key, c.Time, told)
					}
				case c.Watermark > told:
					if grown++; grown == 20 {
						stop()
					}
				}
				told = max(told, c.Watermark)
				if grown >= 20 && until == 0 {
					until = <-ends
				}
				if until != 0 && told > until {
					return
				}
			}
		})
	}
	writers.Wait()
	for range read {
		ends <- p.db.Now()
	}
	readers.Wait()
	all := 0
	for _, n := range written {
		all += n
	}
	for i, n := range read {
		if n != all {
			t.Errorf("standby %d has told %d of %d changes", i+1, n, all)
		}
	}
}
