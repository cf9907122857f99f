package heat

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/api/activity"
)

// A span is the points of one series in one slot.
type span struct {
	table string
	kind  int // 0 for reads, 1 for writes
	points
}

// spans are the points of a table between two slots, both inclusive; a table of "" is all
// tables that wanted approves of.
func (h *Heat) spans(table string, wanted func(string) bool, from, to int64) (all []span) {
	h.tables.Range(func(name, t any) bool {
		if table != "" && table != name || !wanted(name.(string)) {
			return true
		}
		for i, s := range t.(*Table).series() {
			for _, p := range s.past {
				if from <= p.slot && p.slot <= to {
					all = append(all, span{name.(string), i, p})
				}
			}
			if from <= h.slot && h.slot <= to {
				if p := s.packed(h.slot); p.total > 0 {
					all = append(all, span{name.(string), i, p})
				}
			}
		}
		return true
	})
	return all
}

// The default and the largest number of the hottest rows, and the size of a map.
const (
	defaultRows = 20
	mostRows    = 1000
	mostColumns = 144
	mostBuckets = 64
)

// Report is the heat of a table, or the hottest rows of all tables that may be read. The
// times are within the time that is kept, and in order: see Bounds.
func (h *Heat) Report(want activity.HeatRequest, mayRead func(table string) bool) *activity.Heat {
	if h == nil {
		return &activity.Heat{}
	}
	h.mu.Lock()
	h.turn(h.clock())
	since, until := Bounds(want.Since, want.Until, h.clock())
	if !since.Before(until) { // nothing is kept of this time
		h.mu.Unlock()
		return &activity.Heat{Since: since, Until: since, Column: Slot}
	}
	from, to := slotOf(since), slotOf(until.Add(-1))
	if oldest := h.oldest(); want.Table != "" { // a map begins no earlier than the samples
		from = max(from, min(oldest, to))
	}
	spans := h.spans(want.Table, mayRead, from, to)
	h.mu.Unlock()

	res := &activity.Heat{Rows: hottest(spans, min(cmp.Or(max(0, want.Rows), defaultRows), mostRows))}
	slots := (to-from)/mostColumns + 1
	columns := (to-from)/slots + 1
	res.Column = time.Duration(slots) * Slot
	res.Since, res.Until = startOf(from), startOf(from+columns*slots)
	if want.Table != "" {
		drawMap(res, spans, from, slots, columns)
	}
	return res
}

// Bounds clips the times of a request to the time that is kept. A zero time means the
// default.
func Bounds(since, until, now time.Time) (time.Time, time.Time) {
	if until.IsZero() || until.After(now) {
		until = now.Add(1) // the present belongs to it
	}
	if since.IsZero() {
		since = until.Add(-24 * time.Hour)
	}
	if oldest := now.Add(-Kept); since.Before(oldest) {
		since = oldest
	}
	return since, until
}

// hottest are the rows with the most accesses. In a slot with more accesses than points, a
// single point says nothing about its own row.
func hottest(spans []span, most int) []activity.HotRow {
	type row struct{ table, key string }
	type load struct {
		counts [2]float64 // reads and writes
		sure   bool
	}
	found := map[row]*load{}
	for _, s := range spans {
		for p := range s.all() {
			at := found[row{s.table, p.key}]
			if at == nil {
				at = new(load)
				found[row{s.table, p.key}] = at
			}
			at.counts[s.kind] += s.estimate(p.weight)
			at.sure = at.sure || s.exact || p.weight > 1
		}
	}
	var rows []activity.HotRow
	for at, l := range found {
		if l.sure {
			rows = append(rows, activity.HotRow{Table: at.table, Key: at.key, Reads: rounded(l.counts[0]), Writes: rounded(l.counts[1])})
		}
	}
	slices.SortFunc(rows, func(a, b activity.HotRow) int {
		return cmp.Or(cmp.Compare(b.Reads+b.Writes, a.Reads+a.Writes), strings.Compare(a.Table, b.Table), strings.Compare(a.Key, b.Key))
	})
	return rows[:min(len(rows), most)]
}

func rounded(n float64) uint64 { return uint64(math.Round(n)) }

