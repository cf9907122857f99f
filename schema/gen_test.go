package schema_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

// anyRule draws a valid rule tree, with versions and ages close enough together
// that one often implies another.
func anyRule() *rapid.Generator[*schema.Rule] {
	return rapid.Custom(func(t *rapid.T) *schema.Rule { return drawRule(t, 3) })
}

func drawRule(t *rapid.T, depth int) *schema.Rule {
	kinds := []string{"versions", "age"}
	if depth > 0 {
		kinds = append(kinds, "any", "all")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "versions":
		return schema.MaxVersions(rapid.IntRange(1, 5).Draw(t, "versions"))
	case "age":
		return schema.MaxAge(time.Duration(rapid.IntRange(1, 5).Draw(t, "days")) * 24 * time.Hour)
	case "any":
		return schema.Any(drawRules(t, depth)...)
	}
	return schema.All(drawRules(t, depth)...)
}

func drawRules(t *rapid.T, depth int) []*schema.Rule {
	rules := make([]*schema.Rule, rapid.IntRange(1, 3).Draw(t, "n"))
	for i := range rules {
		rules[i] = drawRule(t, depth-1)
	}
	return rules
}

// anySchema draws a valid schema out of few names, so that two of them have
// tables and families in common.
func anySchema() *rapid.Generator[*schema.Schema] {
	return rapid.Custom(func(t *rapid.T) *schema.Schema {
		s := &schema.Schema{}
		for _, name := range drawNames(t, "t") {
			table := schema.Table{Name: name, Retention: rapid.SampledFrom([]schema.Enforcement{schema.Exact, schema.Lazy}).Draw(t, "retention"), KeyFormat: rapid.SampledFrom([]schema.KeyFormat{schema.PlainKeys, schema.TupleKeys}).Draw(t, "key format"),
				ChangeStream: rapid.SampledFrom([]time.Duration{0, schema.MinChangeStream, schema.MaxChangeStream}).Draw(t, "change stream")}
			for _, name := range drawNames(t, "f") {
				table.Families = append(table.Families, drawFamily(t, name))
			}
			s.Tables = append(s.Tables, table)
		}
		return s
	})
}

func drawNames(t *rapid.T, prefix string) []string {
	numbers := rapid.SliceOfNDistinct(rapid.IntRange(0, 4), 0, 4, rapid.ID).Draw(t, prefix)
	names := make([]string, len(numbers))
	for i, n := range numbers {
		names[i] = fmt.Sprintf("%s%d", prefix, n)
	}
	return names
}

func drawFamily(t *rapid.T, name string) schema.Family {
	f := schema.Family{Name: name, Type: rapid.SampledFrom([]cells.Type{cells.TypeAny, cells.TypeI32, cells.TypeF64}).Draw(t, "type")}
	if f.Type == cells.TypeAny {
		f.Aggregate = rapid.SampledFrom([]schema.Aggregate{schema.NoAggregate, schema.AggregateSum, schema.AggregateHLL}).Draw(t, "aggregate")
	}
	if rapid.Bool().Draw(t, "gc") {
		f.GC = anyRule().Draw(t, "rule")
	}
	f.Tuning = rapid.SampledFrom([]schema.Tuning{{}, {}, {Compression: "none"}, {BlockSize: 4096, BlobMinSize: 1 << 20}}).Draw(t, "tuning")
	return f
}
