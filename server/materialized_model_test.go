package server_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

var (
	modelSeed  = flag.Uint64("mview.seed", 0, "seed of the histories of materialized views; 0 is a random one")
	modelSteps = flag.Int("mview.steps", 150, "steps of each history of materialized views")
)

// modelViews are the views of the histories, by their ids. A row whose key would be NULL or
// empty is not in a view, so the queries leave such rows out.
var modelViews = map[string]string{
	"ints": `SELECT a['k'] AS k, COUNT(*) AS n, COUNT(e['k']) AS ne, SUM(n['i']) AS s, MIN(n['i']) AS lo, MAX(n['i']) AS hi, AVG(n['i']) AS mean
		FROM t WHERE a['k'] IS NOT NULL AND a['k'] != b'' GROUP BY k`,
	"index":  `SELECT e['k'] AS k, _key AS of, v['k'] AS v, x['k'] AS x FROM t WHERE e['k'] IS NOT NULL ORDER BY k, of`,
	"total":  `SELECT '*' AS _key, COUNT(*) AS n, BIT_XOR(n['i']) AS bits, SUM(n['i']) + COUNT(*) AS both FROM t GROUP BY _key`,
	"floats": `SELECT x['k'] AS k, e['k'] AS l, SUM(CAST(n['i'] AS FLOAT64) / 3) AS s, ANY_VALUE(v['k']) AS any, BIT_AND(n['i']) AS b, BIT_OR(n['i']) AS o, MAX(_key) AS last FROM t WHERE x['k'] IS NOT NULL AND e['k'] IS NOT NULL GROUP BY k, l`,
	"hll":    `SELECT a['k'] AS k, HLL_COUNT.INIT(e['k']) AS h, HLL_COUNT.EXTRACT(HLL_COUNT.INIT(n['i'])) AS i FROM t WHERE a['k'] IS NOT NULL AND a['k'] != b'' GROUP BY k`,
	"keys":   "SELECT _key, COUNT(v['k']) AS `result.count` FROM t GROUP BY _key",
	// A row can be in a group more than once, and a group in no cell of the row.
	"unnested": `SELECT u AS k, COUNT(*) AS n, SUM(n['i']) AS s, MAX(o) AS o, MAX(u = a['k']) AS a FROM t, UNNEST([a['k'], e['k'], v['k'], b'x']) AS u WITH OFFSET AS o
		WHERE u IS NOT NULL AND u != b'' GROUP BY k`,
	"offsets": `SELECT o AS o, _key AS of, u AS u FROM t, UNNEST([e['k'], IF(n['i'] > 0, v['k'], NULL), x['k']]) AS u WITH OFFSET AS o ORDER BY o, of`,
	"short":   `SELECT a['k'] AS k, CAST(MIN(w['k']) AS STRING) AS lo, CAST(ANY_VALUE(w['k']) AS STRING) AS any, MAX(CAST(w['k'] AS STRING)) AS t, AVG(w['k']) AS mean, SUM(c['k']) AS c FROM t WHERE a['k'] IS NOT NULL AND a['k'] != b'' GROUP BY k`,
	"texts":   `SELECT IF(n['i'] > 0, 'more', CAST(n['i'] AS STRING)) AS k, COUNT(IF(e['k'] = 'x', 1, NULL)) AS x, MIN(COALESCE(a['k'], v['k'])) AS lo, COUNT(x['k']) > 0 AS some FROM t WHERE n['i'] IS NOT NULL GROUP BY k`,
}

// A viewHistory is a database under random writes, with its server.
type viewHistory struct {
	*rig
	rand *rand.Rand
	now  atomic.Int64 // microseconds
	dir  string
	c    *bigtable.Client
}

func (h *viewHistory) clock() time.Time { return time.UnixMicro(h.now.Load()) }

