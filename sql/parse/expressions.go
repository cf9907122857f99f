package parse

import (
	"slices"
	"strings"
)

func (p *parser) or() (*Node, error) { return p.series(OpOr, "OR", p.and) }

func (p *parser) and() (*Node, error) { return p.series(OpAnd, "AND", p.not) }

func (p *parser) series(op Operator, word string, part func() (*Node, error)) (*Node, error) {
	first, err := part()
	if err != nil || !p.peek().is(word) {
		return first, err
	}
	all := &Node{Op: op, Pos: first.Pos, Args: []*Node{first}}
	for p.accept(word) {
		n, err := part()
		if err != nil {
			return nil, err
		}
		all.Args = append(all.Args, n)
	}
	return all, nil
}

func (p *parser) not() (*Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	pos := p.peek().pos
	if !p.accept("NOT") {
		return p.comparison()
	}
	n, err := p.not()
	return &Node{Op: OpNot, Pos: pos, Args: []*Node{n}}, err
}

func (p *parser) comparison() (*Node, error) {
	left, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	t := p.peek()
	for _, op := range []string{"=", "!=", "<>", "<=", ">=", "<", ">"} {
		if p.accept(op) {
			right, err := p.binary(0)
			if op == "<>" {
				op = "!="
			}
			return compareNode(op, t.pos, left, right), err
		}
	}
	if p.accept("IS") {
		return p.is(t.pos, left)
	}
	not := p.accept("NOT")
	switch {
	case p.accept("BETWEEN"):
		low, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		if err := p.expect("AND"); err != nil {
			return nil, err
		}
		high, err := p.binary(0)
		return negated(not, &Node{Op: OpBetween, Pos: t.pos, Args: []*Node{left, low, high}}), err
	case p.accept("IN"):
		n, err := p.in(t.pos, left)
		return negated(not, n), err
	case p.accept("LIKE"):
		pattern, err := p.binary(0)
		return negated(not, &Node{Op: OpLike, Pos: t.pos, Args: []*Node{left, pattern}}), err
	case not:
		return nil, p.unexpected("BETWEEN, IN or LIKE")
	}
	return left, nil
}

// is reads what follows IS.
func (p *parser) is(pos int, left *Node) (*Node, error) {
	not := p.accept("NOT")
	if p.accept("DISTINCT", "FROM") {
		right, err := p.binary(0)
		return negated(!not, &Node{Op: OpSame, Pos: pos, Args: []*Node{left, right}}), err
	}
	what := strings.ToUpper(p.peek().text)
	switch {
	case p.accept("TRUE"), p.accept("FALSE"):
	case p.accept("UNKNOWN"):
		what = "NULL"
	default:
		if err := p.expect("NULL"); err != nil {
			return nil, err
		}
	}
	return negated(not, &Node{Op: OpIs, Pos: pos, Text: what, Args: []*Node{left}}), nil
}

func compareNode(op string, pos int, left, right *Node) *Node {
	return &Node{Op: OpCompare, Text: op, Pos: pos, Args: []*Node{left, right}}
}

func negated(not bool, n *Node) *Node {
	if !not || n == nil { // after an error
		return n
	}
	return &Node{Op: OpNot, Pos: n.Pos, Args: []*Node{n}}
}

// in reads what follows IN.
func (p *parser) in(pos int, left *Node) (*Node, error) {
	if p.accept("UNNEST", "(") {
		array, err := p.or()
		if err != nil {
			return nil, err
		}
		return &Node{Op: OpInArray, Pos: pos, Args: []*Node{left, array}}, p.expect(")")
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	if p.startsQuery(p.at) {
		return p.subquery(&Node{Op: OpInQuery, Pos: pos, Args: []*Node{left}})
	}
	in := &Node{Op: OpIn, Pos: pos, Args: []*Node{left}}
	for {
		n, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		in.Args = append(in.Args, n)
		if !p.accept(",") {
			return in, p.expect(")")
		}
	}
}

// levels are the signs between two operands, from those that bind loosest.
var levels = [][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "||"}}

// maxChain bounds a chain of operands, which is a tree that deep.
const maxChain = 1000

