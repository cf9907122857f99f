//go:build cgo

package standby_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/badnet"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/standby"
)

// A moment is the content of a database after one write. Its parent is the moment before, so
// that the moments of all servers are a tree: two servers that take writes at the same time
// make a fork.
type moment struct {
	parent   *moment
	depth    int
	id       string            // the value of the row "id", which no other moment has
	rows     map[string]string // all of them
	from, to uint64            // the positions before and after the write
	wrote    string            // what the tail of a server shows of the write; "" of a load
}

// on reports whether a moment is an earlier one than another, or the same.
func (m *moment) on(later *moment) bool {
	for later != nil && later.depth > m.depth {
		later = later.parent
	}
	return later == m
}

// since are the moments that led to this one and not to another one, the first one first.
func (m *moment) since(other *moment) (own []*moment) {
	for ; m != nil && !m.on(other); m = m.parent {
		own = append(own, m)
	}
	slices.Reverse(own)
	return own
}

// A site is a directory, and what is served of it: a primary, a standby, or nothing.
type site struct {
	name, dir, addr string
	links           []*badnet.Proxy // to each site; nil to itself
	primary         *node
	standby         *standby.Standby
	served          *grpc.Server // of the standby
	up              int          // the site that it follows
	cut             bool         // of a primary: nobody reaches it
	strictly        bool         // writes of that one wait for it
	epoch           int64        // in which it was promoted
	head            *moment      // of a primary: its newest moment
	seen            *moment      // the last one that was read here since the last copy; nil: there is none
	copied          uint64       // the position of that copy, where its log begins
}

// A forest is a few sites, and all moments that there have been.
type forest struct {
	t       *testing.T
	random  *rand.Rand
	sites   []*site
	moments map[string]*moment
	acked   []*moment
	strict  bool
	leads   int // the site that was promoted last
	copies  int
}

func (f *forest) logf(format string, a ...any) { f.t.Helper(); f.t.Logf(format, a...) }

func newForest(t *testing.T, seed uint64) *forest {
	f := &forest{t: t, random: rand.New(rand.NewPCG(seed, 0)), moments: map[string]*moment{}, strict: seed%2 == 1}
	for i := range 4 {
		s := &site{name: fmt.Sprint("site", i), dir: filepath.Join(t.TempDir(), fmt.Sprint(i)), addr: "127.0.0.1:0"}
		listen(t, &s.addr)
		f.sites = append(f.sites, s)
	}
	for _, from := range f.sites {
		for _, to := range f.sites {
			p, err := badnet.New(to.addr, f.random.Uint64())
			must(t, err)
			t.Cleanup(func() { must(t, p.Close()) })
			from.links = append(from.links, p)
		}
	}
	t.Cleanup(func() {
		for _, s := range f.sites {
			f.stop(s)
		}
	})
	first := f.sites[0]
	first.epoch, first.head = 1, &moment{rows: map[string]string{}}
	f.moments[""] = first.head
	f.open(first)
	_, err := first.primary.db.Declare(standby.Async(t.Context()), schemaOf(table("a", "f")))
	must(t, err)
	f.look(first)
	for _, s := range f.sites[1:] {
		f.point(s, 0)
	}
	return f
}

func (f *forest) semi() standby.SemiSync {
	if f.strict {
		return standby.SemiSync{Mode: standby.SemiSyncStrict, Timeout: 100 * time.Millisecond}
	}
	return standby.SemiSync{}
}

func (f *forest) open(s *site) {
	s.cut = false
	s.primary = &node{t: f.t, dir: s.dir, addr: s.addr, semi: f.semi()}
	s.primary.open()
}

// lead opens a primary.
func (f *forest) lead(s *site) {
	f.open(s)
	f.look(s)
}