// drawMap fills the map of a table. Its key buckets have equally many of the keys that
// were sampled, so that a hot row is a hot bucket and not a narrow one.
func drawMap(res *activity.Heat, spans []span, from, slots, columns int64) {
	distinct := map[string]bool{}
	for _, s := range spans {
		for p := range s.all() {
			distinct[p.key] = true
		}
	}
	keys := slices.Sorted(maps.Keys(distinct))
	n := min(len(keys), mostBuckets)
	for i := range n {
		res.Keys = append(res.Keys, keys[i*len(keys)/n])
	}
	counts := [2][]float64{make([]float64, columns*int64(n)), make([]float64, columns*int64(n))}
	for _, s := range spans {
		column := counts[s.kind][(s.slot-from)/slots*int64(n):]
		bucket := 0
		for p := range s.all() { // ascending, as the buckets are
			for bucket+1 < n && res.Keys[bucket+1] <= p.key {
				bucket++
			}
			column[bucket] += s.estimate(p.weight)
		}
	}
	res.Reads, res.Writes = columnsOf(counts[0], int(columns)), columnsOf(counts[1], int(columns))
}

func columnsOf(counts []float64, columns int) [][]uint64 {
	all := make([][]uint64, columns)
	for i := range all {
		all[i] = make([]uint64, len(counts)/columns)
		for j := range all[i] {
			all[i][j] = rounded(counts[i*len(all[i])+j])
		}
	}
	return all
}

// A Tablet is a range of a table's rows that took a large part of a slot's accesses.
type Tablet struct {
	Table       string
	Start, End  time.Time
	First, Last string  // the range's first and last sampled row keys
	Used        float64 // the part of all processors that it used, from 0 to 1
}

// hotPart is the part of all accesses of a slot that makes a range hot.
const hotPart = 0.05

// Tablets are the hot ranges of the tables that wanted approves of, in the slots that begin
// between two times, the hottest first. The processor time of a slot is divided among
// ranges by their accesses: a read counts as much as a write.
func (h *Heat) Tablets(wanted func(table string) bool, since, until time.Time) []Tablet {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	now := h.clock()
	h.turn(now)
	from := slotOf(since.Add(Slot - 1))
	spans := h.spans("", func(string) bool { return true }, from, slotOf(until))
	busy := maps.Clone(h.busy)
	busy[h.slot] = h.used(now)
	h.mu.Unlock()

	type tableSlot struct {
		table string
		slot  int64
	}
	totals, of := map[int64]uint64{}, map[tableSlot][]span{}
	for _, s := range spans {
		totals[s.slot] += s.total
		if wanted(s.table) {
			at := tableSlot{s.table, s.slot}
			of[at] = append(of[at], s)
		}
	}
	var tablets []Tablet
	for at, spans := range of {
		end := startOf(at.slot + 1)
		if now.Before(end) {
			end = now.UTC()
		}
		for _, r := range hotRanges(spans, float64(totals[at.slot])) {
			tablets = append(tablets, Tablet{at.table, startOf(at.slot), end, r.first, r.last, r.part * busy[at.slot]})
		}
	}
	slices.SortFunc(tablets, func(a, b Tablet) int {
		return cmp.Or(cmp.Compare(b.Used, a.Used), a.Start.Compare(b.Start), strings.Compare(a.Table, b.Table), strings.Compare(a.First, b.First))
	})
	return tablets
}

// A hotRange is a range of keys with a part of all accesses.
type hotRange struct {
	first, last string
	part        float64
}

// hotRanges cuts the rows of a table in one slot into ranges that are just large enough to
// be hot. A row that is hot by itself is a range of its own.
func hotRanges(spans []span, total float64) (hot []hotRange) {
	counts := map[string]float64{}
	for _, s := range spans {
		for p := range s.all() {
			counts[p.key] += s.estimate(p.weight) / total
		}
	}
	var open hotRange
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		if counts[key] >= hotPart {
			hot, open = append(hot, hotRange{key, key, counts[key]}), hotRange{}
			continue
		}
		if open.part == 0 {
			open.first = key
		}
		open.last = key
		if open.part += counts[key]; open.part >= hotPart {
			hot, open = append(hot, open), hotRange{}
		}
	}
	return hot
}
