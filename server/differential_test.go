package server_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/bttest"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

var (
	diffSeed  = flag.Uint64("diff.seed", 0, "seed of the requests of the differential test; 0 is the clock's")
	diffSteps = flag.Int("diff.steps", 600, "how many requests the differential test makes")
)

// Random requests to Bigtable's emulator in memory, bttest, and to smolwc have equal
// answers. The requests avoid these known faults of bttest:
//
//   - A request's mutations are not atomic: those before a faulty one stay. An
//     unknown family is UNKNOWN and not NOT_FOUND.
//   - The order of families in cells_per_row_limit and cells_per_row_offset is
//     that of a Go map: they follow a filter that leaves one family.
//   - Copies of a cell, from an interleave, have no order; so a filter that counts
//     cells does not follow an interleave, and copies are compared as a set.
//   - sink and value_bitmask are ignored, an expression that is wrong is found
//     only when there is a cell to match, and a column range may be inverted.
//   - An exclusive end that is there and empty is no value; here it is no bound.
//   - Two labels on a cell are accepted.
func TestSameAnswersAsTheEmulator(t *testing.T) {
	seed := *diffSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-diff.seed=%d", seed)
	r := newRig(t)
	ours := r.table("t", "f", "g")
	d := differ{r: r, rand: rand.New(rand.NewPCG(seed, 0)), ours: ours, theirs: r.emulated("t", "f", "g")}
	for step := range *diffSteps {
		what, a, b := d.step()
		if a != b {
			t.Fatalf("step %d, %s\nsmolwc:\n%s\nemulator:\n%s", step, what, a, b)
		}
	}
}

// emulated is a table of the emulator.
func (r *rig) emulated(name string, families ...string) *bigtable.Table {
	r.t.Helper()
	s, err := bttest.NewServer("127.0.0.1:0")
	r.must(err)
	r.t.Cleanup(s.Close)
	conn, err := grpc.NewClient(s.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	r.must(err)
	r.t.Cleanup(func() { _ = conn.Close() })
	admin, err := bigtable.NewAdminClient(r.ctx(), project, instance, option.WithGRPCConn(conn))
	r.must(err)
	r.must(admin.CreateTable(r.ctx(), name))
	for _, f := range families {
		r.must(admin.CreateColumnFamily(r.ctx(), name, f))
	}
	c, err := bigtable.NewClientWithConfig(r.ctx(), project, instance, bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}}, option.WithGRPCConn(conn))
	r.must(err)
	r.t.Cleanup(func() { _ = c.Close() })
	return c.Open(name)
}

type differ struct {
	r            *rig
	rand         *rand.Rand
	ours, theirs *bigtable.Table
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func (d *differ) key() string       { return pick(d.rand, "a", "aa", "a\x00", "b", "c", "\xff", "\xff\xff") }
func (d *differ) family() string    { return pick(d.rand, "f", "g") }
func (d *differ) qualifier() string { return pick(d.rand, "", "a", "ab", "b", "\x00", "\xfe") }
func (d *differ) value() string     { return pick(d.rand, "", "1", "12", "x\n", "\x80", "zzz") }
func (d *differ) ts() bigtable.Timestamp {
	return bigtable.Timestamp(1000 * d.rand.IntN(5))
}

// step makes a request to both and returns its text, and the answers.
func (d *differ) step() (what, ours, theirs string) {
	var do func(*bigtable.Table) string
	switch n := d.rand.IntN(20); {
	case n < 8:
		what, do = d.write()
	case n < 10:
		what, do = d.bulk()
	case n < 12:
		what, do = d.conditional()
	case n < 13:
		what, do = d.modify()
	default:
		what, do = d.read()
	}
	return what, do(d.ours), do(d.theirs)
}

// mutation is a random mutation, and its text.
func (d *differ) mutation() (string, *bigtable.Mutation) {
	m := bigtable.NewMutation()
	var text []string
	note := func(format string, args ...any) { text = append(text, fmt.Sprintf(format, args...)) }
	for range 1 + d.rand.IntN(4) {
		f, q, ts := d.family(), d.qualifier(), d.ts()
		switch d.rand.IntN(12) {
		default:
			v := d.value()
			m.Set(f, q, ts, []byte(v))
			note("set %s:%q@%d=%q", f, q, ts, v)
		case 8:
			m.DeleteCellsInColumn(f, q)
			note("delete %s:%q", f, q)
		case 9:
			end := ts + bigtable.Timestamp(1000*d.rand.IntN(3))
			if end == ts {
				end = 0
			}
			m.DeleteTimestampRange(f, q, ts, end)
			note("delete %s:%q from %d to %d", f, q, ts, end)
		case 10:
			m.DeleteCellsInFamily(f)
			note("delete %s", f)
		case 11:
			m.DeleteRow()
			note("delete row")
		}
	}
	return strings.Join(text, ", "), m
}

func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return status.Code(err).String()
}