// heal lets everything through that others send to a site. Without that a server that stops
// waits for those that have connected and have said nothing yet.
func (f *forest) heal(to *site) {
	for _, s := range f.sites {
		for _, way := range []badnet.Way{badnet.Up, badnet.Down} {
			s.links[slices.Index(f.sites, to)].Set(way, badnet.Line{})
		}
	}
}

// stop ends what a site serves.
func (f *forest) stop(s *site) {
	f.heal(s)
	if s.primary != nil {
		s.primary.close()
		s.primary = nil
	}
	if s.standby != nil {
		s.standby.Service().Stop()
		s.served.Stop()
		must(f.t, s.standby.Close())
		s.standby, s.served = nil, nil
	}
}

// follow makes a site a standby of another one. It reports whether it is one.
func (f *forest) follow(s *site, up int) bool {
	f.stop(s)
	f.heal(f.sites[up]) // a copy has to end
	s.up = up
	ctx, cancel := context.WithTimeout(f.t.Context(), 20*time.Second)
	defer cancel()
	empty := s.seen == nil && !has1(s.dir)
	next, err := standby.Open(ctx, s.dir, standby.Options{
		Primary: s.links[up].Addr(), Name: s.name, Observer: f.strict && !s.strictly, SemiSync: f.semi(), Retry: time.Millisecond,
		Database: query.Options{Memory: 16 << 20},
	})
	if err != nil {
		f.logf("%s does not follow %d: %v", s.name, up, err)
		if !errors.Is(err, standby.ErrNotYet) && !empty {
			f.t.Errorf("%s cannot be opened: %v", s.name, err)
		}
		return false
	}
	f.hold(s, next)
	f.logf("%s follows %d at position %d", s.name, up, next.Position())
	return true
}

func has1(dir string) bool { _, err := os.Stat(filepath.Join(dir, "CURRENT")); return err == nil }

// hold serves a standby.
func (f *forest) hold(s *site, next *standby.Standby) {
	s.standby = next
	s.served = serve(f.t, next.Service(), &s.addr)
	if s.head = nil; s.seen == nil {
		s.copied = next.Position()
	}
	f.look(s)
}

func (s *site) db() *query.DB {
	switch {
	case s.primary != nil:
		return s.primary.db
	case s.standby != nil:
		return s.standby.DB()
	}
	return nil
}

// rowsOf are all rows of a database, with the moment's identity.
func rowsOf(db *query.DB) (rows map[string]string, err error) {
	rows = map[string]string{}
	for row, err := range db.Table("a").ReadRows(context.Background()) {
		if err != nil {
			return nil, err
		}
		for c := range row.Cells() {
			rows[row.Key()] += c.Value.String()
		}
	}
	return rows, nil
}

// look reads a site. What it serves is one moment, which comes after the one that was read
// there before.
func (f *forest) look(s *site) {
	f.t.Helper()
	db := s.db()
	if db == nil {
		return
	}
	before := f.position(s)
	rows, err := rowsOf(db)
	after := f.position(s)
	if err != nil {
		if s.standby == nil || s.standby.Err() == nil && query.KindOf(err) != query.KindNotFound {
			f.t.Errorf("%s cannot be read: %v", s.name, err)
		}
		return
	}
	m := f.moments[rows["id"]]
	switch {
	case m == nil || !maps.Equal(m.rows, rows):
		f.t.Fatalf("%s at position %d serves rows that were never all there at once: %v", s.name, after, rows)
	case s.seen != nil && !s.seen.on(m):
		f.t.Fatalf("%s serves moment %s, which does not come after %s", s.name, m.id, s.seen.id)
	case m.parent != nil && m.from >= after:
		f.t.Fatalf("%s has position %d, and serves what was written after position %d", s.name, after, m.from)
	case s.head != nil && s.head != m:
		f.t.Fatalf("%s is a primary and serves moment %s; it has written %s", s.name, m.id, s.head.id)
	}
	if before == after && s.standby != nil {
		for _, next := range f.moments { // it lacks nothing of what it follows
			if next.parent == m && next.to <= after && f.root(s) != nil && next.on(f.root(s)) && s.standby.Err() == nil && m.on(f.root(s)) && f.joined(s) {
				f.t.Fatalf("%s has position %d, and does not serve moment %s of position %d", s.name, after, next.id, next.to)
			}
		}
	}
	s.seen = m
}

