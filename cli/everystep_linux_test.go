package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/standby"
)

var (
	stepEvery = flag.Int("step-every", 0, "kill at each `N`th step of every change of roles; 0 is at some steps of some")
	stepAgain = flag.Bool("step-again", false, "with -step-every: kill the next start too, at any step")
	stepLoss  = flag.String("step-loss", "-", "`WHAT` a kill leaves; see testdata/killer.c")
)

// A change is one of the role of a server, which is killed meanwhile.
type change struct {
	name    string
	before  scene    // makes the state before it; all servers are stopped then
	begins  scene    // starts other servers
	who, of string   // is killed, and its --standby-of
	more    []string // flags
	serves  bool     // steps count from when it serves, and not from its start on
	change  scene    // makes the change, or meets a server that has ended
	after   scene    // goes on after the kill as docs/standby.md says, and checks what there is
	at      string   // steps at which it is killed by default, with commas: a call and a file
}

// What is on the disk of a server in the end.
const (
	leader          = "db"
	follower        = "db db/STANDBY"
	followerAndTail = "db db.diverged db/STANDBY"
)

var changes = []change{
	{
		name: "a promotion", at: "unlinkat STANDBY,renameat UNTOLD-2",
		before: all(paired("b"), tailed("a")),
		who:    "b", of: "a", serves: true, change: promoting("b"),
		after: all(leads("b", "a"), comesBack("a", "b", followerAndTail), stays("b")),
	},
	{
		name: "a promotion beside the primary", at: "renameat PROMOTED",
		before: paired("b"), begins: serving("a", ""),
		who: "b", of: "a", serves: true, change: promoting("b"),
		after: all(leads("b", "a"), refuses("a"), comesBack("a", "b", follower), stays("b")),
	},
	{
		name:   "a promotion under writes",
		before: paired("b"), begins: serving("a", ""),
		who: "b", of: "a", serves: true, change: writing("a", promoting("b")),
		after: all(leads("b", "a"), comesBack("a", "b", ""), stays("b")),
	},
	{
		name:   "the end of a promotion that was interrupted",
		before: all(paired("b"), tailed("a"), decided("b", "a")),
		who:    "b", change: nothing,
		after: all(leads("b", "a"), comesBack("a", "b", followerAndTail), stays("b")),
	},
	{
		name: "a fencing", at: "renameat FENCED",
		before: paired("b"), begins: serving("b", "a"),
		who: "a", serves: true, change: all(promoting("b"), fenced("a")),
		after: all(serving("a", ""), fenced("a"), refuses("a"), without("b", serving("a", ""), fenced("a")), serving("b", ""), comesBack("a", "b", follower), stays("b")),
	},
	{
		name:   "a primary that was fenced is started",
		before: all(paired("b"), tailed("a"), replaced("a", "b"), serving("a", ""), fenced("a")),
		who:    "a", change: nothing,
		after: all(serving("a", ""), fenced("a"), keepsTail("a"), serving("b", ""), comesBack("a", "b", followerAndTail), stays("b")),
	},
	{
		name: "a primary comes back with a tail", at: "renameat db,unlinkat COPYING,unlinkat DIVERGED",
		before: all(paired("b"), tailed("a"), replaced("a", "b")), begins: serving("b", ""),
		who: "a", of: "b", change: catchingUp("a", "b"),
		after: all(comesBack("a", "b", followerAndTail), stays("b")),
	},
	{
		name:   "a fenced primary comes back with a tail",
		before: all(paired("b"), tailed("a"), replaced("a", "b"), serving("a", ""), fenced("a")), begins: serving("b", ""),
		who: "a", of: "b", change: catchingUp("a", "b"),
		after: all(comesBack("a", "b", followerAndTail), stays("b")),
	},
	{
		name:   "a primary comes back",
		before: all(paired("b"), replaced("a", "b")), begins: serving("b", ""),
		who: "a", of: "b", change: catchingUp("a", "b"),
		after: all(comesBack("a", "b", follower), stays("b")),
	},
	{
		name: "a primary comes back, and the server that leads is lost", at: "renameat STANDBY",
		before: all(paired("b"), tailed("a"), replaced("a", "b")), begins: serving("b", ""),
		who: "a", of: "b", change: catchingUp("a", "b"),
		after: survives("a", "b"),
	},
	{
		name:   "a fenced primary comes back, and the server that leads is lost",
		before: all(paired("b"), tailed("a"), replaced("a", "b"), serving("a", ""), fenced("a")), begins: serving("b", ""),
		who: "a", of: "b", change: catchingUp("a", "b"),
		after: survives("a", "b"),
	},
	{
		name:   "a standby follows another server",
		before: all(paired("b", "c"), replaced("a", "b")), begins: serving("b", ""),
		who: "c", of: "b", change: catchingUp("c", "b"),
		after: all(comesBack("c", "b", follower), stays("b")),
	},
	{
		name: "a standby with a tail follows another server", at: "renameat DIVERGED",
		before: all(paired("b", "c"), tailed("a"), serving("a", ""), serving("c", "a"), catchingUp("c", "a"), replaced("a", "b")), begins: serving("b", ""),
		who: "c", of: "b", change: catchingUp("c", "b"),
		after: all(comesBack("c", "b", followerAndTail), stays("b")),
	},
	{
		name: "a first copy", at: "unlinkat COPYING",
		before: paired(), begins: serving("a", ""),
		who: "b", of: "a", change: catchingUp("b", "a"),
		after: all(comesBack("b", "a", follower), stays("a")),
	},
	{
		name:   "the first standby of a primary",
		before: paired(),
		who:    "a", serves: true, change: copying("b", "a"),
		after: all(stays("a"), comesBack("b", "a", follower), stays("a")),
	},
	{
		name:   "loads at a standby",
		before: all(paired("b"), loaded("a", "load"), loaded("a", "another load")), begins: serving("a", ""),
		who: "b", of: "a", change: catchingUp("b", "a"),
		after: all(comesBack("b", "a", follower), without("a", leads("b", "a")), comesBack("a", "b", follower)),
	},
	{
		name:   "changes of the schema at a standby",
		before: all(paired("b"), altered("a")), begins: serving("a", ""),
		who: "b", of: "a", change: catchingUp("b", "a"),
		after: all(comesBack("b", "a", follower), without("a", leads("b", "a")), comesBack("a", "b", follower)),
	},
	{
		name:   "a primary with a standby",
		before: paired("b"), begins: serving("b", "a"),
		who: "a", serves: true, change: busy("a", "sync"),
		after: all(stays("a"), comesBack("b", "a", follower)),
	},
	{
		name:   "a primary that does not sync, with a standby",
		before: paired("b"), begins: serving("b", "a"),
		who: "a", more: []string{"--durability", "async"}, serves: true, change: busy("a", "async"),
		after: all(stays("a"), comesBack("b", "a", follower)),
	},
	{
		name: "a standby differs", at: "renameat STANDBY",
		before: all(paired("b"), forged("b")), begins: serving("a", ""),
		who: "b", of: "a", serves: true, change: differing("b", "a"),
		after: all(serving("b", "a"), differing("b", "a"), saysWhy("b"), comesBack("b", "a", followerAndTail), stays("a")),
	},
	{
		name:   "a standby from a backup",
		before: all(paired(), restored("b", "a")), begins: serving("a", ""),
		who: "b", of: "a", change: catchingUp("b", "a"),
		after: all(comesBack("b", "a", followerAndTail), stays("a")),
	},
	{
		name:   "a standby is behind",
		before: all(paired("b"), trimmed("a")), begins: serving("a", ""),
		who: "b", of: "a", change: catchingUp("b", "a"),
		after: all(comesBack("b", "a", follower), stays("a")),
	},
	{
		name:   "a standby is behind, and feeds another one",
		before: all(paired("b", "c"), trimmed("a")), begins: all(serving("a", ""), serving("c", "b")),
		who: "b", of: "a", change: catchingUp("b", "a"),
		after: all(comesBack("b", "a", ""), equal("c", "b"), leaves("b", follower), stays("a")), // while b is copied, it has more
	},
	{
		name:   "a standby is behind, and its primary is lost",
		before: all(paired("b"), trimmed("a")), begins: serving("a", ""),
		who: "b", of: "a", change: catchingUp("b", "a"),
		after: survives("b", "a"),
	},
}

