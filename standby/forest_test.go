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
	trusted         bool         // and it has had all of them since
	epoch           int64        // in which it was promoted
	head            *moment      // of a primary: its newest moment
	seen            *moment      // the last one that was read here since the last copy; nil: not read yet
	roots           []*moment    // the newest moments of primaries that it has followed since
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
	waits   *site // the standby for which the primary that leads waits, or waited last
	leads   int   // the site that was promoted last
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

// elect makes a site the standby for which the primary that leads waits, if there is no other
// one now.
func (f *forest) elect(s *site) {
	s.strictly = f.strict && (f.syncStandby() == nil || f.syncStandby() == s)
	if s.strictly && s != f.waits {
		f.waits, s.trusted = s, false
	}
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
	s.up, s.roots = up, nil
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

// redirect makes a standby follow another site without being opened again.
func (f *forest) redirect(s *site, up int) {
	f.look(s)
	must(f.t, s.standby.Redirect(s.links[up].Addr()))
	f.logf("%s, at position %d, is redirected to %d", s.name, s.standby.Position(), up)
	s.up = up
	f.look(s)
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
	if s.seen = m; s.standby != nil {
		f.note(s)
		s.trusted = s.trusted || s == f.syncStandby() && m == f.sites[f.leads].head
	}
}

// note notes what a standby may be compared with.
func (f *forest) note(s *site) {
	if r := f.root(s); r != nil && !slices.Contains(s.roots, r) {
		s.roots = append(s.roots, r)
	}
}

// joined reports whether a standby is connected.
func (f *forest) joined(s *site) bool { _, online := s.standby.Lag(); return online }

// root is the newest moment of the primary that a site follows, also by others; nil without
// a primary.
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
	if f.strict || f.random.IntN(2) == 0 { // as an elector would
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
	f.leads, f.waits = slices.Index(f.sites, s), nil
	f.logf("%s is promoted in epoch %d after position %d, with moment %s", s.name, p.Epoch, p.After, s.head.id)
	for _, m := range f.acked {
		if !m.on(s.head) {
			f.t.Errorf("moment %s was acknowledged, and %s was promoted with %s", m.id, s.name, s.head.id)
		}
	}
	return true
}
