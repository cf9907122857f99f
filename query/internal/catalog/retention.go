package catalog

import (
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/schema"
)

// RetentionAt is the cells that limits drop at a moment, in the form that the store
// applies. In each column these cells are a tail: all versions from some version on.
func RetentionAt(limits []schema.Limit, now cells.Timestamp) []cf.Retention {
	if len(limits) == 0 {
		return nil
	}
	rs := make([]cf.Retention, len(limits))
	for i, l := range limits {
		rs[i] = cf.Retention{Versions: l.Versions, UpTo: int64(cells.MaxTimestamp)}
		if l.Age > 0 { // expired iff now > timestamp + age
			rs[i].UpTo = int64(now) - l.Age.Microseconds() - 1
		}
	}
	return rs
}

// counts reports whether some limit depends on the number of versions.
func counts(limits []schema.Limit) bool {
	return len(limits) > 0 && limits[len(limits)-1].Versions > 0 // they are sorted
}

// Retention is the part of the family that reads hide at a moment, in the form
// that the store applies.
func (f *Family) Retention(now cells.Timestamp) []cf.Retention { return RetentionAt(f.Limits, now) }

// MaxAge is the age beyond which the family's cells are dropped at any rank; 0
// means that there is no such age.
func (f *Family) MaxAge() time.Duration {
	if len(f.Rule) > 0 && f.Rule[0].Versions == 0 {
		return f.Rule[0].Age
	}
	return 0
}

// Expiry is the cells of the family that the store may drop by itself.
func (f *Family) Expiry(now cells.Timestamp) cf.Expiry {
	age := f.MaxAge()
	if age == 0 {
		return cf.Expiry{}
	}
	return cf.Expiry{
		Before: max(0, int64(now)-age.Microseconds()),
		// After this time all data that was written in order is expired.
		Period: min(max(age, minPeriod), maxPeriod),
	}
}

// Cold files are rewritten to drop expired cells, at intervals between these.
const (
	minPeriod = 24 * time.Hour
	maxPeriod = 30 * 24 * time.Hour
)

// Collected reports whether collections of surplus versions look at the family.
func (f *Family) Collected() bool { return counts(f.Rule) }

// A Loosening is a family whose reads are about to hide less than they did.
type Loosening struct {
	Table    string
	Old, New *Family
}

// Loosenings are the families whose reads hide less with the next catalog.
func Loosenings(old, next *Catalog) (ls []Loosening) {
	for _, t := range next.Tables {
		was := old.Tables[t.Name]
		if was == nil {
			continue
		}
		for _, f := range t.Families {
			if o, err := was.Family(f.Name); err == nil && !schema.Covers(f.Limits, o.Limits) {
				ls = append(ls, Loosening{t.Name, o, f})
			}
		}
	}
	return ls
}
