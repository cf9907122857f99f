package function

import (
	"context"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/smolwc/smolwc/sql/parse"
)

// A pattern is a compiled regular expression. Matching takes the time of its text times its
// size at most, which are bounded together.
type pattern struct {
	*regexp.Regexp
	text    string
	size    int    // instructions; all may be under way at one character
	prefix  string // of every match
	literal bool   // it is found as a text
	context bool   // what precedes a match decides about it
	within  func() *regexp.Regexp
}

// maxMatchSteps bounds a search, or a search for all matches, in instructions: about a
// second.
const maxMatchSteps = 1 << 27

// cache holds the compiled expressions of queries under way.
var cache struct {
	sync.Mutex
	byText map[string]*pattern
}

const (
	maxCached  = 100
	maxPattern = 4096
)

func compiled(text string) (*pattern, error) {
	if re := cached(text); re != nil {
		return re, nil
	}
	if len(text) > maxPattern {
		return nil, parse.Invalid("the regular expression has %d bytes; it may have up to %d", len(text), maxPattern)
	}
	re, err := newPattern(strings.Clone(text)) // it may lie in a row that is only lent
	if err != nil {
		return nil, err
	}
	cache.Lock()
	defer cache.Unlock()
	if cache.byText == nil || len(cache.byText) >= maxCached {
		cache.byText = map[string]*pattern{}
	}
	cache.byText[re.text] = re
	return re, nil
}

func cached(text string) *pattern {
	cache.Lock()
	defer cache.Unlock()
	return cache.byText[text]
}

func newPattern(text string) (*pattern, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, parse.Invalid("Cannot parse regular expression: %s", err)
	}
	p := &pattern{Regexp: re, text: text}
	p.prefix, p.literal = re.LiteralPrefix()
	if tree, err := syntax.Parse(text, syntax.Perl); err == nil {
		if prog, err := syntax.Compile(tree.Simplify()); err == nil {
			p.size = len(prog.Inst)
			p.context = slices.ContainsFunc(prog.Inst, func(i syntax.Inst) bool { return i.Op == syntax.InstEmptyWidth })
		}
	}
	p.within = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^(?s:..*?)(" + text + ")") })
	return p, nil
}

func (p *pattern) errSteps(s string) error {
	return parse.Invalid("the regular expression %.100q takes too long on a value of %d bytes", p.text, len(s))
}

// takes refuses texts on which a search may take too long.
func (p *pattern) takes(s string) error {
	if !p.literal && len(s) > maxMatchSteps/max(p.size, 1) {
		return p.errSteps(s)
	}
	return nil
}

func (p *pattern) contains(ctx context.Context, s string) (bool, error) {
	if err := p.takes(s); err != nil {
		return false, err
	}
	from := p.skip(s)
	switch {
	case from < 0:
		return false, nil
	case p.quick(s[from:]):
		return p.MatchString(s), nil
	}
	r := p.reader(ctx, s[from:])
	found := p.MatchReader(r)
	return found && r.err == nil, r.err
}

// skip is where a first match begins at the earliest; -1: there is no such place.
func (p *pattern) skip(s string) int {
	if p.context || p.prefix == "" {
		return 0
	}
	return strings.Index(s, p.prefix)
}

// quickSteps is some milliseconds. A match that may take more reads its text, so that the
// context can end it.
const quickSteps = 1 << 19

func (p *pattern) quick(s string) bool { return p.literal || p.size*len(s) <= quickSteps }

// find is the first match, as FindStringSubmatchIndex of re, which is the pattern or
// contains it.
func (p *pattern) find(ctx context.Context, re *regexp.Regexp, s string) ([]int, error) {
	from := p.skip(s)
	switch {
	case from < 0:
		return nil, nil
	case p.quick(s[from:]):
		return re.FindStringSubmatchIndex(s), nil
	}
	r := p.reader(ctx, s[from:])
	at := re.FindReaderSubmatchIndex(r)
	return moved(at, from), r.err
}

// moved are indexes of a text that begins at a byte of another one.
func moved(at []int, from int) []int {
	for i := range at {
		if at[i] >= 0 {
			at[i] += from
		}
	}
	return at
}

// A reader reads a text, until the context ends.
type reader struct {
	strings.Reader
	ctx  context.Context
	each int // characters between two looks at the context
	left int
	err  error // the context's
}

func (p *pattern) reader(ctx context.Context, s string) *reader {
	r := &reader{ctx: ctx, each: quickSteps / max(p.size, 1)}
	r.Reset(s)
	return r
}

// ReadRune implements [io.RuneReader].
func (r *reader) ReadRune() (rune, int, error) {
	if r.left--; r.left < 0 {
		r.left = r.each
		if r.err = r.ctx.Err(); r.err != nil {
			return 0, 0, r.err
		}
	}
	return r.Reader.ReadRune()
}

// next is the first match from a byte on, and its groups; nil: there is no match. The
// character before the byte is what the match sees before itself.
func (p *pattern) next(ctx context.Context, s string, from int) (at []int, err error) {
	if from > 0 && p.context {
		_, width := utf8.DecodeLastRuneInString(s[:from])
		from -= width
		if at, err = p.find(ctx, p.within(), s[from:]); at != nil {
			at = at[2:]
		}
	} else {
		at, err = p.find(ctx, p.Regexp, s[from:])
	}
	if err != nil {
		return nil, err
	}
	return moved(at, from), nil
}

// each calls fn with the indexes of each match from a byte on, and of its groups, until fn
// returns false. If touching is true, a match may be empty right after another one, but not
// at the end of the text.
func (p *pattern) each(ctx context.Context, s string, from int, touching bool, fn func(at []int) (bool, error)) error {
	if err := p.takes(s); err != nil {
		return err
	}
	steps, last := 0, -1
	for n := 1; from <= len(s); n++ {
		if n > 1 && n < samples && n&(n-1) == 0 || n%samples == 0 {
			each := min(n, samples)
			room := (maxMatchSteps/max(p.size, 1) - steps) / each
			ahead, err := p.ahead(ctx, s[from:], room)
			if err != nil {
				return err
			}
			if steps += ahead * each; ahead > room {
				return p.errSteps(s)
			}
		}
		at, err := p.next(ctx, s, from)
		if at == nil || err != nil {
			return err
		}
		if n%8 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		from = at[1]
		if empty := at[0] == at[1]; empty {
			_, width := utf8.DecodeRuneInString(s[from:])
			from += max(width, 1)
			if touching && at[0] == len(s) && s != "" {
				return nil
			}
			if !touching && at[0] == last {
				continue
			}
		}
		last = at[1]
		if more, err := fn(at); !more || err != nil {
			return err
		}
	}
	return nil
}

// One of this number of matches is measured: each match may look far beyond
// its end, and the time of all may be the square of the text.
const samples = 1024

// ahead is the number of bytes that a search reads to find its first match, up to a bit more
// than room.
func (p *pattern) ahead(ctx context.Context, s string, room int) (int, error) {
	s = s[:min(len(s), room+utf8.UTFMax)]
	r := p.reader(ctx, s)
	p.FindReaderIndex(r)
	return len(s) - r.Len(), r.err
}
