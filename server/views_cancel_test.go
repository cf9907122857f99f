package server_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/views"
)

// stepped is a context that is cancelled when it has been looked at a number of times. So
// a call with it ends at any of its steps.
type stepped struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func cancelAfter(ctx context.Context, steps int) *stepped {
	ctx, cancel := context.WithCancel(ctx)
	s := &stepped{Context: ctx, cancel: cancel}
	s.left.Store(int64(steps))
	return s
}

func (s *stepped) step() {
	if s.left.Add(-1) == 0 {
		s.cancel()
	}
}

func (s *stepped) Err() error {
	s.step()
	return s.Context.Err()
}

func (s *stepped) Done() <-chan struct{} {
	s.step()
	return s.Context.Done()
}

// keptViews are the materialized views of the tests here, and their queries.
var keptViews = map[string]string{
	"counts": "SELECT f['k'] AS k, COUNT(*) AS n, MIN(n['i']) AS lo FROM t WHERE f['k'] IS NOT NULL GROUP BY k",
	"index":  "SELECT n['i'] AS i, _key AS row FROM t WHERE n['i'] IS NOT NULL ORDER BY i, row",
}

// atHand is a database whose views are read in its own process.
type atHand struct {
	*rig
	now  atomic.Int64 // microseconds
	rand *rand.Rand
}

func newAtHand(t *testing.T, seed uint64) *atHand {
	t.Helper()
	t.Logf("seed %d", seed)
	h := &atHand{rig: &rig{t: t}, rand: rand.New(rand.NewPCG(seed, 2))}
	h.now.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
	var err error
	h.db, err = query.OpenInMemory(query.Options{GCInterval: -1, Clock: func() time.Time { return time.UnixMicro(h.now.Load()) }})
	h.must(err)
	t.Cleanup(func() { h.must(h.db.Close()) })
	h.must(h.db.CreateTable(h.ctx(), schema.Table{Name: "t", Families: []schema.Family{
		{Name: "f", GC: schema.MaxAge(time.Hour)}, {Name: "n", Type: cells.TypeI64},
	}}))
	return h
}

func (h *atHand) createViews() {
	h.t.Helper()
	for id, text := range keptViews {
		h.must(createView(h.ctx(), views.Of(h.db), id, text, true))
	}
}

// write changes some rows, and moves the clock.
func (h *atHand) write(rows int) {
	h.t.Helper()
	h.now.Add(int64(rows) * time.Second.Microseconds())
	var keys []string
	var ms []*write.Mutation
	for range rows {
		m := write.NewMutation()
		switch h.rand.IntN(8) {
		case 0:
			m.DeleteRow()
		default:
			m.Set("f", "k", cells.Bytes(fmt.Appendf(nil, "g%d", h.rand.IntN(4))))
			m.Set("n", "i", cells.I64(h.rand.Int64N(50)))
		}
		keys, ms = append(keys, fmt.Sprintf("r%03d", h.rand.IntN(400))), append(ms, m)
	}
	_, err := h.db.Table("t").ApplyBulk(h.ctx(), keys, ms)
	h.must(err)
}

// rowsOf are the rows of a query, sorted.
func (h *atHand) rowsOf(ctx context.Context, of *views.Views, text string) (rows []string, err error) {
	res, err := of.Query(ctx, text)
	if err != nil {
		return nil, err
	}
	for row, err := range res.Rows {
		if err != nil {
			return nil, err
		}
		rows = append(rows, fmt.Sprint(row...))
	}
	slices.Sort(rows)
	return rows, nil
}

