package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// A ledger is what clients of several servers were told.
type ledger struct {
	began        time.Time
	acknowledged atomic.Int64 // writes

	mu     sync.Mutex
	calls  []porcupine.Operation
	writes []placed
}

// A register is a call on a row: a write of a value that no other write has, or a read.
type register struct {
	row   string
	write bool
	value int64
}

// A placed is an acknowledged write with its position.
type placed struct {
	called, returned int64
	epoch            int64
	at               uint64
}

func newLedger() *ledger { return &ledger{began: time.Now()} }

func (l *ledger) now() int64 { return int64(time.Since(l.began)) }

// row is a row to use now: each row has a history that is short enough to check.
func (l *ledger) row(random *rand.Rand) string {
	return fmt.Sprintf("r%d/%d", l.acknowledged.Load()/500, random.IntN(4))
}

func (l *ledger) note(client int, in register, out, called, returned int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: called, Return: returned})
}

// place notes the position of an acknowledged write.
func (l *ledger) place(text string, called, returned int64) error {
	w := placed{called: called, returned: returned}
	if _, err := fmt.Sscanf(text, "%d-%d", &w.epoch, &w.at); err != nil {
		return fmt.Errorf("an acknowledged write has position %q: %w", text, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes = append(l.writes, w)
	return nil
}

// unknown is the time at which a write ends whose outcome nobody knows.
const unknown = math.MaxInt64

var registers = porcupine.Model{
	Partition: func(calls []porcupine.Operation) (parts [][]porcupine.Operation) {
		rows := map[string][]porcupine.Operation{}
		for _, c := range calls {
			row := c.Input.(register).row
			rows[row] = append(rows[row], c)
		}
		for _, part := range rows {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return int64(0) },
	Step: func(now, input, output any) (bool, any) {
		if in := input.(register); in.write {
			return true, in.value
		}
		return now == output, now
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %v", input, output) },
}

// finish reads all rows at the server that leads, and checks what clients were told.
func (l *ledger) finish(t *testing.T, lead *member) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	called := l.now()
	rows, err := ask(lead, func(ctx context.Context, c *client.Client) (map[string]int64, error) {
		rows := map[string]int64{}
		for row, err := range c.Table("t").ReadRows(ctx) {
			if err != nil {
				return nil, err
			}
			rows[row.Key()], _ = row.I64("f", "q")
		}
		return rows, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	read, names := map[int64]bool{}, map[string]bool{}
	for _, c := range l.calls {
		names[c.Input.(register).row] = true
		if !c.Input.(register).write {
			read[c.Output.(int64)] = true
		}
	}
	for name := range names {
		l.calls = append(l.calls, porcupine.Operation{ClientId: 99, Input: register{row: name}, Output: rows[name], Call: called, Return: l.now()})
		read[rows[name]] = true
	}
	// A write with an unknown outcome that nobody has read may not have happened.
	all := len(l.calls)
	l.calls = slices.DeleteFunc(l.calls, func(c porcupine.Operation) bool {
		return c.Return == unknown && !read[c.Input.(register).value]
	})
	t.Logf("%d writes are acknowledged; of %d calls, %d are writes that nobody knows", len(l.writes), all, all-len(l.calls))
	if result := porcupine.CheckOperationsTimeout(registers, l.calls, 2*time.Minute); result != porcupine.Ok {
		t.Errorf("no order explains what clients were told: %v", result)
	}
	l.inOrder(t)
}

// inOrder checks that a write has a later position than all writes that were acknowledged
// before it began, in the same epoch or a later one.
func (l *ledger) inOrder(t *testing.T) {
	t.Helper()
	ended := slices.Clone(l.writes)
	slices.SortFunc(ended, func(a, b placed) int { return cmp.Compare(a.returned, b.returned) })
	slices.SortFunc(l.writes, func(a, b placed) int { return cmp.Compare(a.called, b.called) })
	var last placed // the highest position of those that have ended
	for _, w := range l.writes {
		for ; len(ended) > 0 && ended[0].returned < w.called; ended = ended[1:] {
			if ended[0].at > last.at {
				last = ended[0]
			}
		}
		if w.at <= last.at || w.epoch < last.epoch {
			t.Errorf("a write has position %d-%d, and %d-%d was acknowledged before it began", w.epoch, w.at, last.epoch, last.at)
		}
	}
}

// A teller is a client of two servers.
type teller struct {
	t       *testing.T
	id      int
	told    *ledger
	servers [2]*client.Client
	session [2]*client.Session
	hint    *atomic.Int32 // the server that led last
	next    int64         // value of this client
}

func newTeller(t *testing.T, id int, p *pairing, hint *atomic.Int32) *teller {
	c := &teller{t: t, id: id, told: p.told, hint: hint, next: int64(id+1) << 40}
	for i, n := range p.nodes {
		c.session[i] = new(client.Session)
		var err error
		if c.servers[i], err = client.Dial(n.door.Addr(), client.Options{Session: c.session[i]}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.servers[i].Close() })
	}
	return c
}

// work calls the servers until stop is closed.
func (c *teller) work(stop chan struct{}, random *rand.Rand) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		at := int(c.hint.Load())
		if random.IntN(10) == 0 { // it does not know better
			at = 1 - at
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		var err error
		switch random.IntN(4) {
		case 0:
			err = c.get(ctx, at, c.told.row(random))
		case 1:
			err = c.readOwn(ctx, at)
		default:
			err = c.put(ctx, at, c.told.row(random))
		}
		cancel()
		if err != nil {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// put writes a new value. Only a server that takes no writes is sure not to have written.
func (c *teller) put(ctx context.Context, at int, row string) error {
	c.next++
	value, called := c.next, c.told.now()
	c.session[at].Forget()
	err := c.set(ctx, at, row, value)
	returned := c.told.now()
	switch {
	case err == nil:
		c.told.acknowledged.Add(1)
		c.told.note(c.id, register{row, true, value}, 0, called, returned)
		if err := c.told.place(c.session[at].Position(), called, returned); err != nil {
			c.t.Error(err)
		}
	case query.KindOf(err) != query.KindFailedPrecondition:
		c.told.note(c.id, register{row, true, value}, 0, called, unknown)
	}
	return err
}

func (c *teller) set(ctx context.Context, at int, row string, value int64) error {
	m := write.NewMutation()
	m.Set("f", "q", cells.I64(value))
	return c.servers[at].Table("t").Apply(ctx, row, m)
}

func (c *teller) read(ctx context.Context, at int, row string) (value int64, err error) {
	for r, err := range c.servers[at].Table("t").ReadRows(ctx, read.Key(row)) {
		if err != nil {
			return 0, err
		}
		value, _ = r.I64("f", "q")
	}
	return value, nil
}

// get reads a row at a primary. A write after it, which is acknowledged, shows that the
// server led, and that what was read is on two disks.
func (c *teller) get(ctx context.Context, at int, row string) error {
	called := c.told.now()
	c.session[at].Forget()
	value, err := c.read(ctx, at, row)
	if err == nil {
		c.next++
		err = c.set(ctx, at, fmt.Sprint("confirmed/", c.id), c.next)
	}
	if err == nil {
		c.told.note(c.id, register{row: row}, value, called, c.told.now())
	}
	return err
}

// readOwn writes the client's own row at a primary, and reads it at the other server by
// its position.
func (c *teller) readOwn(ctx context.Context, at int) error {
	row := fmt.Sprint("own/", c.id)
	if err := c.put(ctx, at, row); err != nil {
		return err
	}
	wrote := c.next
	if err := c.session[1-at].Follow(c.session[at].Position()); err != nil {
		c.t.Error(err)
	}
	value, err := c.read(ctx, 1-at, row)
	switch {
	case err == nil && value < wrote:
		c.t.Errorf("a read at position %s has %d, and the write there %d", c.session[at].Position(), value, wrote)
	case err != nil && strings.Contains(err.Error(), "is lost"):
		c.t.Errorf("an acknowledged write: %v", err)
	}
	return err
}