func all(scenes ...scene) scene {
	return func(w *stage) {
		w.t.Helper()
		for _, s := range scenes {
			s(w)
		}
	}
}

func nothing(*stage) {}

func serving(name, of string) scene {
	return func(w *stage) { w.t.Helper(); w.must(w.tries(name, of)) }
}

func without(name string, scenes ...scene) scene {
	return func(w *stage) { w.t.Helper(); w.stop(name); all(scenes...)(w) }
}

func catchingUp(name, of string) scene {
	return func(w *stage) { w.t.Helper(); w.catchesUp(name, of) }
}

func promoting(name string) scene {
	return func(w *stage) { _ = w.promote(name) } // it may be killed
}

func fenced(name string) scene {
	return func(w *stage) { w.t.Helper(); w.fences(name) }
}

// paired makes a primary a and its standbys. All have the same rows.
func paired(standbys ...string) scene {
	return func(w *stage) {
		w.must(w.tries("a", ""))
		_, err := call(w, "a", func(ctx context.Context, c *client.Client) (any, error) {
			return nil, c.CreateTable(client.Async(ctx), schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "g"}}})
		})
		w.must(err)
		semiSync := "off"
		for _, s := range standbys {
			semiSync = "strict"
			w.must(w.tries(s, "a"))
			w.follows(s, "a")
		}
		for i := range 5 {
			w.must(w.put("a", fmt.Sprint("row", i), semiSync))
		}
		for _, s := range standbys {
			w.follows(s, "a")
		}
		w.allStop()
	}
}

