package run

import "github.com/smolwc/smolwc/sql/value"

// numericSum adds NUMERICs exactly: only the result must be one.
type numericSum struct {
	sum  value.NumericSum
	n    int64
	mean bool
	fail func(what string) error
}

func (s *numericSum) add(v any) error {
	s.sum.Add(v.(value.Numeric))
	s.n++
	return nil
}

func (s *numericSum) merge(part accumulator) error {
	of := part.(*numericSum)
	s.sum.Merge(of.sum)
	s.n += of.n
	return nil
}

func (s *numericSum) result() (any, error) {
	if s.n == 0 {
		return nil, nil
	}
	r, ok := s.sum.Over(parts(s.n, s.mean))
	if !ok {
		return nil, s.fail("NUMERIC")
	}
	return r, nil
}

// parts is the number by which a sum is divided.
func parts(n int64, mean bool) int64 {
	if mean {
		return n
	}
	return 1
}

// NumericSum adds NUMERICs, or is their mean. overflow is the error of a result beyond the type.
func NumericSum(mean bool, overflow func(what string) error) Make {
	return func(*execution) accumulator { return &numericSum{mean: mean, fail: overflow} }
}

// intervalSum adds INTERVALs exactly: only the result must be one.
type intervalSum struct {
	sum  value.IntervalSum
	n    int64
	mean bool
	fail func(error) error
}

func (s *intervalSum) add(v any) error {
	s.sum.Add(v.(value.Interval))
	s.n++
	return nil
}

func (s *intervalSum) merge(part accumulator) error {
	of := part.(*intervalSum)
	s.sum.Merge(&of.sum)
	s.n += of.n
	return nil
}

func (s *intervalSum) result() (any, error) {
	if s.n == 0 {
		return nil, nil
	}
	r, err := s.sum.Over(parts(s.n, s.mean))
	if err != nil {
		return nil, s.fail(err)
	}
	return r, nil
}

// IntervalSum adds INTERVALs, or is their mean. failed places the error of a result out of range.
func IntervalSum(mean bool, failed func(error) error) Make {
	return func(*execution) accumulator { return &intervalSum{mean: mean, fail: failed} }
}
