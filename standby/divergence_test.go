package standby_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/smolwc/smolwc/internal/badnet"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/standby"
)

// rebuild rebuilds a standby that is lost. What it alone had is kept, and its tail has
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
	f.logf("%s is rebuilt: %v", s.name, why)
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
	// The site that it follows may have followed others meanwhile.
	var want []string
	lost := 0
	for _, now := range append(s.roots, s.seen) {
		text, own := "", m.since(now)
		for _, m := range own {
			text += m.wrote
		}
		if want = append(want, text); len(own) > 0 && logged <= own[0].from {
			lost++
		}
	}
	got, err := tailOf(f.t, dir)
	if errors.Is(err, standby.ErrNoTail) {
		if lost == len(want) {
			f.t.Errorf("%s has lost writes, and no tail: %v; it was lost for %v", s.name, err, why)
		}
		return
	}
	must(f.t, err)
	if !slices.Contains(want, got) {
		f.t.Errorf("the tail of %s is\n%s\nwant one of\n%q\nlost for %v", s.name, got, want, why)
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

// mend rebuilds all standbys that are lost.
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

// syncStandby is the only standby for which the primary that leads waits; nil without one.
func (f *forest) syncStandby() *site {
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
	was := s.strictly
	if s.strictly = false; up == f.leads {
		f.elect(s)
	}
	if s.standby != nil && s.strictly == was && f.random.IntN(2) == 0 {
		f.redirect(s, up)
		return
	}
	f.follow(s, up)
}

// failover promotes a site: with strict writes the one that has all of them. A standby that
// has taken the place of another one may lack some until it was seen with all of them.
func (f *forest) failover(s *site) {
	lead := f.sites[f.leads]
	if f.strict {
		if s = f.syncStandby(); s == nil || !s.trusted {
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
		was := s.strictly
		if f.elect(s); s.primary != nil || s.standby == nil || s.up != f.leads || s.strictly != was {
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
// follows one that has other changes; a server that was rebuilt has kept exactly the
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
