package heat

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/api/activity"
)

// A fake is a clock, and the processor time of a process.
type fake struct {
	now time.Time
	cpu time.Duration
}

func newFake(seed uint64) (*fake, *Heat) {
	f := &fake{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	return f, New(Options{Clock: func() time.Time { return f.now }, CPU: func() time.Duration { return f.cpu }, Seed: seed})
}

func anyTable(string) bool { return true }

// A row with a twentieth of the accesses is found, in whatever order they come, and its
// estimate is not far off.
func TestARowWithATwentiethOfTheLoadIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, h := newFake(rapid.Uint64().Draw(t, "seed"))
		n := rapid.IntRange(20, 60_000).Draw(t, "accesses")
		others := rapid.IntRange(1, 100_000).Draw(t, "other rows")
		order := rapid.SampledFrom([]string{"regular", "first", "last", "in blocks", "shuffled"}).Draw(t, "order")
		hot := make([]bool, n)
		count := (n + 19) / 20
		block := rapid.IntRange(1, 4096).Draw(t, "block")
		for i := range count {
			hot[i] = true
		}
		switch order {
		case "last":
			slices.Reverse(hot)
		case "regular":
			for i := range hot {
				hot[i] = i%20 == 0
			}
		case "in blocks":
			for i := range hot {
				hot[i] = i/block%20 == 0
			}
			count = len(slices.DeleteFunc(slices.Clone(hot), func(hot bool) bool { return !hot }))
		case "shuffled":
			rand.New(rand.NewPCG(1, uint64(n))).Shuffle(n, func(i, j int) { hot[i], hot[j] = hot[j], hot[i] })
		}
		table := h.Table("fleet")
		for i, is := range hot {
			if is {
				table.Read("plane#hot")
			} else {
				table.Read(fmt.Sprintf("plane#%06d", i*7919%others))
			}
		}
		for _, row := range h.Report(activity.HeatRequest{Table: "fleet", Rows: 50}, anyTable).Rows {
			if row.Key == "plane#hot" {
				if got := float64(row.Reads); got < 0.3*float64(count)-1 || got > 2*float64(count)+1 {
					t.Fatalf("%d of %d reads are estimated as %d", count, n, row.Reads)
				}
				return
			}
		}
		t.Fatalf("the row with %d of %d reads is not among the hottest", count, n)
	})
}

// As long as there are few accesses, everything is counted exactly.
func TestFewAccessesAreCountedExactly(t *testing.T) {
	f, h := newFake(1)
	table := h.Table("fleet")
	for range 30 {
		table.Read("plane#TF-FIR")
	}
	table.Write("plane#TF-FIU")
	f.now = f.now.Add(Slot)
	table.Write("plane#TF-FIR")
	res := h.Report(activity.HeatRequest{Table: "fleet"}, anyTable)
	want := &activity.Heat{
		Since: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Until: time.Date(2026, 3, 1, 12, 20, 0, 0, time.UTC), Column: Slot,
		Keys:   []string{"plane#TF-FIR", "plane#TF-FIU"},
		Reads:  [][]uint64{{30, 0}, {0, 0}},
		Writes: [][]uint64{{0, 1}, {1, 0}},
		Rows:   []activity.HotRow{{Table: "fleet", Key: "plane#TF-FIR", Reads: 30, Writes: 1}, {Table: "fleet", Key: "plane#TF-FIU", Writes: 1}},
	}
	if got := fmt.Sprintf("%+v", res); got != fmt.Sprintf("%+v", want) {
		t.Errorf("got  %s\nwant %+v", got, want)
	}
}

