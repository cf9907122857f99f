package bind

import (
	"strings"

	"github.com/smolwc/smolwc/sql/function"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// A builtin is a function by its name, and how calls of it are compiled: by a function of its
// own, as an aggregate function, or by the forms of package function. One without any of
// these does not exist.
type builtin struct {
	name string
	text string // the signatures, with "; " between, but for forms
	// compile compiles calls of a function that chooses its type, or the rows to read, by its
	// arguments.
	compile compiler
	// complete gives a call of an aggregate function, whose arguments are compiled, its type
	// and its accumulator.
	complete func(p *planner, n *parse.Node, a *aggregate) error
	most     int                  // the arguments that an aggregate function takes at most
	window   *windowForm          // of a function that needs OVER; nil: it does not
	forms    []*function.Function // in the order in which they are tried

	// ownSyntax says that the parser makes a node of its own of a call.
	ownSyntax bool
	// neverSafe says that SAFE. cannot precede it: it evaluates only some of its arguments, or
	// never fails, or uses its own syntax.
	neverSafe bool
	bare      bool // it needs no brackets
	unsteady  bool // its value is not the same in every call

	// What an aggregate function takes besides its arguments, and whether materialized views
	// can have it.
	respectNulls, ignoreNulls, ordered, inViews bool
	neverOver                                   bool // an aggregate function that OVER cannot follow
	// instead says why queries lack a function of GoogleSQL, if that is not clear.
	instead string
}

// A windowForm is how calls of a window function are compiled that is not an aggregate function.
type windowForm struct {
	least, most int  // arguments
	ordered     bool // it needs ORDER BY
	unordered   bool // it takes none
	framed      bool // it takes a frame
	nulls       bool // it takes IGNORE NULLS and RESPECT NULLS
	// complete gives a call, whose arguments are compiled, its type and its function.
	complete func(p *planner, n *parse.Node, args []*expr) (value.Type, run.WindowMake, error)
}

// exists reports whether queries can call the function.
func (b *builtin) exists() bool {
	return b.compile != nil || b.complete != nil || b.window != nil || b.forms != nil || b.ownSyntax
}

// A compiler compiles a kind of expression.
type compiler func(p *planner, n *parse.Node) (*expr, error)

// A registry is all functions and operators of SQL.
type registry struct {
	operators map[parse.Operator]compiler
	byName    map[string]*builtin
	names     []string // of those that exist, sorted
	listed    []*builtin
}

// unknown is the function of a name that is not known.
var unknown builtin

// named is a function of GoogleSQL.
func (r *registry) named(name string) *builtin {
	if b := r.byName[name]; b != nil {
		return b
	}
	return &unknown
}

// pick returns the names of the functions that are wanted.
func (r *registry) pick(wanted func(*builtin) bool) (names []string) {
	for _, b := range r.listed {
		if wanted(b) {
			names = append(names, b.name)
		}
	}
	return names
}

// list names functions in a message: A, B and C.
func (r *registry) list(wanted func(*builtin) bool) string {
	names := r.pick(wanted)
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// inViews names the aggregate functions that materialized views can have, without HLL_COUNT.
func (r *registry) inViews() string {
	return strings.Join(r.pick(func(b *builtin) bool { return b.inViews && !strings.Contains(b.name, ".") }), ", ")
}

func (r *registry) isAggregate(n *parse.Node) bool {
	return n.Op == parse.OpCall && !n.Windowed && r.named(n.Text).complete != nil
}

// hasAggregate reports whether an expression calls an aggregate function.
func (r *registry) hasAggregate(n *parse.Node) bool { return n.Find(r.isAggregate) != nil }

// unsteady is a call in an expression whose value is not the same in every call; nil: it has none.
func (r *registry) unsteady(n *parse.Node) *parse.Node {
	return n.Find(func(n *parse.Node) bool { return n.Op == parse.OpCall && r.named(n.Text).unsteady })
}

// simple reports whether an expression can be computed in another place.
func (r *registry) simple(n *parse.Node) bool {
	return n.Find(func(n *parse.Node) bool {
		return n.Query != nil || r.isAggregate(n) || n.Op == parse.OpCall && r.named(n.Text).unsteady
	}) == nil
}
