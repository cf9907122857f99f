package sql

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/function"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A builtin is a function that chooses its type, or the rows to read, by its arguments.
// Package function has those with signatures.
type builtin struct {
	compile func(p *Plan, n *parse.Node) (*expr, error) // nil: it has a syntax of its own
	// neverSafe says that SAFE. cannot precede it: it evaluates only some of its arguments, or
	// never fails, or has a form of its own.
	neverSafe bool
}

// builtins are by their names. They are made when they are first asked for, since they
// compile calls of each other.
func builtins() map[string]builtin {
	builtinsOnce.Do(func() { builtinsByName = allBuiltins() })
	return builtinsByName
}

var (
	builtinsOnce   sync.Once
	builtinsByName map[string]builtin
)

func allBuiltins() map[string]builtin {
	all := map[string]builtin{
		"CAST":      {neverSafe: true},
		"SAFE_CAST": {neverSafe: true},
		"COALESCE":  {compile: (*Plan).firstOf, neverSafe: true},
		"IFNULL":    {compile: (*Plan).firstOf, neverSafe: true},
		"NULLIF":    {compile: (*Plan).nullIf, neverSafe: true},
		"IF":        {compile: (*Plan).ifElse, neverSafe: true},
		"EXTRACT":   {compile: (*Plan).extract, neverSafe: true},

		"FORMAT":            {compile: (*Plan).format},
		"TO_JSON_STRING":    {compile: (*Plan).toJSON},
		"STARTS_WITH":       {compile: (*Plan).affix},
		"ENDS_WITH":         {compile: (*Plan).affix},
		"TO_INT64":          {compile: (*Plan).number},
		"TO_FLOAT32":        {compile: (*Plan).number},
		"TO_FLOAT64":        {compile: (*Plan).number},
		"GREATEST":          {compile: (*Plan).extremeOf},
		"LEAST":             {compile: (*Plan).extremeOf},
		"RAND":              {compile: (*Plan).random},
		"HLL_COUNT.EXTRACT": {compile: (*Plan).hllExtract},

		"TIMESTAMP":         {compile: (*Plan).timestamp},
		"DATE":              {compile: (*Plan).date},
		"CURRENT_TIMESTAMP": {compile: (*Plan).current},
		"CURRENT_DATE":      {compile: (*Plan).current},

		"ARRAY_LENGTH":       {compile: (*Plan).arrayLength},
		"ARRAY_FIRST":        {compile: (*Plan).arrayEnd},
		"ARRAY_LAST":         {compile: (*Plan).arrayEnd},
		"ARRAY_REVERSE":      {compile: (*Plan).arrayReverse},
		"ARRAY_FILTER":       {compile: (*Plan).arrayLambda},
		"ARRAY_TRANSFORM":    {compile: (*Plan).arrayLambda},
		"ARRAY_INCLUDES":     {compile: (*Plan).arrayIncludes},
		"ARRAY_INCLUDES_ANY": {compile: (*Plan).arrayIncludesSome},
		"ARRAY_INCLUDES_ALL": {compile: (*Plan).arrayIncludesSome},
		"ARRAY_OFFSET":       {compile: (*Plan).arrayOffset},
		"ARRAY_OFFSETS":      {compile: (*Plan).arrayOffset},
		"ARRAY_IS_DISTINCT":  {compile: (*Plan).arrayIsDistinct},
		"ARRAY_LAST_N":       {compile: (*Plan).arrayPart},
		"ARRAY_SLICE":        {compile: (*Plan).arrayPart},
		"ARRAY_CONCAT":       {compile: (*Plan).arrayConcat},
		"MAP_KEYS":           {compile: (*Plan).mapKeys},
		"MAP_VALUES":         {compile: (*Plan).mapValues},
		"MAP_ENTRIES":        {compile: (*Plan).mapEntries},
		"MAP_EMPTY":          {compile: (*Plan).mapEmpty},
		"MAP_CONTAINS_KEY":   {compile: (*Plan).containsKey},
	}
	for name, unit := range value.UnixUnits {
		from := builtin{compile: func(p *Plan, n *parse.Node) (*expr, error) { return p.fromUnix(n, unit) }}
		all["TIMESTAMP_FROM_UNIX_"+name], all["TIMESTAMP_"+name] = from, from
		all["UNIX_"+name] = builtin{compile: func(p *Plan, n *parse.Node) (*expr, error) { return p.toUnix(n, unit) }}
	}
	return all
}

