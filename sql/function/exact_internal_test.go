package function

import (
	"testing"

	"github.com/smolwc/smolwc/sql/value"
)

// A power is computed at once: products of fractions one after the other, each brought to its
// lowest terms, took tens of milliseconds.
func TestAPowerOfNumericIsComputedAtOnce(t *testing.T) {
	x, _ := value.ReadNumeric("-99999999999999999999.123456789", true)
	for _, y := range []int64{256, -256, 255} {
		args := []any{x, value.NumericOf(y)}
		if n := testing.AllocsPerRun(3, func() { _, _ = exactPower(args) }); n > 200 {
			t.Errorf("POW(x, %d) takes %.0f allocations", y, n)
		}
	}
}