func (d *differ) write() (string, func(*bigtable.Table) string) {
	key := d.key()
	text, m := d.mutation()
	return fmt.Sprintf("write %q: %s", key, text), func(t *bigtable.Table) string { return outcome(t.Apply(d.r.ctx(), key, m)) }
}

func (d *differ) bulk() (string, func(*bigtable.Table) string) {
	var keys, texts []string
	var ms []*bigtable.Mutation
	for range 1 + d.rand.IntN(5) {
		text, m := d.mutation()
		keys, texts, ms = append(keys, d.key()), append(texts, text), append(ms, m)
	}
	return fmt.Sprintf("bulk %q: %q", keys, texts), func(t *bigtable.Table) string {
		errs, err := t.ApplyBulk(d.r.ctx(), keys, ms)
		return fmt.Sprint(outcome(err), errs)
	}
}

func (d *differ) conditional() (string, func(*bigtable.Table) string) {
	key := d.key()
	name, f := d.filter(2)
	yes, a := d.mutation()
	no, b := d.mutation()
	switch d.rand.IntN(4) {
	case 0:
		yes, a = "nothing", nil
	case 1:
		no, b = "nothing", nil
	}
	return fmt.Sprintf("check %q for %s: %s / %s", key, name, yes, no), func(t *bigtable.Table) string {
		var matched bool
		err := t.Apply(d.r.ctx(), key, bigtable.NewCondMutation(f, a, b), bigtable.GetCondMutationResult(&matched))
		return fmt.Sprint(outcome(err), matched)
	}
}

func (d *differ) modify() (string, func(*bigtable.Table) string) {
	key := pick(d.rand, "m1", "m2")
	m := bigtable.NewReadModifyWrite()
	var text []string
	for range 1 + d.rand.IntN(3) {
		if d.rand.IntN(2) == 0 {
			n := int64(d.rand.Uint64())
			m.Increment("f", "n", n)
			text = append(text, fmt.Sprintf("increment by %d", n))
		} else {
			v := d.value()
			m.AppendValue("f", "s", []byte(v))
			text = append(text, fmt.Sprintf("append %q", v))
		}
	}
	return fmt.Sprintf("modify %q: %v", key, text), func(t *bigtable.Table) string {
		row, err := t.ApplyReadModifyWrite(d.r.ctx(), key, m)
		return outcome(err) + " " + comparable(row)
	}
}

// comparable is a row without allowed differences: the times of the servers, and the
// order of the copies of a cell. Of older versions of what was modified the number
// depends on the clock.
func comparable(row bigtable.Row) string {
	type item struct {
		column string
		ts     bigtable.Timestamp
		value  []byte
		labels string
	}
	var items []item
	clocked := map[string]bool{}
	for _, f := range row {
		for _, i := range f {
			ts := i.Timestamp
			if ts > 1_000_000 {
				if clocked[i.Column] {
					continue
				}
				clocked[i.Column], ts = true, -1
			}
			items = append(items, item{i.Column, ts, i.Value, fmt.Sprint(i.Labels)})
		}
	}
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.column, b.column), cmp.Compare(b.ts, a.ts), bytes.Compare(a.value, b.value), cmp.Compare(a.labels, b.labels))
	})
	return fmt.Sprintf("%q %v", row.Key(), items)
}

