package queue_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/queue"
)

var kills = flag.Int("kills", 6, "how many times the process of TestKilledWorkers is killed")

// crashChild tells the test binary to be the process: directory and name of its round.
const crashChild = "SMOLWC_TEST_QUEUE_CHILD"

func TestMain(m *testing.M) {
	if args := strings.Fields(os.Getenv(crashChild)); len(args) == 2 {
		fmt.Println("fail", workUntilKilled(args[0], args[1]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// workUntilKilled places orders, each a row with an item, and serves them: the row
// counts how often. It says which orders are acknowledged.
func workUntilKilled(dir, round string) error {
	db, err := query.Open(dir, query.Options{Schema: withQueues, Memory: 16 << 20})
	if err != nil {
		return err
	}
	q, failed := queue.New(db, queue.Options{}), make(chan error)
	q.SetTidyAfter(5)
	for g := range 3 {
		go func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("%s.%d.%d", round, g, n)
				if err := patient(db, func(tx *query.Tx) error { return placeOrder(tx, q, id) }); err != nil {
					failed <- err
				}
				fmt.Println("ok", id)
			}
		}()
	}
	go func() {
		failed <- q.Work(ctx, serving, queue.WorkerOptions{Workers: 4, Lease: 100 * time.Millisecond, Poll: 5 * time.Millisecond})
	}()
	return <-failed
}

func placeOrder(tx *query.Tx, q *queue.Queue, id string) error {
	m := write.NewMutation()
	m.SetAt("o", "placed", 0, cells.Bytes([]byte("yes")))
	if err := tx.Apply(ctx, "orders", id, m); err != nil {
		return err
	}
	i := queue.Item{Type: "serve", Payload: []byte(id), MaxAttempts: 1 << 20}
	if strings.HasSuffix(id, "3") {
		i.Key, i.Unique = id[:1], id
	}
	_, err := q.Enqueue(ctx, tx, id[len(id)-1:], i)
	return err
}

// serving counts in an order's row, in the transaction that completes the job.
var serving = queue.Handlers{"serve": func(ctx context.Context, j *queue.Job) error {
	return patient(j.DB(), func(tx *query.Tx) error {
		row, err := tx.ReadRow(ctx, "orders", string(j.Payload()))
		if err != nil {
			return err
		}
		served, _ := row.Bytes("o", "served")
		m := write.NewMutation()
		m.SetAt("o", "served", 0, cells.Bytes(append(served, 'x')))
		if err := tx.Apply(ctx, "orders", row.Key(), m); err != nil {
			return err
		}
		return j.Complete(ctx, tx, nil)
	})
}}

// A process that enqueues and works is killed again and again. There is no order
// without its item and no item without its order, and each order is served once.
func TestKilledWorkers(t *testing.T) {
	dir := t.TempDir()
	placed := map[string]bool{}
	for n := range *kills {
		for _, id := range lifeOfWorkers(t, dir, fmt.Sprint(n)) {
			placed[id] = true
		}
		checkOrders(t, dir, placed, false)
	}
	checkOrders(t, dir, placed, true)
}

// lifeOfWorkers runs the process until it is killed. It gives the orders that were
// acknowledged.
func lifeOfWorkers(t *testing.T, dir, round string) (placed []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashChild+"="+dir+" "+round)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	enough := 20 + rand.IntN(200)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		id, ok := strings.CutPrefix(lines.Text(), "ok ")
		if !ok {
			t.Fatal(lines.Text())
		}
		if placed = append(placed, id); len(placed) == enough {
			must(t, cmd.Process.Kill())
		}
	}
	cmd.Wait()
	return placed
}

// checkOrders compares the orders with the items, and has the rest served at the end.
func checkOrders(t *testing.T, dir string, placed map[string]bool, end bool) {
	t.Helper()
	db, err := query.Open(dir, query.Options{Schema: withQueues})
	must(t, err)
	defer db.Close()
	q := queue.New(db, queue.Options{})
	audit(t, db, q)
	if end {
		clock := &watch{at: time.Now().Add(time.Hour)} // all leases have expired
		q.SetClock(clock.now)
		stop := work(t, q, serving, queue.WorkerOptions{Poll: 5 * time.Millisecond})
		waitFor(t, func() bool { return len(itemsOf(t, db, q)) == 0 })
		stop()
		audit(t, db, q)
	}
	waiting, orders := itemsOf(t, db, q), 0
	for row, err := range db.Table("orders").ReadRows(ctx) {
		must(t, err)
		orders++
		served, _ := row.Bytes("o", "served")
		if waits := waiting[row.Key()]; len(served) > 1 || (len(served) == 1) == waits {
			t.Errorf("order %s was served %d times; its item waits: %v", row.Key(), len(served), waits)
		}
		delete(waiting, row.Key())
		delete(placed, row.Key())
	}
	for id := range waiting {
		t.Errorf("there is an item of order %s, which is not there", id)
	}
	for id := range placed {
		t.Errorf("order %s was acknowledged and is not there", id)
	}
	t.Logf("%d orders are there", orders)
}

// itemsOf are the payloads of the items of a queue.
func itemsOf(t *testing.T, db *query.DB, q *queue.Queue) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		rows, err := q.Raws(ctx, tx)
		for _, r := range rows["item"] {
			all[string(r.Value[1].([]byte))] = true
		}
		return err
	}))
	return all
}
