package standby_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/standbys"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/testaddr"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/standby"
)

// promote makes a standby a primary that is served at an address, and closes the standby.
func promote(t *testing.T, s *standby.Standby, dir string) *node {
	t.Helper()
	n := &node{t: t, dir: dir, addr: testaddr.New(t)}
	p, err := s.Promote(t.Context(), n.addr, query.DurabilitySync)
	must(t, err)
	n.take(p)
	must(t, s.Close())
	t.Cleanup(n.close)
	return n
}

// take serves a primary that was promoted.
func (n *node) take(p *standby.Promotion) {
	n.t.Helper()
	n.primary = p.Primary
	var err error
	n.db, err = query.Open(n.dir, query.Options{Memory: 16 << 20, Standbys: p.Primary.Hook(), GCInterval: -1})
	must(n.t, err)
	n.served = serve(n.t, p.Primary.Service(), &n.addr)
}

// try writes a row.
func try(t *testing.T, db *query.DB, row string) error {
	t.Helper()
	m := write.NewMutation()
	m.Set("f", "q", cells.String("v"))
	return db.Table("a").Apply(t.Context(), row, m)
}

// awaitFenced waits until a primary takes no writes.
func awaitFenced(t *testing.T, db *query.DB, leader string) {
	t.Helper()
	for at := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := try(t, db, "tail")
		if errors.Is(err, query.ErrReadOnly) && query.KindOf(err) == query.KindFailedPrecondition && strings.Contains(err.Error(), leader) {
			return
		}
		if time.Since(at) > 5*time.Minute {
			t.Fatalf("after five minutes the old primary writes still: %v", err)
		}
	}
}

// awaitPosition waits until a standby has all changes of its primary.
func awaitPosition(t *testing.T, p *node, s *standby.Standby) {
	t.Helper()
	for at := time.Now(); s.Position() != position(t, p.primary); time.Sleep(5 * time.Millisecond) {
		if time.Since(at) > 5*time.Minute {
			t.Fatalf("after five minutes the standby has position %d (%v)", s.Position(), s.Err())
		}
	}
}

// lastPosition is the position of a database that is not open.
func lastPosition(t *testing.T, dir string) uint64 {
	t.Helper()
	store, err := standby.OpenTailStore(dir)
	must(t, err)
	defer store.Close()
	return uint64(store.Latest())
}

func has(t *testing.T, db *query.DB, row string) bool {
	t.Helper()
	r, err := db.Table("a").ReadRow(t.Context(), row)
	must(t, err)
	return r.Len() > 0
}

func TestAPromotedStandbyHasWhatItWasSent(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f", "g"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	for i := range 50 {
		must(t, try(t, p.db, fmt.Sprint("acknowledged", i)))
	}
	load(t, p.db, "a", 0, 100, "loaded")
	awaitPosition(t, p, s)
	want, err := contents(p.db)
	must(t, err)
	n := &node{t: t, dir: dir, addr: testaddr.New(t)}
	done, err := s.Promote(t.Context(), n.addr, query.DurabilitySync)
	must(t, err)
	if got, err := contents(s.DB()); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the standby's reads after the promotion: %v", err)
	}
	n.take(done)
	t.Cleanup(n.close)
	must(t, s.Close())
	if got, err := contents(n.db); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the promoted standby has other rows than its primary had (%v)", err)
	}
	syncs := func() int64 {
		stats, err := n.db.Stats(t.Context())
		must(t, err)
		return stats.Log.Syncs
	}
	before := syncs()
	must(t, try(t, n.db, "new"))
	if syncs() == before {
		t.Error("a write of the new primary was acknowledged without a sync")
	}
	declare(t, n.db, table("b", "f"))
	load(t, n.db, "a", 100, 200, "loaded there")
	awaitFenced(t, p.db, n.addr)
	if !has(t, p.db, "acknowledged0") {
		t.Error("a fenced primary serves no reads")
	}
	if _, err := s.Promote(t.Context(), n.addr, query.DurabilitySync); err == nil {
		t.Error("a standby was promoted twice")
	}
	n.close()
	n.open()
	if !has(t, n.db, "new") {
		t.Error("a write of the new primary is gone when it is opened again")
	}
}