// joined reports whether a standby is connected.
func (f *forest) joined(s *site) bool { _, online := s.standby.Lag(); return online }

// root is the newest moment of the primary that a site follows, also by others; nil if there
// is none.
func (f *forest) root(s *site) *moment {
	for range f.sites {
		if s.primary != nil || s.standby == nil {
			break
		}
		s = f.sites[s.up]
	}
	return s.head
}

func (f *forest) position(s *site) uint64 {
	if s.standby != nil {
		return s.standby.Position()
	}
	return position(f.t, s.primary.primary)
}

// write writes at a primary. All values have one length.
func (f *forest) write(s *site) {
	f.t.Helper()
	f.look(s)
	next := &moment{parent: s.head, depth: s.head.depth + 1, id: fmt.Sprintf("%06d", len(f.moments)), rows: maps.Clone(s.head.rows)}
	next.rows["id"], next.from = next.id, f.position(s)
	var err error
	if f.random.IntN(12) == 0 {
		err = f.load(s, next)
	} else {
		err = f.apply(s, next)
	}
	if rows, rerr := rowsOf(s.primary.db); rerr != nil || rows["id"] != next.id {
		if !errors.Is(err, query.ErrReadOnly) && (err == nil || !strings.Contains(err.Error(), "nothing was written")) {
			f.t.Fatalf("a write at %s is not there (%v): %v", s.name, rerr, err)
		}
		return
	}
	if err != nil && (!f.strict || !errors.Is(err, cf.ErrUnknownOutcome)) {
		f.t.Fatalf("a write at %s is there, and failed: %v", s.name, err)
	}
	next.to = f.position(s)
	f.moments[next.id], s.head = next, next
	if err == nil && f.strict {
		f.acked = append(f.acked, next)
		if s != f.sites[f.leads] {
			f.t.Errorf("%s has acknowledged a write in epoch %d, and %s was promoted", s.name, s.epoch, f.sites[f.leads].name)
		}
	}
	f.look(s)
}

func (f *forest) apply(s *site, next *moment) error {
	var b write.Batch
	put := func(row, value string) {
		m := write.NewMutation()
		m.SetAt("f", "q", 1000, cells.String(value))
		b.Add("a", row, m)
		next.wrote += row + "=" + value + "\n"
	}
	row := fmt.Sprint("row", f.random.IntN(5))
	if _, there := next.rows[row]; there && f.random.IntN(4) == 0 {
		m := write.NewMutation()
		m.DeleteRow()
		b.Add("a", row, m)
		delete(next.rows, row)
		next.wrote += row + "-\n"
	} else {
		next.rows[row] = next.id
		put(row, next.id)
	}
	put("id", next.id)
	return s.primary.db.Apply(f.t.Context(), &b)
}

func (f *forest) load(s *site, next *moment) error {
	l, err := s.primary.db.Table("a").BulkLoad(f.t.Context(), query.BulkOptions{Overlap: true})
	if err != nil {
		return err
	}
	defer l.Close()
	next.rows["loaded"] = next.id
	m := write.NewMutation()
	for _, row := range []string{"id", "loaded"} {
		m.Reset()
		m.SetAt("f", "q", 1000, cells.String(next.id))
		must(f.t, l.Apply(row, m))
	}
	_, err = l.Commit(f.t.Context())
	return err
}

