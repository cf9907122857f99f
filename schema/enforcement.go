package schema

import (
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/internal/excerpt"
)

// An Enforcement is how strictly reads of a table apply its families' rules. The
// cells dropped from the disk in the end are the same.
type Enforcement uint8

// The enforcements.
const (
	// Exact hides every cell that the rules drop, as soon as they do.
	Exact Enforcement = iota
	// Lazy hides expired cells. Surplus versions stay visible until something
	// removes them, as in Bigtable.
	Lazy
)

var enforcementNames = [...]string{"exact", "lazy"}

// String is the enforcement's name in YAML, "exact" or "lazy".
func (e Enforcement) String() string {
	if e.valid() {
		return enforcementNames[e]
	}
	return fmt.Sprintf("enforcement(%d)", uint8(e))
}

func (e Enforcement) valid() bool { return int(e) < len(enforcementNames) }

// ParseEnforcement is the enforcement with this name.
func ParseEnforcement(name string) (Enforcement, error) {
	for i, n := range enforcementNames {
		if n == name {
			return Enforcement(i), nil
		}
	}
	names := enforcementNames[:]
	if near := DidYouMean(name, names); near != "" {
		return Exact, fmt.Errorf("unknown retention %q%s", excerpt.Of(name), near)
	}
	return Exact, fmt.Errorf("unknown retention %q; want %s", excerpt.Of(name), strings.Join(names, " or "))
}

// Limits are those that reads of a family with this rule apply.
func (e Enforcement) Limits(r *Rule) []Limit {
	limits := r.Limits()
	if e == Exact {
		return limits
	}
	for i, l := range limits {
		if l.Versions > 0 { // sorted by Versions
			return limits[:i:i]
		}
	}
	return limits
}