func (h *viewHistory) open(dir string) {
	h.t.Helper()
	age := time.Hour
	db, err := query.Open(dir, query.Options{Clock: h.clock, GCInterval: -1, Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{
		{Name: "a"}, {Name: "v", GC: schema.MaxVersions(2)}, {Name: "e", GC: schema.MaxAge(age)},
		{Name: "w", Type: cells.TypeF32}, {Name: "c", Aggregate: schema.AggregateSum, GC: schema.MaxAge(2 * age)},
		{Name: "x", GC: schema.Any(schema.MaxVersions(1), schema.MaxAge(2*age))}, {Name: "n", Type: cells.TypeI64, GC: schema.MaxAge(3 * age)},
	}}}}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.dir = dir
	h.rig = serve(h.t, db, server.Options{Instance: parent})
	h.c = h.client()
}

func (h *viewHistory) close() {
	h.t.Helper()
	h.stop()
	h.must(h.db.Close())
}

func (h *viewHistory) pick(of ...string) string { return of[h.rand.IntN(len(of))] }

func (h *viewHistory) row() string { return fmt.Sprintf("%c%d", 'a'+h.rand.IntN(3), h.rand.IntN(8)) }

func (h *viewHistory) mutation() *write.Mutation {
	m := write.NewMutation()
	for range 1 + h.rand.IntN(3) {
		family := h.pick("a", "v", "e", "x", "n", "w", "c")
		at := cells.Timestamp(h.now.Load()).RoundDown(1000) - cells.Timestamp(h.rand.IntN(3))*cells.Timestamp(time.Hour.Microseconds())
		qualifier := "k"
		if family == "n" {
			qualifier = "i"
		}
		switch h.rand.IntN(8) {
		case 0:
			m.DeleteCellsInColumn(family, qualifier)
		case 1:
			m.DeleteCellsInFamily(family)
		case 2:
			m.DeleteTimestampRange(family, qualifier, 0, at)
		case 3:
			m.DeleteRow()
		default:
			switch family {
			case "n":
				m.SetAt(family, qualifier, at, cells.I64(int64(h.rand.IntN(40)-20)))
			case "w":
				m.SetAt(family, qualifier, at, cells.F32(float32(h.rand.IntN(9))/10))
			case "c":
				m.AddAt(family, qualifier, at, cells.I64(int64(h.rand.IntN(5))))
			default:
				m.SetAt(family, qualifier, at, cells.Bytes([]byte(h.pick("", "x", "y\x00", "z"))))
			}
		}
	}
	return m
}

// step makes one random change.
func (h *viewHistory) step() {
	h.t.Helper()
	ctx, t := h.ctx(), h.db.Table("t")
	switch h.rand.IntN(20) {
	case 0:
		h.must(t.DeleteRange(ctx, read.Prefix(h.pick("a", "b", "c", "a1", "c1", ""))))
	case 1:
		h.now.Add(int64(h.rand.IntN(90)) * time.Minute.Microseconds())
	case 2:
		_, err := t.CheckAndMutate(ctx, h.row(), nil, h.mutation(), h.mutation())
		h.must(err)
	case 3:
		_, err := t.Increment(ctx, h.row(), "n", "i", 3)
		h.must(err)
	case 4:
		var keys []string
		var ms []*write.Mutation
		for range 5 {
			keys, ms = append(keys, h.row()), append(ms, h.mutation())
		}
		_, err := t.ApplyBulk(ctx, keys, ms)
		h.must(err)
	case 5:
		h.must(h.db.Update(ctx, func(tx *query.Tx) error {
			row := h.row() // twice in one commit
			return errors.Join(tx.Apply(ctx, "t", row, h.mutation()), tx.Apply(ctx, "t", h.row(), h.mutation()), tx.Apply(ctx, "t", row, h.mutation()))
		}))
	default:
		h.must(t.Apply(ctx, h.row(), h.mutation()))
	}
}

