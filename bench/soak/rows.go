package soak

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// The kinds and numbers of the rows that a soak writes.
const (
	groupCount   = 4 * 1500 // groups of rows that are written together; each writer owns a quarter
	rowsPerGroup = 4
	accountCount = 40 // numbers that transactions change without changing their sum
	deposit      = 1000
	counterCount = 8 // numbers that all writers add to
	maxAge       = 3 * time.Second
)

// newSchema declares one family for each way in which cells are removed.
func newSchema() *schema.Schema {
	latest := schema.MaxVersions(1)
	return &schema.Schema{Tables: []schema.Table{
		{Name: "groups", Families: []schema.Family{
			{Name: "a", Type: cells.TypeBytes, GC: latest},
			{Name: "b", Type: cells.TypeBytes, GC: schema.MaxVersions(2), Tuning: schema.Tuning{BlobMinSize: 64 << 10}},
		}},
		{Name: "numbers", Families: []schema.Family{
			{Name: "n", Type: cells.TypeI64, GC: latest},
			{Name: "sum", Aggregate: schema.AggregateSum},
		}},
		{Name: "events", Families: []schema.Family{{Name: "e", Type: cells.TypeBytes, GC: schema.MaxAge(maxAge)}}},
	}}
}

var groupFamilies = []string{"a", "b"}

// A model holds the bounds of the rows of a soak: for each row, the minimum and
// maximum version.
type model struct {
	seed     uint64
	noise    []byte // values are slices of it
	groups   [groupCount]register
	counters [counterCount]register // of the counters in family n
	sums     [counterCount]register // of the counters in family sum
	swaps    [writerCount]register
	events   [writerCount]eventLog
}

// A register holds a number that only grows. A write sets tried before it starts and
// acked when it was acknowledged.
type register struct {
	acked, tried atomic.Uint64
	deleted      atomic.Uint64 // the newest version that is a deletion
}

// A span is the possible range of registers at some moment: at least what was
// acknowledged before it, and at most what was tried until after it.
type span struct{ groups, counters, sums, swaps [][2]uint64 }

func newModel(seed uint64) *model {
	r := &model{seed: seed, noise: make([]byte, 1<<19)}
	rng := rand.New(rand.NewPCG(seed, 99))
	for at := 0; at < len(r.noise); at += 8 {
		binary.LittleEndian.PutUint64(r.noise[at:], rng.Uint64())
	}
	return r
}

// fill writes the accounts.
func (r *model) fill(ctx context.Context, db *query.DB) error {
	b := write.NewBatch()
	for i := range accountCount {
		m := write.NewMutation()
		m.Set("n", "n", cells.I64(deposit))
		b.Add("numbers", account(i), m)
	}
	return db.Apply(ctx, b)
}

func account(i int) string                { return fmt.Sprintf("account#%03d", i) }
func counter(i int) string                { return fmt.Sprintf("counter#%03d", i) }
func swapRow(i int) string                { return fmt.Sprintf("swap#%03d", i) }
func groupPrefix(g int) string            { return fmt.Sprintf("group#%06d#", g) }
func groupRow(g, row int) string          { return fmt.Sprintf("group#%06d#%d", g, row) }
func eventRow(writer int) string          { return fmt.Sprintf("writer#%d", writer) }
func eventQualifier(n uint64) string      { return fmt.Sprintf("%016x", n) }
func groupRange(from, to int) read.RowSet { return read.Range(groupPrefix(from), groupPrefix(to)) }

// content returns the value of a cell at a version: the version, and noise that differs
// for each cell.
func (r *model) content(place string, version uint64) []byte {
	h := hashOf(place) ^ scramble(version^r.seed)
	size := 20 + h%400
	switch {
	case h>>32%1024 == 0:
		size = 64<<10 + h%(64<<10) // large enough for a blob file
	case h>>32%64 == 0:
		size = h % 16384
	}
	at := scramble(h) % (uint64(len(r.noise)) - size)
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+size), version), r.noise[at:at+size]...)
}

