package history

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A Database is where a history is kept, and whose tables it is about.
type Database struct {
	DB *query.DB
	// Kept says that the samples are kept in the database. Otherwise they are in memory
	// alone.
	Kept bool
}

// family holds the samples, in the column without a name, at timestamp 0: a sample
// replaces the one of its slot, so the table does not grow.
const family = "s"

// A row is a sample to be kept.
type row struct {
	span Span
	slot int
	text []byte
}

func (r *row) key() string { return fmt.Sprintf("%s/%04d", r.span.Name, r.slot) }

// A keeper writes samples to the database. Its methods are called by one goroutine.
type keeper struct {
	to      Database
	made    bool           // the table is there
	waiting map[string]row // the newest of the longer spans, by their keys
	minute  time.Time      // when they were written last

	rows      map[string]*float64 // of each table, as estimated; nil: the estimate took too long
	asked     time.Time           // when the last estimate was begun
	estimated chan estimate       // gets the one under way; nil while no estimate runs
	ending    bool                // the next sample is the last one
}

// load reads the samples of a database.
func (r *Recorder) load(ctx context.Context, from Database) error {
	r.keeper.to = from
	if _, ok := from.DB.LookupTable(schema.HistoryTable); !ok || !from.Kept {
		return nil
	}
	r.keeper.made = true
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, s := range Spans {
		for found, err := range from.DB.Table(schema.HistoryTable).ReadRows(ctx, read.Prefix(s.Name+"/")) {
			if err != nil {
				return err
			}
			slot, err := strconv.Atoi(strings.TrimPrefix(found.Key(), s.Name+"/"))
			text, _ := found.Bytes(family, "")
			var sample Sample
			if err != nil || json.Unmarshal(text, &sample) != nil || slot < 0 || slot >= s.Slots || slotOf(s, sample.At) != slot {
				continue // another version's
			}
			r.rings[i].put(slot, sample.At, slices.Clone(text))
		}
	}
	return nil
}

// keep writes samples of the first span at once, the others once a minute. None of the
// writes is synced.
func (k *keeper) keep(ctx context.Context, rows []row, now time.Time, logger *slog.Logger) {
	if k.to.DB == nil || !k.to.Kept {
		return
	}
	if k.waiting == nil {
		k.waiting = map[string]row{}
	}
	b := write.NewBatch()
	for _, r := range rows {
		if r.span == Spans[0] {
			r.add(b)
			continue
		}
		k.waiting[r.key()] = r
	}
	if now.Sub(k.minute) >= time.Minute || now.Before(k.minute) {
		k.minute = now
		k.addWaiting(b)
	}
	if err := k.write(ctx, b); err != nil && ctx.Err() == nil {
		if kind := query.KindOf(err); kind == query.KindFailedPrecondition || kind == query.KindInvalidArgument {
			k.to.Kept = false // a database that is only read
		}
		logger.Debug("cannot keep the history of the metrics", "error", err)
	}
}

func (r *row) add(b *write.Batch) {
	m := write.NewMutation()
	m.SetAt(family, "", 0, cells.Bytes(r.text))
	b.Add(schema.HistoryTable, r.key(), m)
}

func (k *keeper) addWaiting(b *write.Batch) {
	for _, key := range slices.Sorted(maps.Keys(k.waiting)) {
		r := k.waiting[key]
		r.add(b)
	}
	clear(k.waiting)
}

func (k *keeper) write(ctx context.Context, b *write.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	if !k.made {
		err := k.to.DB.CreateTable(ctx, schema.Table{Name: schema.HistoryTable, Families: []schema.Family{{Name: family}}})
		if err != nil && query.KindOf(err) != query.KindAlreadyExists {
			return err
		}
		k.made = true
	}
	return k.to.DB.Apply(ctx, b.Defer())
}

// end writes the waiting samples.
func (k *keeper) end(ctx context.Context) {
	if !k.to.Kept {
		return
	}
	b := write.NewBatch()
	k.addWaiting(b)
	_ = k.write(ctx, b) // a failure leaves a gap in the history
}

// estimateTime is how long the estimate of a table's rows may take. It runs beside the
// samples, one at a time.
const estimateTime = 10 * time.Second

// An estimate is the number of rows of a table; nil if it took too long.
type estimate struct {
	table string
	rows  *float64
}

// countRows adds the numbers of rows, as they were estimated last, and starts one more
// estimate: at once for a table without one, or else once a minute for a random table.
func (k *keeper) countRows(ctx context.Context, tables map[string]Table, now time.Time) {
	if k.to.DB == nil {
		return
	}
	select {
	case e := <-k.estimated:
		k.estimated = nil
		k.take(e)
	default:
	}
	maps.DeleteFunc(k.rows, func(name string, _ *float64) bool { _, ok := tables[name]; return !ok })
	due, chosen := now.Sub(k.asked) >= time.Minute || now.Before(k.asked), ""
	for name := range tables { // in any order
		if _, asked := k.rows[name]; !asked {
			due, chosen = true, name
			break
		}
		chosen = cmp.Or(chosen, name)
	}
	if due && chosen != "" && k.estimated == nil && !k.ending {
		k.asked, k.estimated = now, make(chan estimate, 1)
		go k.estimate(ctx, chosen, k.estimated)
	}
	for name, n := range k.rows {
		t := tables[name]
		t.Rows = n
		tables[name] = t
	}
}

// take keeps an estimate. One that took too long leaves the number of before.
func (k *keeper) take(e estimate) {
	if k.rows == nil {
		k.rows = map[string]*float64{}
	}
	if e.rows != nil || k.rows[e.table] == nil {
		k.rows[e.table] = e.rows
	}
}

func (k *keeper) estimate(ctx context.Context, table string, to chan<- estimate) {
	ctx, cancel := context.WithTimeout(ctx, estimateTime)
	defer cancel()
	e := estimate{table: table}
	if n, _, err := k.to.DB.Table(table).EstimateCount(ctx, read.Range("", "")); err == nil {
		rows := float64(n.Rows)
		e.rows = &rows
	}
	to <- e
}
