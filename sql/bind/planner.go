package bind

import (
	"strings"
	"time"

	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/message"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/rowkey"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// Bundles finds a schema bundle of the query's table by its id. ok is false if there is no
// such bundle.
type Bundles func(id string) (b *message.Bundle, ok bool, err error)

// A planner makes a plan of a query.
type planner struct {
	parse.Source
	functions *registry
	table     schema.Table
	rowKeys   *rowkey.Schema
	bundles   Bundles
	params    Params
	now       time.Time
	whole     *whole // shared with the planners of other parts of the query
	frame     *frame // the query in an expression that it is of; nil: of none
	inner     bool   // it is not the planner of the query itself
	steady    bool   // the plan is of a materialized view
	history   bool
	plan      *run.Plan // so far
	columns   []output
	where     *expr                 // of the rows of the table; nil: every row
	sampled   bool                  // where is only TABLESAMPLE
	valued    bool                  // rows without any of the columns that the query reads change nothing
	scope     scope                 // of the stage that is compiled
	spelling  map[string]string     // the names of a table's columns by those in lower case; nil: they are as written
	lambdas   []slotName            // the arguments of the lambdas that are compiled
	late      *aliases              // of the result, which queries in HAVING and its like see; nil: none
	noted     map[*parse.Node]*expr // the arguments of SAFE. functions that are compiled
}

// condition compiles an expression that is true or not.
func (p *planner) condition(n *parse.Node) (*expr, error) {
	return p.typed(n, value.TypeBool, "a condition")
}

func (p *planner) typed(n *parse.Node, want value.Kind, what string) (*expr, error) {
	e, err := p.compile(n)
	if err == nil {
		e, err = p.coerced(n, e, anyOfKind(want))
	}
	if err == nil && e.typ.Kind != want {
		err = p.Errorf(n.Pos, "%s is %s; it must be %s", what, e.typ, want)
	}
	return e, err
}

// anyOfKind is a type of a kind; the elements of an array or a map are untyped.
func anyOfKind(kind value.Kind) value.Type {
	switch kind {
	case value.TypeArray:
		return value.ArrayOf(value.Type{})
	case value.TypeMap:
		return value.MapOf(value.Type{})
	}
	return value.Type{Kind: kind}
}

func (p *planner) only(n *parse.Node, want value.Kind) (*expr, error) {
	if len(n.Args) != 1 {
		return nil, p.Errorf(n.Pos, "%s takes one argument", n.Text)
	}
	return p.typed(n.Args[0], want, "the argument of "+n.Text)
}

func (p *planner) compile(n *parse.Node) (*expr, error) {
	e, err := p.around(n)
	if e == nil && err == nil {
		e, err = p.compileNode(n)
	} else if e != nil {
		return e, nil
	}
	if err == nil && e.fixed && n.Op > parse.OpParam {
		e.eval = run.Remembered(p.whole.size.Constants, e.eval, p.places(n.Pos))
		p.whole.size.Constants++
	}
	if _, wanted := p.noted[n]; wanted {
		p.noted[n] = e
	}
	return e, err
}

func (p *planner) compileNode(n *parse.Node) (*expr, error) {
	if p.whole.parts++; p.whole.parts > maxParts {
		return nil, p.Errorf(n.Pos, "the query is too large: it comes to more than %d expressions", maxParts)
	}
	if e := p.lambdaArgument(n); e != nil {
		return e, nil
	}
	if p.scope.groups != nil {
		if e, err := p.ofGroup(n); e != nil || err != nil {
			return e, err
		}
	} else if p.functions.isAggregate(n) {
		return nil, p.Errorf(n.Pos, "the aggregate function %s cannot stand here", n.Text)
	}
	n = p.unqualified(n)
	switch n.Op {
	case parse.OpNull:
		return fixedExpr(value.Type{}, nil), nil
	case parse.OpBool:
		return fixedExpr(value.Type{Kind: value.TypeBool}, n.Text == "true"), nil
	case parse.OpFields:
		return nil, p.Errorf(n.Pos, ".* can only stand after a column of SELECT")
	case parse.OpStar:
		return nil, p.Errorf(n.Pos, "* cannot stand here; only COUNT takes *")
	case parse.OpLambda:
		return nil, p.Errorf(n.Pos, "-> can only stand in an argument of a function of arrays, such as ARRAY_TRANSFORM")
	}
	return p.functions.operators[n.Op](p, n)
}

// counted makes the values of an expression count towards the bytes made of their row.
func (p *planner) counted(n *parse.Node, e *expr) *expr {
	e.eval = run.Counted(e.eval, p.places(n.Pos))
	return e
}

// places gives errors a place of the text; nil stays nil.
func (p *planner) places(pos int) func(error) error {
	return func(err error) error { return p.placed(err, pos) }
}

// placed is an error at a place of the text; nil stays nil.
func (p *planner) placed(err error, pos int) error {
	if err == nil {
		return nil
	}
	return p.Placed(err, pos)
}

// maxParts bounds the expressions of a compiled query: each SELECT * repeats the
// expressions of all columns before it.
const maxParts = 1 << 20

type output struct {
	name string
	expr *expr
	node *parse.Node // in SELECT; nil: it is of *
}

// rowCount compiles LIMIT or OFFSET; nil where there is no such clause.
func (p *planner) rowCount(n *parse.Node, what string) (run.Eval, error) {
	if n == nil {
		return nil, nil
	}
	e, err := p.typed(n, value.TypeInt64, what)
	if err != nil {
		return nil, err
	}
	return e.eval, nil
}

// A scope is the names that the expressions of a stage can use.
type scope struct {
	table   bool   // the tuples have rows of the table
	alias   string // of the tuples
	names   []slotName
	index   map[string]int // of names, in lower case
	slots   int            // how many the tuples have
	groups  *grouping      // nil: the tuples are not groups
	windows *windowing     // nil: the expressions have no window functions
	strong  bool           // the alias stands for the tuples, also where a column has its name
	// Of the sides of joins: their names, the names that stand for two columns, those that
	// have no slot, as nothing wants them, and the columns of families.
	sides     []string
	ambiguous map[string][2]string
	others    []string
	parts     map[string]slotName
}

// A slotName is a column computed by a stage.
type slotName struct {
	name string
	typ  value.Type
	slot int
	of   string // the name of the side of a join that it is of
	// strict says that its expression is; it is set for columns of a side of a join.
	strict bool
	// * leaves out those that are unlisted, and those that USING merged, whose column is first.
	unlisted, merged, first bool
}

func (n slotName) expr() *expr {
	e := slotExpr(n.typ, n.slot)
	e.strict = n.strict
	return e
}

// named adds a column that a stage computes.
func (s *scope) named(n slotName) {
	if s.index == nil {
		s.index = map[string]int{}
	}
	s.index[strings.ToLower(n.name)] = len(s.names)
	delete(s.ambiguous, strings.ToLower(n.name))
	s.names = append(s.names, n)
}

// A windowing is the window functions of a stage. Their values follow those of the tuples, once
// it is known how many these have.
type windowing struct {
	numbering
	done  map[int]*expr // by the numbers of calls
	sorts []*windowSort
	bySet map[string]*windowSort
	calls int
}

// A windowSort is the functions with the same PARTITION BY and ORDER BY.
type windowSort struct {
	of *run.Windowing
	at []*int // where their values are in a tuple
}
