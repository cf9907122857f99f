package standby_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/testaddr"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/standby"
)

// readAll reads a tail, a line for each change.
func readAll(t *testing.T, dir string) (lines []string) {
	t.Helper()
	tail, err := standby.OpenTail(t.Context(), dir)
	must(t, err)
	defer tail.Close()
	for last := tail.After; ; {
		c, err := tail.Next(t.Context())
		must(t, err)
		if c == nil {
			return lines
		}
		if c.Position < last || c.Position > tail.Last {
			t.Errorf("position %d after %d, in a tail up to %d", c.Position, last, tail.Last)
		}
		last = c.Position
		line := fmt.Sprintf("%s %q", c.Table, c.Key)
		for _, w := range c.Changes {
			line += fmt.Sprintf(" %d/%s:%s@%d-%d=%v", w.Kind, w.Family, w.Qualifier, w.Since, w.Until, w.Value)
		}
		if c.Other != "" {
			line += " -- " + c.Other
		}
		lines = append(lines, line)
	}
}

// The tail of a primary that was replaced has what it has written since, and nothing else,
// also when the new primary has written as much; before and after it was rebuilt.
func TestTheTailOfAPrimary(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	sums := schema.Table{Name: "sums", Families: []schema.Family{{Name: "n", Aggregate: schema.AggregateSum}}}
	declare(t, p.db, table("a", "f", "g"), sums)
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	must(t, try(t, p.db, "both"))
	awaitPosition(t, p, s)
	p.close()
	n := promote(t, s, dir)
	lost := &node{t: t, dir: p.dir, addr: testaddr.New(t)} // where nobody fences it
	lost.open()
	a := lost.db.Table("a")
	m, d := write.NewMutation(), write.NewMutation()
	m.SetAt("f", "x", 1000, cells.String("one"))
	m.SetAt("g", "y", 2000, cells.I64(2))
	must(t, a.Apply(t.Context(), "r\x001", m))
	d.DeleteTimestampRange("f", "x", 5000, 9000)
	d.DeleteCellsInColumn("g", "y")
	must(t, a.Apply(t.Context(), "r2", d))
	gone, add := write.NewMutation(), write.NewMutation()
	gone.DeleteRow()
	must(t, a.Apply(t.Context(), "both", gone))
	add.AddAt("n", "q", 1000, cells.I64(7))
	must(t, lost.db.Table("sums").Apply(t.Context(), "s", add))
	must(t, a.DeleteRange(t.Context(), read.Range("k", "l")))
	must(t, a.Compact(t.Context())) // which is no change, though Pebble's deletes keys that no cell has
	load(t, lost.db, "a", 0, 3, "v")
	declare(t, lost.db, table("a", "f", "g"), sums, table("more", "f"))
	lost.close()
	if _, err := standby.OpenTail(t.Context(), p.dir); !errors.Is(err, standby.ErrNoTail) {
		t.Errorf("a primary that was not fenced has a tail: %v", err)
	}
	for tailed := lastPosition(t, p.dir); position(t, n.primary) < tailed; {
		must(t, try(t, n.db, "theirs"))
	}
	must(t, rebuild(t, follow(t, p.dir, n.addr), "are its own").Close())

	kept := p.dir + ".diverged"
	lines := readAll(t, kept)
	want := []string{
		`a "r\x001" 0/f:x@1000-0=one 0/g:y@2000-0=2`,
		`a "both" `,
		`sums "s" 4/n:q@1000-0=7`,
		`a "" -- the rows from "k" to before "l" were deleted in family f`,
		`a "" -- the rows from "k" to before "l" were deleted in family g`,
		` "" -- the cells of a load (`,
		`more "" -- the table was declared`,
	}
	for _, l := range lines {
		if len(want) > 0 && strings.HasPrefix(l, want[0]) {
			want = want[1:]
		}
	}
	if len(want) > 0 || slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "theirs") }) {
		t.Errorf("the tail is\n%s\nwithout %q", strings.Join(lines, "\n"), want)
	}
	before := filesBelow(t, kept)
	readAll(t, kept)
	for name, sum := range filesBelow(t, kept) {
		if before[name] != sum {
			t.Errorf("%s was changed", name)
		}
	}

	logs, _ := filepath.Glob(filepath.Join(kept, "archive", "*.log"))
	for _, name := range logs {
		must(t, os.Remove(name))
	}
	if _, err := standby.OpenTail(t.Context(), kept); !errors.Is(err, standby.ErrNoTail) || !strings.Contains(err.Error(), "no longer begins at position") {
		t.Errorf("without its log: %v", err)
	}
	db, err := query.Open(kept+".copy", query.Options{})
	must(t, err)
	must(t, db.Close())
	for _, empty := range []string{kept + ".copy", t.TempDir(), "missing"} {
		if _, err := standby.OpenTail(t.Context(), empty); err == nil {
			t.Errorf("%s has a tail", empty)
		}
	}
}

// A primary that was replaced and not rebuilt has its tail in place.
func TestTheTailOfAFencedPrimary(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	must(t, try(t, p.db, "both"))
	awaitPosition(t, p, s)
	promote(t, s, dir)
	awaitFenced(t, p.db, "") // which may write until then
	p.close()
	for _, line := range readAll(t, p.dir) {
		if !strings.HasPrefix(line, `a "tail" 0/f:q@`) {
			t.Errorf("the tail has %s", line)
		}
	}
}