// timestamp compiles TIMESTAMP, which with a time zone is a function of package function.
func (p *Plan) timestamp(n *parse.Node) (*expr, error) {
	switch len(n.Args) {
	case 2:
		return p.function(n)
	case 1:
		return p.cast(&parse.Node{Op: parse.OpCast, Pos: n.Pos, Text: "TIMESTAMP", Args: n.Args})
	}
	return nil, p.Errorf(n.Pos, "TIMESTAMP takes a text, a DATE or a TIMESTAMP, and perhaps a time zone")
}

func (p *Plan) random(n *parse.Node) (*expr, error) {
	if len(n.Args) > 0 {
		return nil, p.Errorf(n.Pos, "RAND takes no arguments")
	}
	return &expr{typ: value.Type{Kind: value.TypeFloat64}, eval: func(*tuple) (any, error) { return rand.Float64(), nil }}, nil
}

func (p *Plan) ifElse(n *parse.Node) (*expr, error) {
	if len(n.Args) != 3 {
		return nil, p.Errorf(n.Pos, "IF takes a condition and two values")
	}
	return p.cases(n)
}

// withoutType are functions of GoogleSQL whose types queries do not have.
var withoutType = strings.Fields("CURRENT_TIME CURRENT_DATETIME")

// notFound names the function that is most like one that does not exist.
func (p *Plan) notFound(n *parse.Node) error {
	if slices.Contains(withoutType, n.Text) {
		return p.Errorf(n.Pos, "Function not found: %s; there is no DATETIME and no TIME, and CURRENT_TIMESTAMP is this moment", n.Text)
	}
	known := append(function.Names(), slices.Collect(maps.Keys(builtins()))...)
	known = append(known, slices.Collect(maps.Keys(aggregates))...)
	slices.Sort(known)
	if near, ok := schema.Nearest(strings.TrimPrefix(n.Text, "SAFE."), known); ok {
		return p.Errorf(n.Pos, "Function not found: %s; did you mean %s?", n.Text, near)
	}
	return p.Errorf(n.Pos, "Function not found: %s", n.Text)
}

func (p *Plan) call(n *parse.Node) (*expr, error) {
	if n.Distinct {
		return nil, p.Errorf(n.Pos, "DISTINCT is for aggregate functions, and %s is not one", n.Text)
	}
	if n.IgnoreNulls || n.RespectNulls || len(n.Order) > 0 || n.Limit != nil {
		return nil, p.Errorf(n.Pos, "IGNORE NULLS, RESPECT NULLS, ORDER BY and LIMIT are for aggregate functions, and %s is not one", n.Text)
	}
	if name, safe := strings.CutPrefix(n.Text, "SAFE."); safe {
		if _, ok := builtins()[name]; ok || function.Named(name) == nil {
			return p.safe(n, name)
		}
	}
	if b, ok := builtins()[n.Text]; ok && b.compile != nil {
		return b.compile(p, n)
	}
	return p.function(n)
}

// number compiles TO_INT64 and similar functions, which decode big-endian bytes.
func (p *Plan) number(n *parse.Node) (*expr, error) {
	e, err := p.only(n, value.TypeBytes)
	if err != nil {
		return nil, err
	}
	to := value.TypeNames[strings.TrimPrefix(n.Text, "TO_")]
	return mapped(e, value.Type{Kind: to}, func(v any) (any, error) {
		number, err := value.NumberOf(v.([]byte), to)
		if err != nil {
			return nil, p.Placed(err, n.Pos)
		}
		return number, nil
	}), nil
}