func (h *viewHistory) lines(sql string) []string {
	h.t.Helper()
	text, err := h.query(h.c, sql, nil, nil)
	if err != nil {
		h.t.Fatalf("%s: %v", sql, err)
	}
	return sorted(strings.Split(text, "\n"))
}

// check compares each view with its query.
func (h *viewHistory) check(when string) {
	h.t.Helper()
	for id, text := range modelViews {
		if _, err := h.query(h.c, "SELECT 1 FROM "+id+" LIMIT 1", nil, nil); err != nil && strings.Contains(err.Error(), "Table not found") {
			continue // not created yet
		}
		want, got := h.lines(text), h.lines("SELECT * FROM "+id)
		if !slices.Equal(want, got) {
			h.t.Fatalf("%s, view %s is\n%q\nwant\n%q", when, id, got, want)
		}
		rows := 0
		h.must(h.c.OpenMaterializedView(id).ReadRows(h.ctx(), bigtable.InfiniteRange(""), func(bigtable.Row) bool { rows++; return true }))
		if want[0] != "" && rows != len(want) || want[0] == "" && rows != 0 {
			h.t.Fatalf("%s, view %s has %d rows to read, want %d", when, id, rows, len(want))
		}
	}
}

// At every quiet moment a view equals its query: after any writes, deletes and expiry,
// after a restart, and in a database as a kill leaves it.
func TestMaterializedViewsEqualTheirQueries(t *testing.T) {
	seed := *modelSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-mview.seed=%d", seed)
	h := &viewHistory{rand: rand.New(rand.NewPCG(seed, 1))}
	h.rig = &rig{t: t}
	h.now.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
	dirs := t.TempDir()
	h.open(filepath.Join(dirs, "db"))
	h.create("total")
	copies := 0
	for i := range *modelSteps {
		h.step()
		switch h.rand.IntN(25) {
		case 0, 1, 2:
			h.check(fmt.Sprintf("after step %d", i))
		case 3:
			h.close()
			h.open(h.dir)
		case 4: // as a kill leaves it
			copies++
			to := filepath.Join(dirs, fmt.Sprint("copy", copies))
			if h.rand.IntN(3) == 0 {
				h.copy(to)
			} else {
				h.must(h.db.Checkpoint(context.Background(), to))
			}
			h.close()
			h.open(to)
			h.check(fmt.Sprintf("after a kill at step %d", i))
		case 5, 6, 7:
			for id := range modelViews {
				h.create(id)
				break
			}
		case 8:
			h.must(h.db.SetFamily(h.ctx(), "t", schema.Family{Name: "v", GC: schema.MaxVersions(1 + h.rand.IntN(2))}))
		case 9:
			h.must(h.db.SetFamily(h.ctx(), "t", schema.Family{Name: "e", GC: schema.MaxAge(time.Duration(1+h.rand.IntN(3)) * time.Hour)}))
		case 10:
			h.must(h.db.DropFamily(h.ctx(), "t", "x"))
			h.must(h.db.AddFamily(h.ctx(), "t", schema.Family{Name: "x"}))
		}
	}
	h.check("at the end")
	h.close()
}

// copy copies the database, which leaves the rows of its views behind.
func (h *viewHistory) copy(to string) {
	h.t.Helper()
	db, err := query.Open(to, query.Options{Clock: h.clock, GCInterval: -1})
	h.must(err)
	_, err = db.CopyFrom(h.ctx(), h.db, query.CopyOptions{})
	h.must(errors.Join(err, db.Close()))
}

// create creates a view, or deletes it first if it exists.
func (h *viewHistory) create(id string) {
	h.t.Helper()
	if err := h.materialize(id, modelViews[id]); err != nil {
		if !strings.Contains(err.Error(), "already exists") {
			h.t.Fatal(err)
		}
		h.must(h.instanceAdmin().DeleteMaterializedView(h.ctx(), instance, id))
		h.must(h.materialize(id, modelViews[id]))
	}
}
