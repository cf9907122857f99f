package bind

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
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// compileTimestamp compiles TIMESTAMP, which with a time zone is a function of package function.
func compileTimestamp(p *planner, n *parse.Node) (*expr, error) {
	switch len(n.Args) {
	case 2:
		return compileForms(p, n)
	case 1:
		return compileCast(p, &parse.Node{Op: parse.OpCast, Pos: n.Pos, Text: "TIMESTAMP", Args: n.Args})
	}
	return nil, p.Errorf(n.Pos, "TIMESTAMP takes a text, a DATE or a TIMESTAMP, and perhaps a time zone")
}

func compileRandom(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) > 0 {
		return nil, p.Errorf(n.Pos, "RAND takes no arguments")
	}
	return &expr{typ: value.Type{Kind: value.TypeFloat64}, eval: func(*run.Tuple) (any, error) { return rand.Float64(), nil }}, nil
}

func compileIf(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) != 3 {
		return nil, p.Errorf(n.Pos, "IF takes a condition and two values")
	}
	return compileCase(p, n)
}

func compileCall(p *planner, n *parse.Node) (*expr, error) {
	if n.Distinct {
		return nil, p.Errorf(n.Pos, "DISTINCT is for aggregate functions, and %s is not one", n.Text)
	}
	if n.IgnoreNulls || n.RespectNulls || len(n.Order) > 0 || n.Limit != nil {
		return nil, p.Errorf(n.Pos, "IGNORE NULLS, RESPECT NULLS, ORDER BY and LIMIT are for aggregate functions, and %s is not one", n.Text)
	}
	name, safe := strings.CutPrefix(n.Text, "SAFE.")
	switch b := functions().named(name); {
	case safe && (b.compile != nil || b.forms == nil):
		return compileSafe(p, n, b)
	case b.compile != nil:
		return b.compile(p, n)
	}
	return compileForms(p, n)
}

