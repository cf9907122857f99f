package function_test

import (
	"context"
	"errors"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/function"
	"github.com/smolwc/smolwc/sql/value"
)

// A long series ends with its context.
func TestSeriesEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, args := range map[string][][]any{
		"GENERATE_ARRAY":           {{int64(1), int64(600_000)}, {1.0, 600_000.0}},
		"GENERATE_DATE_ARRAY":      {{value.Date(0), value.Date(600_000)}},
		"GENERATE_TIMESTAMP_ARRAY": {{cells.Timestamp(0), cells.Timestamp(600_000), int64(1), "MICROSECOND"}},
	} {
		for i, values := range args {
			if _, err := function.Named(name)[i].Call(ctx, values); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