// Writes that come while a standby is promoted are acknowledged by the old primary and
// stay there, or are refused. The new primary has all of them up to one, and none after it.
func TestAPromotionUnderWrites(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	acknowledged, refused := make(chan int, 1), make(chan error, 1)
	go func() {
		m := write.NewMutation()
		m.Set("f", "q", cells.String("v"))
		for i := 0; ; i++ {
			if err := p.db.Table("a").Apply(context.Background(), fmt.Sprintf("%06d", i), m); err != nil {
				acknowledged <- i
				refused <- err
				return
			}
		}
	}()
	for start := s.Position(); s.Position() < start+50; time.Sleep(time.Millisecond) {
		must(t, s.Err())
	}
	n := promote(t, s, dir)
	all := <-acknowledged
	if err := <-refused; !errors.Is(err, query.ErrReadOnly) {
		t.Errorf("the last write fails with %v", err)
	}
	there, err := contents(n.db)
	must(t, err)
	here, err := contents(p.db)
	must(t, err)
	if len(here["a"]) != all {
		t.Errorf("the old primary has %d of %d rows that it has acknowledged", len(here["a"]), all)
	}
	if got := there["a"]; len(got) == 0 || len(got) > all || !slices.Equal(got, here["a"][:len(got)]) {
		t.Errorf("the new primary has %d rows, the one before %d, and they do not begin alike", len(got), all)
	}
}

// A primary that was fenced stays so when it is opened again.
func TestAFencedPrimaryStaysFenced(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	must(t, try(t, p.db, "row"))
	awaitPosition(t, p, s)
	n := promote(t, s, dir)
	awaitFenced(t, p.db, n.addr)
	p.close()
	if _, err := query.Open(p.dir, query.Options{}); query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("a fenced primary was opened for writing: %v", err)
	}
	fenced, err := standby.Open(t.Context(), p.dir, standby.Options{})
	must(t, err)
	defer fenced.Close()
	awaitFenced(t, fenced.DB(), n.addr)
	if !has(t, fenced.DB(), "row") {
		t.Error("a fenced primary that was opened again serves no reads")
	}
	if all, err := fenced.Service().ListReplicas(t.Context(), nil); err != nil || all.GetFencedBy() != n.addr || all.GetStandby() {
		t.Errorf("%v, %v", all, err)
	}
}

// A primary that was not there when a standby was promoted hears of it when it is back,
// and again by any standby that has followed the new one.
func TestAPrimaryThatComesBackIsFenced(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"the new primary", "a standby"} {
		t.Run(strings.ReplaceAll(by, " ", "-"), func(t *testing.T) {
			p := newPrimary(t, 0)
			declare(t, p.db, table("a", "f"))
			dir, other := filepath.Join(t.TempDir(), "standby"), filepath.Join(t.TempDir(), "other")
			s := follow(t, dir, p.addr)
			awaitPosition(t, p, s)
			must(t, follow(t, other, p.addr).Close())
			p.close()
			n := promote(t, s, dir)
			if by == "a standby" {
				moved := follow(t, other, n.addr)
				awaitPosition(t, n, moved)
				must(t, moved.Close())
				n.close() // it tells no longer
			}
			p.open()
			if by == "a standby" {
				follow(t, other, p.addr)
			}
			awaitFenced(t, p.db, n.addr)
		})
	}
}

// A service that first does not say what it is.
type changesItsRole struct {
	standbys.Service
	asked atomic.Bool
}

func (s *changesItsRole) ListReplicas(ctx context.Context, req *smolwcpb.ListReplicasRequest) (*smolwcpb.ListReplicasResponse, error) {
	if !s.asked.Swap(true) {
		return nil, status.Error(codes.Unavailable, "this standby is being rebuilt")
	}
	return s.Service.ListReplicas(ctx, req)
}