// promote promotes a standby, also one that lacks much.
func (f *forest) promote(s *site) bool {
	f.look(s)
	if s.standby == nil || s.standby.Err() != nil || s.seen == nil {
		return false
	}
	number := int64(0)
	if f.strict || f.random.IntN(2) == 0 { // as a judge would
		for _, other := range f.sites {
			number = max(number, other.epoch+1)
		}
	}
	p, err := s.standby.PromoteTo(f.t.Context(), number, s.addr, query.DurabilitySync)
	if err != nil {
		f.logf("%s is not promoted: %v", s.name, err)
		return false
	}
	f.heal(s)
	s.served.Stop()
	n := &node{t: f.t, dir: s.dir, addr: s.addr, semi: f.semi()}
	n.take(p)
	must(f.t, s.standby.Close())
	s.standby, s.served = nil, nil
	s.primary, s.epoch = n, p.Epoch
	f.look(s)
	s.head = s.seen
	f.leads = slices.Index(f.sites, s)
	f.logf("%s is promoted in epoch %d after position %d, with moment %s", s.name, p.Epoch, p.After, s.head.id)
	for _, m := range f.acked {
		if !m.on(s.head) {
			f.t.Errorf("moment %s was acknowledged, and %s was promoted with %s", m.id, s.name, s.head.id)
		}
	}
	return true
}

// rebuild copies a standby anew that is lost. What it alone had is kept, and its tail has
// exactly that.
func (f *forest) rebuild(s *site) {
	f.t.Helper()
	why, was := s.standby.Err(), s.seen
	if !errors.Is(why, standby.ErrRebuild) {
		f.t.Fatalf("%s is lost: %v", s.name, why)
	}
	if rows, err := rowsOf(s.standby.DB()); err == nil {
		f.t.Errorf("%s is lost, and serves %v", s.name, rows)
	}
	f.logf("%s is copied anew: %v", s.name, why)
	f.heal(s)
	f.heal(f.sites[s.up])
	s.served.Stop()
	logged := s.copied
	next, err := s.standby.Rebuild(f.t.Context())
	must(f.t, err)
	f.copies++
	s.standby, s.seen = nil, nil
	f.hold(s, next)
	kept := s.dir + ".diverged"
	if _, err := os.Stat(kept); err != nil {
		if was != nil && s.seen != nil && !was.on(s.seen) && !was.on(f.root(s)) {
			f.t.Errorf("%s had moment %s, which nobody has now", s.name, was.id)
		}
		return
	}
	f.kept(s, kept, was, logged, why)
	must(f.t, os.RemoveAll(kept))
}

// kept checks a directory that was kept aside, whose log begins at a position.
func (f *forest) kept(s *site, dir string, was *moment, logged uint64, why error) {
	f.t.Helper()
	db, err := query.OpenReadOnly(dir, query.Options{})
	must(f.t, err)
	rows, err := rowsOf(db)
	must(f.t, errors.Join(err, db.Close()))
	m := f.moments[rows["id"]]
	if m == nil || !maps.Equal(m.rows, rows) || was != nil && !was.on(m) {
		f.t.Fatalf("%s is kept with rows that were never all there: %v", dir, rows)
	}
	if s.seen == nil {
		return
	}
	now := f.root(s)
	if now == nil {
		now = s.seen
	}
	lost := m.since(now)
	got, err := tailOf(f.t, dir)
	if errors.Is(err, standby.ErrNoTail) {
		if len(lost) > 0 && logged <= lost[0].from {
			f.t.Errorf("%s has lost %d writes, and no tail: %v; it was lost for %v", s.name, len(lost), err, why)
		}
		return
	}
	must(f.t, err)
	want := ""
	for _, m := range lost {
		want += m.wrote
	}
	if got != want {
		f.t.Errorf("the tail of %s is\n%s\nwant\n%s\nlost for %v", s.name, got, want, why)
	}
}