// version returns the version of a cell, or an error if its value is not one that was
// written.
func (r *model) version(place string, value []byte) (uint64, error) {
	if len(value) < 8 {
		return 0, fmt.Errorf("%s has a value of %d bytes", place, len(value))
	}
	v := binary.BigEndian.Uint64(value)
	if !bytes.Equal(value, r.content(place, v)) {
		return 0, fmt.Errorf("%s has a value that nobody wrote: %d bytes that begin with %x", place, len(value), value[:min(len(value), 24)])
	}
	return v, nil
}

func scramble(x uint64) uint64 { // of splitmix64
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func hashOf(s string) uint64 {
	h := uint64(len(s))
	for i := range len(s) {
		h = h*1099511628211 ^ uint64(s[i])
	}
	return scramble(h)
}

// before returns the acknowledged versions.
func (r *model) before() span {
	known := r.numbersBefore()
	known.groups = least(r.groups[:])
	return known
}

func (r *model) numbersBefore() span {
	return span{counters: least(r.counters[:]), sums: least(r.sums[:]), swaps: least(r.swaps[:])}
}

func least(of []register) [][2]uint64 {
	known := make([][2]uint64, len(of))
	for i := range of {
		known[i][0] = of[i].acked.Load()
	}
	return known
}

// after adds the versions that have been tried until now.
func (r *model) after(known span) span {
	most(known.groups, r.groups[:])
	most(known.counters, r.counters[:])
	most(known.sums, r.sums[:])
	most(known.swaps, r.swaps[:])
	return known
}

func most(known [][2]uint64, of []register) {
	for i := range known {
		known[i][1] = of[i].tried.Load()
	}
}

// bounds returns a function that ends the span when it is called.
func (r *model) bounds(known span) func() span { return func() span { return r.after(known) } }

// explains returns an error if a version that was read is impossible; 0 means absent.
func (k *register) explains(what string, version, least, most uint64) error {
	switch {
	case version == 0 && least != 0 && k.deleted.Load() < least:
		return fmt.Errorf("%s is missing: version %d of it was acknowledged", what, least)
	case version != 0 && version < least:
		return fmt.Errorf("%s has version %d, and version %d was acknowledged before it was read", what, version, least)
	case version > most:
		return fmt.Errorf("%s has version %d, and %d is the last that was tried", what, version, most)
	}
	return nil
}

// rowVersion returns the version of a row of a group. Its families must agree.
func (r *model) rowVersion(row *query.Row) (uint64, error) {
	var newest [2]uint64
	for i, family := range groupFamilies {
		place := row.Key() + family
		last := ^uint64(0)
		for c := range row.Versions(family, "q") {
			value, _ := c.Value.AsBytes()
			v, err := r.version(place, value)
			if err != nil {
				return 0, err
			}
			if v >= last {
				return 0, fmt.Errorf("%s has version %d after version %d", place, v, last)
			}
			if last == ^uint64(0) {
				newest[i] = v
			}
			last = v
		}
	}
	if newest[0] != newest[1] || newest[0] == 0 {
		return 0, fmt.Errorf("row %s is torn: version %d in one family and %d in the other", row.Key(), newest[0], newest[1])
	}
	return newest[0], nil
}

// checkGroups compares one read of the groups from (inclusive) to to (exclusive), in
// either order, with their possible versions. It calls bounds after the read. It
// returns the number of cells.
func (r *model) checkGroups(rows iter.Seq2[*query.Row, error], from, to int, bounds func() span) (n int64, err error) {
	versions := make([][rowsPerGroup]uint64, to-from)
	for row, err := range rows {
		if err != nil {
			return n, err
		}
		var g, i int
		if _, err := fmt.Sscanf(row.Key(), "group#%06d#%d", &g, &i); err != nil || g < from || g >= to || i >= rowsPerGroup {
			return n, fmt.Errorf("row %q, of groups %d to %d, was read", row.Key(), from, to)
		}
		if versions[g-from][i] != 0 {
			return n, fmt.Errorf("row %q was read twice", row.Key())
		}
		if versions[g-from][i], err = r.rowVersion(row); err != nil {
			return n, err
		}
		n += int64(row.Len())
	}
	known := bounds().groups
	for i, all := range versions {
		g := from + i
		if all != [rowsPerGroup]uint64{all[0], all[0], all[0], all[0]} {
			return n, fmt.Errorf("group %d is torn: its rows have versions %d", g, all)
		}
		if err := r.groups[g].explains(fmt.Sprint("group ", g), all[0], known[g][0], known[g][1]); err != nil {
			return n, err
		}
	}
	return n, nil
}

// checkNumbers compares one read of all numbers with their possible values.
func (r *model) checkNumbers(rows iter.Seq2[*query.Row, error], bounds func() span) error {
	numbers := map[string][2]int64{}
	for row, err := range rows {
		if err != nil {
			return err
		}
		n, _ := row.I64("n", "n")
		sum, _ := row.I64("sum", "n")
		numbers[row.Key()] = [2]int64{n, sum}
	}
	known := bounds()
	sum := int64(0)
	for i := range accountCount {
		sum += numbers[account(i)][0]
	}
	if want := int64(accountCount * deposit); sum != want {
		return fmt.Errorf("the accounts have %d together; transactions keep it at %d", sum, want)
	}
	var errs []error
	compare := func(what string, of []register, bounds [][2]uint64, read func(i int) int64) {
		for i := range of {
			errs = append(errs, of[i].explains(fmt.Sprint(what, i), uint64(read(i)), bounds[i][0], bounds[i][1]))
		}
	}
	compare("counter ", r.counters[:], known.counters, func(i int) int64 { return numbers[counter(i)][0] })
	compare("sum ", r.sums[:], known.sums, func(i int) int64 { return numbers[counter(i)][1] })
	compare("swap ", r.swaps[:], known.swaps, func(i int) int64 { return numbers[swapRow(i)][0] })
	return errors.Join(errs...)
}

// checkAll compares a whole database with its possible contents.
func (r *model) checkAll(ctx context.Context, db *query.DB, bounds func() span) error {
	if err := r.checkNumbers(db.Table("numbers").ReadRows(ctx), bounds); err != nil {
		return err
	}
	_, err := r.checkGroups(db.Table("groups").ReadRows(ctx), 0, groupCount, bounds)
	return err
}

// An eventLog is a row of events that expire, one column each. Only one writer adds to
// it, in order.
type eventLog struct {
	mu    sync.Mutex
	acked uint64
	tried uint64
	times []cells.Timestamp // of the newest events, up to tried
}

const eventsKept = 1 << 16

// next announces an event.
func (l *eventLog) next(ts cells.Timestamp) (n uint64, at cells.Timestamp) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tried == l.acked { // otherwise the last event is tried again
		l.tried++
		if len(l.times) > 0 {
			ts = max(ts, l.times[len(l.times)-1])
		}
		l.times = append(l.times, ts)
		if len(l.times) > 2*eventsKept {
			l.times = slices.Clone(l.times[len(l.times)-eventsKept:])
		}
	}
	return l.tried, l.times[len(l.times)-1]
}