// A primary that comes back as a standby of the new one needs no fence, and nobody is told to
// see to it.
func TestAPrimaryThatComesBackAsAStandby(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir, said := filepath.Join(t.TempDir(), "standby"), new(heard)
	s, err := standby.Open(t.Context(), dir, standby.Options{Primary: p.addr, Retry: time.Millisecond, Database: query.Options{Memory: 16 << 20, Logger: slog.New(slog.NewTextHandler(said, nil))}})
	must(t, err)
	must(t, try(t, p.db, "both")) // so that the log of the standby reaches back to it
	awaitPosition(t, p, s)
	p.close()
	n := promote(t, s, dir)
	back := follow(t, p.dir, n.addr)
	awaitPosition(t, n, back)
	served := serve(t, &changesItsRole{Service: back.Service()}, &p.addr)
	defer served.Stop()
	await(t, "the new primary does not say that the one before is fenced", func() bool { return said.has("fenced the old primary; it accepts no writes") })
	if said.has("could not fence the old primary") {
		t.Error("the new primary warns of one that is its standby")
	}
}

// The tail of the old primary is as long as what the new one has written.
func TestAPrimaryWithATailIsRebuilt(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	must(t, try(t, p.db, "both"))
	awaitPosition(t, p, s)
	after := s.Position()
	p.close()
	n := promote(t, s, dir)
	must(t, try(t, n.db, "theirs"))
	lost := &node{t: t, dir: p.dir, addr: testaddr.New(t)} // where nobody fences it
	lost.open()
	must(t, try(t, lost.db, "tail"))
	for position(t, lost.primary) < position(t, n.primary) {
		must(t, try(t, lost.db, "tail"))
	}
	for position(t, n.primary) < position(t, lost.primary) {
		must(t, try(t, n.db, "theirs"))
	}
	ours := position(t, n.primary)
	lost.close()
	if theirs := lastPosition(t, p.dir); theirs != ours {
		t.Fatalf("positions %d and %d", theirs, ours)
	}

	back := rebuild(t, follow(t, p.dir, n.addr), fmt.Sprintf("after position %d are its own", after))
	awaitEqual(t, n.db, back)
	if has(t, back.DB(), "tail") || !has(t, back.DB(), "theirs") {
		t.Error("the old primary has not the rows of the new one")
	}
	kept, err := query.OpenReadOnly(p.dir+".diverged", query.Options{})
	must(t, err)
	defer kept.Close()
	if !has(t, kept, "tail") || has(t, kept, "theirs") {
		t.Error("the tail was not kept")
	}
	if text, err := os.ReadFile(filepath.Join(p.dir+".diverged", "DIVERGED")); err != nil || !strings.Contains(string(text), fmt.Sprintf(`"after":%d`, after)) {
		t.Errorf("%s, %v", text, err)
	}
}

// The files of a primary are kept aside in any case: nobody else may have them.
func TestAPrimaryThatFellBehindIsKept(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s, err := standby.Open(t.Context(), dir, standby.Options{Primary: p.addr, LogBytes: 1, Database: query.Options{Memory: 16 << 20}})
	must(t, err)
	must(t, try(t, p.db, "row"))
	awaitPosition(t, p, s)
	n := promote(t, s, dir)
	n.log = 1
	awaitFenced(t, p.db, n.addr)
	p.close()
	for i := range 3 {
		must(t, try(t, n.db, fmt.Sprint(i)))
		must(t, n.db.Table("a").Flush(t.Context()))
		n.close() // opening removes what is not kept
		n.open()
	}
	back := rebuild(t, follow(t, p.dir, n.addr), "no longer kept")
	awaitEqual(t, n.db, back)
	kept, err := query.OpenReadOnly(p.dir+".diverged", query.Options{})
	must(t, err)
	defer kept.Close()
	if !has(t, kept, "row") {
		t.Error("the files were not kept")
	}
	must(t, back.Close())
	db, err := query.OpenReadOnly(p.dir, query.Options{})
	must(t, err)
	must(t, db.Close())
	must(t, os.Remove(filepath.Join(p.dir, "STANDBY"))) // as a promotion does
	if _, err := standby.Open(t.Context(), p.dir, standby.Options{Primary: n.addr}); err == nil || !strings.Contains(err.Error(), "no later one") {
		t.Errorf("a directory with the epoch of its primary was adopted: %v", err)
	}
}