// tailed writes rows that only the old primary has.
func tailed(name string) scene {
	return func(w *stage) {
		w.local(name, func(ctx context.Context, db *query.DB) error {
			for i := range 3 {
				w.tail = append(w.tail, fmt.Sprint("tail", i))
				if err := db.Table("t").Apply(ctx, w.tail[i], mutationOf(w.tail[i])); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// replaced promotes a standby in the place of a primary that is down.
func replaced(before, by string) scene {
	return func(w *stage) {
		w.stop(before)
		w.must(w.tries(by, before))
		w.must(w.promote(by))
		for i := range 3 {
			w.must(w.put(by, fmt.Sprint("new", i), "off"))
		}
	}
}

// decided leaves a promotion that was killed when it was decided.
func decided(name, of string) scene {
	return func(w *stage) {
		w.must(w.tries(name, of))
		is, err := w.is(name)
		w.must(err)
		w.stop(name)
		text := fmt.Appendf(nil, `{"epoch":2,"id":"KILLED","after":%d,"leader":"%s"}`, is.Position, w.hosts[name].addr)
		w.must(os.WriteFile(filepath.Join(w.db(name), plumbing.PromotedFile), text, 0o644))
		w.must(os.Remove(filepath.Join(w.db(name), plumbing.StandbyFile)))
	}
}

// writing writes to a server meanwhile, with a standby's acknowledgement.
func writing(name string, meanwhile scene) scene {
	return func(w *stage) {
		ctx, stop := context.WithCancel(w.t.Context())
		acknowledged, done := map[string]string{}, make(chan struct{})
		c, err := client.Dial(w.hosts[name].addr, client.Options{})
		w.must(err)
		go func() {
			defer close(done)
			for i := 0; ; i++ {
				row := fmt.Sprint("meanwhile", i)
				if c.Table("t").Apply(client.SemiSync(ctx, "strict"), row, mutationOf(row)) != nil {
					return
				}
				acknowledged[row] = valueOf(row)
			}
		}()
		meanwhile(w)
		stop()
		<-done
		_ = c.Close() // no call is running
		maps.Copy(w.rows, acknowledged)
	}
}

// altered changes the schema, so that families are made and dropped.
func altered(name string) scene {
	return func(w *stage) {
		w.local(name, func(ctx context.Context, db *query.DB) error {
			u := schema.Table{Name: "u", Families: []schema.Family{{Name: "f", GC: schema.MaxVersions(2)}}}
			return errors.Join(
				db.CreateTable(ctx, u), db.Table("u").Apply(ctx, "row", mutationOf("row")), db.AddFamily(ctx, "t", schema.Family{Name: "h"}),
				db.DropTable(ctx, "u"), db.CreateTable(ctx, u), db.DropFamily(ctx, "t", "h"), db.SetFamily(ctx, "t", schema.Family{Name: "g", GC: schema.MaxVersions(1)}))
		})
	}
}

// busy writes, flushes and changes the schema, until the server has ended.
func busy(name, durability string) scene {
	return func(w *stage) {
		for i := range 30 {
			row := fmt.Sprint("busy", i)
			if w.put(name, row, "off") != nil {
				return
			}
			if durability == "async" {
				delete(w.rows, row) // a loss of power may lose it
			}
			if i%10 == 5 {
				_, _ = call(w, name, func(ctx context.Context, c *client.Client) (any, error) { // it may be killed
					return nil, c.CreateTable(client.Async(ctx), schema.Table{Name: row, Families: []schema.Family{{Name: "f"}}})
				})
			}
		}
		w.catchesUp("b", name)
	}
}

func loaded(name, row string) scene {
	return func(w *stage) {
		w.local(name, func(ctx context.Context, db *query.DB) error {
			l, err := db.Table("t").BulkLoad(ctx, query.BulkOptions{Overlap: true})
			if err != nil {
				return err
			}
			defer l.Close()
			for _, family := range []string{"f", "g"} {
				m := write.NewMutation()
				m.SetAt(family, "q", 1, cells.String(valueOf(row)))
				if err := l.Apply(row, m); err != nil {
					return err
				}
			}
			_, err = l.Commit(ctx)
			return err
		})
		w.rows[row] = valueOf(row)
	}
}

// forged changes a value at a standby. Its last records, which it compares when it connects, do
// not have it.
func forged(name string) scene {
	return func(w *stage) {
		w.must(w.tries("a", ""))
		w.must(w.tries(name, "a"))
		w.follows(name, "a")
		w.must(w.put("a", "forged", "strict"))
		_, err := call(w, "a", func(ctx context.Context, c *client.Client) (any, error) {
			m := write.NewMutation()
			m.Set("g", "q", cells.String(strings.Repeat("large", 100_000)))
			return nil, c.Table("t").Apply(ctx, "large", m)
		})
		w.must(err)
		w.follows(name, "a")
		w.allStop()
		forge(w.t, w.db(name), valueOf("forged"), strings.Replace(valueOf("forged"), "value", "valve", 1))
	}
}

// differing compares a standby until it was rebuilt, or has ended.
func differing(name, of string) scene {
	return func(w *stage) {
		w.until("the standby is not rebuilt", func() bool {
			_, _ = w.verify(name, of) // it may be killed, and it may be copied
			return w.gone(name) || strings.Contains(w.names(name), "db.diverged")
		})
		w.catchesUp(name, of)
	}
}

func saysWhy(name string) scene {
	return func(w *stage) {
		if _, err := standby.OpenTail(w.t.Context(), w.db(name)+".diverged"); !errors.Is(err, standby.ErrNoTail) || !strings.Contains(err.Error(), "differs from its primary") {
			w.t.Errorf("what was kept aside does not say why: %v", err)
		}
	}
}

func restored(name, of string) scene {
	return func(w *stage) {
		backup := filepath.Join(w.dir, "backup")
		w.smolwc("backup", backup, "--db", w.db(of))
		w.smolwc("restore", "latest", w.db(name), "--from", backup)
	}
}

// trimmed makes a primary that has no longer the log that its standbys need.
func trimmed(name string) scene { return all(flushed(name), forgotten(name)) }

// flushed writes rows, and ends the files of the log that have what was before.
func flushed(name string) scene {
	return func(w *stage) {
		for _, row := range []string{"more", "and more"} {
			w.local(name, func(ctx context.Context, db *query.DB) error {
				w.rows[row] = valueOf(row)
				return errors.Join(db.Table("t").Apply(ctx, row, mutationOf(row)), db.Table("t").Flush(ctx))
			})
		}
	}
}

// forgotten removes the log of a primary that is kept for standbys alone.
func forgotten(name string) scene {
	return func(w *stage) {
		logs, err := filepath.Glob(filepath.Join(w.db(name), "archive", "*.log"))
		w.must(err)
		if len(logs) == 0 {
			w.t.Fatal("there is no log in the archive")
		}
		for _, l := range logs {
			w.must(os.Remove(l))
		}
	}
}

// copying starts a standby until its first copy was made, or its primary has ended.
func copying(name, of string) scene {
	return func(w *stage) {
		for !w.gone(of) && w.tries(name, of) != nil { // it ends when its primary does
		}
		w.catchesUp(name, of)
	}
}

// endPromotion promotes a server that was to be promoted, unless its promotion was decided and so ends by itself.
func (w *stage) endPromotion(name, of string, promote func(name string) error) {
	w.t.Helper()
	switch err := w.tries(name, of); {
	case err == nil:
		w.must(promote(name))
	case strings.Contains(err.Error(), "serve it without --standby-of"), strings.Contains(err.Error(), "serve the directory without --standby-of"), strings.Contains(err.Error(), "does not answer"):
		w.must(w.tries(name, ""))
	default:
		w.t.Fatal(err)
	}
	is, err := w.is(name)
	if w.must(err); is.Standby || is.FencedBy != "" || is.Epoch != 2 {
		w.t.Fatalf("%s does not lead epoch 2: %+v", name, is)
	}
}

// leads makes a server the one that leads: a standby that was to be promoted is promoted again,
// and a promotion that was decided ends by itself. It has all rows.
func leads(name, of string) scene {
	return func(w *stage) {
		w.t.Helper()
		w.endPromotion(name, of, w.promote)
		w.has(name, w.rows)
		w.must(w.put(name, "after", "off"))
	}
}

// refuses checks that a primary that was replaced acknowledges nothing.
func refuses(name string) scene {
	return func(w *stage) {
		if err := w.put(name, "refused", "strict"); err == nil {
			w.t.Fatalf("%s takes writes", name)
		}
	}
}

// stays checks that a server that leads does so when it is started again.
func stays(name string) scene {
	return func(w *stage) {
		w.t.Helper()
		w.must(w.tries(name, ""))
		is, err := w.is(name)
		if w.must(err); is.Standby || is.FencedBy != "" {
			w.t.Errorf("%s does not lead: %+v", name, is)
		}
		w.has(name, w.rows)
		if got := w.names(name); got != leader {
			w.t.Errorf("%s has %s", name, got)
		}
	}
}

func keepsTail(name string) scene {
	return func(w *stage) { w.t.Helper(); w.stop(name); w.hasTail(w.db(name)) }
}

// comesBack makes a server a standby of the one that leads. It becomes equal to it, and nothing
// of the change is left on its disk but what was to be kept.
func comesBack(name, of, left string) scene {
	return func(w *stage) {
		w.t.Helper()
		w.must(w.tries(name, of))
		w.follows(name, of)
		w.equals(name, of)
		w.must(w.put(of, "last", "strict"))
		w.follows(name, of)
		w.must(w.tries(name, of)) // after a kill
		w.follows(name, of)
		w.has(name, w.rows)
		w.has(of, w.rows)
		if got := w.names(name); left != "" && got != left {
			w.t.Errorf("%s has %s; want %s", name, got, left)
		}
		if left == followerAndTail && len(w.tail) > 0 {
			w.hasTail(w.db(name) + ".diverged")
		}
	}
}

func equal(name, of string) scene {
	return func(w *stage) { w.t.Helper(); w.follows(name, of); w.equals(name, of); w.has(name, w.rows) }
}

func leaves(name, what string) scene {
	return func(w *stage) {
		w.t.Helper()
		w.until(name+" has something else than "+what, func() bool { return w.names(name) == what })
	}
}

// survives is when the other server is lost for good: this one leads, with the rows that both
// had.
func survives(name, lost string) scene {
	return func(w *stage) {
		w.t.Helper()
		w.stop(lost)
		switch err := w.tries(name, lost); {
		case err == nil:
			w.must(w.promote(name))
		case strings.Contains(err.Error(), "does not answer"): // it is no standby yet
			w.must(w.tries(name, ""))
			is, err := w.is(name)
			if w.must(err); is.FencedBy != "" {
				w.stop(name)
				w.smolwc("copy", "--from", w.db(name), "--to", w.db(name)+".new")
				w.must(errors.Join(os.RemoveAll(w.db(name)), os.Rename(w.db(name)+".new", w.db(name))))
				w.must(w.tries(name, ""))
			}
		default:
			w.t.Fatal(err)
		}
		w.has(name, rowsOfAll(w))
		w.must(w.put(name, "alone", "off"))
	}
}

// rowsOfAll are the rows that all servers have had since the beginning.
func rowsOfAll(w *stage) map[string]string {
	all := map[string]string{}
	for i := range 5 {
		row := fmt.Sprint("row", i)
		all[row] = w.rows[row]
	}
	return all
}

// A server is killed at each step of a change of its role: before each system call that changes
// files. Then it is started as docs/standby.md says. No acknowledged row is missing at the server
// that leads; the others become equal to it; what only the old primary has is kept; and no
// start makes another server of a directory than what it was, or is to become. -step-every 1
// takes all steps of all changes, which is half an hour; with -step-loss a kill loses what was
// not synced.
func TestKilledAtEachStep(t *testing.T) {
	killer := buildKiller(t)
	for _, c := range slices.Concat(changes, archiveChanges) {
		if c.at == "" && *stepEvery == 0 {
			continue
		}
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			if *stepEvery == 0 {
				t.Parallel()
			}
			w := newStage(t)
			c.before(w)
			k := &killing{change: c, stage: w, killer: killer, back: w.keep()}
			if *stepEvery == 0 {
				for step := range strings.SplitSeq(c.at, ",") {
					if !k.at(t, step) {
						t.Errorf("there is no step %s", step)
					}
				}
				return
			}
			n := 1
			for k.at(t, fmt.Sprint(n)) {
				n += *stepEvery
			}
			t.Logf("up to step %d", n)
		})
	}
}

// buildKiller builds the program that kills, and skips the test where it cannot work.
func buildKiller(t *testing.T) (path string) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("testdata/killer.c knows the registers of amd64 alone")
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("testdata/killer.c needs a C compiler:", err)
	}
	dir := t.TempDir()
	path = filepath.Join(dir, "killer")
	if out, err := exec.Command("cc", "-O1", "-o", path, "testdata/killer.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command(path, "-", "0", dir, filepath.Join(dir, "steps"), "-", "true").CombinedOutput(); err != nil {
		t.Skipf("this machine lets no process trace another one: %v: %s", err, out)
	}
	return path
}

// A killing kills the server of a change, again and again from the same state on.
type killing struct {
	change
	*stage
	killer string
	back   func(t *testing.T)
}

// at kills at a step, and checks what is there. It reports whether the change has this step.
func (k *killing) at(t *testing.T, step string) (killed bool) {
	ok := t.Run(strings.ReplaceAll(step, " ", "-"), func(t *testing.T) {
		k.back(t)
		if k.begins != nil {
			k.begins(k.stage)
		}
		var last string
		killed, last = k.kill(step)
		t.Logf("the last step: %s", last)
		if killed && *stepAgain {
			k.killAgain()
		}
		if killed && k.of != "" {
			k.probe()
		}
		k.after(k.stage)
	})
	return killed || !ok
}

// kill makes the change, and kills KEEPME a step.
func (k *killing) kill(step string) (killed bool, last string) {
	k.t.Helper()
	arm, steps := "-", filepath.Join(k.dir, "steps")
	if k.serves {
		arm = filepath.Join(k.dir, "arm")
		_ = os.Remove(arm) // it may not be there
	}
	k.hosts[k.who].more = k.more
	h := k.start(k.who, k.of, k.killer, arm, step, k.disk(k.who), steps, *stepLoss)
	k.hosts[k.who].more = nil
	select {
	case <-h.ended:
	case <-time.After(time.Minute):
		k.t.Fatal("the server does not serve")
	case <-h.serves:
		if k.serves {
			k.must(os.WriteFile(arm, nil, 0o644))
		}
		k.change.change(k.stage)
	}
	ended := k.gone(k.who)
	k.stop(k.who)
	text, err := os.ReadFile(steps)
	k.must(err)
	made, killed := strings.CutSuffix(string(text), "killed\n")
	if ended && !killed {
		k.t.Fatal("the server has ended by itself")
	}
	made = strings.TrimSpace(made)
	return killed, strings.ReplaceAll(made[strings.LastIndexByte(made, '\n')+1:], k.disk(k.who), "")
}

// killAgain kills the next start at any step.
func (k *killing) killAgain() {
	of := k.of
	if has(k.db(k.who), plumbing.PromotedFile) && !has(k.db(k.who), plumbing.StandbyFile) {
		of = "" // as the server says
	}
	step := fmt.Sprint(1 + rand.IntN(150))
	k.t.Logf("and again at step %s of a start with --standby-of %q", step, of)
	h := k.start(k.who, of, k.killer, "-", step, k.disk(k.who), filepath.Join(k.dir, "steps"), *stepLoss)
	select {
	case <-h.ended:
	case <-h.serves:
		select {
		case <-h.ended:
		case <-time.After(rand.N(400 * time.Millisecond)): // any moment will do
		}
	}
	k.stop(k.who)
}

// probe starts a copy of the server without --standby-of. It is refused, or has the rows that
// all had: it is never an empty server.
func (k *killing) probe() {
	k.t.Helper()
	had := has(filepath.Join(k.dir, "kept", k.who, "db"), "CURRENT")
	k.must(os.RemoveAll(k.disk("d")))
	k.must(os.CopyFS(k.disk("d"), os.DirFS(k.disk(k.who))))
	switch err := k.tries("d", ""); {
	case err == nil && had:
		k.stage.has("d", rowsOfAll(k.stage))
	case err != nil && !strings.Contains(err.Error(), "the directory has a standby") && !strings.Contains(err.Error(), "the directory has a primary whose place a standby has taken"):
		k.t.Errorf("without --standby-of: %v", err)
	}
	k.stop("d")
}