func (l *eventLog) done(n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked = n
}

func (l *eventLog) newest() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked
}

// expired reports whether an event had expired at a moment. An event whose time is no
// longer known counts as expired.
func (l *eventLog) expired(n uint64, at cells.Timestamp) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := len(l.times) - 1 - int(l.tried-n)
	return i < 0 || at > l.times[i]+cells.Timestamp(maxAge.Microseconds())
}

// checkEvents checks a read of a row of events: all events that had not expired when it
// ended are present, without a gap; events that had expired when it began are absent.
func (r *model) checkEvents(writer int, row *query.Row, acked uint64, began, ended cells.Timestamp) error {
	l := &r.events[writer]
	next := uint64(0)
	if row != nil {
		for c := range row.Cells() {
			value, _ := c.Value.AsBytes()
			n, err := r.version(eventRow(writer), value)
			if err != nil {
				return err
			}
			switch {
			case c.Qualifier != eventQualifier(n):
				return fmt.Errorf("event %d is in column %s", n, c.Qualifier)
			case next != 0 && n != next:
				return fmt.Errorf("after event %d comes event %d", next-1, n)
			case l.expired(n, began):
				return fmt.Errorf("event %d is read and had expired", n)
			case next == 0 && n > 1 && !l.expired(n-1, ended):
				return fmt.Errorf("event %d is missing and has not expired", n-1)
			}
			next = n + 1
		}
	}
	if next == 0 {
		next = acked
	}
	if next != 0 && next <= acked && !l.expired(next, ended) {
		return fmt.Errorf("event %d was acknowledged and is missing", next)
	}
	return nil
}
