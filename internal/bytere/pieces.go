package bytere

import (
	"strings"

	"rsc.io/binaryregexp/syntax"
)

// Pieces are an expression that is strings with .* before, between or after them,
// as most are. Looking for the strings is several times as fast as matching.
type pieces struct {
	texts []string // the first and the last are where a match begins and ends
	line  bool     // neither the texts nor the bytes between them contain line feeds
}

// piecesOf are the pieces of an expression, nil when it is of another kind.
func piecesOf(re *syntax.Regexp) *pieces {
	parts := []*syntax.Regexp{re}
	for parts[0].Op == syntax.OpCapture {
		parts = parts[0].Sub[:1]
	}
	if parts[0].Op == syntax.OpConcat {
		parts = parts[0].Sub
	}
	p := &pieces{texts: []string{""}}
	var gap syntax.Op
	for i, part := range parts {
		if part.Op == syntax.OpBeginText && i == 0 || part.Op == syntax.OpEndText && i == len(parts)-1 {
			continue // the whole is matched anyway
		}
		if text, ok := oneLiteral(part); ok {
			p.texts[len(p.texts)-1] += text
			continue
		}
		if part.Op != syntax.OpStar {
			return nil
		}
		switch of := part.Sub[0].Op; {
		case of != syntax.OpAnyChar && of != syntax.OpAnyCharNotNL, gap != 0 && of != gap:
			return nil
		default:
			gap = of
		}
		p.texts = append(p.texts, "")
	}
	if p.line = gap == syntax.OpAnyCharNotNL; p.line && strings.Contains(strings.Join(p.texts, ""), "\n") {
		return nil
	}
	return p
}

func oneLiteral(re *syntax.Regexp) (string, bool) {
	if re.Op != syntax.OpLiteral {
		return "", false
	}
	texts, ok := literal(re)
	if !ok {
		return "", false
	}
	return texts[0], true
}

// match reports whether the pieces are all of s, in their order. The first place for
// each is as good as any.
func (p *pieces) match(w *Work, s string) (bool, error) {
	last := len(p.texts) - 1
	if last == 0 {
		return s == p.texts[0], nil
	}
	rest, ok := strings.CutPrefix(s, p.texts[0])
	if !ok {
		return false, nil
	}
	if rest, ok = strings.CutSuffix(rest, p.texts[last]); !ok {
		return false, nil
	}
	if p.line {
		if at, err := index(w, rest, "\n"); at >= 0 || err != nil {
			return false, err
		}
	}
	for _, text := range p.texts[1:last] {
		at, err := index(w, rest, text)
		if at < 0 || err != nil {
			return false, err
		}
		rest = rest[at+len(text):]
	}
	return true, nil
}

// A search goes on in windows. It takes a step for a number of bytes.
const (
	window     = 1 << 18
	searchStep = 16
)

// index is the first place of a text in s, -1 without one.
func index(w *Work, s, text string) (int, error) {
	for from := 0; ; from += window {
		part := s[from:min(from+window+len(text), len(s))]
		if err := w.Spend(1 + len(part)/searchStep); err != nil {
			return -1, err
		}
		if at := strings.Index(part, text); at >= 0 {
			return from + at, nil
		}
		if from+len(part) == len(s) {
			return -1, nil
		}
	}
}
