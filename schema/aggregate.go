package schema

import (
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/internal/excerpt"
)

// An Aggregate is how a family combines the values that are added to one of its
// cells. The zero Aggregate means that cells are set, not added to.
type Aggregate uint8

// The aggregates. Each reads as an i64.
const (
	NoAggregate  Aggregate = iota
	AggregateSum           // the sum of the i64 added
	AggregateMin           // the least of them
	AggregateMax           // the greatest of them
	AggregateHLL           // how many distinct values were added, a HyperLogLog estimate
)

var aggregateNames = [...]string{"none", "sum", "min", "max", "hll"}

// String is the aggregate's name in YAML, "sum"; "none" for NoAggregate.
func (a Aggregate) String() string {
	if a.valid() {
		return aggregateNames[a]
	}
	return fmt.Sprintf("aggregate(%d)", uint8(a))
}

func (a Aggregate) valid() bool { return int(a) < len(aggregateNames) }

// ParseAggregate is the aggregate with this name; the error lists the names
// there are. "none" is not one of them: a family without an aggregate does not
// name one.
func ParseAggregate(name string) (Aggregate, error) {
	for i, n := range aggregateNames[1:] {
		if n == name {
			return Aggregate(i + 1), nil
		}
	}
	names := aggregateNames[1:]
	if near := DidYouMean(name, names); near != "" {
		return NoAggregate, fmt.Errorf("unknown aggregate %q%s", excerpt.Of(name), near)
	}
	return NoAggregate, fmt.Errorf("unknown aggregate %q; the aggregates are %s", excerpt.Of(name), strings.Join(names, ", "))
}
