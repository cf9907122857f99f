//go:build cgo

package standby_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
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
	awaitPosition(t, p, s)
	awaitPosition(t, p, o)
	began := p.db.Now().Time()
	live := make(chan string, 1)
	first := make(chan struct{})
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
			case first != nil:
				close(first)
				first = nil
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
