package exec

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/walltime"
)

// Times in more decades than there are fine bins do not crash a histogram.
func TestTimesInThousandsOfDecades(t *testing.T) {
	b := timeBins{zone: time.UTC}
	const n = 20_000
	for i := range int64(n) {
		b.add(cells.Timestamp(i * (math.MaxInt64 / n)))
	}
	if lines := b.bins(40); len(lines) == 0 {
		t.Error("there are no bins")
	}
}

// A bar has the times between its bounds, and bars follow one another, whatever clocks do.
func TestBarsHoldTheTimesBetweenTheirBounds(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/Santiago", "Africa/Cairo", "Asia/Beirut", "America/Asuncion", "America/Havana", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kolkata", "Africa/Monrovia"}
	rapid.Check(t, func(t *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		around := time.Unix(rapid.Int64Range(0, 4_000_000_000).Draw(t, "around"), 0).In(zone)
		if change := walltime.NextChange(around); !change.IsZero() && rapid.Bool().Draw(t, "at a change") {
			around = change
		}
		span := rapid.SampledFrom([]int64{5, 900, 10_000, 100_000, 1_000_000, 40_000_000, 900_000_000}).Draw(t, "span")
		b, all := timeBins{zone: zone}, []cells.Timestamp{}
		for range rapid.IntRange(1, 60).Draw(t, "times") {
			at := around.Unix() + rapid.Int64Range(-span, span).Draw(t, "at")
			all = append(all, cells.Timestamp(max(at, 0)*1_000_000+rapid.Int64Range(0, 999_999).Draw(t, "micros")))
			b.add(all[len(all)-1])
		}
		for range rapid.IntRange(0, 9).Draw(t, "widened") {
			if b.unit < len(timeUnits)-1 {
				b.widen()
			}
		}
		last := cells.Timestamp(math.MinInt64)
		sum := int64(0)
		for i, line := range b.bins(rapid.IntRange(1, 40).Draw(t, "bins")) {
			from, to, n := line[0].(cells.Timestamp), line[1].(cells.Timestamp), line[2].(int64)
			held := int64(0)
			for _, ts := range all {
				if from <= ts && ts < to {
					held++
				}
			}
			if held != n || i > 0 && from != last || from >= to {
				t.Errorf("in %v the bar from %v to %v, which follows %v, says %d and has %d", zone, from.Time().In(zone), to.Time().In(zone), last.Time().In(zone), n, held)
			}
			last, sum = to, sum+n
		}
		if sum != int64(len(all)) {
			t.Errorf("the bars have %d of %d times", sum, len(all))
		}
	})
}
