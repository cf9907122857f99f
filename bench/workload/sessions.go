package workload

import (
	"context"
	"encoding/binary"
	"fmt"
	"github.com/smolwc/smolwc/bench/contest"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"math/rand/v2"
	"sync"

	"github.com/smolwc/smolwc/bench/yardstick"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A session of a user reads the profile, counts the visit, writes five events (each a
// short value and one more version of its column), reads the newest events of one kind,
// and reads rows of the user's history by their prefix. C and programs in Go by hand
// need a lock for the count; smolwc uses its own.

const (
	newestEvents   = 10
	historyOfUser  = 4 // rows, with keys user…#n
	historyColumns = 2
	eventBytes     = 16
	visits         = "visits"
)

var eventNames = []string{"buy", "cart", "click", "search", "view"}

var userFamilies = []schema.Family{{Name: "profile"}, {Name: "stats"}, {Name: "event"}, {Name: "history"}}

// cellsOfUser is the number of cells of a user before the first session.
const cellsOfUser = cellsPerRow + 1 + historyOfUser*historyColumns

func (e *Env) sessions() []contest.Workload {
	return []contest.Workload{{
		Name: "sessions", Unit: "session", Workers: []int{1, 16}, Open: e.openSessions,
		About: "of zipfian users: read the profile, count the visit, write five events, read the newest ten of one kind, scan the history",
	}}
}

func historyKey(user, n int) string { return fmt.Sprintf("%s#%d", rowKey(user), n) }

func (e *Env) users(ctx context.Context) (*dataset, int, error) {
	n := max(1, e.Cells/cellsOfUser)
	d, err := e.dataset(ctx, "users", n, userFamilies, func(t *query.Table) error {
		err := loadRows(ctx, t, n, rowKey, func(m *write.Mutation, user int) {
			setRow(m, "profile", user)
			m.SetAt("stats", visits, timestamp(user), cells.I64(0))
		})
		if err != nil {
			return err
		}
		return loadRows(ctx, t, n*historyOfUser, func(i int) string { return historyKey(i/historyOfUser, i%historyOfUser) }, func(m *write.Mutation, i int) {
			for c := range historyColumns {
				m.SetAt("history", qualifiers[c], timestamp(i), cells.Bytes(value(i*historyColumns + c)[:eventBytes]))
			}
		})
	})
	return d, n, err
}

// A visit is the data that the contenders of the sessions share.
type visit struct {
	workers, n int
	keys       []string
	rows       yardstick.Slices // prefixes
	columns    yardstick.Slices // of the events, then of the count of visits
	value      []byte           // of an event, encoded
	users      func(round int) []uint32
	locks      [256]sync.Mutex // for counting by hand
}

func (e *Env) openSessions(ctx context.Context, workers int) (*contest.Contest, error) {
	d, n, err := e.users(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	v := &visit{
		workers: workers,
		n:       max(1, e.Ops/5),
		keys:    rowKeys(all, rowKey),
		rows:    rowPrefixes(all, rowKey),
		columns: columnElements(append(eventNames[:len(eventNames):len(eventNames)], visits)...),
		value:   cells.AppendValue(nil, cells.Bytes(value(0)[:eventBytes])),
	}
	v.users = v.drawUsers(n)
	c := copies{dataset: d}
	if err := v.contenders(ctx, e, &c); err != nil {
		return nil, joinClose(err, c.close)
	}
	return c.contest(), nil
}

// drawUsers draws the users of each round; all contenders get the same users.
func (v *visit) drawUsers(users int) func(int) []uint32 {
	zipf := newZipfian(rand.New(rand.NewPCG(9, 10)), users)
	var rounds [][]uint32
	return func(round int) []uint32 {
		for len(rounds) <= round {
			drawn := make([]uint32, v.n)
			for i := range drawn {
				drawn[i] = uint32(zipf.scrambled())
			}
			rounds = append(rounds, drawn)
		}
		return rounds[round]
	}
}

func (v *visit) contenders(ctx context.Context, e *Env, c *copies) error {
	families := []string{"profile", "stats", "event", "history"}
	fs, err := c.families(families...)
	if err != nil {
		return err
	}
	byC := yardstick.Session{Profile: fs[0], Stats: fs[1], Event: fs[2], History: fs[3], Columns: v.columns, Value: v.value, Newest: newestEvents, Rows: historyOfUser}
	c.add(nameC, v.round(func(_ context.Context, users []uint32, clock int64) (int64, error) {
		return cellsOf(byC.Run(users, v.rows, clock))
	}))
	if err := c.each(func(name string, t *query.Table) {
		c.add(name, v.round(func(ctx context.Context, users []uint32, _ int64) (int64, error) { return v.smolwc(ctx, t, users) }))
	}); err != nil {
		return err
	}
	for _, p := range e.Peers {
		kvs, err := c.peer(ctx, p, families...)
		if err != nil {
			return err
		}
		c.add(p.Name, v.round(func(_ context.Context, users []uint32, clock int64) (int64, error) { return v.kv(kvs, users, clock) }))
	}
	return nil
}

// clockShare is the distance between the clocks of two workers, so that no two events
// of a user have the same timestamp. Which of two workers' counts is the newest is then
// random; the work is the same.
const clockShare = 1 << 32

func (v *visit) round(do func(ctx context.Context, users []uint32, clock int64) (int64, error)) func(int) func(context.Context) (contest.Done, error) {
	return func(round int) func(context.Context) (contest.Done, error) {
		users := v.users(round)
		return func(ctx context.Context) (contest.Done, error) {
			n, err := share(v.workers, len(users), func(w, from, to int) (int64, error) {
				clock := 2*int64(epoch) + int64(round*v.workers+w)*clockShare
				return do(ctx, users[from:to], clock)
			})
			if v.workers > 1 {
				n = 0 // the number of events read depends on other workers
			}
			return contest.Done{Ops: int64(len(users)), Check: n}, err
		}
	}
}

func (v *visit) smolwc(ctx context.Context, t *query.Table, users []uint32) (n int64, err error) {
	clicks := []read.Option{read.Column("event", eventNames[0]), read.Versions(newestEvents)}
	for _, user := range users {
		key := v.keys[user]
		row, err := t.ReadRow(ctx, key, read.Family("profile"))
		if err != nil {
			return 0, err
		}
		k, _ := readCells(row)
		n += k
		if _, err := t.Increment(ctx, key, "stats", visits, 1); err != nil {
			return 0, err
		}
		m := write.NewMutation()
		for _, name := range eventNames {
			m.Set("event", name, cells.Bytes(value(0)[:eventBytes]))
		}
		if err := t.Apply(ctx, key, m); err != nil {
			return 0, err
		}
		if row, err = t.ReadRow(ctx, key, clicks...); err != nil {
			return 0, err
		}
		k, _ = readCells(row)
		n += k
		if k, _, err = readAll(ctx, t, read.Prefix(key+"#"), read.Family("history"), read.Limit(historyOfUser)); err != nil {
			return 0, err
		}
		n += k
	}
	return n, nil
}

func (v *visit) kv(kvs []KV, users []uint32, clock int64) (int64, error) {
	profile, stats, event, history := kvs[0], kvs[1], kvs[2], kvs[3]
	var t tally
	for _, user := range users {
		prefix := v.rows.At(int(user))
		if err := profile.Row(prefix, t.add); err != nil {
			return 0, err
		}
		if err := v.countVisit(stats, user, prefix, clock); err != nil {
			return 0, err
		}
		if err := event.Write(len(eventNames), func(i int) ([]byte, []byte) {
			return cf.AppendVersion(v.column(prefix, i), clock+1), v.value
		}); err != nil {
			return 0, err
		}
		clock += 2
		left, column := newestEvents, v.column(prefix, 0)
		if err := event.Row(column, func(key, value []byte) bool {
			if string(key[:len(key)-versionLen]) != string(column) {
				return false
			}
			left--
			return t.add(key, value) && left > 0
		}); err != nil {
			return 0, err
		}
		start := append(append([]byte(nil), prefix[:len(prefix)-1]...), '#')
		end := append(append([]byte(nil), prefix[:len(prefix)-1]...), '#'+1)
		if err := scanKVRows(history, start, end, historyOfUser, &t); err != nil {
			return 0, err
		}
	}
	return t.cells, nil
}

// column is the key of a column of a row, without a timestamp.
func (v *visit) column(prefix []byte, i int) []byte {
	return append(append([]byte(nil), prefix...), v.columns.At(i)...)
}

func (v *visit) countVisit(stats KV, user uint32, prefix []byte, clock int64) error {
	lock := &v.locks[user%uint32(len(v.locks))]
	lock.Lock()
	defer lock.Unlock()
	column := v.column(prefix, len(eventNames))
	count := uint64(0)
	if err := stats.Row(column, func(key, value []byte) bool {
		if string(key[:len(key)-versionLen]) == string(column) && len(value) == 9 {
			count = binary.BigEndian.Uint64(value[1:])
		}
		return false
	}); err != nil {
		return err
	}
	value := binary.BigEndian.AppendUint64([]byte{byte(cells.TypeI64)}, count+1)
	return stats.Write(1, func(int) ([]byte, []byte) { return cf.AppendVersion(column, clock), value })
}
