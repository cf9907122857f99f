package bind

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

func compileCompare(p *planner, n *parse.Node) (*expr, error) {
	a, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	b, err := p.compile(n.Args[1])
	if err != nil {
		return nil, err
	}
	if a, b, err = p.comparable(n, a, b); err != nil {
		return nil, err
	}
	e := &expr{typ: value.Type{Kind: value.TypeBool}, fixed: a.fixed && b.fixed, strict: a.strict || b.strict, eval: func(r *run.Tuple) (any, error) {
		x, y, err := both(a, b, r)
		if err != nil {
			return nil, err
		}
		return holds(n.Text, x, y), nil
	}}
	limitRows(p, e, n.Text, a, b)
	return e, nil
}

// comparable gives two expressions types that can be compared.
func (p *planner) comparable(n *parse.Node, a, b *expr) (_, _ *expr, err error) {
	if a, err = p.inEnum(a, b.typ, n.Args[0]); err != nil {
		return nil, nil, err
	}
	if b, err = p.inEnum(b, a.typ, n.Args[1]); err != nil {
		return nil, nil, err
	}
	null := a.typ.Kind == value.TypeNull || b.typ.Kind == value.TypeNull
	if !a.typ.Numeric() || !b.typ.Numeric() {
		t := common(a.typ, b)
		if a, err = p.converted(n.Args[0], a, t); err != nil {
			return nil, nil, err
		}
		if b, err = p.converted(n.Args[1], b, t); err != nil {
			return nil, nil, err
		}
	}
	if null { // it compares with everything
		return a, b, nil
	}
	return a, b, p.checkCompared(n, n.Text, a, b)
}

// checkCompared refuses types that a comparison does not take.
func (p *planner) checkCompared(n *parse.Node, op string, a, b *expr) error {
	switch {
	case a.typ.Kind == value.TypeNull || b.typ.Kind == value.TypeNull:
	case !canCompare(a.typ, b.typ) && a.typ.Same(b.typ):
		return p.Errorf(n.Pos, "values of type %s cannot be compared", a.typ)
	case !canCompare(a.typ, b.typ):
		return p.Errorf(n.Pos, "%s %s %s cannot be compared; CAST(… AS …) makes one type of another", a.typ, op, b.typ)
	case op != "=" && op != "!=" && !a.typ.Comparable():
		return p.Errorf(n.Pos, "values of type %s have no order; they are compared with = and !=", a.typ)
	}
	return nil
}

// limitRows notes which rows a comparison leaves.
func limitRows(p *planner, e *expr, op string, a, b *expr) {
	if op == "!=" {
		return
	}
	switch {
	case a.keyField > 0 && b.fixed:
		constrain(p, e, a, tested(op, b))
	case b.keyField > 0 && a.fixed:
		constrain(p, e, b, tested(turned.Replace(op), a))
	case a.key && b.fixed:
		e.keys = keysWhere(b, func(key string) keyRanges { return keysThat(op, key) })
	case b.key && a.fixed:
		e.keys = keysWhere(a, func(key string) keyRanges { return keysThat(turned.Replace(op), key) })
	case a.column != nil && b.fixed:
		e.stored = func(t *run.Tuple) []read.Condition { return a.column.whereThat(t, op, b) }
	case b.column != nil && a.fixed:
		e.stored = func(t *run.Tuple) []read.Condition { return b.column.whereThat(t, turned.Replace(op), a) }
	}
}

