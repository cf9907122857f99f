package run

import "fmt"

// A Union is the rows of several plans with columns of the same types, in their order.
type Union struct {
	Of []*Plan
	// Name is UNION ALL or its like, in EXPLAIN.
	Name string
	// Tags, if there are any, are a last value for the rows of each plan.
	Tags []int64
}

func (u *Union) feed(r *Runner, x *execution, tables Tables, next sink) error {
	lent := next.lender()
	for i, p := range u.Of {
		enough, err := r.part(p, x, tables, nil, func(values []any) error {
			if u.Tags != nil {
				values = append(values[:len(values):len(values)], u.Tags[i])
			}
			return next.push(lent.tuple(Tuple{slots: values, call: x.call}))
		}, next.copies)
		if err != nil {
			return err
		}
		if enough {
			return errEnough
		}
	}
	return nil
}

func (u *Union) explained(r *Runner, t *Tuple) (lines []string) {
	lines = append(lines, fmt.Sprintf("%s of %d queries", u.Name, len(u.Of)))
	for i, p := range u.Of {
		lines = append(lines, fmt.Sprintf("  query %d:", i+1))
		lines = append(lines, indented(indented(r.of(p).explanation(t)))...)
	}
	return lines
}

// Marked keeps the bits of a group's tags, joined.
func Marked(tag Eval) *Aggregate {
	return &Aggregate{Arg: tag, Make: Fold(func(old, v any) (any, error) { return old.(int64) | v.(int64), nil })}
}
