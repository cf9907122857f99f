package sql

import (
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/server/sql/parse"
	"github.com/smolwc/smolwc/server/sql/value"
)

func (p *Plan) compare(n *parse.Node) (*expr, error) {
	a, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	b, err := p.compile(n.Args[1])
	if err != nil {
		return nil, err
	}
	if a, err = p.inEnum(a, b.typ, n.Args[0]); err != nil {
		return nil, err
	}
	if b, err = p.inEnum(b, a.typ, n.Args[1]); err != nil {
		return nil, err
	}
	if a, err = coerced(a, b.typ.Kind); err != nil {
		return nil, p.Placed(err, n.Args[0].Pos)
	}
	if b, err = coerced(b, a.typ.Kind); err != nil {
		return nil, p.Placed(err, n.Args[1].Pos)
	}
	if !canCompare(a.typ, b.typ) {
		return nil, p.Errorf(n.Pos, "%s %s %s cannot be compared; CAST(… AS …) makes one type of another", a.typ, n.Text, b.typ)
	}
	e := &expr{typ: value.Type{Kind: value.TypeBool}, fixed: a.fixed && b.fixed, strict: a.strict || b.strict, eval: func(r *tuple) (any, error) {
		x, y, err := both(a, b, r)
		if x == nil || y == nil || err != nil {
			return nil, err
		}
		order, ok := value.Compare(x, y)
		return holds(n.Text, order, ok), nil
	}}
	if n.Text == "!=" {
		return e, nil
	}
	switch {
	case a.keyField > 0 && b.fixed:
		p.constrain(e, a, tested(n.Text, b))
	case b.keyField > 0 && a.fixed:
		p.constrain(e, b, tested(turned.Replace(n.Text), a))
	case a.key && b.fixed:
		e.keys = keysWhere(b, func(key string) keyRanges { return keysThat(n.Text, key) })
	case b.key && a.fixed:
		e.keys = keysWhere(a, func(key string) keyRanges { return keysThat(turned.Replace(n.Text), key) })
	case a.column != nil && b.fixed:
		e.stored = func() []read.Condition { return a.column.where(n.Text, b) }
	case b.column != nil && a.fixed:
		e.stored = func() []read.Condition { return b.column.where(turned.Replace(n.Text), a) }
	}
	return e, nil
}

// turned is the comparison with the operands the other way round.
var turned = strings.NewReplacer("<", ">", ">", "<")

func canCompare(a, b value.Type) bool {
	return a.Comparable() && b.Comparable() && (a.Same(b) || a.Numeric() && b.Numeric())
}

// holds reports whether a comparison is true; comparable is false for NaN.
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