// tailOf are the rows that a tail writes and deletes.
func tailOf(t *testing.T, dir string) (text string, err error) {
	tail, err := standby.OpenTail(t.Context(), dir)
	if err != nil {
		return "", err
	}
	defer tail.Close()
	for {
		c, err := tail.Next(t.Context())
		if c == nil || err != nil {
			return text, err
		}
		for _, w := range c.Changes {
			switch w.Kind {
			case write.SetChange:
				text += c.Key + "=" + w.Value.String() + "\n"
			case write.DeleteFamilyChange, write.DeleteVersionsChange:
				text += c.Key + "-\n"
			default:
				text += fmt.Sprintf("%s: change %d\n", c.Key, w.Kind)
			}
		}
	}
}

// mend copies all standbys anew that are lost.
func (f *forest) mend() {
	for _, s := range f.sites {
		if s.standby != nil && s.standby.Err() != nil && f.sites[s.up].db() != nil && f.reaches(s) {
			f.rebuild(s)
		}
	}
}

// reaches reports whether a standby can be copied from the site that it follows.
func (f *forest) reaches(s *site) bool {
	up := f.sites[s.up]
	if up.primary != nil {
		return !up.cut && !fenced(up)
	}
	return up.standby.Err() == nil
}

func fenced(s *site) bool {
	select {
	case <-s.primary.primary.Service().Fenced():
		return true
	default:
		return false
	}
}

// heir is the only standby for which the primary that leads waits; nil if there is none.
func (f *forest) heir() *site {
	for _, s := range f.sites {
		if s.standby != nil && s.strictly && s.up == f.leads && s.standby.Err() == nil {
			return s
		}
	}
	return nil
}

// step does something.
func (f *forest) step() {
	s := f.sites[f.random.IntN(len(f.sites))]
	other := f.random.IntN(len(f.sites))
	for f.sites[other] == s {
		other = f.random.IntN(len(f.sites))
	}
	switch f.random.IntN(14) {
	case 0, 1, 2, 3, 4:
		for _, p := range f.sites {
			for range f.random.IntN(6) {
				if p.primary != nil && (p == f.sites[f.leads] || f.random.IntN(2) == 0) {
					f.write(p)
				}
			}
		}
	case 5:
		line := badnet.Line{Hold: f.random.IntN(2) == 0, Delay: time.Duration(f.random.IntN(3)) * time.Millisecond}
		s.links[other].Set(badnet.Way(f.random.IntN(2)), line)
	case 6:
		s.links[other].Cut()
	case 7: // it is not there for a while
		if s.standby != nil {
			f.logf("%s is stopped", s.name)
			f.stop(s)
		}
	case 8: // a standby of a standby
		f.point(s, other)
	case 9, 10:
		f.point(s, f.leads)
	case 11:
		f.failover(s)
	case 12: // it takes writes
		f.cutOff(s)
	case 13:
		if s.primary != nil && !fenced(s) {
			f.logf("%s is opened again", s.name)
			f.stop(s)
			f.lead(s)
		}
	}
	f.mend()
	for _, s := range f.sites {
		f.look(s)
	}
}

// cutOff makes a primary one that nobody reaches.
func (f *forest) cutOff(s *site) {
	if s.primary != nil && !s.cut {
		f.logf("%s is cut off", s.name)
		f.heal(s)
		s.primary.served.Stop()
		s.cut = true
	}
}

// point has a site follow another one, unless it leads.
func (f *forest) point(s *site, up int) {
	if s == f.sites[f.leads] || f.sites[up] == s {
		return
	}
	for at := f.sites[up]; at.primary == nil; at = f.sites[at.up] { // no circles, and nothing that is down
		if at.standby == nil || f.sites[at.up] == s {
			return
		}
	}
	if s.standby != nil && f.strict && s.strictly && f.sites[s.up] == f.sites[f.leads] && up != f.leads {
		return // writes wait for it
	}
	s.strictly = f.strict && up == f.leads && (f.heir() == nil || f.heir() == s)
	f.follow(s, up)
}