// A standby follows the new primary from its position; one that has more than it is copied
// anew.
func TestOtherStandbysFollowTheNewPrimary(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	base := t.TempDir()
	dir, same, ahead := filepath.Join(base, "standby"), filepath.Join(base, "same"), filepath.Join(base, "ahead")
	s, second, third := follow(t, dir, p.addr), follow(t, same, p.addr), follow(t, ahead, p.addr)
	must(t, try(t, p.db, "both"))
	for _, s := range []*standby.Standby{s, second, third} {
		awaitPosition(t, p, s)
	}
	must(t, second.Close())
	must(t, s.Close())
	must(t, try(t, p.db, "ahead"))
	awaitPosition(t, p, third)
	must(t, third.Close())
	p.close()
	s = follow(t, dir, p.addr)
	n := promote(t, s, dir)
	must(t, try(t, n.db, "new"))

	second = follow(t, same, n.addr)
	awaitEqual(t, n.db, second)
	third = rebuild(t, follow(t, ahead, n.addr), "are its own")
	awaitEqual(t, n.db, third)
	if left, _ := filepath.Glob(base + "/*.*"); fmt.Sprint(left) != "["+ahead+".diverged]" {
		t.Errorf("rebuilt: %v", left)
	}
}

// A primary goes on as a standby although nobody has written anything between the copy of the
// other server and its promotion.
func TestAPrimaryComesBackToANewCopy(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	must(t, try(t, p.db, "before"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	awaitPosition(t, p, s)
	n := promote(t, s, dir)
	<-p.primary.Service().Fenced()
	p.close()
	back := follow(t, p.dir, n.addr)
	must(t, try(t, n.db, "new"))
	awaitEqual(t, n.db, back)
	if left, _ := filepath.Glob(p.dir + ".*"); len(left) > 0 {
		t.Errorf("a primary without a tail was rebuilt: %v", left)
	}
}

// A primary that is stopped first writes nothing that its standby cannot have.
func TestAPrimaryThatWasStoppedComesBackWithoutACopy(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	must(t, try(t, p.db, "before"))
	awaitPosition(t, p, s)
	p.close()
	if at := lastPosition(t, p.dir); at != s.Position() {
		t.Errorf("the primary has position %d after it was closed, and its standby has %d", at, s.Position())
	}
	n := promote(t, s, dir)
	back := follow(t, p.dir, n.addr)
	must(t, try(t, n.db, "new"))
	awaitEqual(t, n.db, back)
	if left, _ := filepath.Glob(p.dir + ".*"); len(left) > 0 {
		t.Errorf("a primary without a tail was rebuilt: %v", left)
	}
}

// Nobody waits for the standby, and the primary is stopped right after its last write.
func TestAPrimaryThatIsStoppedSendsItsLastWrites(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	s := follow(t, filepath.Join(t.TempDir(), "standby"), p.addr)
	awaitPosition(t, p, s)
	for i := range 50 {
		must(t, try(t, p.db, fmt.Sprint("row", i)))
	}
	p.primary.Service().Stop()
	p.served.GracefulStop() // as package server does
	p.close()
	last := lastPosition(t, p.dir)
	for end := time.Now().Add(time.Minute); s.Position() != last; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the primary was closed at position %d, and its standby has %d", last, s.Position())
		}
	}
}

// Two standbys of one primary were both promoted.
func TestTwoLeadersOfOneEpoch(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	first, second := follow(t, one, p.addr), follow(t, two, p.addr)
	awaitPosition(t, p, first)
	awaitPosition(t, p, second)
	p.close()
	a, b := promote(t, first, one), promote(t, second, two)
	must(t, try(t, a.db, "one"))
	must(t, try(t, b.db, "two"))
	b.close()
	if _, err := standby.Open(t.Context(), two, standby.Options{Primary: a.addr}); err == nil || !strings.Contains(err.Error(), "no later one") {
		t.Errorf("a primary became the standby of one with the same epoch: %v", err)
	}
	// A third server follows one of them, and is then pointed to the other one.
	b.open()
	dir := filepath.Join(t.TempDir(), "third")
	must(t, follow(t, dir, b.addr).Close())
	third := rebuild(t, follow(t, dir, a.addr), "are its own")
	awaitEqual(t, a.db, third)
}

