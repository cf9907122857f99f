package views

import (
	"context"
	"slices"

	"github.com/smolwc/smolwc/schema"
)

// readable is the key of a context under which [WithReadable] keeps a function.
type readable struct{}

// WithReadable is a context for calls whose errors may name the tables and views that may
// accepts by the names that they have, or would have as tables, in the database. Without it,
// errors may name all.
func WithReadable(ctx context.Context, may func(stored string) bool) context.Context {
	return context.WithValue(ctx, readable{}, may)
}

// names are the names of the tables and views of an instance that errors may name.
func (v *registry) names(ctx context.Context, instance string) (names []string) {
	may, _ := ctx.Value(readable{}).(func(stored string) bool)
	add := func(t Table) {
		if t.Instance == instance && (may == nil || may(t.Stored)) {
			names = append(names, t.ID)
		}
	}
	for _, t := range v.db.Schema().Tables {
		if !schema.IsDerived(t.Name) {
			add(storedTable(v.own, t.Name))
		}
	}
	for _, view := range v.All() {
		add(tableOf(v.own, view.Instance, view.Name))
	}
	slices.Sort(names)
	return names
}
