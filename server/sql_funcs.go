package server

import (
	"math"
	"strings"

	"github.com/smolwc/smolwc/query"
)

// compare compiles a comparison.
func (p *sqlPlan) compare(n *sqlNode) (*sqlExpr, error) {
	a, err := p.compile(n.args[0])
	if err != nil {
		return nil, err
	}
	b, err := p.compile(n.args[1])
	if err != nil {
		return nil, err
	}
	if a, err = coerced(a, b.typ.kind); err != nil {
		return nil, at(err, n.args[0].pos)
	}
	if b, err = coerced(b, a.typ.kind); err != nil {
		return nil, at(err, n.args[1].pos)
	}
	if !canCompare(a.typ, b.typ) {
		return nil, sqlErrorf(n.pos, "%s %s %s cannot be compared; CAST(… AS …) makes one type of another", a.typ, n.text, b.typ)
	}
	e := &sqlExpr{typ: sqlType{kind: typeBool}, fixed: a.fixed && b.fixed, strict: a.strict || b.strict, eval: func(r *query.Row) (any, error) {
		x, y, err := both(a, b, r)
		if x == nil || y == nil || err != nil {
			return nil, err
		}
		order, ok := compareSQL(x, y)
		return holds(n.text, order, ok), nil
	}}
	switch {
	case a.key && b.fixed:
		e.keys = keysWhere(b, func(key string) keyRanges { return keysThat(n.text, key) })
	case b.key && a.fixed:
		op := strings.NewReplacer("<", ">", ">", "<").Replace(n.text)
		e.keys = keysWhere(a, func(key string) keyRanges { return keysThat(op, key) })
	}
	return e, nil
}

// canCompare reports whether values of two types can be compared.
func canCompare(a, b sqlType) bool {
	return a.comparable() && b.comparable() && (a.kind == b.kind || a.numeric() && b.numeric())
}