// A service without loads does not send their files.
type withoutLoads struct {
	standbys.Service
	asked atomic.Int64
}

func (w *withoutLoads) Load(*smolwcpb.LoadRequest, smolwcpb.Standbys_LoadServer) error {
	w.asked.Add(1)
	return status.Error(codes.Unavailable, "not now")
}

// A load that the standby has not got when it is promoted is not there at the new primary,
// also if a part of its files has come, and the old primary does not bring it back.
func TestALoadThatThePromotedStandbyDoesNotHave(t *testing.T) {
	for name, spoiled := range map[string]func(standbys.Service) (s standbys.Service, asked *atomic.Int64){
		"without files": func(s standbys.Service) (standbys.Service, *atomic.Int64) {
			w := &withoutLoads{Service: s}
			return w, &w.asked
		},
		"a part of the files": func(s standbys.Service) (standbys.Service, *atomic.Int64) {
			w := &stalls{Service: s, always: true}
			return w, &w.loads
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPrimary(t, 0)
			declare(t, p.db, table("a", "f", "g"))
			dir := filepath.Join(t.TempDir(), "standby")
			must(t, follow(t, dir, p.addr).Close())
			addr := "127.0.0.1:0"
			service, asked := spoiled(p.primary.Service())
			served := serve(t, service, &addr)
			t.Cleanup(served.Stop)
			s := follow(t, dir, addr)
			must(t, try(t, p.db, "before"))
			awaitPosition(t, p, s)
			load(t, p.db, "a", 0, 10, "loaded")
			await(t, "the standby has not heard of the load", func() bool { return asked.Load() > 0 })
			if name == "a part of the files" {
				await(t, "no file of the load has come", func() bool {
					files, err := filepath.Glob(filepath.Join(dir, "bulk", "*", "*"))
					return err == nil && len(files) > 0
				})
			}
			n := promote(t, s, dir)
			if has(t, n.db, "row00001") || !has(t, n.db, "before") {
				t.Error("a load was promoted by half")
			}
			load(t, n.db, "a", 20, 30, "loaded there")
			p.close()
			back := rebuild(t, follow(t, p.dir, n.addr), "are its own")
			awaitEqual(t, n.db, back)
			kept, err := query.OpenReadOnly(p.dir+".diverged", query.Options{})
			must(t, err)
			defer kept.Close()
			if !has(t, kept, "row00001") {
				t.Error("the load was not kept")
			}
		})
	}
}

// The token of a change stream is valid at the new primary.
func TestChangeTokensOutliveAPromotion(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	a := table("a", "f")
	a.ChangeStream = 24 * time.Hour
	declare(t, p.db, a)
	began := p.db.Now().Time()
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	for i := range 10 {
		must(t, try(t, p.db, fmt.Sprint("before", i)))
	}
	var rows []string
	token := ""
	for c, err := range p.db.Table("a").Changes(t.Context(), query.ChangesSince(began)) {
		must(t, err)
		token = c.Token()
		if rows = append(rows, c.Key); len(rows) == 5 {
			break
		}
	}
	awaitPosition(t, p, s)
	n := promote(t, s, dir)
	for i := range 5 {
		must(t, try(t, n.db, fmt.Sprint("later", i)))
	}
	for c, err := range n.db.Table("a").Changes(t.Context(), query.ChangesAfter(token)) {
		must(t, err)
		if rows = append(rows, c.Key); len(rows) == 15 {
			break
		}
	}
	if got := fmt.Sprint(rows); got != "[before0 before1 before2 before3 before4 before5 before6 before7 before8 before9 later0 later1 later2 later3 later4]" {
		t.Error(got)
	}
}

