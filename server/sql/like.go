package sql

import (
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/server/sql/parse"
	"github.com/smolwc/smolwc/server/sql/value"
)

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
		var ok bool
		if items, ok = likeItems(value.TextOf(v), of.typ.Kind == value.TypeString); !ok {
			return nil, p.Errorf(n.Args[1].Pos, `the pattern of LIKE ends with \, which stands before the character that it means`)
		}
	}
	width := charWidth(of.typ.Kind == value.TypeString)
	e := mapped(of, value.Type{Kind: value.TypeBool}, func(v any) (any, error) { return matchesLike(items, value.TextOf(v), width), nil })
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

// matchesLike backtracks to the last run only: the pattern before it has matched
// already.
func matchesLike(items []likeItem, s string, width func(string) int) bool {
	at, run, from := 0, -1, ""
	for s != "" {
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
			return false
		}
	}
	for at < len(items) && items[at].kind == '%' {
		at++
	}
	return at == len(items)
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