// keysWhere are the row keys for a value that is the same for every row. With
// NULL no row is wanted.
func keysWhere(e *expr, keys func(string) keyRanges) func() keyRanges {
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

// junction compiles AND and OR. NULL is neither true nor false.
func (p *Plan) junction(n *parse.Node) (*expr, error) {
	parts := make([]*expr, len(n.Args))
	e := &expr{typ: value.Type{Kind: value.TypeBool}, fixed: true}
	byKey, strict, rejects := 0, 0, 0
	for i, arg := range n.Args {
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
	decides := n.Op == parse.OpOr // the value that decides the result alone
	e.strict = strict == len(parts)
	e.rejects = rejects == len(parts) || n.Op == parse.OpAnd && rejects > 0
	e.eval = func(r *tuple) (any, error) {
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
	for _, part := range parts {
		if n.Op == parse.OpAnd {
			e.fields = append(e.fields, part.fields...)
		}
	}
	if n.Op == parse.OpOr && len(parts[0].fields) == 1 {
		e.fields = anyField(parts)
	}
	e.stored = storedBy(n.Op, parts)
	switch {
	case n.Op == parse.OpAnd && byKey > 0:
		e.keys = func() keyRanges {
			all := []keyRanges{p.keysOn(e.fields)}
			for _, part := range parts {
				if part.keys != nil {
					all = append(all, part.keys())
				}
			}
			return intersectionOf(all)
		}
	case n.Op == parse.OpOr && byKey == len(parts):
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

// is compiles IS NULL, IS TRUE and IS FALSE, which are not NULL for any value.
func (p *Plan) is(n *parse.Node) (*expr, error) {
	compile, want := p.condition, any(n.Text == "TRUE")
	if n.Text == "NULL" {
		compile, want = p.compile, nil
	}
	e, err := compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	return &expr{typ: value.Type{Kind: value.TypeBool}, fixed: e.fixed, eval: func(r *tuple) (any, error) {
		v, err := e.eval(r)
		return v == want, err
	}}, nil
}

// same compiles IS NOT DISTINCT FROM, which is an = for which NULL equals NULL.
func (p *Plan) same(n *parse.Node) (*expr, error) {
	equal, err := p.compare(&parse.Node{Op: parse.OpCompare, Text: "=", Pos: n.Pos, Args: n.Args})
	if err != nil {
		return nil, err
	}
	a, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	b, err := p.compile(n.Args[1])
	if err != nil {
		return nil, err
	}
	return &expr{typ: equal.typ, fixed: equal.fixed, eval: func(t *tuple) (any, error) {
		x, y, err := both(a, b, t)
		if x == nil || y == nil || err != nil {
			return x == nil && y == nil, err
		}
		if value.IsNaN(x) && value.IsNaN(y) {
			return true, nil
		}
		return equal.eval(t)
	}}, nil
}

// A likeItem is a part of a pattern of LIKE: a character, any single character, or any
// run of characters. Characters of BYTES are bytes.
type likeItem struct {
	kind rune // 'c', '_' or '%'
	char string
}

// like compiles a comparison with a pattern.
func (p *Plan) like(n *parse.Node) (*expr, error) {
	of, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	if of.typ.Kind != value.TypeBytes && of.typ.Kind != value.TypeString {
		return nil, p.Errorf(n.Pos, "LIKE takes BYTES or STRING, not %s", of.typ)
	}
	pattern, err := p.typed(n.Args[1], of.typ.Kind, "the pattern of LIKE")
	if err != nil {
		return nil, err
	}
	if !pattern.fixed {
		return nil, p.Errorf(n.Args[1].Pos, "the pattern of LIKE must be the same for every row")
	}
	var items []likeItem
	if pattern.literal || p.params.bound() { // it is known
		v, err := pattern.eval(nil)
		if err != nil {
			return nil, err
		}
		if v == nil {
			return fixedExpr(value.Type{Kind: value.TypeBool}, nil), nil
		}
		if len(value.TextOf(v)) > maxLike {
			return nil, p.Errorf(n.Args[1].Pos, "the pattern of LIKE has %d bytes; it may have up to %d", len(value.TextOf(v)), maxLike)
		}
		var ok bool
		if items, ok = likeItems(value.TextOf(v), of.typ.Kind == value.TypeString); !ok {
			return nil, p.Errorf(n.Args[1].Pos, `the pattern of LIKE ends with \, which stands before the character that it means`)
		}
	}
	width := charWidth(of.typ.Kind == value.TypeString)
	e := mapped(of, value.Type{Kind: value.TypeBool}, func(v any) (any, error) {
		matches, err := matchesLike(items, value.TextOf(v), width)
		return matches, p.placed(err, n.Pos)
	})
	if of.key {
		e.keys = func() keyRanges { return keysLike(items) }
	}
	return e, nil
}

// charWidth is the length of the first character.
func charWidth(utf bool) func(string) int {
	if !utf {
		return func(string) int { return 1 }
	}
	return func(s string) int {
		_, n := utf8.DecodeRuneInString(s)
		return n
	}
}

func likeItems(pattern string, utf bool) (items []likeItem, ok bool) {
	width := charWidth(utf)
	for pattern != "" {
		n := width(pattern)
		item := likeItem{'c', pattern[:n]}
		pattern = pattern[n:]
		switch item.char {
		case "%", "_":
			item.kind = rune(item.char[0])
		case `\`:
			if pattern == "" {
				return nil, false
			}
			n = width(pattern)
			item.char, pattern = pattern[:n], pattern[n:]
		}
		items = append(items, item)
	}
	return items, true
}

// maxLikeSteps bounds the comparisons of characters of one LIKE: about a second.
const maxLikeSteps = 1 << 27

// maxLike bounds the bytes of a pattern of LIKE.
const maxLike = 1 << 20

// matchesLike backtracks to the last run only: the pattern before it has matched
// already.
func matchesLike(items []likeItem, s string, width func(string) int) (bool, error) {
	at, run, from := 0, -1, ""
	for steps := 0; s != ""; steps++ {
		if steps == maxLikeSteps {
			return false, &Error{Message: "the pattern of LIKE takes too long on a value of this size"}
		}
		n := width(s)
		switch {
		case at < len(items) && items[at].kind == '%':
			run, from = at, s
			at++
		case at < len(items) && (items[at].kind == '_' || items[at].char == s[:n]):
			at++
			s = s[n:]
		case run >= 0:
			from = from[width(from):]
			at, s = run+1, from
		default:
			return false, nil
		}
	}
	for at < len(items) && items[at].kind == '%' {
		at++
	}
	return at == len(items), nil
}

// keysLike are ranges that include all matching row keys.
func keysLike(items []likeItem) keyRanges {
	var prefix strings.Builder
	for _, item := range items {
		if item.kind != 'c' {
			return keysWith(prefix.String())
		}
		prefix.WriteString(item.char)
	}
	return keysThat("=", prefix.String())
}