// tokensAfter adds the tokens of the changes after a token, by their rows.
func tokensAfter(t *testing.T, db *query.DB, token string, tokens map[string]string) {
	t.Helper()
	for c, err := range db.Table("a").Changes(t.Context(), query.ChangesAfter(token), query.ChangesUntil(db.Now().Time())) {
		must(t, err)
		tokens[c.Key] = c.Token()
	}
}

// wantTokens goes on after tokens, and wants those refused whose changes a database does not
// have, and no others.
func wantTokens(t *testing.T, db *query.DB, tokens map[string]string) {
	t.Helper()
	for row, token := range tokens {
		var failed error
		for _, err := range db.Table("a").Changes(t.Context(), query.ChangesAfter(token), query.ChangesUntil(db.Now().Time())) {
			failed = err
		}
		switch gone := errors.Is(failed, query.ErrChangesGone); {
		case has(t, db, row) != (failed == nil):
			t.Errorf("the token after row %s: %v", row, failed)
		case failed != nil && gone == (query.KindOf(failed) == query.KindUnavailable):
			t.Errorf("the token after row %s is refused with %v", row, failed)
		case gone && !strings.Contains(failed.Error(), "read the table anew"):
			t.Errorf("the error does not say what to do: %v", failed)
		}
	}
}

func both(t *testing.T, db *query.DB, rows ...string) {
	t.Helper()
	var b write.Batch
	for _, row := range rows {
		m := write.NewMutation()
		m.Set("f", "q", cells.String("v"))
		b.Add("a", row, m)
	}
	must(t, db.Apply(t.Context(), &b))
}

// Two primaries are replaced while they cannot be reached, and write on. The tokens of what
// they write alone are refused by the others, which have written as much; all other tokens
// stay valid.
func TestTokensOfLostChanges(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	a := table("a", "f")
	a.ChangeStream = 24 * time.Hour
	declare(t, p.db, a)
	next, stop := iter.Pull2(p.db.Table("a").Changes(t.Context(), query.ChangesSince(p.db.Now().Time())))
	defer stop()
	tokens := map[string]string{}
	read := func() {
		c, err, ok := next()
		if must(t, err); !ok {
			t.Fatal("the reading has ended")
		}
		tokens[c.Key] = c.Token()
	}
	must(t, try(t, p.db, "alone"))
	read()
	dir, other := filepath.Join(t.TempDir(), "standby"), filepath.Join(t.TempDir(), "other")
	s, second := follow(t, dir, p.addr), follow(t, other, p.addr)
	wantTokens(t, p.db, tokens) // from before the first standby; the others do not have its changes
	clear(tokens)
	must(t, try(t, p.db, "shared"))
	read()
	awaitPosition(t, p, s)
	awaitPosition(t, p, second)
	must(t, second.Close())
	p.served.Stop()
	n := promote(t, s, dir)
	both(t, p.db, "tail 1", "tail 2") // the token after the first one is at the fork
	must(t, try(t, p.db, "tail 3"))
	for range 3 {
		read()
	}
	both(t, n.db, "second 1", "second 2")
	must(t, try(t, n.db, "second 3"))

	s = follow(t, other, n.addr)
	awaitPosition(t, n, s)
	n.served.Stop()
	m := promote(t, s, other)
	both(t, n.db, "second tail 1", "second tail 2")
	both(t, m.db, "third 1", "third 2")
	tokensAfter(t, n.db, tokens["shared"], tokens)
	tokensAfter(t, m.db, tokens["shared"], tokens)
	for i := range 20 { // every token is of a position that each of them has reached
		for _, n := range []*node{p, n, m} {
			must(t, try(t, n.db, fmt.Sprint("more", i)))
		}
	}
	for _, n := range []*node{p, n, m} {
		wantTokens(t, n.db, tokens)
	}

	// For a while the log is not kept for standbys, which gives the history another name.
	m.close()
	m.log = -1
	m.open()
	wantTokens(t, m.db, tokens)
	m.close()
	m.log = 0
	m.open()
	third := follow(t, filepath.Join(t.TempDir(), "third"), m.addr)
	must(t, try(t, m.db, "with the third"))
	awaitEqual(t, m.db, third)
	tokensAfter(t, m.db, tokens["third 2"], tokens)
	wantTokens(t, m.db, tokens)
	if tokens["with the third"] == "" || len(tokens) < 12 {
		t.Errorf("there are %d tokens", len(tokens))
	}
}

