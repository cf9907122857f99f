package schema

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Rule says which cells of a family retention drops. It is a tree: exactly
// one of the four fields is set. A nil *Rule drops nothing. Build rules with
// [MaxVersions], [MaxAge], [Any] and [All]; do not change them once they are
// part of a schema.
type Rule struct {
	// MaxVersions, 1 to 2^31-1, drops all but the newest MaxVersions cells of
	// each column.
	MaxVersions int
	// MaxAge, positive and in whole microseconds, drops a cell when
	// now > timestamp + MaxAge: at exactly that age the cell is still there.
	MaxAge time.Duration
	// Any drops a cell when at least one of these rules does.
	Any []*Rule
	// All drops a cell when every one of these rules does.
	All []*Rule
}

// Bounds of a rule tree. They bound the work of a compaction per cell.
const (
	// MaxRuleDepth is how deep rules may be nested; a single leaf is of depth 1.
	MaxRuleDepth = 16
	// MaxRuleLeaves is how many max_versions and max_age one tree may have.
	MaxRuleLeaves = 256
	// MaxLimits is how many [Limit]s a tree may compile to.
	MaxLimits = 64
)

// MaxVersions is the rule that keeps the newest n cells of each column.
func MaxVersions(n int) *Rule { return &Rule{MaxVersions: n} }

// MaxAge is the rule that drops cells older than d.
func MaxAge(d time.Duration) *Rule { return &Rule{MaxAge: d} }

// Any is the rule that drops the cells that at least one of the rules drops,
// their union.
func Any(rules ...*Rule) *Rule { return &Rule{Any: rules} }

// All is the rule that drops the cells that every one of the rules drops, their
// intersection.
func All(rules ...*Rule) *Rule { return &Rule{All: rules} }

// kinds is how many of the four fields are set; 1 in a valid rule.
func (r *Rule) kinds() int {
	n := 0
	for _, set := range [...]bool{r.MaxVersions != 0, r.MaxAge != 0, len(r.Any) > 0, len(r.All) > 0} {
		if set {
			n++
		}
	}
	return n
}

// maxRuleNodes bounds the nodes of a valid tree: up to MaxRuleLeaves leaves, each at
// the end of a path of up to MaxRuleDepth nodes.
const maxRuleNodes = MaxRuleLeaves * MaxRuleDepth

// A ruleSize is how large a tree is, as far as it was walked.
type ruleSize struct{ nodes, depth int }

// size walks the tree. Rules are pointers: a rule that was built by hand may contain
// itself, or share its parts so often that a full walk would not end. size goes no
// deeper than MaxRuleDepth+1, and stops after maxRuleNodes.
func (r *Rule) size() (s ruleSize) {
	s.add(r, 1)
	return s
}

func (s *ruleSize) add(r *Rule, depth int) {
	if r == nil {
		return
	}
	s.nodes++
	s.depth = max(s.depth, depth)
	for _, subs := range [...][]*Rule{r.Any, r.All} {
		for _, sub := range subs {
			if depth > MaxRuleDepth || s.nodes > maxRuleNodes {
				return
			}
			s.add(sub, depth+1)
		}
	}
}

// bounded reports whether the rule is a tree within the bounds, which recursion
// may walk.
func (r *Rule) bounded() bool {
	s := r.size()
	return s.depth <= MaxRuleDepth && s.nodes <= maxRuleNodes
}

// Clone is a deep copy; nil stays nil. A rule that is nested too deep, or contains
// itself, cannot be copied: it is returned unchanged, and [Schema.Validate]
// refuses it.
func (r *Rule) Clone() *Rule {
	if !r.bounded() {
		return r
	}
	return r.clone()
}

func (r *Rule) clone() *Rule {
	if r == nil {
		return nil
	}
	c := *r
	c.Any = cloneRules(r.Any)
	c.All = cloneRules(r.All)
	return &c
}

func cloneRules(rules []*Rule) []*Rule {
	c := slices.Clone(rules)
	for i := range c {
		c[i] = c[i].clone()
	}
	return c
}

// Equal reports whether r and o are the same tree. Rules that are written
// differently and drop the same cells are not equal. A rule that is nested too
// deep, or contains itself, equals no other.
func (r *Rule) Equal(o *Rule) bool {
	if !r.bounded() || !o.bounded() {
		return r == o
	}
	return r.equal(o)
}

func (r *Rule) equal(o *Rule) bool {
	if r == nil || o == nil {
		return r == o
	}
	return r.MaxVersions == o.MaxVersions && r.MaxAge == o.MaxAge &&
		slices.EqualFunc(r.Any, o.Any, (*Rule).equal) &&
		slices.EqualFunc(r.All, o.All, (*Rule).equal)
}

// String is the rule as plans and descriptions show it, "max_versions=3" or
// "any(max_versions=3, all(max_versions=1, max_age=30d))"; "none" for nil.
func (r *Rule) String() string {
	if !r.bounded() {
		return "a rule that is nested too deeply"
	}
	return r.text()
}

func (r *Rule) text() string {
	switch {
	case r == nil:
		return "none"
	case r.MaxVersions != 0:
		return fmt.Sprintf("max_versions=%d", r.MaxVersions)
	case r.MaxAge != 0:
		return "max_age=" + FormatAge(r.MaxAge)
	case r.All != nil:
		return "all(" + joinRules(r.All) + ")"
	}
	return "any(" + joinRules(r.Any) + ")"
}

func joinRules(rules []*Rule) string {
	var parts []string
	for _, r := range rules {
		parts = append(parts, r.text())
	}
	return strings.Join(parts, ", ")
}