func (d *differ) read() (string, func(*bigtable.Table) string) {
	var set bigtable.RowSet
	what := ""
	switch d.rand.IntN(5) {
	case 0:
		keys := bigtable.RowList{d.key(), d.key(), d.key()}
		set, what = keys, fmt.Sprintf("read %q", keys)
	case 1:
		a, b := d.key(), d.key()
		if a > b {
			a, b = b, a
		}
		ranges := bigtable.RowRangeList{pick(d.rand, bigtable.NewRange(a, b), bigtable.NewOpenRange(a, b), bigtable.NewClosedRange(a, b), bigtable.NewOpenClosedRange(a, b)), bigtable.PrefixRange(d.key())}
		if a == b {
			ranges = ranges[1:]
		}
		set, what = ranges, fmt.Sprintf("read %v", ranges)
	default:
		set, what = bigtable.InfiniteRange(""), "read all"
	}
	var opts []bigtable.ReadOption
	if d.rand.IntN(4) > 0 {
		name, f := d.filter(3)
		opts, what = append(opts, bigtable.RowFilter(f)), what+" where "+name
	} else {
		// The modified rows have versions that depend on the clock.
		opts = append(opts, bigtable.RowFilter(bigtable.PassAllFilter()))
	}
	if d.rand.IntN(3) == 0 {
		n := 1 + d.rand.IntN(4)
		opts, what = append(opts, bigtable.LimitRows(int64(n))), fmt.Sprintf("%s limit %d", what, n)
	}
	if d.rand.IntN(3) == 0 {
		opts, what = append(opts, bigtable.ReverseScan()), what+" reversed"
	}
	return what, func(t *bigtable.Table) string {
		var rows []string
		err := t.ReadRows(d.r.ctx(), set, func(row bigtable.Row) bool {
			if !strings.HasPrefix(row.Key(), "m") {
				rows = append(rows, comparable(row))
			}
			return true
		}, opts...)
		return outcome(err) + "\n" + strings.Join(rows, "\n")
	}
}

// filter is a random filter and its text.
func (d *differ) filter(depth int) (string, bigtable.Filter) {
	f := d.anyFilter(depth)
	return f.String(), f
}

func (d *differ) anyFilter(depth int) bigtable.Filter {
	if depth > 0 {
		switch d.rand.IntN(8) {
		case 0, 1:
			return bigtable.ChainFilters(d.plainFilter(depth-1), d.anyFilter(depth-1))
		case 2:
			return bigtable.InterleaveFilters(d.anyFilter(depth-1), d.anyFilter(depth-1))
		case 3:
			return d.condition(depth)
		}
	}
	return d.leaf()
}

// plainFilter is a random filter after which cells may be counted.
func (d *differ) plainFilter(depth int) bigtable.Filter {
	if depth > 0 && d.rand.IntN(4) == 0 {
		return bigtable.ChainFilters(d.plainFilter(depth-1), d.plainFilter(depth-1))
	}
	return d.leaf()
}

func (d *differ) condition(depth int) bigtable.Filter {
	var yes, no bigtable.Filter
	if d.rand.IntN(4) > 0 {
		yes = d.leaf()
	}
	if yes == nil || d.rand.IntN(3) > 0 {
		no = d.leaf()
	}
	return bigtable.ConditionFilter(d.plainFilter(depth-1), yes, no)
}

func (d *differ) leaf() bigtable.Filter {
	r := d.rand
	switch r.IntN(13) {
	case 0:
		return bigtable.FamilyFilter(pick(r, "f", "g", ".*", "x", "f|g"))
	case 1:
		return bigtable.ColumnFilter(pick(r, "a", "a.*", ".*b", "[ab]", "\\C*", "(?i)A"))
	case 2:
		return bigtable.ValueFilter(pick(r, "1", "1.*", ".*", "\\C*", "z+", "\\C", "[\\x80-\\xff]"))
	case 3:
		return bigtable.RowKeyFilter(pick(r, "a", "a.*", "\\C*", "[ab]", "\\xff+"))
	case 4:
		a, b := d.qualifier(), d.qualifier()
		if a >= b {
			b = ""
		}
		return bigtable.ColumnRangeFilter(d.family(), a, b)
	case 5:
		a, b := []byte(d.value()), []byte(d.value())
		if string(a) >= string(b) {
			b = nil
		}
		return bigtable.ValueRangeFilter(a, b)
	case 6:
		from := d.ts()
		return bigtable.TimestampRangeFilterMicros(from, from+bigtable.Timestamp(1000*(1+r.IntN(3))))
	case 7:
		return bigtable.LatestNFilter(1 + r.IntN(3))
	case 8:
		return bigtable.StripValueFilter()
	case 9:
		return bigtable.ChainFilters(bigtable.FamilyFilter(d.family()), bigtable.CellsPerRowLimitFilter(1+r.IntN(3)))
	case 10:
		return bigtable.ChainFilters(bigtable.FamilyFilter(d.family()), bigtable.CellsPerRowOffsetFilter(1+r.IntN(3)))
	case 11:
		return bigtable.PassAllFilter()
	}
	return bigtable.BlockAllFilter()
}
