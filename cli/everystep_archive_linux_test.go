package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
)

// archiveChanges are the changes of standbys that read an archive of every moment, or stay behind.
var archiveChanges = []change{
	{
		name: "a standby begins from the archive", at: "unlinkat COPYING",
		before: all(paired(), sending("a"), onlyInArchive("a"), reading("b")), begins: serving("a", ""),
		who: "b", of: "a", change: catchingUp("b", "a"),
		after: all(comesBack("b", "a", follower), readsArchive("b", "begins from the archive"), stays("a")),
	},
	{
		name:   "a standby begins from the archive, and its primary is lost",
		before: all(paired(), sending("a"), onlyInArchive("a"), reading("b")), begins: serving("a", ""),
		who: "b", of: "a", change: catchingUp("b", "a"),
		after: all(comesBack("b", "a", follower), without("a", leads("b", "a"), sends("b")), comesBack("a", "b", follower)),
	},
	{
		name: "a standby catches up from the archive", at: "150",
		before: all(paired("b"), sending("a", "b"), onlyInArchive("a"), reading("b")), begins: serving("a", ""),
		who: "b", of: "a", change: catchingUp("b", "a"),
		after: all(comesBack("b", "a", follower), readsArchive("b", "it is read from the archive"), stays("a")),
	},
	{
		name: "a promotion to a moment", at: "renameat UNTOLD-2",
		before: all(paired("b"), late("b", "a")),
		who:    "b", of: "a", serves: true, change: promotingToMoment("b"),
		after: all(leadsFromMoment("b", "a"), comesBack("a", "b", followerAndTail), stays("b")),
	},
}

func (w *stage) archive() string { return w.disk("archive") }

// sends waits until a server has sent its log to the archive.
func sends(name string) scene {
	return func(w *stage) {
		w.t.Helper()
		to, err := archive.Open(w.t.Context(), w.archive())
		w.must(err)
		w.until(name+" does not send its log", func() bool {
			is, err := w.is(name)
			w.must(err)
			r, err := moments.Look(w.t.Context(), to)
			return err == nil && r.Bases > 0 && r.Position >= is.Position
		})
	}
}

func toArchive(w *stage) []string {
	return []string{"--backup", w.archive(), "--continuous", "--continuous-every", "1ms", "--log-level", "info"}
}

// sending makes a primary send its log to the archive, from now on, until all of it is there. Its standbys follow meanwhile.
func sending(name string, standbys ...string) scene {
	return func(w *stage) {
		w.t.Helper()
		w.must(os.MkdirAll(w.archive(), 0o755))
		w.hosts[name].always = toArchive(w)
		w.must(w.tries(name, ""))
		sends(name)(w)
		for _, s := range standbys {
			w.must(w.tries(s, name))
			w.follows(s, name)
		}
		w.must(w.put(name, "sent", "off"))
		for _, s := range standbys {
			w.follows(s, name)
		}
		sends(name)(w)
		w.allStop()
	}
}

// reading makes a standby read the archive, from its next start on.
func reading(name string) scene {
	return func(w *stage) { w.hosts[name].always = toArchive(w) }
}

// onlyInArchive writes rows, a load and changes of the schema, until only the archive holds their log.
func onlyInArchive(name string) scene {
	return all(loaded(name, "loaded"), altered(name), flushed(name), sending(name), forgotten(name))
}

// readsArchive checks that a standby has read the archive, and that its primary was not copied.
func readsArchive(name, how string) scene {
	return func(w *stage) {
		w.t.Helper()
		said, err := os.ReadFile(w.hosts[name].log)
		w.must(err)
		if !strings.Contains(string(said), how) || strings.Contains(string(said), "copying the primary") {
			w.t.Errorf("%s was to say %q:\n%s", name, how, said)
		}
	}
}

// late makes a standby that stays an hour behind. It has received rows before a moment, and rows after it, which are the tail of its
// primary if the standby is promoted to the moment.
func late(name, of string) scene {
	return func(w *stage) {
		w.t.Helper()
		w.hosts[name].follows = []string{"--standby-delay", "1h"}
		w.must(w.tries(of, ""))
		w.must(w.tries(name, of))
		received := func() {
			w.t.Helper()
			w.until(name+" has not received the log", func() bool {
				is, err := w.is(of)
				return err == nil && len(is.Replicas) == 1 && is.Replicas[0].Delay > 0 && is.Replicas[0].Synced == is.Position
			})
		}
		received()
		for _, row := range []string{"early", "earlier than the moment"} {
			w.must(w.put(of, row, "off"))
		}
		received()                         // where the log does not say when records were written, it counts when they came
		const apart = 2 * time.Millisecond // times are microseconds of a clock
		time.Sleep(apart)
		w.moment = time.Now()
		time.Sleep(apart)
		w.stop(of)
		w.local(of, func(ctx context.Context, db *query.DB) error {
			for _, row := range []string{"late0", "late1"} {
				w.tail = append(w.tail, row)
				if err := db.Table("t").Apply(ctx, row, mutationOf(row)); err != nil {
					return err
				}
			}
			return nil
		})
		w.must(w.tries(of, ""))
		received()
		w.allStop()
	}
}

func (w *stage) promoteToMoment(name string) error {
	_, err := call(w, name, func(ctx context.Context, c *client.Client) (client.Promotion, error) {
		return c.PromoteAt(ctx, w.hosts[name].addr, w.moment)
	})
	return err
}

func promotingToMoment(name string) scene {
	return func(w *stage) { _ = w.promoteToMoment(name) } // it may be killed
}

// leadsFromMoment makes a standby with a delay lead: one that was to be promoted is promoted to the moment again, and a promotion that was
// decided ends by itself. It has the rows from before the moment, and no other.
func leadsFromMoment(name, of string) scene {
	return func(w *stage) {
		w.t.Helper()
		w.endPromotion(name, of, w.promoteToMoment)
		w.has(name, w.rows)
		if got, err := w.rowsOf(name); err != nil || len(got) != len(w.rows) {
			w.t.Errorf("%s has %v, %v; want %v", name, got, err, w.rows)
		}
		w.must(w.put(name, "after", "off"))
		w.stop(name)
		if has(w.db(name), "delayed") || !has(filepath.Join(w.db(name)), "delayed.left") {
			w.t.Error("the records that the promotion left out were not put aside")
		}
		w.must(w.tries(name, ""))
	}
}