func (p *Plan) affix(n *parse.Node) (*expr, error) {
	if len(n.Args) != 2 {
		return nil, p.Errorf(n.Pos, "%s takes two arguments", n.Text)
	}
	of, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	with, err := p.compile(n.Args[1])
	if err != nil {
		return nil, err
	}
	if of, with, err = p.bothTexts(n, of, with, n.Args[0], n.Args[1]); err != nil {
		return nil, err
	}
	has := strings.HasPrefix
	if n.Text == "ENDS_WITH" {
		has = strings.HasSuffix
	}
	e := &expr{typ: value.Type{Kind: value.TypeBool}, fixed: of.fixed && with.fixed, strict: of.strict || with.strict, eval: func(r *tuple) (any, error) {
		x, y, err := both(of, with, r)
		if x == nil || y == nil || err != nil {
			return nil, err
		}
		return has(value.TextOf(x), value.TextOf(y)), nil
	}}
	if of.keyField > 0 && with.fixed && n.Text == "STARTS_WITH" {
		p.constrain(e, of, tested("^", with))
	}
	if of.key && with.fixed && n.Text == "STARTS_WITH" {
		e.keys = keysWhere(with, keysWith)
	}
	return e, nil
}

// fromUnix compiles TIMESTAMP_FROM_UNIX_MILLIS and its like.
func (p *Plan) fromUnix(n *parse.Node, unit int64) (*expr, error) {
	if len(n.Args) != 1 {
		return nil, p.Errorf(n.Pos, "%s takes one argument", n.Text)
	}
	e, err := p.compile(n.Args[0])
	switch {
	case err != nil:
		return nil, err
	case e.typ.Kind == value.TypeTimestamp && strings.HasPrefix(n.Text, "TIMESTAMP_FROM_UNIX_"):
		return e, nil
	case e.typ.Kind != value.TypeInt64 && e.typ.Kind != value.TypeNull:
		return nil, p.Errorf(n.Args[0].Pos, "the argument of %s is %s; it must be INT64", n.Text, e.typ)
	}
	return mapped(e, value.Type{Kind: value.TypeTimestamp}, func(v any) (any, error) {
		ts := v.(int64)
		if micros := ts * unit; micros/unit == ts {
			if ts, err := value.TimestampOf(cells.Timestamp(micros).Time()); err == nil {
				return ts, nil
			}
		}
		return nil, p.Errorf(n.Pos, "%s(%d) is not a TIMESTAMP of the years 1 to 9999", n.Text, ts)
	}), nil
}

// toUnix compiles UNIX_MILLIS and its like.
func (p *Plan) toUnix(n *parse.Node, unit int64) (*expr, error) {
	e, err := p.only(n, value.TypeTimestamp)
	if err != nil {
		return nil, err
	}
	return mapped(e, value.Type{Kind: value.TypeInt64}, func(v any) (any, error) {
		micros := int64(v.(cells.Timestamp))
		count := micros / unit
		if micros%unit < 0 { // round down before the epoch too
			count--
		}
		return count, nil
	}), nil
}

// current compiles CURRENT_TIMESTAMP and CURRENT_DATE, in UTC, which are the same in the
// whole query.
func (p *Plan) current(n *parse.Node) (*expr, error) {
	if p.steady {
		return nil, p.Errorf(n.Pos, "a materialized view cannot have %s, whose value is not the same in every call", n.Text)
	}
	if n.Text == "CURRENT_DATE" && len(n.Args) == 1 {
		now, err := value.TimestampOf(p.now)
		if err != nil {
			return nil, err
		}
		zone, err := p.typed(n.Args[0], value.TypeString, "the time zone of CURRENT_DATE")
		if err != nil {
			return nil, err
		}
		return p.applied(n, "DATE", []*expr{fixedExpr(value.Type{Kind: value.TypeTimestamp}, now), zone}, false)
	}
	if len(n.Args) > 0 {
		return nil, p.Errorf(n.Pos, "%s takes no arguments", n.Text)
	}
	if n.Text == "CURRENT_DATE" {
		d, err := value.DateOf(p.now)
		return &expr{typ: value.Type{Kind: value.TypeDate}, fixed: true, eval: func(*tuple) (any, error) { return d, err }}, nil
	}
	ts, err := value.TimestampOf(p.now)
	return &expr{typ: value.Type{Kind: value.TypeTimestamp}, fixed: true, eval: func(*tuple) (any, error) { return ts, err }}, nil
}

