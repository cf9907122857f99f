//go:build unix

package stack_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tikv/client-go/v2/txnkv"
	"github.com/tikv/client-go/v2/txnkv/txnsnapshot"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

var speedRounds = flag.Int("speed", 0, "measure this many rounds beside client-go by hand")

const speedRows = 20_000

// TestSpeed measures what smolwc adds to client-go: both do the same work on one stack in
// turns. It asserts nothing about time.
func TestSpeed(t *testing.T) {
	if *speedRounds == 0 {
		t.Skip("it takes -stack -speed 7")
	}
	s, _ := start(t)
	store := open(t, s.URL("speed"))
	db, err := query.OpenStore(t.Context(), store, query.Options{GCInterval: -1, Schema: &schema.Schema{
		Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "v"}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	hand, err := txnkv.NewClient([]string{s.PD()})
	if err != nil {
		t.Fatal(err)
	}
	defer hand.Close()
	m := &measured{t: t, ctx: t.Context(), table: db.Table("t"), hand: hand}
	m.fill()
	for _, w := range []struct {
		name        string
		ours, hands func(i int)
		times       int
	}{
		{"scan", m.scan, m.scanByHand, 1},
		{"get", m.get, m.getByHand, 300},
		{"write of a row", m.write(1), m.writeByHand(1), 200},
		{"write of 100 rows", m.write(100), m.writeByHand(100), 20},
		{"newest of 1,000 versions, beside all of them", m.newest, m.versions, 20},
	} {
		t.Run(w.name, func(t *testing.T) {
			var ratios []float64
			var took [2]time.Duration
			for round := range *speedRounds {
				ours, hands := m.time(w.ours, w.times, round), m.time(w.hands, w.times, round)
				ratios = append(ratios, hands.Seconds()/ours.Seconds())
				took[0], took[1] = took[0]+ours, took[1]+hands
			}
			slices.Sort(ratios)
			n := time.Duration(*speedRounds * w.times)
			t.Logf("%.2f of client-go by hand (%.2f to %.2f): %v beside %v", ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1], took[0]/n, took[1]/n)
		})
	}
}

type measured struct {
	t     *testing.T
	ctx   context.Context
	table *query.Table
	hand  *txnkv.Client
	cells string // begins the keys of the cells of family f
}

func (m *measured) must(err error) {
	if err != nil {
		m.t.Helper() // takes a while
		m.t.Fatal(err)
	}
}

func (m *measured) time(f func(int), times, round int) time.Duration {
	began := time.Now()
	for i := range times {
		f(round*times + i)
	}
	return time.Since(began)
}

func speedKey(i int) string { return fmt.Sprintf("row-%08d", i) }

func value(i int) []byte { return fmt.Appendf(nil, "%0100d", i) }

func (m *measured) fill() {
	const batch = 1000
	for from := 0; from < speedRows; from += batch {
		m.writeRows(from, batch)
		m.byHand(from, batch, "k")
	}
	for i := range 1000 {
		w := write.NewMutation()
		w.SetAt("v", "q", cells.Timestamp(i+1), cells.Bytes(value(i)))
		m.must(m.table.Apply(m.ctx, "versions", w))
	}
	m.findCells()
}

// findCells finds the number of family f, the one with a cell in each row.
func (m *measured) findCells() {
	const prefix = "smolwc/speed/d"
	it, err := m.snapshot().Iter([]byte(prefix), []byte(prefix+"\xff"))
	m.must(err)
	defer it.Close()
	count := map[string]int{}
	for ; it.Valid(); m.must(it.Next()) {
		count[string(it.Key()[:len(prefix)+4])]++
	}
	for family, n := range count {
		if n == speedRows {
			m.cells = family
		}
	}
	if m.cells == "" {
		m.t.Fatalf("no family has %d cells: %v", speedRows, count)
	}
}

func (m *measured) writeRows(from, n int) {
	keys, ms := make([]string, n), make([]*write.Mutation, n)
	for i := range n {
		keys[i], ms[i] = speedKey(from+i), write.NewMutation()
		ms[i].Set("f", "q", cells.Bytes(value(i)))
	}
	_, err := m.table.ApplyBulk(m.ctx, keys, ms)
	m.must(err)
}

func (m *measured) byHand(from, n int, prefix string) {
	tx, err := m.hand.Begin()
	m.must(err)
	for i := range n {
		m.must(tx.Set([]byte(prefix+speedKey(from+i)), value(i)))
	}
	m.must(tx.Commit(m.ctx))
}

func (m *measured) scan(int) {
	n, err := 0, error(nil)
	for _, err = range m.table.ReadRows(m.ctx, read.Family("f")) {
		m.must(err)
		n++
	}
	if n < speedRows {
		m.t.Fatalf("%d rows", n)
	}
}

func (m *measured) snapshot() *txnsnapshot.KVSnapshot {
	ts, err := m.hand.GetTimestamp(m.ctx)
	m.must(err)
	return m.hand.GetSnapshot(ts)
}

// scanByHand reads the keys that scan reads.
func (m *measured) scanByHand(int) {
	snap := m.snapshot()
	snap.SetScanBatchSize(10_240)
	it, err := snap.Iter([]byte(m.cells), []byte(m.cells+"\xff"))
	m.must(err)
	defer it.Close()
	n := 0
	for ; it.Valid(); n++ {
		m.must(it.Next())
	}
	if n < speedRows {
		m.t.Fatalf("%d keys", n)
	}
}

func (m *measured) get(i int) {
	row, err := m.table.ReadRow(m.ctx, speedKey(i%speedRows), read.Family("f"), read.Versions(1))
	m.must(err)
	if row == nil {
		m.t.Fatal("there is no row")
	}
}

func (m *measured) getByHand(i int) {
	_, err := m.snapshot().Get(m.ctx, []byte("k"+speedKey(i%speedRows)))
	m.must(err)
}

func (m *measured) write(rows int) func(int) {
	return func(i int) { m.writeRows(i*rows%speedRows, rows) }
}

func (m *measured) writeByHand(rows int) func(int) {
	return func(i int) { m.byHand(i*rows%speedRows, rows, fmt.Sprint("w", i)) }
}

func (m *measured) newest(int) {
	row, err := m.table.ReadRow(m.ctx, "versions", read.Column("v", "q"), read.Versions(1))
	m.must(err)
	if row.Len() != 1 {
		m.t.Fatalf("%d cells", row.Len())
	}
}

func (m *measured) versions(int) {
	row, err := m.table.ReadRow(m.ctx, "versions", read.Column("v", "q"))
	m.must(err)
	if row.Len() != 1000 {
		m.t.Fatalf("%d cells", row.Len())
	}
}
