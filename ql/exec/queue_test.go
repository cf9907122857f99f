package exec_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/queue"
)

// ids are the ids of items by name. A script writes $name$ for an id, and so do results.
type ids map[string]string

func (i ids) into(text string) string {
	for name, id := range i {
		text = strings.ReplaceAll(text, "$"+name+"$", id)
	}
	return text
}

func (i ids) outOf(text string) string {
	for name, id := range i {
		text = strings.ReplaceAll(text, id, "$"+name+"$")
	}
	return text
}

// addItems enqueues an item for each line: zone, type, name, then settings, and with
// then= how its first attempt ends. Other lines are configurations and schedules.
func addItems(t testing.TB, db *query.DB, known ids, lines string) string {
	t.Helper()
	for line := range strings.SplitSeq(lines, "\n") {
		line, table, _ := strings.Cut(line, " in ")
		q := queue.New(db, queue.Options{Table: table})
		if err := db.Update(t.Context(), func(tx *query.Tx) error { return addItem(t.Context(), tx, q, known, strings.Fields(line)) }); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return ""
}

func addItem(ctx context.Context, tx *query.Tx, q *queue.Queue, known ids, words []string) error {
	set := map[string]string{}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		if text, err := strconv.Unquote(`"` + value + `"`); err == nil {
			value = text
		}
		set[name] = strings.ReplaceAll(value, "_", " ")
	}
	number := func(name string) int { n, _ := strconv.Atoi(set[name]); return n }
	zone, command := strings.ReplaceAll(words[0], "_", " "), ""
	if words[0] == "configure" || words[0] == "schedule" {
		zone, command = words[1], words[0]
	}
	switch command {
	case "configure":
		return q.Configure(ctx, tx, zone, queue.ZoneConfig{Weight: number("weight"), Limit: number("limit"), PerKey: number("perkey")})
	case "schedule":
		return q.SetSchedule(ctx, tx, queue.Schedule{Name: set["name"], Cron: set["cron"], Zone: zone, Item: queue.Item{Type: "tick"}})
	}
	delay, _ := time.ParseDuration(set["delay"])
	keep, _ := time.ParseDuration(set["keep"])
	id, err := q.Enqueue(ctx, tx, zone, queue.Item{
		Type: words[1], Payload: []byte(set["payload"]), Priority: number("priority"), Delay: delay, Key: set["key"], Unique: set["unique"], KeepResult: keep,
	})
	if known[words[2]] = id.String(); err != nil || set["then"] == "" {
		return err
	}
	jobs, err := q.Dequeue(ctx, tx, zone, 100, time.Minute)
	for _, j := range jobs {
		if err != nil {
			break
		}
		err = endJob(ctx, tx, j, id, set["then"])
	}
	return err
}

// endJob ends a job as the setting says, and releases those of other items.
func endJob(ctx context.Context, tx *query.Tx, j *queue.Job, id queue.ID, then string) error {
	how, cause, _ := strings.Cut(then, ":")
	switch {
	case j.ID() != id:
		return j.Release(ctx, tx)
	case how == "dead":
		return j.Bury(ctx, tx, errors.New(cause))
	case how == "retry":
		return j.Return(ctx, tx, time.Hour, errors.New(cause))
	case how == "done":
		return j.Complete(ctx, tx, []byte(cause))
	}
	return nil // it stays leased
}

// openQueue has the table of a queue.
func openQueue(t *testing.T) *exec.Runner {
	t.Helper()
	r := &exec.Runner{DB: openMemory(t)}
	if out := runAll(t, r, "create table queues family q"); strings.Contains(out, "error") {
		t.Fatal(out)
	}
	return r
}

