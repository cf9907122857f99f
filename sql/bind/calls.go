package bind

import (
	"context"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/function"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// compileForms compiles a call of a function of package function.
func compileForms(p *planner, n *parse.Node) (*expr, error) {
	name, safe := strings.CutPrefix(n.Text, "SAFE.")
	forms := p.functions.named(name).forms
	if forms == nil {
		return nil, notFound(p, n)
	}
	nodes := withParts(n.Args, forms[0].Part)
	args := make([]*expr, len(nodes))
	for i, arg := range nodes {
		var err error
		if args[i], err = p.compile(arg); err != nil {
			return nil, err
		}
	}
	return compileApplied(p, n, name, args, safe)
}

// compileApplied is a function of compiled arguments.
func compileApplied(p *planner, n *parse.Node, name string, args []*expr, safe bool) (*expr, error) {
	forms := p.functions.named(name).forms
	tried := forms
	if slices.ContainsFunc(args, keepsKind) { // the forms that keep the kind come first
		tried = slices.Clone(forms)
		slices.SortStableFunc(tried, func(f, g *function.Function) int { return boolCompare(changes(f, args), changes(g, args)) })
	}
	for _, f := range tried {
		fitted, ok := fit(p, n, f, args)
		if !ok {
			continue
		}
		combine := combinedIn
		if f.Nulls {
			combine = combinedWithNulls
		}
		e := combine(fitted, f.Result, func(ctx context.Context, v []any) (any, error) {
			r, err := f.Call(ctx, v)
			switch {
			case err != nil && ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil && safe:
				return nil, nil
			case err != nil:
				return nil, p.Placed(err, n.Pos)
			}
			return r, nil
		})
		switch f.Result.Kind {
		case value.TypeString, value.TypeBytes, value.TypeJSON, value.TypeArray:
			return p.counted(n, e), nil
		}
		return e, nil
	}
	var texts, types []string
	for _, f := range forms {
		texts = append(texts, f.Text)
	}
	for _, a := range args {
		types = append(types, a.typ.String())
	}
	return nil, p.Errorf(n.Pos, "%s does not take (%s); it is %s", name, strings.Join(types, ", "), strings.Join(texts, ", or "))
}

// withParts are arguments in which a part of a time is text, and INTERVAL n PART is two
// arguments.
func withParts(args []*parse.Node, part int) (nodes []*parse.Node) {
	for _, n := range args {
		text := ""
		switch {
		case len(nodes) == part-1 && n.Op == parse.OpInterval:
			nodes = append(nodes, n.Args[0])
			text = n.Text
		case len(nodes) != part:
		case n.Op == parse.OpName:
			text = n.Text
		case n.Op == parse.OpCall && len(n.Args) == 1 && n.Args[0].Op == parse.OpName: // WEEK(MONDAY)
			text = n.Text + "(" + n.Args[0].Text + ")"
		}
		if text != "" {
			n = &parse.Node{Op: parse.OpLiteral, Kind: parse.StringToken, Pos: n.Pos, Text: strings.ToUpper(text)}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// keepsKind reports whether an argument is of a kind of number that could become a FLOAT64.
func keepsKind(e *expr) bool {
	return e.typ.Kind == value.TypeFloat32 || e.typ.Kind == value.TypeNumeric
}

// changes reports whether a form makes a FLOAT64 of the first argument that is another number.
func changes(f *function.Function, args []*expr) bool {
	i := slices.IndexFunc(args, keepsKind)
	return !f.Takes(len(args)) || f.Arg(i).Kind != args[i].typ.Kind
}

// fit gives arguments the types of a form: literals take its types, and INT64 becomes
// NUMERIC or FLOAT64.
func fit(p *planner, n *parse.Node, f *function.Function, args []*expr) ([]*expr, bool) {
	if !f.Takes(len(args)) {
		return nil, false
	}
	fitted := make([]*expr, len(args))
	for i, e := range args {
		want := f.Arg(i)
		e, err := p.converted(n, e, want)
		if err != nil || !e.typ.Same(want) {
			return nil, false
		}
		fitted[i] = e
	}
	return fitted, true
}

func compileCall(p *planner, n *parse.Node) (*expr, error) {
	if n.Distinct {
		return nil, p.Errorf(n.Pos, "DISTINCT is for aggregate functions, and %s is not one", n.Text)
	}
	if n.IgnoreNulls || n.RespectNulls || len(n.Order) > 0 || n.Limit != nil {
		return nil, p.Errorf(n.Pos, "IGNORE NULLS, RESPECT NULLS, ORDER BY and LIMIT are for aggregate functions, and %s is not one", n.Text)
	}
	name, safe := strings.CutPrefix(n.Text, "SAFE.")
	switch b := p.functions.named(name); {
	case b.window != nil:
		return nil, p.Errorf(n.Pos, "%s needs OVER (…) after it", name)
	case safe && (b.compile != nil || b.forms == nil):
		return compileSafe(p, n, b)
	case b.compile != nil:
		return b.compile(p, n)
	}
	return compileForms(p, n)
}

// compileSafe compiles SAFE. before a function that is not of package function. An error of an
// argument stays an error.
func compileSafe(p *planner, n *parse.Node, b *builtin) (*expr, error) {
	switch {
	case !b.exists():
		return nil, notFound(p, n)
	case b.neverSafe || b.complete != nil:
		return nil, p.Errorf(n.Pos, "SAFE. cannot precede %s", b.name)
	}
	if slices.ContainsFunc(n.Args, func(arg *parse.Node) bool { return arg.Op == parse.OpLambda }) {
		return nil, p.Errorf(n.Pos, "SAFE. cannot precede %s with a lambda", b.name)
	}
	inner := *n
	inner.Text = b.name
	if p.noted == nil {
		p.noted = map[*parse.Node]*expr{}
	}
	for _, arg := range n.Args {
		p.noted[arg] = nil
	}
	e, err := compileCall(p, &inner)
	var args []*expr
	for _, arg := range n.Args {
		if a := p.noted[arg]; a != nil { // FIRST and LAST of ARRAY_OFFSET are no expressions
			args = append(args, a)
		}
		delete(p.noted, arg)
	}
	if err != nil {
		return nil, err
	}
	made := *e
	made.literal, made.keys = false, nil
	made.eval = func(t *run.Tuple) (any, error) {
		v, err := e.eval(t)
		if err == nil {
			return v, nil
		}
		_, err = evalAll(args, t)
		return nil, err
	}
	return &made, nil
}

// functionsElsewhere are functions of other dialects, and those that do the same here.
var functionsElsewhere = map[string]string{
	"NOW": "CURRENT_TIMESTAMP()", "GETDATE": "CURRENT_TIMESTAMP()", "SYSDATE": "CURRENT_TIMESTAMP()", "TODAY": "CURRENT_DATE()",
	"NVL": "IFNULL(a, b)", "ISNULL": "a IS NULL", "GROUP_CONCAT": "STRING_AGG(text, ',')", "LISTAGG": "STRING_AGG(text, ',')",
	"TO_CHAR": "FORMAT_TIMESTAMP(form, time)", "DATE_FORMAT": "FORMAT_TIMESTAMP(form, time)", "STRFTIME": "FORMAT_TIMESTAMP(form, time)",
	"DATEADD": "TIMESTAMP_ADD(time, INTERVAL n DAY)", "DATEDIFF": "TIMESTAMP_DIFF(a, b, DAY)", "LEN": "LENGTH(text)", "CHARINDEX": "STRPOS(text, part)",
	"MEDIAN": "PERCENTILE_CONT(x, 0.5) OVER ()",
}

// notFound names the function that is most like one that does not exist.
func notFound(p *planner, n *parse.Node) error {
	if why := p.functions.named(n.Text).instead; why != "" {
		return p.Errorf(n.Pos, "Function not found: %s; %s", n.Text, why)
	}
	if instead, ok := functionsElsewhere[strings.TrimPrefix(strings.ToUpper(n.Text), "SAFE.")]; ok {
		return p.Errorf(n.Pos, "Function not found: %s; %s does it", n.Text, instead)
	}
	if near, ok := schema.Nearest(strings.TrimPrefix(n.Text, "SAFE."), p.functions.names); ok {
		return p.Errorf(n.Pos, "Function not found: %s; did you mean %s?", n.Text, near)
	}
	return p.Errorf(n.Pos, "Function not found: %s", n.Text)
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
