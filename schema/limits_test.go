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

// A rule covers another iff there is no rank and no age at which it keeps what
// the other drops.
func TestCoversIsWhatLimitsDrop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, o := anyRule().Draw(t, "rule"), anyRule().Draw(t, "other")
		want := true
		for rank := 1; rank <= 6; rank++ {
			for age := -day; age <= 6*day; age += 12 * time.Hour {
				want = want && (drops(r, rank, age) || !drops(o, rank, age))
			}
		}
		if got := schema.Covers(r.Limits(), o.Limits()); got != want {
			t.Fatalf("%v covers %v: %v, want %v", r, o, got, want)
		}
	})
	if !schema.Covers(nil, nil) || schema.Covers(nil, schema.MaxVersions(1).Limits()) || !schema.Covers(schema.MaxVersions(1).Limits(), nil) {
		t.Error("no rule covers no rule alone, and every rule covers it")
	}
}

func TestLazyReadsApplyAgesAlone(t *testing.T) {
	rule := schema.Any(schema.MaxVersions(3), schema.MaxAge(9*day), schema.All(schema.MaxVersions(1), schema.MaxAge(day)))
	if got, want := schema.Lazy.Limits(rule), schema.MaxAge(9*day).Limits(); !slices.Equal(got, want) {
		t.Errorf("lazy: %v, want %v", got, want)
	}
	if got := schema.Lazy.Limits(schema.MaxVersions(3)); len(got) != 0 {
		t.Errorf("lazy: %v, want none", got)
	}
	if got, want := schema.Exact.Limits(rule), rule.Limits(); !slices.Equal(got, want) {
		t.Errorf("exact: %v, want %v", got, want)
	}
}
