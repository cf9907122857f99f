package filter_test

import (
	"testing"

	"github.com/smolwc/smolwc/query/filter"
)

// A pointer to a filter has the filter's methods, but is not a filter.
func TestAPointerIsNoFilter(t *testing.T) {
	var none *filter.ColumnRange
	for _, f := range []filter.Filter{none, filter.Chain{filter.PassAll{}, none}, &filter.Chain{}, filter.Condition{If: new(filter.Latest)}} {
		if err := filter.Check(f); err == nil {
			t.Errorf("%T is taken", f)
		}
	}
}
