package schema_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/schema"
)

const day = 24 * time.Hour

// drops evaluates the tree as it is defined.
func drops(r *schema.Rule, rank int, age time.Duration) bool {
	sub := func(r *schema.Rule) bool { return drops(r, rank, age) }
	switch {
	case r == nil:
		return false
	case r.MaxVersions != 0:
		return rank > r.MaxVersions
	case r.MaxAge != 0:
		return age > r.MaxAge
	case r.Any != nil:
		return slices.ContainsFunc(r.Any, sub)
	}
	return !slices.ContainsFunc(r.All, func(r *schema.Rule) bool { return !sub(r) })
}

func TestLimitsDropWhatTheTreeDrops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRule().Draw(t, "rule")
		limits := r.Limits()
		for rank := 1; rank <= 6; rank++ {
			// Ages on both sides of each bound, before the epoch of the cell too.
			for age := -day; age <= 6*day; age += 12 * time.Hour {
				got := slices.ContainsFunc(limits, func(l schema.Limit) bool { return l.Drops(rank, age) })
				if want := drops(r, rank, age); got != want {
					t.Fatalf("%v as %v, rank %d, age %v: got %v, want %v", r, limits, rank, age, got, want)
				}
			}
		}
	})
}

// Versions rise and ages fall, so no limit implies another.
func TestLimitsAreCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := anyRule().Draw(t, "rule").Limits()
		for i, l := range limits {
			if l == (schema.Limit{}) {
				t.Fatalf("%v drops everything", limits)
			}
			if i > 0 && (l.Versions <= limits[i-1].Versions || l.Age >= limits[i-1].Age) {
				t.Fatalf("%v is out of order or redundant at %d", limits, i)
			}
		}
	})
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		rule *schema.Rule
		want []schema.Limit
	}{
		{nil, nil},
		{&schema.Rule{}, nil},
		{schema.All(), nil},
		{schema.Any(nil), nil},
		{schema.MaxVersions(3), []schema.Limit{{3, 0}}},
		{schema.MaxAge(day), []schema.Limit{{0, day}}},
		{schema.Any(schema.MaxVersions(3), schema.MaxAge(day)), []schema.Limit{{0, day}, {3, 0}}},
		{schema.All(schema.MaxVersions(1), schema.MaxAge(30*day)), []schema.Limit{{1, 30 * day}}},
		{schema.Any(schema.MaxVersions(3), schema.MaxVersions(5)), []schema.Limit{{3, 0}}},
		{schema.All(schema.MaxVersions(3), schema.MaxVersions(5)), []schema.Limit{{5, 0}}},
		{schema.All(schema.MaxAge(day), schema.Any(schema.MaxVersions(2), schema.MaxAge(7*day))),
			[]schema.Limit{{0, 7 * day}, {2, day}}},
	} {
		if got := c.rule.Limits(); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.rule, got, c.want)
		}
	}
}

func TestRuleString(t *testing.T) {
	for want, r := range map[string]*schema.Rule{
		"none":           nil,
		"max_versions=3": schema.MaxVersions(3),
		"any(max_versions=3, all(max_versions=1, max_age=30d))": schema.Any(schema.MaxVersions(3),
			schema.All(schema.MaxVersions(1), schema.MaxAge(30*day))),
	} {
		if got := r.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