// The map has all accesses, in the column of their time, whatever the number of columns.
func TestAMapHasEveryAccess(t *testing.T) {
	f, h := newFake(2)
	table := h.Table("fleet")
	random := rand.New(rand.NewPCG(2, 2))
	const slots, each = 300, 600
	for range slots {
		for range each {
			table.Read(fmt.Sprintf("plane#%04d", random.IntN(5000)))
		}
		f.now = f.now.Add(Slot)
	}
	res := h.Report(activity.HeatRequest{Table: "fleet", Since: f.now.Add(-Kept)}, anyTable)
	var all uint64
	for i, column := range res.Reads {
		var sum uint64
		for _, n := range column {
			sum += n
		}
		if want := uint64(each * (res.Column / Slot)); i < len(res.Reads)-1 && (sum < want*95/100 || sum > want*105/100) {
			t.Errorf("column %d has %d of %d reads", i, sum, want)
		}
		all += sum
	}
	if len(res.Reads) > mostColumns || len(res.Keys) != mostBuckets || all < slots*each*95/100 || all > slots*each*105/100 {
		t.Errorf("%d columns of %v, %d buckets, %d of %d reads", len(res.Reads), res.Column, len(res.Keys), all, slots*each)
	}
}

// Memory stays within its bounds, however many tables there are and however long keys are.
func TestMemoryIsBounded(t *testing.T) {
	f, h := newFake(3)
	random := rand.New(rand.NewPCG(3, 3))
	long := strings.Repeat("k", 4000)
	check := func() {
		live, kept := 0, 0
		h.each(func(s *series) {
			for _, k := range s.keys {
				live += sampleBytes + len(k)
			}
			for i := range s.past {
				kept += s.past[i].size()
			}
		})
		if live != h.live || kept != h.kept || live > maxLive || kept > maxKept {
			t.Fatalf("%d and %d bytes are counted as %d and %d; the bounds are %d and %d", live, kept, h.live, h.kept, maxLive, maxKept)
		}
	}
	for slot := range 5 {
		for i := range 12_000 {
			table := h.Table(fmt.Sprintf("t%d", random.IntN(300)))
			key := fmt.Sprintf("%06d%s", random.IntN(1_000_000), long[:random.IntN(len(long))])
			if table.Read(key); i%2 == 0 {
				table.Write(key)
			}
		}
		check()
		if slot == 3 {
			h.Forget("t7")
		}
		f.now = f.now.Add(Slot)
	}
	check()
	if oldest := h.oldest(); oldest == slotOf(f.now.Add(-5*Slot)) {
		t.Error("the bound was not reached")
	}
}

// Samples go after two weeks, and those of a dropped table at once.
func TestSamplesExpire(t *testing.T) {
	f, h := newFake(4)
	h.Table("fleet").Read("plane#TF-FIR")
	h.Table("gone").Read("plane#TF-FIR")
	h.Forget("gone")
	h.Table("gone").Write("plane#TF-FIU")
	f.now = f.now.Add(Kept)
	rows := h.Report(activity.HeatRequest{Since: f.now.Add(-Kept)}, anyTable).Rows
	if want := []activity.HotRow{{Table: "fleet", Key: "plane#TF-FIR", Reads: 1}, {Table: "gone", Key: "plane#TF-FIU", Writes: 1}}; !slices.Equal(rows, want) {
		t.Errorf("after two weeks: %v", rows)
	}
	f.now = f.now.Add(Slot)
	h.Table("fleet").Read("plane#TF-FIR")
	if rows := h.Report(activity.HeatRequest{Since: f.now.Add(-Kept)}, anyTable).Rows; len(rows) != 1 || rows[0].Reads != 1 {
		t.Errorf("after two weeks and ten minutes: %v", rows)
	}
	if h.kept != 0 {
		t.Errorf("%d bytes are kept", h.kept)
	}
}

