package bind

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

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
	text := of.typ.Kind == value.TypeString
	width := charWidth(text)
	// matches compares a value; items are those of the pattern.
	matches := func(ctx context.Context, items []likeItem, v any) (any, error) {
		found, err := matchesLike(ctx, items, value.TextOf(v), width)
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		return found, p.placed(err, n.Pos)
	}
	var items []likeItem
	known := pattern.fixed && !pattern.literal && !p.params.bound() // as soon as the parameters are
	if pattern.literal || pattern.fixed && p.params.bound() {
		v, err := pattern.eval(nil)
		if known = err == nil; known && v == nil {
			return fixedExpr(value.Type{Kind: value.TypeBool}, nil), nil
		}
		if known { // else it is of a query, or of the row of the query around
			if items, err = patternItems(p, n, v, text); err != nil {
				return nil, err
			}
		}
	}
	var e *expr
	if known {
		e = combinedIn([]*expr{of}, value.Type{Kind: value.TypeBool}, func(ctx context.Context, v []any) (any, error) {
			return matches(ctx, items, v[0])
		})
	} else {
		e = combinedIn([]*expr{of, pattern}, value.Type{Kind: value.TypeBool}, func(ctx context.Context, v []any) (any, error) {
			items, err := patternItems(p, n, v[1], text)
			if err != nil {
				return nil, err
			}
			return matches(ctx, items, v[0])
		})
	}
	switch {
	case of.key && known:
		e.keys = func(t *run.Tuple) keyRanges { return keysLike(items) }
	case of.key && pattern.fixed:
		e.keys = keysWhere(pattern, func(pattern string) keyRanges {
			items, ok := likeItems(pattern, text)
			if !ok {
				return allKeys // each row says what is wrong
			}
			return keysLike(items)
		})
	}
	return e, nil
}

// patternItems are the parts of a pattern of LIKE, which is not NULL.
func patternItems(p *planner, n *parse.Node, v any, utf bool) ([]likeItem, error) {
	pattern := value.TextOf(v)
	if len(pattern) > maxLike {
		return nil, p.Errorf(n.Args[1].Pos, "the pattern of LIKE has %d bytes; it may have up to %d", len(pattern), maxLike)
	}
	items, ok := likeItems(pattern, utf)
	if !ok {
		return nil, p.Errorf(n.Args[1].Pos, `the pattern of LIKE ends with \, which stands before the character that it means`)
	}
	return items, nil
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

// matchesLike backtracks to the last run only: the pattern before it already matched.
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