// compileBetween compiles x BETWEEN a AND b, which is x >= a AND x <= b with one value of x.
func compileBetween(p *planner, n *parse.Node) (*expr, error) {
	x, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	bounds, limited := make([]*expr, 2), make([]*expr, 2)
	for i, op := range []string{">=", "<="} {
		bound, err := p.compile(n.Args[1+i])
		if err != nil {
			return nil, err
		}
		of := &parse.Node{Op: parse.OpCompare, Text: op, Pos: n.Pos, Args: []*parse.Node{n.Args[0], n.Args[1+i]}}
		if x, bounds[i], err = p.comparable(of, x, bound); err != nil {
			return nil, err
		}
	}
	for i, op := range []string{">=", "<="} {
		limited[i] = &expr{typ: value.Type{Kind: value.TypeBool}, fixed: x.fixed && bounds[i].fixed, strict: x.strict || bounds[i].strict}
		limitRows(p, limited[i], op, x, bounds[i])
	}
	e := joint(p, parse.OpAnd, limited)
	e.eval = func(t *run.Tuple) (any, error) {
		v, err := x.eval(t)
		if err != nil {
			return nil, err
		}
		var result any = true
		for i, op := range []string{">=", "<="} {
			bound, err := bounds[i].eval(t)
			if err != nil {
				return nil, err
			}
			switch holds(op, v, bound) {
			case false:
				return false, nil
			case nil:
				result = nil
			}
		}
		return result, nil
	}
	return e, nil
}

// turned is the comparison with the operands the other way round.
var turned = strings.NewReplacer("<", ">", ">", "<")

func canCompare(a, b value.Type) bool {
	return a.Groupable() && b.Groupable() && (a.Same(b) || a.Numeric() && b.Numeric())
}

// holds reports whether a comparison of two values is true; it is nil for NULL. NaN differs
// from all values.
func holds(op string, a, b any) any {
	if op == "=" || op == "!=" {
		equal := value.Equal(a, b)
		if op == "!=" && equal != nil {
			return equal == false
		}
		return equal
	}
	if a == nil || b == nil {
		return nil
	}
	order, ok := value.Compare(a, b)
	switch op {
	case "<":
		return ok && order < 0
	case "<=":
		return ok && order <= 0
	case ">":
		return ok && order > 0
	}
	return ok && order >= 0
}

// keysWhere are the row keys for a value that is the same for every row. With
// NULL no row is wanted.
func keysWhere(e *expr, keys func(string) keyRanges) func(*run.Tuple) keyRanges {
	return func(t *run.Tuple) keyRanges {
		v, err := e.eval(t.Alone())
		switch {
		case err != nil:
			return allKeys // each row says what is wrong
		case v == nil:
			return nil
		}
		return keys(string(v.([]byte)))
	}
}

// compileJunction compiles AND and OR. NULL is neither true nor false.
func compileJunction(p *planner, n *parse.Node) (*expr, error) {
	args := gathered(p, n)
	parts := make([]*expr, len(args))
	for i, arg := range args {
		var err error
		if parts[i], err = p.condition(arg); err != nil {
			return nil, err
		}
	}
	return joint(p, n.Op, parts), nil
}

// joint joins conditions by AND or OR.
func joint(p *planner, op parse.Operator, parts []*expr) *expr {
	e := &expr{typ: value.Type{Kind: value.TypeBool}, fixed: true}
	byKey, strict, rejects := 0, 0, 0
	for _, part := range parts {
		e.fixed = e.fixed && part.fixed
		if part.keys != nil {
			byKey++
		}
		if part.strict {
			strict++
		}
		if part.strict || part.rejects {
			rejects++
		}
	}
	decides := op == parse.OpOr // the value that decides the result alone
	e.strict = strict == len(parts)
	e.rejects = rejects == len(parts) || op == parse.OpAnd && rejects > 0
	e.eval = func(r *run.Tuple) (any, error) {
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
		if op == parse.OpAnd {
			e.fields = append(e.fields, part.fields...)
		}
	}
	if op == parse.OpOr && len(parts[0].fields) == 1 {
		e.fields = anyField(parts)
	}
	e.stored = storedBy(op, parts)
	switch {
	case op == parse.OpAnd && byKey > 0:
		e.keys = func(t *run.Tuple) keyRanges {
			all := []keyRanges{p.keysOn(t, e.fields)}
			for _, part := range parts {
				if part.keys != nil {
					all = append(all, part.keys(t))
				}
			}
			return intersectionOf(all)
		}
	case op == parse.OpOr && byKey == len(parts):
		e.keys = func(t *run.Tuple) keyRanges {
			var rs keyRanges
			for _, part := range parts {
				rs = append(rs, part.keys(t)...)
			}
			return unionOf(rs)
		}
	}
	return e
}