func (p *parser) binary(level int) (*Node, error) {
	if level == len(levels) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	if err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		t := p.peek()
		if !slices.ContainsFunc(levels[level], func(sign string) bool { return p.accept(sign) }) {
			return left, nil
		}
		if n == maxChain {
			return nil, p.Errorf(t.pos, "the expression has too many operands; it may have up to %d in a row", maxChain)
		}
		right, err := p.binary(level + 1)
		if err != nil {
			return nil, err
		}
		left = &Node{Op: OpBinary, Pos: t.pos, Text: t.text, Args: []*Node{left, right}}
	}
}

func (p *parser) unary() (*Node, error) {
	pos := p.peek().pos
	sign := p.peek().text
	if !p.accept("-") && !p.accept("+") && !p.accept("~") {
		return p.postfix()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if sign != "-" {
		n, err := p.unary()
		if err != nil || sign == "+" {
			return n, err
		}
		return &Node{Op: OpComplement, Pos: pos, Args: []*Node{n}}, nil
	}
	if t := p.peek(); t.kind == IntToken || t.kind == FloatToken {
		p.take()
		return &Node{Op: OpLiteral, Kind: t.kind, Pos: pos, Text: "-" + t.text}, nil
	}
	n, err := p.unary()
	return &Node{Op: OpNegate, Pos: pos, Args: []*Node{n}}, err
}

func (p *parser) postfix() (*Node, error) {
	n, err := p.primary()
	if err != nil {
		return nil, err
	}
	for levels := 0; ; levels++ {
		t := p.peek()
		switch {
		case levels > maxDepth:
			return nil, p.Errorf(t.pos, "the query is nested too deeply; it may have up to %d levels", maxDepth)
		case p.accept("["):
			by, err := p.or()
			if err != nil {
				return nil, err
			}
			if err := p.expect("]"); err != nil {
				return nil, err
			}
			n = &Node{Op: OpIndex, Pos: t.pos, Args: []*Node{n, by}}
		case p.accept(".", "*"):
			n = &Node{Op: OpFields, Pos: t.pos, Args: []*Node{n}}
		case p.accept("."):
			field, err := p.part("the name of a field")
			if err != nil {
				return nil, err
			}
			n = &Node{Op: OpField, Pos: t.pos, Text: field.text, Args: []*Node{n}}
		default:
			return n, nil
		}
	}
}

func (p *parser) primary() (*Node, error) {
	t := p.peek()
	switch {
	case t.kind >= StringToken && t.kind <= FloatToken:
		p.take()
		return &Node{Op: OpLiteral, Kind: t.kind, Pos: t.pos, Text: t.text}, nil
	case t.kind == ParamToken:
		p.take()
		return &Node{Op: OpParam, Pos: t.pos, Text: t.text}, nil
	case p.accept("NULL"):
		return &Node{Op: OpNull, Pos: t.pos}, nil
	case p.accept("TRUE"), p.accept("FALSE"):
		return &Node{Op: OpBool, Pos: t.pos, Text: strings.ToLower(t.text)}, nil
	case p.accept("("):
		if p.startsQuery(p.at) {
			return p.subquery(&Node{Op: OpQuery, Pos: t.pos})
		}
		return p.bracketed(t.pos)
	case t.is("EXISTS") && p.tokens[p.at+1].is("(") && p.startsQuery(p.at+2):
		p.at += 2
		return p.subquery(&Node{Op: OpExists, Pos: t.pos})
	case t.is("ARRAY") && p.tokens[p.at+1].is("(") && p.startsQuery(p.at+2):
		p.at += 2
		return p.subquery(&Node{Op: OpQuery, Pos: t.pos, Text: "ARRAY"})
	case p.accept("CAST", "("):
		return p.cast(OpCast, t.pos)
	case p.accept("SAFE_CAST", "("):
		return p.cast(OpSafeCast, t.pos)
	case p.accept("CASE"):
		return p.cases(t.pos)
	case p.accept("INTERVAL"):
		return p.interval(t.pos)
	case p.accept("IF", "("), p.accept("LEFT", "("), p.accept("RIGHT", "("): // reserved words
		call := &Node{Op: OpCall, Pos: t.pos, Text: strings.ToUpper(t.text)}
		return call, p.list(call, ")")
	case p.accept("EXTRACT", "("):
		return p.extract(t.pos)
	case p.accept("["), p.accept("ARRAY", "["):
		n := &Node{Op: OpArray, Pos: t.pos}
		return n, p.list(n, "]")
	case t.is("ARRAY") && p.tokens[p.at+1].is("<"):
		to, err := p.typeName()
		if err != nil {
			return nil, err
		}
		n := &Node{Op: OpArray, Pos: t.pos, Text: to}
		if err := p.expect("["); err != nil {
			return nil, err
		}
		return n, p.list(n, "]")
	case p.accept("STRUCT", "("):
		n := &Node{Op: OpStruct, Pos: t.pos}
		return n, p.list(n, ")")
	case t.is("STRUCT") && p.tokens[p.at+1].is("<"):
		to, err := p.typeName()
		if err != nil {
			return nil, err
		}
		n := &Node{Op: OpStruct, Pos: t.pos, Text: to}
		if err := p.expect("("); err != nil {
			return nil, err
		}
		return n, p.list(n, ")")
	}
	name, err := p.name("an expression")
	if err != nil {
		return nil, err
	}
	if literal := p.peek(); slices.ContainsFunc(typedLiterals, name.is) && literal.kind == StringToken {
		p.take()
		arg := &Node{Op: OpLiteral, Kind: StringToken, Pos: literal.pos, Text: literal.text}
		return &Node{Op: OpCast, Kind: StringToken, Pos: name.pos, Text: strings.ToUpper(name.text), Args: []*Node{arg}}, nil
	}
	called := strings.ToUpper(name.text)
	if slices.Contains(spaces, called) && p.accept(".") { // HLL_COUNT.INIT, SAFE.LOG
		of, err := p.part("the name of a function")
		if err != nil {
			return nil, err
		}
		called += "." + strings.ToUpper(of.text)
		if p.peek().text != "(" {
			return nil, p.unexpected("(")
		}
	}
	if !p.accept("(") {
		return &Node{Op: OpName, Pos: name.pos, Text: name.text}, nil
	}
	call := &Node{Op: OpCall, Pos: name.pos, Text: called}
	if star := p.peek(); p.accept("*") {
		call.Args = []*Node{{Op: OpStar, Pos: star.pos}}
		err = p.expect(")")
	} else {
		call.Distinct = p.accept("DISTINCT")
		err = p.list(call, ")")
	}
	if err != nil {
		return nil, err
	}
	return p.over(call)
}

// typedLiterals are the types whose literals are their name and a text.
var typedLiterals = []string{"TIMESTAMP", "DATETIME", "DATE", "NUMERIC", "BIGNUMERIC", "JSON"}

// bracketed reads what follows an open bracket: an expression, or the fields of a struct.
func (p *parser) bracketed(pos int) (*Node, error) {
	n, err := p.or()
	if err != nil || !p.accept(",") {
		return n, p.expectUnless(err, ")")
	}
	fields := &Node{Op: OpStruct, Pos: pos, Args: []*Node{n}, Names: []string{""}}
	for more := true; more; more = p.accept(",") {
		if n, err = p.or(); err != nil {
			return nil, err
		}
		fields.Args, fields.Names = append(fields.Args, n), append(fields.Names, "")
	}
	return fields, p.expect(")")
}

// lambda reads arguments and -> where they stand; ok is false where they do not stand.
func (p *parser) lambda() (n *Node, ok bool, err error) {
	from, t := p.at, p.peek()
	var names []string
	if p.accept("(") {
		for p.atName() {
			names = append(names, p.take().text)
			if !p.accept(",") {
				break
			}
		}
		ok = len(names) > 0 && p.accept(")", "->")
	} else if p.atName() {
		names = append(names, p.take().text)
		ok = p.accept("->")
	}
	if !ok {
		p.at = from
		return nil, false, nil
	}
	of, err := p.or()
	return &Node{Op: OpLambda, Pos: t.pos, Names: names, Args: []*Node{of}}, true, err
}

// spaces are the names that stand before the name of a function, with a point.
var spaces = []string{"HLL_COUNT", "SAFE"}

// cases reads what follows CASE.
func (p *parser) cases(pos int) (*Node, error) {
	n := &Node{Op: OpCase, Pos: pos}
	var err error
	if !p.peek().is("WHEN") {
		operand, err := p.or()
		if err != nil {
			return nil, err
		}
		n.Op, n.Args = OpSwitch, []*Node{operand}
	}
	fixed := len(n.Args)
	for p.accept("WHEN") {
		when, err := p.or()
		if err != nil {
			return nil, err
		}
		if err := p.expect("THEN"); err != nil {
			return nil, err
		}
		then, err := p.or()
		if err != nil {
			return nil, err
		}
		n.Args = append(n.Args, when, then)
	}
	if len(n.Args) == fixed {
		return nil, p.unexpected("WHEN")
	}
	otherwise := &Node{Op: OpNull, Pos: pos}
	if p.accept("ELSE") {
		if otherwise, err = p.or(); err != nil {
			return nil, err
		}
	}
	n.Args = append(n.Args, otherwise)
	return n, p.expect("END")
}

// interval reads what follows INTERVAL: a number or a text, and a part of a time, or two with TO
// between.
func (p *parser) interval(pos int) (*Node, error) {
	n, err := p.unary()
	if err != nil {
		return nil, err
	}
	part, err := p.name("a part of a time, such as DAY")
	if err == nil && p.accept("TO") {
		var last token
		last, err = p.name("a part of a time, such as SECOND")
		part.text += " TO " + last.text
	}
	return &Node{Op: OpInterval, Pos: pos, Text: strings.ToUpper(part.text), Args: []*Node{n}}, err
}

// extract reads what follows EXTRACT(: a part, FROM and a time.
func (p *parser) extract(pos int) (*Node, error) {
	part, err := p.name("a part of a time, such as DAY")
	if err != nil {
		return nil, err
	}
	text := part.text
	if p.accept("(") { // WEEK(MONDAY)
		day, err := p.name("a day of the week")
		if err != nil {
			return nil, err
		}
		text += "(" + day.text + ")"
		if err := p.expect(")"); err != nil {
			return nil, err
		}
	}
	if err := p.expect("FROM"); err != nil {
		return nil, err
	}
	of, err := p.or()
	if err != nil {
		return nil, err
	}
	args := []*Node{{Op: OpName, Pos: part.pos, Text: text}, of}
	if p.accept("AT", "TIME", "ZONE") {
		zone, err := p.or()
		if err != nil {
			return nil, err
		}
		args = append(args, zone)
	}
	return &Node{Op: OpCall, Pos: pos, Text: "EXTRACT", Args: args}, p.expect(")")
}

// argumentNames are the names that arguments of functions may have, before =>. An argument that is
// left out before another is 0, or of leftOut.
var argumentNames = map[string][]string{
	"EDIT_DISTANCE":    {"", "", "MAX_DISTANCE"},
	"FLOAT32":          {"", "WIDE_NUMBER_MODE"},
	"FLOAT32_ARRAY":    {"", "WIDE_NUMBER_MODE"},
	"FLOAT64":          {"", "WIDE_NUMBER_MODE"},
	"FLOAT64_ARRAY":    {"", "WIDE_NUMBER_MODE"},
	"JSON_KEYS":        {"", "MAX_DEPTH", "MODE"},
	"JSON_STRIP_NULLS": {"", "JSON_PATH", "INCLUDE_ARRAYS", "REMOVE_EMPTY"},
	"MAKE_INTERVAL":    {"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"},
	"PARSE_JSON":       {"", "WIDE_NUMBER_MODE"},
	"TO_JSON":          {"", "STRINGIFY_WIDE_NUMBERS"},
}

var leftOut = map[string]Node{
	"INCLUDE_ARRAYS": {Op: OpBool, Text: "true"},
	"JSON_PATH":      {Op: OpLiteral, Kind: StringToken, Text: "$"},
	"MAX_DEPTH":      {Op: OpNull},
}

// lastNames are the names that the last argument of a function of any number of arguments may
// have.
var lastNames = map[string]string{
	"JSON_ARRAY_APPEND": "APPEND_EACH_ELEMENT",
	"JSON_ARRAY_INSERT": "INSERT_EACH_ELEMENT",
	"JSON_SET":          "CREATE_IF_MISSING",
}

// argument reads an argument of a function, which may have a name, or an element of an array or a
// field of a struct.
func (p *parser) argument(n *Node) (err error) {
	function := strings.TrimPrefix(n.Text, "SAFE.")
	names, at := argumentNames[function], -1
	if n.Op == OpCall {
		if last := lastNames[function]; last != "" && len(n.Names) == 0 {
			names = append(make([]string, len(n.Args)), last)
		}
		at = slices.IndexFunc(names, func(name string) bool { return name != "" && p.accept(name, "=>") })
	}
	pos := p.peek().pos
	arg, ok, err := p.lambda()
	if !ok {
		arg, err = p.or()
	}
	if err != nil {
		return err
	}
	if at < 0 && len(n.Names) > 0 && n.Op == OpCall {
		return p.Errorf(pos, "an argument without a name cannot follow one with a name")
	}
	if at < 0 {
		n.Args = append(n.Args, arg)
		return nil
	}
	n.Names = append(n.Names, names[at])
	for len(n.Args) <= at {
		missing, ok := leftOut[names[len(n.Args)]]
		if !ok {
			missing = Node{Op: OpLiteral, Kind: IntToken, Text: "0"}
		}
		n.Args = append(n.Args, &missing)
	}
	if n.Args[at].Pos > 0 {
		return p.Errorf(pos, "the argument %s is there twice", strings.ToLower(names[at]))
	}
	n.Args[at] = arg
	return nil
}

// list reads the arguments of a function, the elements of an array or the fields
// of a struct, which alone may have names.
func (p *parser) list(n *Node, end string) error {
	if t := p.peek(); p.accept(end) {
		if strings.TrimPrefix(n.Text, "SAFE.") == "MAKE_INTERVAL" { // all of its arguments are left out
			n.Args = append(n.Args, &Node{Op: OpLiteral, Kind: IntToken, Pos: t.pos, Text: "0"})
		}
		return nil
	}
	for {
		if err := p.argument(n); err != nil {
			return err
		}
		if n.Op == OpStruct {
			name := NameOf(n.Args[len(n.Args)-1])
			if p.accept("AS") {
				as, err := p.name("the name of a field")
				if err != nil {
					return err
				}
				name = as.text
			}
			n.Names = append(n.Names, name)
		}
		if !p.accept(",") {
			if n.Op == OpCall {
				if err := p.modifiers(n); err != nil {
					return err
				}
			}
			return p.expect(end)
		}
	}
}

// modifiers reads what may follow the arguments of an aggregate function.
func (p *parser) modifiers(n *Node) error {
	if n.IgnoreNulls = p.accept("IGNORE", "NULLS"); !n.IgnoreNulls {
		n.RespectNulls = p.accept("RESPECT", "NULLS")
	}
	var s Stage
	if err := p.order(&s); err != nil {
		return err
	}
	for _, o := range s.Order {
		n.Order, n.Args = append(n.Order, o), append(n.Args, o.Expr)
	}
	if p.accept("LIMIT") {
		var err error
		if n.Limit, err = p.rowCount(); err != nil {
			return err
		}
	}
	return nil
}

// cast reads what follows CAST(.
func (p *parser) cast(op Operator, pos int) (*Node, error) {
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if err := p.expect("AS"); err != nil {
		return nil, err
	}
	to, err := p.typeName()
	if err != nil {
		return nil, err
	}
	return &Node{Op: op, Pos: pos, Text: to, Args: []*Node{n}}, p.expect(")")
}

const (
	maxWindows  = 1000    // bounds the windows of one WINDOW
	maxRepeated = 100_000 // bounds the expressions of named windows, each of which all its calls have
)

func (p *parser) order(s *Stage) error {
	if !p.accept("ORDER", "BY") {
		return nil
	}
	for {
		e, err := p.or()
		if err != nil {
			return err
		}
		o := Order{Expr: e, Desc: p.accept("DESC")}
		if !o.Desc {
			p.accept("ASC")
		}
		o.NullsLast = o.Desc
		if p.accept("NULLS", "FIRST") {
			o.NullsLast = false
		} else if p.accept("NULLS", "LAST") {
			o.NullsLast = true
		}
		s.Order = append(s.Order, o)
		if !p.accept(",") {
			return nil
		}
	}
}

func (p *parser) limit(s *Stage) (err error) {
	if !p.accept("LIMIT") {
		return nil
	}
	if s.Limit, err = p.rowCount(); err == nil && p.accept("OFFSET") {
		s.Offset, err = p.rowCount()
	}
	return err
}

// rowCount is a number of rows, written or as a parameter.
func (p *parser) rowCount() (*Node, error) {
	switch p.peek().kind {
	case IntToken, ParamToken:
		return p.primary()
	}
	return nil, p.unexpected("a number of rows")
}
