package plan

import (
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/read"
)

// narrowKeys narrows a read to the keys that conditions leave, and returns it with the
// conditions that are still to be judged. The result may share the plan's memory.
func (p *Plan) narrowKeys(r *Spec, tests []test) (*Spec, []test) {
	var left []test
	spec, narrowed := r, false
	for _, c := range tests {
		ranges, whole, ok := keysOf(&c.Condition)
		if ok {
			if !narrowed {
				spec, narrowed = p.change(r), true
			}
			spec.Ranges = cf.IntersectRanges(spec.Ranges, ranges)
		}
		if !whole {
			left = append(left, c)
		}
	}
	if !narrowed {
		return r, tests
	}
	return spec, left
}

// keysOf are ranges that have every key for which a condition can hold; ok is false if
// they would be all keys. whole says that the condition holds for each of their keys.
func keysOf(c *read.Condition) (ranges []cf.Range, whole, ok bool) {
	switch {
	case c.Kind == read.AnyOf:
		whole = true
		for i := range c.Terms {
			some, all, ok := keysOf(&c.Terms[i])
			if !ok {
				return nil, false, false
			}
			ranges, whole = append(ranges, some...), whole && all
		}
		return cf.MergeRanges(ranges), whole, true
	case c.Kind == read.AllOf:
		ranges, whole = []cf.Range{{}}, true
		for i := range c.Terms {
			some, all, bounded := keysOf(&c.Terms[i])
			if bounded {
				ranges, ok = cf.IntersectRanges(ranges, some), true
			}
			whole = whole && all
		}
		return ranges, whole, ok
	case c.On != read.OnKey:
		return nil, false, false
	}
	switch c.Kind {
	case read.Compares:
		key, _ := c.Value.AsBytes()
		return keysThat(c.Op, string(key))
	case read.IsOneOf:
		for _, v := range c.Values {
			key, _ := v.AsBytes()
			ranges = append(ranges, cf.Single(string(key)))
		}
		return cf.MergeRanges(ranges), true, true
	case read.Matches:
		stems := stemsOf(c.Pattern)
		if !stems.Bounded() {
			return nil, false, false
		}
		return rangesOf(stems), stems.Whole, true
	}
	return nil, false, false
}

func keysThat(op cells.Op, key string) (ranges []cf.Range, whole, ok bool) {
	next := key + "\x00" // the first key after it
	switch op {
	case cells.OpEqual:
		return []cf.Range{cf.Single(key)}, true, true
	case cells.OpLess:
		if key == "" {
			return nil, true, true
		}
		return []cf.Range{{End: key}}, true, true
	case cells.OpLessOrEqual:
		return []cf.Range{{End: next}}, true, true
	case cells.OpGreater:
		return []cf.Range{{Start: next}}, true, true
	case cells.OpGreaterOrEqual:
		return []cf.Range{{Start: key}}, true, true
	}
	return nil, false, false // != leaves nearly all keys
}