// failover promotes a site: with strict writes the one that has all of them.
func (f *forest) failover(s *site) {
	lead := f.sites[f.leads]
	if f.strict {
		if s = f.heir(); s == nil {
			return
		}
	}
	switch f.random.IntN(4) {
	case 0:
		f.stop(lead)
	case 1, 2:
		f.cutOff(lead) // it does not hear of the other one
	}
	if s.standby != nil && f.promote(s) {
		s.strictly = false
		for range f.random.IntN(5) { // as many as the one before, often
			for _, p := range []*site{lead, s} {
				if p.primary != nil {
					f.write(p)
				}
			}
		}
	}
}

// settle has all sites follow the one with the latest epoch, and compares them with it.
func (f *forest) settle() {
	f.t.Helper()
	for _, s := range f.sites {
		f.heal(s)
	}
	for _, s := range f.sites {
		if s.epoch > f.sites[f.leads].epoch {
			f.leads = slices.Index(f.sites, s)
		}
	}
	lead := f.sites[f.leads]
	if lead.primary == nil || lead.cut {
		f.stop(lead)
		f.lead(lead)
	}
	for _, s := range f.sites {
		if s == lead {
			continue
		}
		if f.stop(s); s.epoch == lead.epoch && s.head != nil { // another one was promoted to the same epoch
			f.overtake(s)
			lead = f.sites[f.leads]
		}
	}
	for _, s := range f.sites {
		if s == lead {
			continue
		}
		s.strictly = f.strict && f.heir() == nil
		if s.primary != nil || s.standby == nil || s.up != f.leads || s.strictly {
			f.stop(s)
			if !f.follow(s, f.leads) {
				f.t.Fatalf("%s does not follow %s, which leads", s.name, lead.name)
			}
		}
	}
	f.write(lead)
	for _, s := range f.sites {
		if s != lead {
			f.caughtUp(s, lead)
		}
	}
}

// overtake has a standby of the primary that leads begin the next epoch.
func (f *forest) overtake(rival *site) {
	for _, s := range f.sites {
		if s == rival || s == f.sites[f.leads] {
			continue
		}
		f.stop(s)
		if !f.follow(s, f.leads) {
			continue
		}
		f.caughtUp(s, f.sites[f.leads])
		if f.promote(s) {
			return
		}
	}
	f.t.Fatalf("nobody overtakes %s", rival.name)
}

// caughtUp waits until a standby has what its primary has, and has it compared.
func (f *forest) caughtUp(s, lead *site) {
	f.t.Helper()
	await(f.t, s.name+" has not caught up", func() bool {
		if s.standby.Err() != nil {
			f.rebuild(s)
		}
		f.look(s)
		return s.seen == lead.head && s.standby.Position() == f.position(lead)
	})
	v, done, err := s.standby.VerifyOnce(f.t.Context())
	if err == nil {
		done()
	}
	if err != nil || !v.Equal() {
		f.t.Errorf("%s is compared with %s: %v, %v", s.name, lead.name, v.Difference(), err)
	}
}

// Servers are promoted, cut off, stopped, and made standbys of each other in any order, and
// those that were replaced write on. No server ever serves a mixture of two histories or
// follows one that has other changes; a server that was copied anew has kept exactly the
// writes that were lost; a strict write that was acknowledged is never missing. In the end
// all are equal. -kills is the number of such stories.
func TestServersThatDiverge(t *testing.T) {
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64N(1 << 32)
	}
	for i := range *kills {
		t.Run(strconv.FormatUint(seed+uint64(i), 10), func(t *testing.T) {
			t.Logf("-kills 1 -kill-seed %d", seed+uint64(i))
			f := newForest(t, seed+uint64(i))
			for range 2 {
				for range 20 {
					if f.step(); t.Failed() {
						return
					}
				}
				if f.settle(); t.Failed() {
					return
				}
			}
			t.Logf("%d moments, %d copies", len(f.moments), f.copies)
		})
	}
}