// compileIs compiles IS NULL, IS TRUE and IS FALSE, which are not NULL for any value.
func compileIs(p *planner, n *parse.Node) (*expr, error) {
	compile, want := p.condition, any(n.Text == "TRUE")
	if n.Text == "NULL" {
		compile, want = p.compile, nil
	}
	e, err := compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	return &expr{typ: value.Type{Kind: value.TypeBool}, fixed: e.fixed, eval: func(r *run.Tuple) (any, error) {
		v, err := e.eval(r)
		return v == want, err
	}}, nil
}

// compileSame compiles IS NOT DISTINCT FROM, which is an = for which NULL equals NULL and NaN equals
// NaN.
func compileSame(p *planner, n *parse.Node) (*expr, error) {
	all, err := p.compared(n, n.Args)
	if err != nil {
		return nil, err
	}
	a, b := all[0], all[1]
	return &expr{typ: value.Type{Kind: value.TypeBool}, fixed: a.fixed && b.fixed, eval: func(t *run.Tuple) (any, error) {
		x, y, err := both(a, b, t)
		return err == nil && value.Order(x, y) == 0, err
	}}, nil
}

// A likeItem is a part of a pattern of LIKE: a character, any single character, or any
// run of characters. Characters of BYTES are bytes.
type likeItem struct {
	kind rune // 'c', '_' or '%'
	char string
}

// compileLike compiles a comparison with a pattern.
func compileLike(p *planner, n *parse.Node) (*expr, error) {
	of, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	pattern, err := p.compile(n.Args[1])
	if err != nil {
		return nil, err
	}
	if of, pattern, err = p.bothTexts(n, of, pattern, n.Args[0], n.Args[1]); err != nil {
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
	e := combinedIn([]*expr{of}, value.Type{Kind: value.TypeBool}, func(ctx context.Context, v []any) (any, error) {
		matches, err := matchesLike(ctx, items, value.TextOf(v[0]), width)
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		return matches, p.placed(err, n.Pos)
	})
	if of.key {
		e.keys = func(t *run.Tuple) keyRanges { return keysLike(items) }
	}
	return e, nil
}

// bothTexts gives two expressions one type, STRING or BYTES.
func (p *planner) bothTexts(n *parse.Node, a, b *expr, ofA, ofB *parse.Node) (_, _ *expr, err error) {
	t := common(a.typ, b)
	if t.Kind == value.TypeNull {
		t.Kind = value.TypeString
	}
	if a, err = p.coerced(ofA, a, t); err != nil {
		return nil, nil, err
	}
	if b, err = p.coerced(ofB, b, t); err != nil {
		return nil, nil, err
	}
	name := cmp.Or(n.Text, "LIKE")
	switch {
	case a.typ.Kind != value.TypeBytes && a.typ.Kind != value.TypeString:
		return nil, nil, p.Errorf(ofA.Pos, "%s takes BYTES or STRING, not %s", name, a.typ)
	case !a.typ.Same(b.typ):
		return nil, nil, p.Errorf(ofB.Pos, "the second operand of %s is %s; it must be %s, as the first", name, b.typ, a.typ)
	}
	return a, b, nil
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

// likeLook is how many comparisons there are between two looks at the context.
const likeLook = 1 << 16

// maxLike bounds the bytes of a pattern of LIKE.
const maxLike = 1 << 20

// matchesLike backtracks to the last run only: the pattern before it has matched
// already.
func matchesLike(ctx context.Context, items []likeItem, s string, width func(string) int) (bool, error) {
	at, run, from := 0, -1, ""
	size := len(s)
	for steps := 0; s != ""; steps++ {
		if steps == maxLikeSteps {
			return false, &parse.Error{Message: fmt.Sprintf("the pattern of LIKE takes too long on a value of %d bytes", size)}
		}
		if steps%likeLook == likeLook-1 && ctx.Err() != nil {
			return false, ctx.Err()
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
