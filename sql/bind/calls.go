package bind

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/function"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// compileForms compiles a call of a function of package function.
func compileForms(p *planner, n *parse.Node) (*expr, error) {
	name, safe := strings.CutPrefix(n.Text, "SAFE.")
	forms := functions().named(name).forms
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
	forms := functions().named(name).forms
	tried := forms
	if slices.ContainsFunc(args, isShort) { // the forms that keep a FLOAT32 come first
		tried = slices.Clone(forms)
		slices.SortStableFunc(tried, func(f, g *function.Function) int { return boolCompare(widens(f, args), widens(g, args)) })
	}
	for _, f := range tried {
		fitted, ok := fit(p, n, f, args)
		if !ok {
			continue
		}
		e := combinedIn(fitted, f.Result, func(ctx context.Context, v []any) (any, error) {
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
		case value.TypeString, value.TypeBytes, value.TypeArray:
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

func isShort(e *expr) bool { return e.typ.Kind == value.TypeFloat32 }

// widens reports whether a form makes a FLOAT64 of the first argument that is a FLOAT32.
func widens(f *function.Function, args []*expr) bool {
	i := slices.IndexFunc(args, isShort)
	return !f.Takes(len(args)) || f.Arg(i).Kind != value.TypeFloat32
}

// fit gives arguments the types of a form: literals take its types, and INT64 becomes
// FLOAT64.
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

func compileMapEmpty(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.only(n, value.TypeMap)
	if err != nil {
		return nil, err
	}
	return mapped(e, value.Type{Kind: value.TypeBool}, func(v any) (any, error) { return len(v.(value.Map)) == 0, nil }), nil
}

func compileMapKeys(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.only(n, value.TypeMap)
	if err != nil {
		return nil, err
	}
	return mapped(e, value.ArrayOf(value.Type{Kind: value.TypeBytes}), func(v any) (any, error) {
		var keys value.Array
		for _, entry := range v.(value.Map) {
			keys = append(keys, []byte(entry.Qualifier))
		}
		return keys, nil
	}), nil
}

func compileMapValues(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.only(n, value.TypeMap)
	if err != nil {
		return nil, err
	}
	if e.typ.Of.Kind == value.TypeArray {
		return nil, p.Errorf(n.Pos, "MAP_VALUES takes a family without history: an array has no arrays as elements")
	}
	return mapped(e, value.ArrayOf(*e.typ.Of), func(v any) (any, error) {
		all := value.Array{}
		for _, entry := range v.(value.Map) {
			all = append(all, entry.Value)
		}
		return all, nil
	}), nil
}

func compileArrayLength(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.only(n, value.TypeArray)
	if err != nil {
		return nil, err
	}
	return mapped(e, value.Type{Kind: value.TypeInt64}, func(v any) (any, error) { return int64(len(v.(value.Array))), nil }), nil
}

func compileArrayReverse(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.only(n, value.TypeArray)
	if err != nil {
		return nil, err
	}
	return mapped(e, e.typ, func(v any) (any, error) {
		all := slices.Clone(v.(value.Array))
		slices.Reverse(all)
		return all, nil
	}), nil
}

// compileArrayEnd compiles ARRAY_FIRST and ARRAY_LAST.
func compileArrayEnd(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.only(n, value.TypeArray)
	if err != nil {
		return nil, err
	}
	return mapped(e, *e.typ.Of, func(v any) (any, error) {
		all := v.(value.Array)
		switch {
		case len(all) == 0:
			return nil, p.Errorf(n.Pos, "%s of an array without elements", n.Text)
		case n.Text == "ARRAY_FIRST":
			return all[0], nil
		}
		return all[len(all)-1], nil
	}), nil
}

// compileMapEntries compiles MAP_ENTRIES: the keys and the values of a map, as structs.
func compileMapEntries(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.only(n, value.TypeMap)
	if err != nil {
		return nil, err
	}
	entry := value.Type{Kind: value.TypeStruct, Fields: []value.Field{{Name: "key", Type: value.Type{Kind: value.TypeBytes}}, {Name: "value", Type: *e.typ.Of}}}
	return mapped(e, value.ArrayOf(entry), func(v any) (any, error) {
		all := value.Array{}
		for _, entry := range v.(value.Map) {
			all = append(all, value.Struct{[]byte(entry.Qualifier), entry.Value})
		}
		return all, nil
	}), nil
}

func compileContainsKey(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) != 2 {
		return nil, p.Errorf(n.Pos, "%s takes two arguments", n.Text)
	}
	of, err := p.typed(n.Args[0], value.TypeMap, "the first argument of MAP_CONTAINS_KEY")
	if err != nil {
		return nil, err
	}
	key, err := p.typed(n.Args[1], value.TypeBytes, "the key of MAP_CONTAINS_KEY")
	if err != nil {
		return nil, err
	}
	return combined([]*expr{of, key}, value.Type{Kind: value.TypeBool}, func(v []any) (any, error) {
		return slices.ContainsFunc(v[0].(value.Map), func(e value.Entry) bool { return e.Qualifier == string(v[1].([]byte)) }), nil
	}), nil
}

// compileNullIf compiles NULLIF(a, b): NULL when both are equal.
func compileNullIf(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) != 2 {
		return nil, p.Errorf(n.Pos, "NULLIF takes two arguments")
	}
	all, err := p.compared(n, n.Args)
	if err != nil {
		return nil, err
	}
	a, b := all[0], all[1]
	return &expr{typ: a.typ, fixed: a.fixed && b.fixed, eval: func(t *run.Tuple) (any, error) {
		x, y, err := both(a, b, t)
		if err != nil || value.Equal(x, y) == true {
			return nil, err
		}
		return x, nil
	}}, nil
}

// timeParts are the parts that EXTRACT takes of a TIMESTAMP in UTC, and of a DATE
// those of days. DAYOFWEEK counts from Sunday, which is 1.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/timestamp_functions#extract
var timeParts = map[string]func(time.Time) int{
	"YEAR": time.Time.Year, "MONTH": func(t time.Time) int { return int(t.Month()) }, "DAY": time.Time.Day,
	"QUARTER":   func(t time.Time) int { return (int(t.Month()) + 2) / 3 },
	"WEEK":      func(t time.Time) int { return (t.YearDay() + 6 - int(t.Weekday())) / 7 },
	"DAYOFWEEK": func(t time.Time) int { return int(t.Weekday()) + 1 }, "DAYOFYEAR": time.Time.YearDay,
	"ISOWEEK": func(t time.Time) int { _, w := t.ISOWeek(); return w }, "ISOYEAR": func(t time.Time) int { y, _ := t.ISOWeek(); return y },
	"HOUR": time.Time.Hour, "MINUTE": time.Time.Minute, "SECOND": time.Time.Second,
	"MILLISECOND": func(t time.Time) int { return t.Nanosecond() / 1_000_000 }, "MICROSECOND": func(t time.Time) int { return t.Nanosecond() / 1000 },
}

func compileExtract(p *planner, n *parse.Node) (*expr, error) {
	part := strings.ToUpper(n.Args[0].Text)
	if part == "DATE" {
		return compileDate(p, &parse.Node{Op: parse.OpCall, Pos: n.Pos, Text: "DATE", Args: n.Args[1:]})
	}
	of, ok := timeParts[part]
	for first := time.Sunday; !ok && first <= time.Saturday; first++ {
		if ok = part == "WEEK("+strings.ToUpper(first.String())+")"; ok {
			part, of = "WEEK", func(t time.Time) int { return (t.YearDay() + 6 - int(t.Weekday()-first+7)%7) / 7 }
		}
	}
	if !ok {
		return nil, p.Errorf(n.Args[0].Pos, "EXTRACT has no part %s", part)
	}
	e, err := p.compile(n.Args[1])
	if err != nil {
		return nil, err
	}
	day := slices.Contains([]string{"YEAR", "MONTH", "DAY", "QUARTER", "DAYOFWEEK", "DAYOFYEAR", "WEEK", "ISOWEEK", "ISOYEAR"}, part)
	if k := e.typ.Kind; k != value.TypeTimestamp && k != value.TypeNull && !(k == value.TypeDate && day) {
		return nil, p.Errorf(n.Args[1].Pos, "EXTRACT takes no %s of %s", part, e.typ)
	}
	if len(n.Args) < 3 {
		return mapped(e, value.Type{Kind: value.TypeInt64}, func(v any) (any, error) {
			if d, ok := v.(value.Date); ok {
				return int64(of(d.Time())), nil
			}
			return int64(of(v.(cells.Timestamp).Time().UTC())), nil
		}), nil
	}
	if e.typ.Kind == value.TypeDate {
		return nil, p.Errorf(n.Args[2].Pos, "a DATE has no time zone")
	}
	zone, err := p.typed(n.Args[2], value.TypeString, "a time zone")
	if err != nil {
		return nil, err
	}
	return combined([]*expr{e, zone}, value.Type{Kind: value.TypeInt64}, func(v []any) (any, error) {
		in, err := value.Zone(v[1].(string))
		if err != nil {
			return nil, p.Placed(err, n.Pos)
		}
		return int64(of(v[0].(cells.Timestamp).Time().In(in))), nil
	}), nil
}
