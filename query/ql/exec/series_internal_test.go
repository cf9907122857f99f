package exec

import (
	"math"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
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
