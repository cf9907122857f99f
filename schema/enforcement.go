package schema

// An Enforcement is how strictly reads of a table apply its families' rules. All
// enforcements drop the same cells from the disk in the end.
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
func (e Enforcement) String() string { return nameOf("enforcement", e, enforcementNames[:]) }

func (e Enforcement) valid() bool { return int(e) < len(enforcementNames) }

// ParseEnforcement is the enforcement with this name.
func ParseEnforcement(name string) (Enforcement, error) {
	return parseName[Enforcement]("retention", name, enforcementNames[:])
}

// Limits are the limits that reads apply to a family with this rule.
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