// compileNumber compiles TO_INT64 and similar functions, which decode big-endian bytes.
func compileNumber(p *planner, n *parse.Node) (*expr, error) {
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

func compileAffix(p *planner, n *parse.Node) (*expr, error) {
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
	e := &expr{typ: value.Type{Kind: value.TypeBool}, fixed: of.fixed && with.fixed, strict: of.strict || with.strict, eval: func(r *run.Tuple) (any, error) {
		x, y, err := both(of, with, r)
		if x == nil || y == nil || err != nil {
			return nil, err
		}
		return has(value.TextOf(x), value.TextOf(y)), nil
	}}
	if of.keyField > 0 && with.fixed && n.Text == "STARTS_WITH" {
		constrain(p, e, of, tested("^", with))
	}
	if of.key && with.fixed && n.Text == "STARTS_WITH" {
		e.keys = keysWhere(with, keysWith)
	}
	return e, nil
}

// compileFromUnix compiles TIMESTAMP_FROM_UNIX_MILLIS and its like.
func compileFromUnix(p *planner, n *parse.Node, unit int64) (*expr, error) {
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

// compileToUnix compiles UNIX_MILLIS and its like.
func compileToUnix(p *planner, n *parse.Node, unit int64) (*expr, error) {
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

// compileCurrent compiles CURRENT_TIMESTAMP and CURRENT_DATE, in UTC, which are the same in the
// whole query.
func compileCurrent(p *planner, n *parse.Node) (*expr, error) {
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
		return compileApplied(p, n, "DATE", []*expr{fixedExpr(value.Type{Kind: value.TypeTimestamp}, now), zone}, false)
	}
	if len(n.Args) > 0 {
		return nil, p.Errorf(n.Pos, "%s takes no arguments", n.Text)
	}
	if n.Text == "CURRENT_DATE" {
		d, err := value.DateOf(p.now)
		return &expr{typ: value.Type{Kind: value.TypeDate}, fixed: true, eval: func(*run.Tuple) (any, error) { return d, err }}, nil
	}
	ts, err := value.TimestampOf(p.now)
	return &expr{typ: value.Type{Kind: value.TypeTimestamp}, fixed: true, eval: func(*run.Tuple) (any, error) { return ts, err }}, nil
}

// compileShifted compiles a TIMESTAMP with an INTERVAL added or subtracted, and a DATE with a
// number of days. It is nil for other operands.
func compileShifted(p *planner, n *parse.Node, of *expr) (*expr, error) {
	by, part := n.Args[1], "DAY"
	verb := map[string]string{"+": "_ADD", "-": "_SUB"}[n.Text]
	switch interval := by.Op == parse.OpInterval; {
	case interval && of.typ.Kind == value.TypeTimestamp:
		by, part = by.Args[0], by.Text
	case interval && of.typ.Kind == value.TypeDate:
		return nil, p.Errorf(n.Pos, "a DATE and an INTERVAL make a DATETIME, which queries do not have; there is DATE%s(date, INTERVAL n part)", verb)
	case interval && of.typ.Kind == value.TypeNull:
		return compileShifted(p, n, &expr{typ: value.Type{Kind: value.TypeTimestamp}, fixed: true, eval: of.eval})
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
	return compileApplied(p, n, name, []*expr{of, number, fixedExpr(value.Type{Kind: value.TypeString}, part)}, false)
}

// compileDate compiles DATE of a year, a month and a day, or of what can be cast to one.
func compileDate(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) == 1 {
		return compileDateOf(p, n)
	}
	if len(n.Args) == 2 {
		return compileForms(p, n)
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

// compileDateOf compiles DATE of one argument. A text may also be a TIMESTAMP, whose day in UTC it
// is.
func compileDateOf(p *planner, n *parse.Node) (*expr, error) {
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

// placed is an error at a place of the text; nil stays nil.
func (p *planner) placed(err error, pos int) error {
	if err == nil {
		return nil
	}
	return p.Placed(err, pos)
}

// compileFormat compiles FORMAT, whose format is mostly a literal.
func compileFormat(p *planner, n *parse.Node) (*expr, error) {
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
	made.eval = func(t *run.Tuple) (any, error) {
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

// compileToJSON compiles TO_JSON_STRING(value [, pretty]), which is null for NULL.
func compileToJSON(p *planner, n *parse.Node) (*expr, error) {
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
	return p.counted(n, &expr{typ: value.Type{Kind: value.TypeString}, fixed: of.fixed && pretty.fixed, eval: func(t *run.Tuple) (any, error) {
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

// A builtin is a function by its name, and how calls of it are compiled: by a function of its
// own, as an aggregate function, or by the forms of package function. One without any of
// these does not exist.
type builtin struct {
	name string
	// compile compiles calls of a function that chooses its type, or the rows to read, by its
	// arguments.
	compile func(p *planner, n *parse.Node) (*expr, error)
	// complete gives a call of an aggregate function, whose arguments are compiled, its type
	// and its accumulator.
	complete func(p *planner, n *parse.Node, a *aggregate) error
	most     int                  // the arguments that an aggregate function takes at most
	forms    []*function.Function // in the order in which they are tried

	// ownSyntax says that the parser makes a node of its own of a call.
	ownSyntax bool
	// neverSafe says that SAFE. cannot precede it: it evaluates only some of its arguments, or
	// never fails, or has a form of its own.
	neverSafe bool
	bare      bool // it needs no brackets
	unsteady  bool // its value is not the same in every call

	// What an aggregate function takes besides its arguments, and whether materialized views
	// can have it.
	respectNulls, ignoreNulls, ordered, inViews bool
	// instead says why queries lack a function of GoogleSQL, if that is not clear.
	instead string
}

// exists reports whether queries can call the function.
func (b *builtin) exists() bool {
	return b.compile != nil || b.complete != nil || b.forms != nil || b.ownSyntax
}

// noDatetime says why there is no CURRENT_TIME and no CURRENT_DATETIME.
const noDatetime = "there is no DATETIME and no TIME, and CURRENT_TIMESTAMP is this moment"

// listed are the functions that are not only forms of package function. Messages list
// functions in this order.
func listed() []builtin {
	list := []builtin{
		{name: "CAST", ownSyntax: true, neverSafe: true},
		{name: "SAFE_CAST", ownSyntax: true, neverSafe: true},
		{name: "COALESCE", compile: compileFirstOf, neverSafe: true},
		{name: "IFNULL", compile: compileFirstOf, neverSafe: true},
		{name: "NULLIF", compile: compileNullIf, neverSafe: true},
		{name: "IF", compile: compileIf, neverSafe: true},
		{name: "EXTRACT", compile: compileExtract, neverSafe: true},

		{name: "FORMAT", compile: compileFormat},
		{name: "TO_JSON_STRING", compile: compileToJSON},
		{name: "STARTS_WITH", compile: compileAffix},
		{name: "ENDS_WITH", compile: compileAffix},
		{name: "TO_INT64", compile: compileNumber},
		{name: "TO_FLOAT32", compile: compileNumber},
		{name: "TO_FLOAT64", compile: compileNumber},
		{name: "GREATEST", compile: compileExtremeOf},
		{name: "LEAST", compile: compileExtremeOf},
		{name: "RAND", compile: compileRandom, unsteady: true},
		{name: "HLL_COUNT.EXTRACT", compile: compileHLLExtract},

		{name: "TIMESTAMP", compile: compileTimestamp},
		{name: "DATE", compile: compileDate},
		{name: "CURRENT_TIMESTAMP", compile: compileCurrent, bare: true, unsteady: true},
		{name: "CURRENT_DATE", compile: compileCurrent, bare: true, unsteady: true},
		{name: "CURRENT_TIME", bare: true, unsteady: true, instead: noDatetime},
		{name: "CURRENT_DATETIME", bare: true, unsteady: true, instead: noDatetime},
		{name: "GENERATE_UUID", unsteady: true},
		{name: "SESSION_USER", unsteady: true},

		{name: "ARRAY_LENGTH", compile: compileArrayLength},
		{name: "ARRAY_FIRST", compile: compileArrayEnd},
		{name: "ARRAY_LAST", compile: compileArrayEnd},
		{name: "ARRAY_REVERSE", compile: compileArrayReverse},
		{name: "ARRAY_FILTER", compile: compileArrayLambda},
		{name: "ARRAY_TRANSFORM", compile: compileArrayLambda},
		{name: "ARRAY_INCLUDES", compile: compileArrayIncludes},
		{name: "ARRAY_INCLUDES_ANY", compile: compileArrayIncludesSome},
		{name: "ARRAY_INCLUDES_ALL", compile: compileArrayIncludesSome},
		{name: "ARRAY_OFFSET", compile: compileArrayOffset},
		{name: "ARRAY_OFFSETS", compile: compileArrayOffset},
		{name: "ARRAY_IS_DISTINCT", compile: compileArrayIsDistinct},
		{name: "ARRAY_LAST_N", compile: compileArrayPart},
		{name: "ARRAY_SLICE", compile: compileArrayPart},
		{name: "ARRAY_CONCAT", compile: compileArrayConcat},
		{name: "MAP_KEYS", compile: compileMapKeys},
		{name: "MAP_VALUES", compile: compileMapValues},
		{name: "MAP_ENTRIES", compile: compileMapEntries},
		{name: "MAP_EMPTY", compile: compileMapEmpty},
		{name: "MAP_CONTAINS_KEY", compile: compileContainsKey},

		{name: "COUNT", complete: completeCount, most: 1, inViews: true},
		{name: "COUNTIF", complete: completeCountIf, most: 1},
		{name: "SUM", complete: completeSum, most: 1, inViews: true},
		{name: "MIN", complete: completeMin, most: 1, inViews: true},
		{name: "MAX", complete: completeMax, most: 1, inViews: true},
		{name: "AVG", complete: completeAverage, most: 1, inViews: true},
		{name: "ANY_VALUE", complete: completeAnyValue, most: 1, inViews: true, ignoreNulls: true},
		{name: "ARRAY_AGG", complete: completeArrayAgg, most: 1, respectNulls: true, ignoreNulls: true, ordered: true},
		{name: "STRING_AGG", complete: completeStringAgg, most: 2, ordered: true},
		{name: "ARRAY_CONCAT_AGG", complete: completeArrayConcatAgg, most: 1, ordered: true},
		{name: "LOGICAL_AND", complete: completeLogical, most: 1},
		{name: "LOGICAL_OR", complete: completeLogical, most: 1},
		{name: "BIT_AND", complete: completeBits, most: 1, inViews: true},
		{name: "BIT_OR", complete: completeBits, most: 1, inViews: true},
		{name: "BIT_XOR", complete: completeBits, most: 1, inViews: true},

		{name: "CORR", complete: completeStatistic, most: 2},
		{name: "COVAR_POP", complete: completeStatistic, most: 2},
		{name: "COVAR_SAMP", complete: completeStatistic, most: 2},
		{name: "STDDEV", complete: completeStatistic, most: 1},
		{name: "STDDEV_POP", complete: completeStatistic, most: 1},
		{name: "STDDEV_SAMP", complete: completeStatistic, most: 1},
		{name: "VARIANCE", complete: completeStatistic, most: 1},
		{name: "VAR_POP", complete: completeStatistic, most: 1},
		{name: "VAR_SAMP", complete: completeStatistic, most: 1},

		{name: "APPROX_TOP_COUNT", complete: completeTop, most: 2},
		{name: "APPROX_TOP_SUM", complete: completeTop, most: 3},
		{name: "APPROX_COUNT_DISTINCT", complete: completeCountDistinct, most: 1},
		{name: "APPROX_QUANTILES", complete: completeQuantiles, most: 2, ignoreNulls: true},

		{name: "HLL_COUNT.INIT", complete: completeHLLInit, most: 2, inViews: true},
		{name: "HLL_COUNT.MERGE", complete: completeHLLMerge, most: 1, inViews: true},
		{name: "HLL_COUNT.MERGE_PARTIAL", complete: completeHLLMerge, most: 1, inViews: true},
	}
	for _, unit := range slices.Sorted(maps.Keys(value.UnixUnits)) {
		from := func(p *planner, n *parse.Node) (*expr, error) { return compileFromUnix(p, n, value.UnixUnits[unit]) }
		to := func(p *planner, n *parse.Node) (*expr, error) { return compileToUnix(p, n, value.UnixUnits[unit]) }
		list = append(list, builtin{name: "TIMESTAMP_FROM_UNIX_" + unit, compile: from}, builtin{name: "TIMESTAMP_" + unit, compile: from}, builtin{name: "UNIX_" + unit, compile: to})
	}
	return list
}

// A registry is all functions of SQL.
type registry struct {
	byName map[string]*builtin
	names  []string // of those that exist, sorted
	listed []*builtin
}

// functions is made when it is first asked for, since functions compile calls of each other.
func functions() *registry {
	functionsOnce.Do(func() {
		functionsMade.byName = map[string]*builtin{}
		for _, b := range listed() {
			functionsMade.listed = append(functionsMade.listed, &b)
			functionsMade.byName[b.name] = &b
		}
		for _, name := range function.Names() {
			if functionsMade.byName[name] == nil {
				functionsMade.byName[name] = &builtin{name: name}
			}
			functionsMade.byName[name].forms = function.Named(name)
		}
		for name, b := range functionsMade.byName {
			if b.exists() {
				functionsMade.names = append(functionsMade.names, name)
			}
		}
		slices.Sort(functionsMade.names)
	})
	return &functionsMade
}

var (
	functionsOnce sync.Once
	functionsMade registry
)

// unknown is the function of a name that is not known.
var unknown builtin

// named is a function of GoogleSQL.
func (r *registry) named(name string) *builtin {
	if b := r.byName[name]; b != nil {
		return b
	}
	return &unknown
}

// those are the names of the functions that are wanted.
func (r *registry) those(wanted func(*builtin) bool) (names []string) {
	for _, b := range r.listed {
		if wanted(b) {
			names = append(names, b.name)
		}
	}
	return names
}

// list names functions in a message: A, B and C.
func (r *registry) list(wanted func(*builtin) bool) string {
	names := r.those(wanted)
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// inViews names the aggregate functions of materialized views, but those of sketches.
func (r *registry) inViews() string {
	return strings.Join(r.those(func(b *builtin) bool { return b.inViews && !strings.Contains(b.name, ".") }), ", ")
}

// notFound names the function that is most like one that does not exist.
func notFound(p *planner, n *parse.Node) error {
	if why := functions().named(n.Text).instead; why != "" {
		return p.Errorf(n.Pos, "Function not found: %s; %s", n.Text, why)
	}
	if near, ok := schema.Nearest(strings.TrimPrefix(n.Text, "SAFE."), functions().names); ok {
		return p.Errorf(n.Pos, "Function not found: %s; did you mean %s?", n.Text, near)
	}
	return p.Errorf(n.Pos, "Function not found: %s", n.Text)
}

// FunctionNames are the names of all functions that queries can call, sorted.
func FunctionNames() []string { return slices.Clone(functions().names) }