// holds reports whether a comparison does; nothing compares with NaN.
func holds(op string, order int, comparable bool) bool {
	if !comparable {
		return op == "!="
	}
	switch op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// keysWhere are the row keys that a value which no row changes leads to. With
// NULL nothing is true.
func keysWhere(e *sqlExpr, keys func(string) keyRanges) func() keyRanges {
	return func() keyRanges {
		v, err := e.eval(nil)
		switch {
		case err != nil:
			return allKeys // each row says what is wrong
		case v == nil:
			return nil
		}
		return keys(string(v.([]byte)))
	}
}

// junction compiles AND and OR, in which NULL is neither.
func (p *sqlPlan) junction(n *sqlNode) (*sqlExpr, error) {
	parts := make([]*sqlExpr, len(n.args))
	e := &sqlExpr{typ: sqlType{kind: typeBool}, fixed: true}
	byKey, strict, rejects := 0, 0, 0
	for i, arg := range n.args {
		var err error
		if parts[i], err = p.condition(arg); err != nil {
			return nil, err
		}
		e.fixed = e.fixed && parts[i].fixed
		if parts[i].keys != nil {
			byKey++
		}
		if parts[i].strict {
			strict++
		}
		if parts[i].strict || parts[i].rejects {
			rejects++
		}
	}
	decides := n.op == opOr // what makes the others not matter
	e.strict = strict == len(parts)
	e.rejects = rejects == len(parts) || n.op == opAnd && rejects > 0
	e.eval = func(r *query.Row) (any, error) {
		var result any = !decides
		for _, part := range parts {
			v, err := part.eval(r)
			switch {
			case err != nil:
				return nil, err
			case v == decides:
				return decides, nil
			case v == nil:
				result = nil
			}
		}
		return result, nil
	}
	switch {
	case n.op == opAnd && byKey > 0:
		e.keys = func() keyRanges {
			rs := allKeys
			for _, part := range parts {
				if part.keys != nil {
					rs = rs.and(part.keys())
				}
			}
			return rs
		}
	case n.op == opOr && byKey == len(parts):
		e.keys = func() keyRanges {
			var rs keyRanges
			for _, part := range parts {
				rs = append(rs, part.keys()...)
			}
			return unionOf(rs)
		}
	}
	return e, nil
}

// at gives an error a place in the query.
func at(err error, pos int) error { return sqlErrorf(pos, "%s", statusText(err)) }

func (p *sqlPlan) negate(n *sqlNode) (*sqlExpr, error) {
	e, err := p.compile(n.args[0])
	if err != nil {
		return nil, err
	}
	if !e.typ.numeric() {
		return nil, sqlErrorf(n.pos, "%s has no negative", e.typ)
	}
	return mapped(e, e.typ, func(v any) (any, error) {
		if i, ok := v.(int64); ok {
			if i == math.MinInt64 {
				return nil, sqlErrorf(n.pos, "-(%d) is out of the range of INT64", i)
			}
			return -i, nil
		}
		return -v.(float64), nil
	}), nil
}

func (p *sqlPlan) cast(n *sqlNode) (*sqlExpr, error) {
	to, ok := sqlTypeNames[n.text]
	if !ok {
		return nil, sqlErrorf(n.pos, "type %s is not one of %s", n.text, scalarNames)
	}
	e, err := p.compile(n.args[0])
	if err != nil {
		return nil, err
	}
	from := e.typ.kind
	if from == typeNull || from == to {
		return &sqlExpr{typ: sqlType{kind: to}, key: e.key, fixed: e.fixed, strict: e.strict, eval: e.eval}, nil
	}
	if !canCast(from, to) {
		return nil, sqlErrorf(n.pos, "Invalid cast from %s to %s%s", e.typ, to, castHint(from, to))
	}
	return mapped(e, sqlType{kind: to}, func(v any) (any, error) {
		c, err := castSQL(v, to)
		switch {
		case err == nil:
			return c, nil
		case n.op == opSafeCast:
			return nil, nil
		}
		return nil, at(err, n.pos)
	}), nil
}

func canCast(from, to sqlTypeKind) bool {
	for _, k := range castable[from] {
		if k == to {
			return true
		}
	}
	return false
}

func castHint(from, to sqlTypeKind) string {
	if from == typeBytes && canCast(typeString, to) {
		return "; CAST(CAST(… AS STRING) AS " + to.String() + ") reads text, TO_INT64, TO_FLOAT32 and TO_FLOAT64 big-endian numbers"
	}
	return ""
}

// call compiles a function.
func (p *sqlPlan) call(n *sqlNode) (*sqlExpr, error) {
	switch n.text {
	case "STARTS_WITH", "ENDS_WITH":
		return p.affix(n)
	case "TO_INT64", "TO_FLOAT32", "TO_FLOAT64":
		return p.number(n)
	case "TIMESTAMP":
		if len(n.args) != 1 {
			return nil, sqlErrorf(n.pos, "%s takes one argument", n.text)
		}
		return p.cast(&sqlNode{op: opCast, pos: n.pos, text: "TIMESTAMP", args: n.args})
	case "COUNT":
		return nil, sqlErrorf(n.pos, "COUNT is understood as COUNT(*) alone, without other columns")
	case "DATE":
		return p.date(n)
	case "COALESCE", "IFNULL":
		return p.firstOf(n)
	case "ARRAY_LENGTH":
		e, err := p.only(n, typeArray)
		if err != nil {
			return nil, err
		}
		return mapped(e, sqlType{kind: typeInt64}, func(v any) (any, error) { return int64(len(v.(sqlArray))), nil }), nil
	case "MAP_KEYS":
		e, err := p.only(n, typeMap)
		if err != nil {
			return nil, err
		}
		return mapped(e, arrayOf(sqlType{kind: typeBytes}), func(v any) (any, error) { return mapKeys(v.(sqlFamily)), nil }), nil
	}
	if unit, ok := unixUnits[strings.TrimPrefix(strings.TrimPrefix(n.text, "TIMESTAMP_FROM_UNIX_"), "TIMESTAMP_")]; ok {
		return p.fromUnix(n, unit)
	}
	if unit, ok := unixUnits[strings.TrimPrefix(n.text, "UNIX_")]; ok {
		return p.toUnix(n, unit)
	}
	return nil, sqlErrorf(n.pos, "Function not found: %s; there are %s", n.text, sqlFunctions)
}

// sqlFunctions lists them in messages.
const sqlFunctions = "STARTS_WITH, ENDS_WITH, CAST, SAFE_CAST, COALESCE, IFNULL, TO_INT64, TO_FLOAT32, TO_FLOAT64, " +
	"TIMESTAMP, DATE, TIMESTAMP_FROM_UNIX_SECONDS, _MILLIS and _MICROS, UNIX_SECONDS, _MILLIS and _MICROS, ARRAY_LENGTH, MAP_KEYS"

// number compiles TO_INT64 and its like: what big-endian bytes are.
func (p *sqlPlan) number(n *sqlNode) (*sqlExpr, error) {
	e, err := p.only(n, typeBytes)
	if err != nil {
		return nil, err
	}
	to := sqlTypeNames[strings.TrimPrefix(n.text, "TO_")]
	return mapped(e, sqlType{kind: to}, func(v any) (any, error) {
		number, err := numberOf(v.([]byte), to)
		if err != nil {
			return nil, at(err, n.pos)
		}
		return number, nil
	}), nil
}

func mapKeys(m sqlFamily) sqlArray {
	keys := make(sqlArray, len(m))
	for i, entry := range m {
		keys[i] = []byte(entry.qualifier)
	}
	return keys
}

func (p *sqlPlan) affix(n *sqlNode) (*sqlExpr, error) {
	if len(n.args) != 2 {
		return nil, sqlErrorf(n.pos, "%s takes two arguments", n.text)
	}
	of, err := p.compile(n.args[0])
	if err != nil {
		return nil, err
	}
	if of.typ.kind != typeBytes && of.typ.kind != typeString {
		return nil, sqlErrorf(n.args[0].pos, "%s takes BYTES or STRING, not %s", n.text, of.typ)
	}
	with, err := p.typed(n.args[1], of.typ.kind, "what "+n.text+" looks for")
	if err != nil {
		return nil, err
	}
	has := strings.HasPrefix
	if n.text == "ENDS_WITH" {
		has = strings.HasSuffix
	}
	e := &sqlExpr{typ: sqlType{kind: typeBool}, fixed: of.fixed && with.fixed, strict: of.strict || with.strict, eval: func(r *query.Row) (any, error) {
		x, y, err := both(of, with, r)
		if x == nil || y == nil || err != nil {
			return nil, err
		}
		return has(textOf(x), textOf(y)), nil
	}}
	if of.key && with.fixed && n.text == "STARTS_WITH" {
		e.keys = keysWhere(with, keysWith)
	}
	return e, nil
}

// textOf is a STRING, or BYTES as one.
func textOf(v any) string {
	if b, ok := v.([]byte); ok {
		return text(b)
	}
	return v.(string)
}