// A tablet's part of the processor time is its part of the accesses.
func TestHotTablets(t *testing.T) {
	f, h := newFake(5)
	for i := range 1000 {
		h.Table("fleet").Read(fmt.Sprintf("plane#%04d", i/2%400))
		h.Table("fleet").Write("plane#hot")
		h.Table("queue").Write(fmt.Sprintf("%08d", i))
	}
	f.cpu += 24 * time.Hour // all processors
	f.now = f.now.Add(Slot)
	tablets := h.Tablets(func(table string) bool { return table == "fleet" }, f.now.Add(-24*time.Hour), f.now)
	hottest := tablets[0]
	if hottest.First != "plane#hot" || hottest.Last != "plane#hot" || hottest.Used < 0.33 || hottest.Used > 0.34 || !hottest.Start.Equal(f.now.Add(-Slot)) || !hottest.End.Equal(f.now) {
		t.Errorf("the hottest is %+v", hottest)
	}
	for i, tablet := range tablets[1:] {
		if tablet.Used > tablets[i].Used || tablet.Used < hotPart || tablet.First > tablet.Last || tablet.Table != "fleet" {
			t.Errorf("%+v after %+v", tablet, tablets[i])
		}
	}
	if len(tablets) < 5 {
		t.Errorf("%d tablets", len(tablets))
	}
	if tablets := h.Tablets(anyTable, f.now.Add(-Slot+1), f.now); len(tablets) > 0 {
		t.Errorf("a slot that began before has %+v", tablets)
	}
}

// Points are what was packed, as a naive count of every sample has it.
func TestPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOf(rapid.StringMatching(`[ab\x00\xff]{0,5}`)).Draw(t, "samples")
		p := pack(1, uint64(len(samples)), samples, len(samples)+1)
		want, got := map[string]uint64{}, map[string]uint64{}
		for _, s := range samples {
			want[s]++
		}
		last := ""
		for point := range p.all() {
			if got[point.key] > 0 || point.key < last {
				t.Fatalf("%q comes after %q", point.key, last)
			}
			got[point.key], last = point.weight, point.key
		}
		if !maps.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// Accesses from several goroutines, questions and dropped tables go on beside each other.
func TestBeside(t *testing.T) {
	h := New(Options{})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 20_000 {
				h.Table("fleet").Read(fmt.Sprint(j % 100))
				if h.Table("fleet").Write(fmt.Sprint(j)); j%5000 == i {
					h.Report(activity.HeatRequest{Table: "fleet"}, anyTable)
					h.Tablets(anyTable, time.Now().Add(-time.Hour), time.Now())
					h.Forget("fleet")
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkRead(b *testing.B) {
	table := New(Options{}).Table("fleet")
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			table.Read("plane#TF-FIR")
		}
	})
}

// A day of a table that is always busy.
func BenchmarkReportOfADay(b *testing.B) {
	f, h := newFake(6)
	random := rand.New(rand.NewPCG(6, 6))
	for range 144 {
		f.now = f.now.Add(Slot)
		for range 20_000 {
			h.Table("fleet").Read(fmt.Sprintf("plane#%06d", random.IntN(1_000_000)))
			h.Table("fleet").Write(fmt.Sprintf("plane#%06d", random.IntN(1_000_000)))
		}
	}
	for b.Loop() {
		h.Report(activity.HeatRequest{Table: "fleet"}, anyTable)
	}
	b.ReportMetric(float64(h.kept), "bytes/day")
}

// Times in the future, and times too long ago, have no heat. Neither panics.
func TestHeatOfTimesThatAreNotKept(t *testing.T) {
	f, h := newFake(1)
	h.Table("t").Read("k")
	for _, ago := range []time.Duration{-time.Minute, -30 * time.Hour, -72 * time.Hour, 15 * 24 * time.Hour, 16 * 24 * time.Hour, 1000 * time.Hour} {
		at := f.now.Add(-ago)
		for _, table := range []string{"", "t"} {
			for _, want := range []activity.HeatRequest{{Table: table, Since: at}, {Table: table, Until: at}, {Table: table, Since: at.Add(-time.Hour), Until: at}} {
				res := h.Report(want, anyTable)
				if future := ago < -time.Hour && !want.Since.IsZero(); len(res.Rows) > 0 && future {
					t.Errorf("%v ago: %v", ago, res.Rows)
				}
			}
		}
	}
}