// shifted compiles a TIMESTAMP with an INTERVAL added or subtracted, and a DATE with a
// number of days. It is nil for other operands.
func (p *Plan) shifted(n *parse.Node, of *expr) (*expr, error) {
	by, part := n.Args[1], "DAY"
	verb := map[string]string{"+": "_ADD", "-": "_SUB"}[n.Text]
	switch interval := by.Op == parse.OpInterval; {
	case interval && of.typ.Kind == value.TypeTimestamp:
		by, part = by.Args[0], by.Text
	case interval && of.typ.Kind == value.TypeDate:
		return nil, p.Errorf(n.Pos, "a DATE and an INTERVAL make a DATETIME, which queries do not have; there is DATE%s(date, INTERVAL n part)", verb)
	case interval && of.typ.Kind == value.TypeNull:
		return p.shifted(n, &expr{typ: value.Type{Kind: value.TypeTimestamp}, fixed: true, eval: of.eval})
	case interval:
		return nil, p.Errorf(n.Pos, "an INTERVAL cannot be added to %s", of.typ)
	case of.typ.Kind != value.TypeDate:
		return nil, nil
	}
	number, err := p.typed(by, value.TypeInt64, "what is added to a "+of.typ.String())
	if err != nil {
		return nil, err
	}
	name := of.typ.String() + verb
	return p.applied(n, name, []*expr{of, number, fixedExpr(value.Type{Kind: value.TypeString}, part)}, false)
}

// date compiles DATE of a year, a month and a day, or of what can be cast to one.
func (p *Plan) date(n *parse.Node) (*expr, error) {
	if len(n.Args) == 1 {
		return p.dateOf(n)
	}
	if len(n.Args) == 2 {
		return p.function(n)
	}
	if len(n.Args) != 3 {
		return nil, p.Errorf(n.Pos, "DATE takes a year, a month and a day, or one argument and perhaps a time zone")
	}
	parts := make([]*expr, 3)
	for i, what := range []string{"the year of a DATE", "the month of a DATE", "the day of a DATE"} {
		var err error
		if parts[i], err = p.typed(n.Args[i], value.TypeInt64, what); err != nil {
			return nil, err
		}
	}
	return combined(parts, value.Type{Kind: value.TypeDate}, func(v []any) (any, error) {
		d, err := value.NewDate(v[0].(int64), v[1].(int64), v[2].(int64))
		if err != nil {
			return nil, p.Placed(err, n.Pos)
		}
		return d, nil
	}), nil
}

// dateOf compiles DATE of one argument. A text may also be a TIMESTAMP, whose day in UTC it
// is.
func (p *Plan) dateOf(n *parse.Node) (*expr, error) {
	of, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	t := value.Type{Kind: value.TypeDate}
	if of.typ.Kind != value.TypeString {
		return p.castTo(&parse.Node{Op: parse.OpCast, Pos: n.Pos}, of, t)
	}
	return mapped(of, t, func(v any) (any, error) {
		d, err := value.Cast(v, value.TypeDate)
		if err != nil {
			var ts any
			if ts, err = value.Cast(v, value.TypeTimestamp); err == nil {
				d, err = value.Cast(ts, value.TypeDate)
			}
		}
		return d, p.placed(err, n.Pos)
	}), nil
}