// More items than a transaction takes are requeued and drained all the same.
func TestManyItemsAreRequeuedAndDrained(t *testing.T) {
	r := openQueue(t)
	const n = queue.MaxDrain + 200
	q := queue.New(r.DB, queue.Options{})
	for range n / 100 {
		err := r.DB.Update(t.Context(), func(tx *query.Tx) error {
			for range 100 {
				if _, err := q.Enqueue(t.Context(), tx, "acme", queue.Item{Type: "x"}); err != nil {
					return err
				}
			}
			jobs, err := q.Dequeue(t.Context(), tx, "acme", 100, time.Minute)
			for _, j := range jobs {
				if err == nil {
					err = j.Bury(t.Context(), tx, nil)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	dead := fmt.Sprintf("error 1:1: this cancels %d items of zone acme for good", n)
	for statement, want := range map[string]string{"dead acme limit=1200": "-- 1200 dead letters\n", "dead": "-- 100 dead letters, and there are more: limit= sets how many are shown\n"} {
		if out := runAll(t, r, statement); !strings.HasSuffix(out, want) {
			t.Errorf("%s: %.300s", statement, out)
		}
	}
	for _, c := range []struct{ statement, want string }{
		{"requeue acme all", "requeued 1200 dead letters of zone acme\n"},
		{"requeue acme all", "requeued 0 dead letters of zone acme\n"},
		{"drain acme", dead},
		{"drain acme yes", "cancelled 1200 items of zone acme\n"},
		{"drain acme yes", "zone acme has no items to drain\n"},
	} {
		if out := runAll(t, r, c.statement); !strings.HasPrefix(out, c.want) {
			t.Errorf("%s: %s", c.statement, out)
		}
	}
}

// In a database that is open read-only, queues are shown and not changed.
func TestQueuesOfAReadOnlyDatabase(t *testing.T) {
	dir := t.TempDir()
	db, err := query.Open(dir, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	runAll(t, &exec.Runner{DB: db}, "create table queues family q")
	known := ids{}
	addItems(t, db, known, "acme x a payload=p then=dead:why\nacme x b")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = query.OpenReadOnly(dir, query.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	r := &exec.Runner{DB: db}
	out := runAll(t, r, known.into("queues; peek acme; dead; item acme $a$; schedules"))
	if strings.Contains(out, "error 1:") || strings.Count(out, known["b"]) != 1 || strings.Count(out, known["a"]) != 2 {
		t.Error(out)
	}
	for _, statement := range []string{"requeue acme all", "requeue acme $a$", "cancel acme $a$", "drain acme yes", "pause acme"} {
		if out := runAll(t, r, known.into(statement)); !strings.Contains(out, "read-only") {
			t.Errorf("%s: %s", statement, out)
		}
	}
	if out := runAll(t, r, "resume acme"); out != "resumed zone acme\n" { // which it was
		t.Error(out)
	}
}

// Damaged rows are errors, and nothing is changed because of them.
func TestDamagedQueues(t *testing.T) {
	for key, statements := range map[string][]string{
		`("bad",)`:          {},                                                  // not a row of the queue: nobody looks at it
		`(0, "acme")`:       {"queues", "peek acme", "drain acme yes"},           // the value
		`(3, "acme", 0, 5)`: {"queues", "drain acme"},                            // a ready item without an id
		`(10, "acme")`:      {"dead", "dead acme", "queues", "requeue acme all"}, // a dead letter without an id
		`(13, "daily")`:     {"schedules"},
	} {
		r := openQueue(t)
		addItems(t, r.DB, ids{}, "acme x a")
		if out := runAll(t, r, `put queues `+key+` q:=bytes("\xfe")@0`); out != "put 1 cell\n" {
			t.Fatal(out)
		}
		for _, statement := range statements {
			if out := runAll(t, r, statement); !strings.Contains(out, "[corruption]") {
				t.Errorf("%s: %s: %s", key, statement, out)
			}
		}
		if names := r.ZoneNames(t.Context(), "", "n", 5); names != nil {
			t.Error(names)
		}
	}
}

func TestZoneNamesAndDeadLetterIDs(t *testing.T) {
	r := openQueue(t)
	known := ids{}
	addItems(t, r.DB, known, "acme x a\nacme x b then=dead:why\naces x c then=dead:why\nz z d\nconfigure quiet weight=1")
	for _, c := range []struct {
		prefix string
		most   int
		want   string
	}{{"", 4, "[aces acme quiet z]"}, {"", 3, "[]"}, {"ac", 2, "[aces acme]"}, {"acme", 2, "[acme]"}, {"b", 2, "[]"}, {"\xff", 2, "[]"}} {
		if got := fmt.Sprint(r.ZoneNames(t.Context(), "", c.prefix, c.most)); got != c.want {
			t.Errorf("%q: %s, want %s", c.prefix, got, c.want)
		}
	}
	if got := r.DeadLetterIDs(t.Context(), "", "acme", known["b"][:8], 9); len(got) != 1 || got[0] != known["b"] {
		t.Error(got)
	}
	if got := r.ZoneNames(t.Context(), "nothing", "", 9); got != nil {
		t.Error(got)
	}
	if got := r.DeadLetterIDs(t.Context(), "", "acme", "x", 9); got != nil {
		t.Error(got)
	}
}

// What is enqueued between question and answer is drained too, and the answer counts it.
func TestDrainCountsWhatItCancelled(t *testing.T) {
	r := openQueue(t)
	addItems(t, r.DB, ids{}, "acme x a\nacme x b then=lease")
	asked := ""
	r.Confirm = func(question string) (bool, error) {
		asked = question
		addItems(t, r.DB, ids{}, "acme x c")
		return true, nil
	}
	st, err := ql.Parse("drain acme")
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Run(t.Context(), st)
	if done, ok := res.(*exec.Done); !ok || err != nil || asked != "cancel 1 item of zone acme?" || done.Message != "cancelled 2 items of zone acme" {
		t.Errorf("%q: %+v, %v", asked, res, err)
	}
}

// A table of something else is not taken for an empty queue.
func TestTablesThatAreNoQueues(t *testing.T) {
	r := openQueue(t)
	runAll(t, r, "create table fleet family meta\ncreate table counts family n type=i64\ncreate table old family q versions=1\ncreate table pair family a, family b")
	m := write.NewMutation()
	m.Set("meta", "model", cells.String("757"))
	if err := r.DB.Table("fleet").Apply(t.Context(), "plane#TF-FIR", m); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ table, want string }{
		{"fleet", "table fleet is not that of a queue: its first row is plane#TF-FIR [failed precondition]"},
		{"counts", "table counts is not that of a queue: family n has the type i64, and the family of a queue has the type bytes or no type, and no rule [failed precondition]"},
		{"old", "table old is not that of a queue: family q has the rule max_versions=1, and the family"},
		{"pair", `unknown family "q" in table pair [not found]`},
		{"fleets", `unknown table "fleets"; did you mean "fleet"? [not found]`},
		{"x", `unknown table "x"; a queue has a table of its own, declared as {name: x, families: [{name: q}]} [not found]`},
	} {
		for _, statement := range []string{"queues", "queues acme", "peek acme", "dead", "dead acme", "item acme 0190a0b0-0000-7000-8000-000000000001", "schedules", "requeue acme all", "drain acme", "pause acme"} {
			if out := runAll(t, r, statement+" in "+c.table); !strings.Contains(out, c.want) {
				t.Errorf("%s in %s: %s", statement, c.table, out)
			}
		}
	}
	if n := countRows(t, r.DB, "fleet"); n != 1 {
		t.Errorf("fleet has %d rows", n)
	}
}