// check compares each view with its query over the table.
func (h *atHand) check(of *views.Views, when string) {
	h.t.Helper()
	for id, text := range keptViews {
		want, err := h.rowsOf(h.ctx(), of, text)
		h.must(err)
		got, err := h.rowsOf(h.ctx(), of, "SELECT * FROM "+id)
		h.must(err)
		if !slices.Equal(got, want) {
			h.t.Fatalf("%s, view %s has %d rows\n%s\nwant %d\n%s", when, id, len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
		}
	}
}

// wantCanceled fails unless an error is that of a context that has ended.
func (h *atHand) wantCanceled(err error) {
	h.t.Helper()
	if err != nil && query.KindOf(err) != query.KindCanceled && !errors.Is(err, context.Canceled) {
		h.t.Fatal(err)
	}
}

// A call that ends early gives back the rows that it had taken, at whatever step it ends:
// the next call equals the query, also with other Views.
func TestACancelledCallOfAViewLosesNoWrite(t *testing.T) {
	h := newAtHand(t, rand.Uint64())
	h.createViews()
	h.check(views.Of(h.db), "at the beginning")
	ended := false
	for steps := 1; !ended; steps += 1 + steps/5 {
		of := views.Of(h.db)
		h.write(150) // more than one transaction takes
		cx := cancelAfter(h.ctx(), steps)
		_, err := h.rowsOf(cx, of, "SELECT * FROM counts")
		h.wantCanceled(err)
		ended = err == nil && cx.left.Load() > 0
		if h.rand.IntN(2) == 0 { // the same call again
			of = views.Of(h.db)
		}
		h.check(of, fmt.Sprintf("after a cancel at step %d", steps))
	}
}

// The creation of a view can end at any step as well.
func TestACancelledCreationOfAViewIsReadOn(t *testing.T) {
	h := newAtHand(t, rand.Uint64())
	h.write(300)
	of := views.Of(h.db)
	ended := false
	for steps := 1; !ended; steps += 1 + steps/3 {
		h.write(20)
		cx := cancelAfter(h.ctx(), steps)
		err := createView(cx, of, "counts", keptViews["counts"], true)
		h.wantCanceled(err)
		ended = err == nil && cx.left.Load() > 0
		h.write(20)
		err = createView(h.ctx(), of, "counts", keptViews["counts"], true)
		if err != nil && query.KindOf(err) != query.KindAlreadyExists {
			t.Fatal(err)
		}
		got, err := h.rowsOf(h.ctx(), views.Of(h.db), "SELECT * FROM counts")
		h.must(err)
		want, err := h.rowsOf(h.ctx(), of, keptViews["counts"])
		h.must(err)
		if !slices.Equal(got, want) {
			t.Fatalf("after a cancel at step %d the view is %q, want %q", steps, got, want)
		}
		h.must(of.Drop(h.ctx(), views.View{Name: "counts", Materialized: true}))
	}
}

// Two callers, a server with its keepers, and views that come, go and
// are made anew meanwhile: at each quiet moment everybody sees all writes.
func TestViewsOfOneDatabaseTakeTurns(t *testing.T) {
	h := newAtHand(t, rand.Uint64())
	serve(t, h.db, server.Options{})
	h.createViews()
	callers := []*views.Views{views.Of(h.db), views.Of(h.db)}
	for round := range 8 {
		var working sync.WaitGroup
		for i, of := range callers {
			for range 2 { // concurrent calls of one
				r := rand.New(rand.NewPCG(h.rand.Uint64(), uint64(i)))
				working.Go(func() {
					for range 3 {
						_, err := h.rowsOf(cancelAfter(h.ctx(), 1+r.IntN(4000)), of, "SELECT * FROM index")
						h.wantCanceled(err)
					}
				})
			}
		}
		for range 4 {
			h.write(40)
		}
		switch h.rand.IntN(4) {
		case 0:
			h.must(callers[round%2].Drop(h.ctx(), views.View{Name: "counts", Materialized: true}))
			h.must(createView(h.ctx(), callers[round%2], "counts", keptViews["counts"], true))
		case 1:
			h.must(h.db.SetFamily(h.ctx(), "t", schema.Family{Name: "f", GC: schema.MaxAge(time.Duration(1+h.rand.IntN(3)) * time.Hour)}))
		}
		h.write(40)
		working.Wait()
		for i, of := range callers {
			h.check(of, fmt.Sprintf("round %d, caller %d", round, i))
		}
	}
}

// What a server leaves undone when it stops, the next server on the same open database
// finds.
func TestAViewSurvivesTheServerThatKeptIt(t *testing.T) {
	h := newAtHand(t, rand.Uint64())
	h.createViews()
	for round := range 3 {
		r := serve(t, h.db, server.Options{})
		c := r.dialled()
		h.write(400)
		res, err := c.Query(cancelAfter(h.ctx(), 1+h.rand.IntN(40)), "SELECT * FROM counts")
		if err == nil {
			for range res.Rows {
				break
			}
		}
		h.must(c.Close())
		r.stop()
		h.check(views.Of(h.db), fmt.Sprintf("after server %d", round))
	}
}

// A process that only reads never shows a view that misses rows: it refuses to, until the
// process that writes has taken the rows over.
func TestAViewReadBesideItsWriterIsWholeOrRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db, err := query.Open(dir, query.Options{GCInterval: -1, Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "n", Type: cells.TypeI64}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h := &atHand{rig: &rig{t: t, db: db}, rand: rand.New(rand.NewPCG(1, 2))}
	h.write(50)
	h.createViews()
	h.check(views.Of(db), "at the writer")
	other, err := query.OpenReadOnly(dir, query.Options{})
	h.must(err)
	defer other.Close()
	for range 3 {
		reader := &atHand{rig: &rig{t: t, db: other}}
		h.must(other.Refresh(h.ctx()))
		reader.check(views.Of(other), "beside the writer")
		h.write(50)
		h.must(other.Refresh(h.ctx()))
		for range 2 {
			if _, err := reader.rowsOf(h.ctx(), views.Of(other), "SELECT * FROM counts"); query.KindOf(err) != query.KindFailedPrecondition {
				t.Fatalf("a view with rows to take over: %v", err)
			}
		}
		h.check(views.Of(db), "at the writer")
	}
}
