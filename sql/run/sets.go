package run

import (
	"slices"
	"strconv"
)

// GroupingSets is a step that makes a tuple of each grouping set: it adds the keys to the
// values, NULL for those whose bit the set lacks, and then the number of the set.
func GroupingSets(keys []Eval, sets []uint64) Step {
	return Step{name: "for each of " + strconv.Itoa(len(sets)) + " grouping sets", alone: true, run: func(x *execution, next sink) sink {
		return next.by(func(t *Tuple) error {
			values, err := All(keys, t)
			if err != nil {
				return err
			}
			for i, set := range sets {
				slots := slices.Grow(slices.Clip(t.slots), len(keys)+1)
				for k, v := range values {
					if set&(1<<k) == 0 {
						v = nil
					}
					slots = append(slots, v)
				}
				if err := x.ctx.Err(); err != nil {
					return err
				}
				if err := next.push(&Tuple{Row: t.Row, slots: append(slots, int64(i)), made: t.made, call: t.call}); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}
