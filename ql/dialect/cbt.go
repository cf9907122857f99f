package dialect

import (
	"strings"
	"time"

	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// A Family is a family as cbt's createtable and createfamily declare it.
type Family struct {
	Name      string
	Policy    Policy
	Aggregate *schema.Aggregate // nil: not given
}

// A Policy is a retention policy of cbt. A nil field was not given.
type Policy struct {
	Versions *int           // 0 is no bound
	Age      *time.Duration // 0 is no bound
	Both     *bool          // a cell is dropped only when it is beyond both bounds
}

// cbtTypes are the types of cbt's families that aggregate.
var cbtTypes = map[string]schema.Aggregate{
	"intsum": schema.AggregateSum, "intmin": schema.AggregateMin, "intmax": schema.AggregateMax, "inthll": schema.AggregateHLL,
}

// ParseFamilies reads F[:POLICY][:TYPE],.. A POLICY is in the syntax of ParsePolicy. A
// TYPE is an aggregate.
func ParseFamilies(at lex.Pos, list string) (families []Family, err error) {
	for text := range strings.SplitSeq(list, ",") {
		parts := strings.Split(text, ":")
		f := Family{Name: parts[0]}
		if f.Name == "" {
			return nil, lex.ErrorAt(at, "the name of a family is empty")
		}
		for _, part := range parts[1:] {
			if aggregate, ok := cbtTypes[strings.ToLower(part)]; ok {
				f.Aggregate = &aggregate
				continue
			}
			if err := f.Policy.parse(at, part); err != nil {
				return nil, err
			}
		}
		families = append(families, f)
	}
	return families, nil
}

// ParsePolicy reads maxage=30d, maxversions=3, both joined by and (&&) or or (||), or
// never.
func ParsePolicy(at lex.Pos, text string) (policy Policy, err error) {
	err = policy.parse(at, text)
	return policy, err
}

func (policy *Policy) parse(at lex.Pos, text string) error {
	wrong := func() error {
		return lex.ErrorAt(at, "%s is not a known policy; write maxversions=3, maxage=30d, both with or or and between them, or never", lex.QuoteText(lex.Clip(strings.TrimSpace(text))))
	}
	words := strings.Fields(strings.ToLower(strings.NewReplacer("(", " ", ")", " ", "||", " or ", "&&", " and ").Replace(text)))
	if len(words) == 1 && words[0] == "never" {
		policy.Versions, policy.Age = new(int), new(time.Duration)
		return nil
	}
	if len(words) != 1 && len(words) != 3 {
		return wrong()
	}
	for i, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case i == 1 && (word == "or" || word == "and"):
			both := word == "and"
			policy.Both = &both
		case i == 1:
			return wrong()
		case name == "maxversions" && policy.Versions == nil && lex.IsInteger(value):
			n, err := lex.ParseInteger(value)
			if err != nil || n < 1 || n > 1<<31-1 {
				return wrong()
			}
			versions := int(n)
			policy.Versions = &versions
		case name == "maxage" && policy.Age == nil:
			age, err := schema.ParseAge(value)
			if err != nil {
				return lex.ErrorAt(at, "%s", err)
			}
			policy.Age = &age
		default:
			return wrong()
		}
	}
	return nil
}