// A promotion that is killed before its decision never happened; after it, opening the
// directory ends it.
func TestAKilledPromotion(t *testing.T) {
	for _, at := range []string{"begun", "decided", "written", "ended"} {
		t.Run(at, func(t *testing.T) {
			p := newPrimary(t, 0)
			declare(t, p.db, table("a", "f"))
			must(t, try(t, p.db, "acknowledged"))
			dir := filepath.Join(t.TempDir(), "standby")
			t.Setenv(stepEnv, at)
			spawn(t, "promoter", dir, p.addr).kill()
			if at != "ended" {
				if _, err := query.Open(dir, query.Options{}); query.KindOf(err) != query.KindFailedPrecondition {
					t.Errorf("%v", err)
				}
			}
			if at == "begun" {
				must(t, try(t, p.db, "later"))
				s := follow(t, dir, p.addr)
				awaitEqual(t, p.db, s)
				promote(t, s, dir)
				return
			}
			if _, err := standby.Open(t.Context(), dir, standby.Options{Primary: p.addr}); err == nil || at != "ended" && !strings.Contains(err.Error(), "has not ended") {
				t.Errorf("a standby that was promoted follows: %v", err)
			}
			must(t, try(t, p.db, "tail"))
			n := &node{t: t, dir: dir, addr: testaddr.New(t)}
			n.open()
			t.Cleanup(n.close)
			must(t, try(t, n.db, "new"))
			if !has(t, n.db, "acknowledged") {
				t.Error("an acknowledged row is gone")
			}
			all, err := n.primary.Service().ListReplicas(t.Context(), nil)
			if err != nil || all.GetEpoch() != 2 {
				t.Errorf("%v, %v", all, err)
			}
			awaitFenced(t, p.db, "127.0.0.1:1") // the leader that it has named
			p.close()
			awaitEqual(t, n.db, rebuild(t, follow(t, p.dir, n.addr), "are its own"))
		})
	}
}

// Two failovers, there and back.
func TestTwoPromotions(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	must(t, try(t, p.db, "first"))
	awaitPosition(t, p, s)
	n := promote(t, s, dir)
	must(t, try(t, n.db, "second"))
	awaitFenced(t, p.db, n.addr)
	p.close()

	back := follow(t, p.dir, n.addr)
	awaitPosition(t, n, back)
	if left, _ := filepath.Glob(p.dir + ".*"); len(left) > 0 {
		t.Errorf("a primary without a tail was rebuilt: %v", left)
	}
	await(t, "its note that it was a primary to be gone", func() bool {
		text, err := os.ReadFile(filepath.Join(p.dir, plumbing.StandbyFile))
		return err == nil && !strings.Contains(string(text), "adopted")
	})
	must(t, try(t, n.db, "third"))
	awaitPosition(t, n, back)
	again := promote(t, back, p.dir)
	must(t, try(t, again.db, "fourth"))
	awaitFenced(t, n.db, again.addr)
	n.close()
	if _, err := standby.Open(t.Context(), p.dir, standby.Options{Primary: n.addr}); err == nil {
		t.Error("a directory that is open was adopted")
	}
	end := follow(t, n.dir, again.addr)
	awaitEqual(t, again.db, end)
	for _, row := range []string{"first", "second", "third", "fourth"} {
		if !has(t, end.DB(), row) {
			t.Errorf("row %s is gone", row)
		}
	}
	if all, err := again.primary.Service().ListReplicas(t.Context(), nil); err != nil || all.GetEpoch() != 3 {
		t.Errorf("%v, %v", all, err)
	}
}
