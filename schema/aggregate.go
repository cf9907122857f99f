package schema

// An Aggregate is how a family combines the values that are added to one of its
// cells. The zero Aggregate means that cells are set, not added to.
type Aggregate uint8

// The aggregates. The value of each is read as an i64.
const (
	NoAggregate  Aggregate = iota
	AggregateSum           // the sum of the i64 added
	AggregateMin           // the least i64 added
	AggregateMax           // the greatest i64 added
	AggregateHLL           // how many distinct values were added, a HyperLogLog estimate
)

var aggregateNames = [...]string{"none", "sum", "min", "max", "hll"}

// String is the aggregate's name in YAML, "sum"; "none" for NoAggregate.
func (a Aggregate) String() string { return nameOf("aggregate", a, aggregateNames[:]) }

func (a Aggregate) valid() bool { return int(a) < len(aggregateNames) }

// ParseAggregate is the aggregate with this name. An unknown name is an error with the
// nearest name or, if no name is near, with all names. "none" is not a name here: a
// family without an aggregate leaves the key out.
func ParseAggregate(name string) (Aggregate, error) {
	a, err := parseName[Aggregate]("aggregate", name, aggregateNames[1:])
	if err != nil {
		return NoAggregate, err
	}
	return a + 1, nil
}
