package schema

import (
	"fmt"
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
	a, err := parseName[Aggregate]("aggregate", name, aggregateNames[1:])
	if err != nil {
		return NoAggregate, err
	}
	return a + 1, nil
}
