package wire

import (
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/smolwc/smolwc/schema"
)

// maxGCRule is how many bytes the message of a rule may have, as in Bigtable.
const maxGCRule = 500

// ruleOf is a GC rule as a rule of package schema; nil keeps everything. The schema
// validates the result.
func ruleOf(r *adminpb.GcRule) (*schema.Rule, error) {
	if n := proto.Size(r); n > maxGCRule {
		return nil, Invalid("the GC rule has %d bytes; it may have up to %d", n, maxGCRule)
	}
	return subRule(r)
}

func subRule(r *adminpb.GcRule) (*schema.Rule, error) {
	switch rule := r.GetRule().(type) {
	case *adminpb.GcRule_MaxNumVersions:
		if rule.MaxNumVersions < 1 {
			return nil, Invalid("max_num_versions is %d; it must be at least 1", rule.MaxNumVersions)
		}
		return schema.MaxVersions(int(rule.MaxNumVersions)), nil
	case *adminpb.GcRule_MaxAge:
		age := rule.MaxAge.AsDuration()
		if rule.MaxAge.CheckValid() != nil || age < time.Millisecond {
			return nil, Invalid("max_age is %v; it must be at least 1ms", age)
		}
		return schema.MaxAge(age.Truncate(time.Microsecond)), nil
	case *adminpb.GcRule_Intersection_:
		rules, err := subRules("intersection", rule.Intersection.GetRules())
		return &schema.Rule{All: rules}, err
	case *adminpb.GcRule_Union_:
		rules, err := subRules("union", rule.Union.GetRules())
		return &schema.Rule{Any: rules}, err
	}
	return nil, nil
}

func subRules(kind string, rs []*adminpb.GcRule) ([]*schema.Rule, error) {
	if len(rs) < 2 {
		return nil, Invalid("a GC rule is the %s of %d rules; it must be of at least two", kind, len(rs))
	}
	rules := make([]*schema.Rule, len(rs))
	for i, r := range rs {
		var err error
		if rules[i], err = subRule(r); err != nil {
			return nil, err
		}
		if rules[i] == nil {
			return nil, Invalid("a GC rule is the %s of rules, and one of them is empty", kind)
		}
	}
	return rules, nil
}

// RuleMessage is a rule as a message.
func RuleMessage(r *schema.Rule) *adminpb.GcRule {
	switch {
	case r == nil:
		return nil
	case r.MaxVersions > 0:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_MaxNumVersions{MaxNumVersions: int32(r.MaxVersions)}}
	case r.MaxAge > 0:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_MaxAge{MaxAge: durationpb.New(r.MaxAge)}}
	case r.All != nil:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_Intersection_{Intersection: &adminpb.GcRule_Intersection{Rules: ruleMessages(r.All)}}}
	}
	return &adminpb.GcRule{Rule: &adminpb.GcRule_Union_{Union: &adminpb.GcRule_Union{Rules: ruleMessages(r.Any)}}}
}

func ruleMessages(rs []*schema.Rule) []*adminpb.GcRule {
	ms := make([]*adminpb.GcRule, 0, len(rs))
	for _, r := range rs {
		ms = append(ms, RuleMessage(r))
	}
	return ms
}