// Two standbys of one primary were promoted, and others in their places. The tail of one
// that follows the other ones then begins where the first two parted.
func TestTheTailOfTwoChainsOfPromotions(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := func(name string) string { return filepath.Join(base, name) }
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	one, two, three := follow(t, dir("one"), p.addr), follow(t, dir("two"), p.addr), follow(t, dir("three"), p.addr)
	must(t, try(t, p.db, "all"))
	for _, s := range []*standby.Standby{two, three} {
		awaitPosition(t, p, s)
		must(t, s.Close())
	}
	must(t, try(t, p.db, "lost 1"))
	awaitPosition(t, p, one)
	p.close()
	n := promote(t, one, dir("one"))
	three = follow(t, dir("three"), n.addr)
	must(t, try(t, n.db, "lost 2"))
	awaitPosition(t, n, three)
	n.close()
	lost := promote(t, three, dir("three"))
	must(t, try(t, lost.db, "lost 3"))
	lost.close()

	n = promote(t, follow(t, dir("two"), p.addr), dir("two"))
	for range 10 { // more than the others
		must(t, try(t, n.db, "theirs"))
	}
	four := follow(t, dir("four"), n.addr)
	awaitPosition(t, n, four)
	n.close()
	last := &node{t: t, dir: dir("four"), addr: testaddr.New(t)}
	done, err := four.PromoteTo(t.Context(), 4, last.addr, query.DurabilitySync) // the epoch after lost's
	must(t, err)
	last.take(done)
	t.Cleanup(last.close)
	must(t, four.Close())
	must(t, rebuild(t, follow(t, lost.dir, last.addr), "are its own").Close())
	var rows []string
	for _, line := range readAll(t, lost.dir+".diverged") {
		rows = append(rows, strings.Fields(line)[2])
	}
	if fmt.Sprint(rows) != `[1" 2" 3"]` {
		t.Errorf("the tail has the writes %v", rows)
	}
}

// A standby that is to follow another one that has less waits, since that one may get the
// rest. If it is promoted instead, the tail has what only the first one has.
func TestAStandbyThatIsAhead(t *testing.T) {
	for _, promoted := range []bool{false, true} {
		t.Run(fmt.Sprint("promoted ", promoted), func(t *testing.T) {
			t.Parallel()
			p := newPrimary(t, 0)
			declare(t, p.db, table("a", "f"))
			dir, ahead := filepath.Join(t.TempDir(), "behind"), filepath.Join(t.TempDir(), "ahead")
			first := follow(t, ahead, p.addr)
			must(t, follow(t, dir, p.addr).Close())
			must(t, try(t, p.db, "ahead"))
			awaitPosition(t, p, first)
			p.close()
			must(t, first.Close())
			addr := testaddr.New(t)
			behind := follow(t, dir, p.addr)
			served := serve(t, behind.Service(), &addr)
			t.Cleanup(served.Stop)
			said := new(heard)
			s, err := standby.Open(t.Context(), ahead, standby.Options{Primary: addr, Retry: time.Millisecond, Database: query.Options{Memory: 16 << 20, Logger: slog.New(slog.NewTextHandler(said, nil))}})
			must(t, err)
			t.Cleanup(func() { must(t, s.Close()) })
			await(t, "the standby does not say that it waits", func() bool { return said.has("this server is a standby with position") })
			if !has(t, s.DB(), "ahead") {
				t.Error("a standby that waits cannot be read")
			}
			if !promoted {
				p.open()
				must(t, try(t, p.db, "for both"))
				awaitEqual(t, p.db, s)
				return
			}
			served.Stop()
			n := promote(t, behind, dir)
			must(t, s.Redirect(n.addr))
			must(t, rebuild(t, s, "are its own").Close())
			if lines := readAll(t, ahead+".diverged"); len(lines) != 1 || !strings.HasPrefix(lines[0], `a "ahead" `) {
				t.Errorf("the tail is %q", lines)
			}
		})
	}
}

// A primary that hears of two promotions at once, from a standby that has followed the second
// one, has its tail from the first one on.
func TestTheTailAfterTwoPromotions(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := func(name string) string { return filepath.Join(base, name) }
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	one := follow(t, dir("one"), p.addr)
	must(t, try(t, p.db, "both"))
	awaitPosition(t, p, one)
	p.close()
	n1 := promote(t, one, dir("one"))
	lost := &node{t: t, dir: p.dir, addr: testaddr.New(t)} // where nobody fences it
	lost.open()
	t.Cleanup(lost.close)
	must(t, try(t, lost.db, "lost 1"))
	must(t, try(t, lost.db, "lost 2"))
	for range 10 {
		must(t, try(t, n1.db, "theirs"))
	}
	two, three := follow(t, dir("two"), n1.addr), follow(t, dir("three"), n1.addr)
	awaitPosition(t, n1, two)
	n1.close() // and never comes back
	n2 := promote(t, two, dir("two"))
	must(t, try(t, n2.db, "theirs"))
	must(t, three.Redirect(n2.addr))
	awaitPosition(t, n2, three)
	must(t, three.Redirect(lost.addr)) // an old setting
	awaitFenced(t, lost.db, n2.addr)
	must(t, three.Redirect(n2.addr))
	lost.close()
	lines := readAll(t, lost.dir)
	if text := fmt.Sprint(lines); !strings.Contains(text, "lost 1") || !strings.Contains(text, "lost 2") {
		t.Errorf("the tail is %q", lines)
	}
}