// safe compiles SAFE. before a function that is not of package function. An error of an
// argument stays an error.
func (p *Plan) safe(n *parse.Node, name string) (*expr, error) {
	b, ok := builtins()[name]
	switch {
	case b.neverSafe || aggregates[name] > 0:
		return nil, p.Errorf(n.Pos, "SAFE. cannot precede %s", name)
	case !ok:
		return nil, p.notFound(n)
	}
	if slices.ContainsFunc(n.Args, func(arg *parse.Node) bool { return arg.Op == parse.OpLambda }) {
		return nil, p.Errorf(n.Pos, "SAFE. cannot precede %s with a lambda", name)
	}
	inner := *n
	inner.Text = name
	if p.noted == nil {
		p.noted = map[*parse.Node]*expr{}
	}
	for _, arg := range n.Args {
		p.noted[arg] = nil
	}
	e, err := p.call(&inner)
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
	made.eval = func(t *tuple) (any, error) {
		v, err := e.eval(t)
		if err == nil {
			return v, nil
		}
		_, err = evalAll(args, t)
		return nil, err
	}
	return &made, nil
}

// placed is an error at a place of the text; nil stays nil.
func (p *Plan) placed(err error, pos int) error {
	if err == nil {
		return nil
	}
	return p.Placed(err, pos)
}

// format compiles FORMAT, whose format is mostly a literal.
func (p *Plan) format(n *parse.Node) (*expr, error) {
	if len(n.Args) == 0 {
		return nil, p.Errorf(n.Pos, "FORMAT takes a format and its arguments")
	}
	text, err := p.typed(n.Args[0], value.TypeString, "the format of FORMAT")
	if err != nil {
		return nil, err
	}
	args, types := make([]*expr, len(n.Args)-1), make([]value.Type, len(n.Args)-1)
	for i, arg := range n.Args[1:] {
		if args[i], err = p.compile(arg); err != nil {
			return nil, err
		}
		types[i] = args[i].typ
	}
	read := func(format string) (*function.Printf, error) {
		f, err := function.ReadPrintf(format)
		if err == nil {
			err = f.Check(types)
		}
		return f, p.placed(err, n.Pos)
	}
	var known *function.Printf
	if text.literal {
		if v, _ := text.eval(nil); v != nil {
			if known, err = read(v.(string)); err != nil {
				return nil, err
			}
		}
	}
	made := combined(append([]*expr{text}, args...), value.Type{Kind: value.TypeString}, nil)
	made.strict = false // NULL can be formatted
	made.eval = func(t *tuple) (any, error) {
		f := known
		if f == nil {
			v, err := text.eval(t)
			if v == nil || err != nil {
				return nil, err
			}
			if f, err = read(v.(string)); err != nil {
				return nil, err
			}
		}
		values, err := evalAll(args, t)
		if err != nil {
			return nil, err
		}
		v, err := f.Apply(values)
		return v, p.placed(err, n.Pos)
	}
	return p.counted(n, made), nil
}

// toJSON compiles TO_JSON_STRING(value [, pretty]), which is null for NULL.
func (p *Plan) toJSON(n *parse.Node) (*expr, error) {
	if len(n.Args) != 1 && len(n.Args) != 2 {
		return nil, p.Errorf(n.Pos, "TO_JSON_STRING takes a value, and perhaps TRUE for many lines")
	}
	of, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	if err := function.CheckJSON(of.typ); err != nil {
		return nil, p.Placed(err, n.Args[0].Pos)
	}
	pretty := fixedExpr(value.Type{Kind: value.TypeBool}, false)
	if len(n.Args) == 2 {
		if pretty, err = p.typed(n.Args[1], value.TypeBool, "the second argument of TO_JSON_STRING"); err != nil {
			return nil, err
		}
	}
	return p.counted(n, &expr{typ: value.Type{Kind: value.TypeString}, fixed: of.fixed && pretty.fixed, eval: func(t *tuple) (any, error) {
		v, err := of.eval(t)
		if err != nil {
			return nil, err
		}
		lines, err := pretty.eval(t)
		if lines == nil || err != nil {
			return nil, err
		}
		text, err := function.JSONText(v, of.typ, lines == true)
		return text, p.placed(err, n.Pos)
	}}), nil
}
