package run

import (
	"cmp"
	"context"
	"slices"

	"github.com/smolwc/smolwc/sql/value"
)

// A Search finds which of many values another one equals: by a search of sorted values, as
// each row would compare itself with thousands.
type Search struct {
	at     int                               // its number among the searches of the plan
	values func(*Tuple) (value.Array, error) // they are the same for every row
	float  bool                              // the value looked for is a FLOAT32 or FLOAT64
}

// NewSearch is the search number at of a plan. float says that the value looked for is a FLOAT32
// or FLOAT64.
func NewSearch(at int, float bool, values func(*Tuple) (value.Array, error)) *Search {
	return &Search{at, values, float}
}

// sortedValues are the values of a search.
type sortedValues struct {
	*Search
	large  bool // there is no room for them: they are compared one by one
	all    value.Array
	exact  []int32 // the numbers of the values, sorted by them
	floats []int32 // and of those that an INT64 equals as FLOAT64
	inner  []int32 // and of those with a NULL in them
	null   bool    // a value is NULL
	some   bool    // a value is not NULL
}

// sort sorts the values, once in the runs that share constants. It ends early with the
// context of the tuple.
func (s *Search) sort(t *Tuple) (*sortedValues, error) {
	known := t.constants()
	if known == nil {
		return s.sortWith(t, newConstants(Size{}))
	}
	of := &known.searches[s.at]
	if sorted := of.sorted.Load(); sorted != nil {
		return sorted, nil
	}
	of.mu.Lock()
	defer of.mu.Unlock()
	if sorted := of.sorted.Load(); sorted != nil {
		return sorted, nil
	}
	sorted, err := s.sortWith(t, known)
	if err == nil {
		of.sorted.Store(sorted)
	}
	return sorted, err
}

func (s *Search) sortWith(t *Tuple, known *Constants) (*sortedValues, error) {
	made := &sortedValues{Search: s}
	alone := t.Alone()
	var err error
	if made.all, err = s.values(alone); err != nil {
		return nil, err
	}
	size := 4 * len(made.all)
	if alone.made > 0 { // literals and parameters are there anyway
		size += value.Size(made.all)
	}
	if made.large = !known.keeps(size); made.large {
		made.all = nil
	} else if err := made.sortBy(t.Context()); err != nil {
		known.kept.Add(-int64(size))
		return nil, err
	}
	return made, nil
}

// Values are the values, if they can be known and there is room for them.
func (s *Search) Values(t *Tuple) (all value.Array, ok bool) {
	of, err := s.sort(t.Alone())
	if err != nil || of.large {
		return nil, false
	}
	return of.all, true
}

func (s *sortedValues) sortBy(ctx context.Context) error {
	for i, v := range s.all {
		s.some = s.some || v != nil
		_, isInt := v.(int64)
		switch equal := value.Equal(v, v); {
		case v == nil:
			s.null = true
		case equal == nil:
			s.inner = append(s.inner, int32(i))
		case equal == false: // NaN
		case isNumber(v) && !isInt && !s.float:
			s.floats = append(s.floats, int32(i))
		default:
			s.exact = append(s.exact, int32(i))
		}
	}
	compared, stopped := 0, false
	for _, numbers := range [][]int32{s.exact, s.floats} {
		slices.SortFunc(numbers, func(i, j int32) int {
			if compared++; compared%4096 == 0 && ctx != nil && ctx.Err() != nil {
				stopped = true
			}
			if stopped { // what is equal is sorted at once
				return 0
			}
			return cmp.Or(value.Order(s.key(s.all[i]), s.key(s.all[j])), cmp.Compare(i, j))
		})
	}
	if stopped {
		return ctx.Err()
	}
	return nil
}

// key is what values are sorted by: INT64 beside FLOAT64 is one.
func (s *Search) key(v any) any {
	if _, ok := v.(int64); ok && s.float {
		return value.ToFloat(v)
	}
	return v
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, float32, float64:
		return true
	}
	return false
}

// Find is the number of the first value that v equals, -1 if it equals no value. null reports
// whether v = value is NULL for some value then.
func (s *Search) Find(t *Tuple, v any) (first int, null bool, err error) {
	if t == nil { // it is the same for every row
		t = &Tuple{}
	}
	of, err := s.sort(t)
	switch {
	case err != nil:
		return -1, false, err
	case of.large:
		all, err := s.values(t)
		first, null = FoundIn(v, all)
		return first, null, err
	case v == nil:
		return -1, len(of.all) > 0, nil
	case !of.some: // it may be of a type that is not compared
		return -1, of.null, nil
	}
	switch value.Equal(v, v) {
	case nil: // it contains a NULL, which no other value equals
		_, null = FoundIn(v, of.all)
		return -1, null, nil
	case true: // it contains no NaN
		first = of.first(of.exact, s.key(v))
		if at := of.first(of.floats, v); first < 0 || at >= 0 && at < first {
			first = at
		}
	default:
		first = -1
	}
	if first < 0 {
		null = of.null || slices.ContainsFunc(of.inner, func(i int32) bool { return value.Equal(v, of.all[i]) == nil })
	}
	return first, null, nil
}

// FoundIn compares a value with others one by one, as Find does.
func FoundIn(v any, all value.Array) (first int, null bool) {
	for i, w := range all {
		switch value.Equal(v, w) {
		case true:
			return i, false
		case nil:
			null = true
		}
	}
	return -1, null
}

func (s *sortedValues) first(numbers []int32, v any) int {
	at, found := slices.BinarySearchFunc(numbers, v, func(i int32, v any) int { return value.Order(s.key(s.all[i]), v) })
	if !found {
		return -1
	}
	return int(numbers[at])
}

// Verdict is what IN makes of a value: TRUE, FALSE or nil for NULL.
func (s *Search) Verdict(t *Tuple, v any) (any, error) {
	first, null, err := s.Find(t, v)
	switch {
	case err != nil || first < 0 && null:
		return nil, err
	}
	return first >= 0, nil
}
