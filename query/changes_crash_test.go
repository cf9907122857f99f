package query_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
)

// changesChild makes the test binary write and read changes. Its value is the directory
// and the token to continue from.
const changesChild = "SMOLWC_TEST_CHANGES_CHILD"

const changesWriters = 3

// beKilledReading writes numbers, each writer one after another to its row, and
// reads their changes, until it is killed.
func beKilledReading(args []string) error {
	db, err := query.Open(args[0], query.Options{Schema: changesSchema(), Memory: 16 << 20, GCInterval: -1})
	if err != nil {
		return err
	}
	ctx := context.Background()
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	failed := make(chan error)
	for w := range changesWriters {
		go func() { failed <- writeNumbers(ctx, db, w, say) }()
	}
	go func() {
		for c, err := range db.Table("t").Changes(ctx, query.ChangesAfter(args[1])) {
			if err != nil {
				failed <- err
				return
			}
			last := c.Changes[len(c.Changes)-1]
			n, _ := last.Value.Int()
			say("change %s %d %s", c.Key, n, c.Token())
		}
	}()
	return <-failed
}

func writeNumbers(ctx context.Context, db *query.DB, w int, say func(string, ...any)) error {
	row, table := fmt.Sprint("w", w), db.Table("t")
	n := int64(0)
	r, err := table.ReadRow(ctx, row)
	if err != nil {
		return err
	}
	if last, ok := r.I64("meta", "n"); ok {
		n = last + 1
	}
	for ; ; n++ {
		m := write.NewMutation()
		m.Set("two", "x", cells.String(strings.Repeat("x", int(n%50)*100)))
		m.SetAt("meta", "n", 0, cells.I64(n))
		if err := table.Apply(ctx, row, m); err != nil {
			return err
		}
		say("ok %s %d", row, n)
		if n%37 == 36 {
			if err := table.Flush(ctx); err != nil {
				return err
			}
		}
	}
}

// TestChangesSurviveKills kills a process that writes and reads its own changes, and
// makes the next process continue from the last token in its output.
func TestChangesSurviveKills(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir, query.Options{Schema: changesSchema()})
	began := db.Now().Time()
	token := ""
	for c, err := range db.Table("t").Changes(t.Context(), query.Heartbeats(1)) {
		must(t, err)
		token = c.Token()
		break
	}
	must(t, db.Close())
	next, acknowledged := map[string]int64{}, map[string]int64{}
	first := token
	saw := func(row string, n int64, how string) {
		if n != next[row] {
			t.Fatalf("%s: after change %d of row %s comes %d", how, next[row]-1, row, n)
		}
		next[row]++
	}
	for round := range 4 {
		out := runUntilKilled(t, time.Duration(150+70*round)*time.Millisecond, fmt.Sprint(changesChild, "=", dir, " ", token))
		for line := range strings.Lines(out) {
			var what, row, at string
			var n int64
			if !strings.HasSuffix(line, "\n") {
				break // the kill came between
			}
			switch c, _ := fmt.Sscan(line, &what, &row, &n, &at); {
			case what == "ok" && c == 3:
				acknowledged[row] = n
			case what == "change" && c == 4:
				saw(row, n, fmt.Sprint("round ", round))
				token = at
			default:
				t.Fatalf("round %d says %q", round, line)
			}
		}
	}
	if token == first {
		t.Fatal("nothing was read before the kills")
	}
	db = mustOpen(t, dir, query.Options{})
	defer db.Close()
	until := query.ChangesUntil(db.Now().Time())
	for c, err := range db.Table("t").Changes(t.Context(), query.ChangesAfter(token), until) {
		must(t, err)
		n, _ := c.Changes[len(c.Changes)-1].Value.Int()
		saw(c.Key, n, "in the end")
	}
	for row, n := range acknowledged {
		if next[row] <= n {
			t.Errorf("of row %s %d is acknowledged, and changes are there up to %d", row, n, next[row]-1)
		}
		r, err := db.Table("t").ReadRow(t.Context(), row)
		must(t, err)
		if last, _ := r.I64("meta", "n"); last != next[row]-1 {
			t.Errorf("row %s has %d, its last change %d", row, last, next[row]-1)
		}
	}
	again := map[string]int64{}
	for _, c := range readChanges(t, db, "t", query.ChangesSince(began), until) {
		again[c.Key]++
	}
	for row, n := range next {
		if again[row] != n {
			t.Errorf("from the beginning row %s has %d changes, from tokens %d", row, again[row], n)
		}
	}
}

// runUntilKilled returns the output of a child that is killed some time after its first
// output.
func runUntilKilled(t *testing.T, after time.Duration, env ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	var out bytes.Buffer
	lines := bufio.NewReader(pipe)
	first, err := lines.ReadString('\n')
	must(t, err)
	out.WriteString(first)
	time.AfterFunc(after, func() { cmd.Process.Kill() })
	_, _ = out.ReadFrom(lines)
	_ = cmd.Wait()
	return out.String()
}
