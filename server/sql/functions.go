package sql

import (
	"strings"
	"unsafe"

	"github.com/smolwc/smolwc/query"
)

// call compiles a function.
func (p *Plan) call(n *node) (*expr, error) {
	switch n.text {
	case "STARTS_WITH", "ENDS_WITH":
		return p.affix(n)
	case "TO_INT64", "TO_FLOAT32", "TO_FLOAT64":
		return p.number(n)
	case "TIMESTAMP":
		if len(n.args) != 1 {
			return nil, p.errorf(n.pos, "%s takes one argument", n.text)
		}
		return p.cast(&node{op: opCast, pos: n.pos, text: "TIMESTAMP", args: n.args})
	case "COUNT":
		return nil, p.errorf(n.pos, "COUNT is supported only as COUNT(*), and only as the one column of a query")
	case "DATE":
		return p.date(n)
	case "COALESCE", "IFNULL":
		return p.firstOf(n)
	case "ARRAY_LENGTH":
		e, err := p.only(n, typeArray)
		if err != nil {
			return nil, err
		}
		return mapped(e, valueType{kind: typeInt64}, func(v any) (any, error) { return int64(len(v.(arrayValue))), nil }), nil
	case "MAP_KEYS":
		e, err := p.only(n, typeMap)
		if err != nil {
			return nil, err
		}
		return mapped(e, arrayOf(valueType{kind: typeBytes}), func(v any) (any, error) { return mapKeys(v.(mapValue)), nil }), nil
	}
	for _, prefix := range []string{"TIMESTAMP_FROM_UNIX_", "TIMESTAMP_", "UNIX_"} {
		name, ok := strings.CutPrefix(n.text, prefix)
		switch unit := unixUnits[name]; {
		case !ok || unit == 0:
		case prefix == "UNIX_":
			return p.toUnix(n, unit)
		default:
			return p.fromUnix(n, unit)
		}
	}
	return nil, p.errorf(n.pos, "Function not found: %s; there are %s", n.text, functionNames)
}

// functionNames lists them in messages.
const functionNames = "STARTS_WITH, ENDS_WITH, CAST, SAFE_CAST, COALESCE, IFNULL, TO_INT64, TO_FLOAT32, TO_FLOAT64, " +
	"TIMESTAMP, DATE, TIMESTAMP_FROM_UNIX_SECONDS, _MILLIS and _MICROS, UNIX_SECONDS, _MILLIS and _MICROS, ARRAY_LENGTH, MAP_KEYS"

// number compiles TO_INT64 and similar functions, which decode big-endian bytes.
func (p *Plan) number(n *node) (*expr, error) {
	e, err := p.only(n, typeBytes)
	if err != nil {
		return nil, err
	}
	to := typeNames[strings.TrimPrefix(n.text, "TO_")]
	return mapped(e, valueType{kind: to}, func(v any) (any, error) {
		number, err := numberOf(v.([]byte), to)
		if err != nil {
			return nil, p.placed(err, n.pos)
		}
		return number, nil
	}), nil
}

func mapKeys(m mapValue) arrayValue {
	keys := make(arrayValue, len(m))
	for i, entry := range m {
		keys[i] = []byte(entry.qualifier)
	}
	return keys
}

func (p *Plan) affix(n *node) (*expr, error) {
	if len(n.args) != 2 {
		return nil, p.errorf(n.pos, "%s takes two arguments", n.text)
	}
	of, err := p.compile(n.args[0])
	if err != nil {
		return nil, err
	}
	if of.typ.kind != typeBytes && of.typ.kind != typeString {
		return nil, p.errorf(n.args[0].pos, "%s takes BYTES or STRING, not %s", n.text, of.typ)
	}
	with, err := p.typed(n.args[1], of.typ.kind, "what "+n.text+" looks for")
	if err != nil {
		return nil, err
	}
	has := strings.HasPrefix
	if n.text == "ENDS_WITH" {
		has = strings.HasSuffix
	}
	e := &expr{typ: valueType{kind: typeBool}, fixed: of.fixed && with.fixed, strict: of.strict || with.strict, eval: func(r *query.Row) (any, error) {
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

// textOf is a STRING, or BYTES as one, which nothing changes.
func textOf(v any) string {
	if b, ok := v.([]byte); ok {
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	return v.(string)
}
