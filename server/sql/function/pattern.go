package function

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/smolwc/smolwc/server/sql/parse"
)

// A pattern is a compiled regular expression. Matching takes the time of its text times its
// size at most, which are bounded together.
type pattern struct {
	*regexp.Regexp
	text    string
	size    int  // instructions; all may be under way at one character
	literal bool // it is found as a text
	context bool // what precedes a match decides about it
	within  func() *regexp.Regexp
}

// maxMatchSteps bounds a search, or a search for all matches, in instructions: about a
// second.
const maxMatchSteps = 1 << 27

// cache has the compiled expressions of queries under way.
var cache struct {
	sync.Mutex
	byText map[string]*pattern
}

const (
	maxCached  = 100
	maxPattern = 4096
)

func compiled(text string) (*pattern, error) {
	cache.Lock()
	defer cache.Unlock()
	if re := cache.byText[text]; re != nil {
		return re, nil
	}
	if len(text) > maxPattern {
		return nil, parse.Invalid("the regular expression has %d bytes; it may have up to %d", len(text), maxPattern)
	}
	re, err := newPattern(strings.Clone(text)) // it may lie in a row that is only lent
	if err != nil {
		return nil, err
	}
	if cache.byText == nil || len(cache.byText) >= maxCached {
		cache.byText = map[string]*pattern{}
	}
	cache.byText[re.text] = re
	return re, nil
}

func newPattern(text string) (*pattern, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, parse.Invalid("Cannot parse regular expression: %s", err)
	}
	p := &pattern{Regexp: re, text: text}
	_, p.literal = re.LiteralPrefix()
	if tree, err := syntax.Parse(text, syntax.Perl); err == nil {
		if prog, err := syntax.Compile(tree.Simplify()); err == nil {
			p.size = len(prog.Inst)
			p.context = slices.ContainsFunc(prog.Inst, func(i syntax.Inst) bool { return i.Op == syntax.InstEmptyWidth })
		}
	}
	p.within = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^(?s:..*?)(" + text + ")") })
	return p, nil
}

var errSteps = parse.Invalid("the regular expression takes too long on a value of this size")

// takes refuses texts on which a search may take too long.
func (p *pattern) takes(s string) error {
	if !p.literal && len(s) > maxMatchSteps/max(p.size, 1) {
		return errSteps
	}
	return nil
}

// next is the first match from a byte on, and its groups; nil: there is no match. The
// character before the byte is what the match sees before itself.
func (p *pattern) next(s string, from int) []int {
	var at []int
	if from > 0 && p.context {
		_, width := utf8.DecodeLastRuneInString(s[:from])
		from -= width
		if at = p.within().FindStringSubmatchIndex(s[from:]); at != nil {
			at = at[2:]
		}
	} else {
		at = p.FindStringSubmatchIndex(s[from:])
	}
	for i := range at {
		if at[i] >= 0 {
			at[i] += from
		}
	}
	return at
}

// each calls fn with the indexes of each match from a byte on, and of its groups, until fn
// returns false. If touching is true, a match may be empty right after another one, but not
// at the end of the text.
func (p *pattern) each(s string, from int, touching bool, fn func(at []int) (bool, error)) error {
	if err := p.takes(s); err != nil {
		return err
	}
	steps, last := 0, -1
	for n := 1; from <= len(s); n++ {
		if n > 1 && n < samples && n&(n-1) == 0 || n%samples == 0 {
			each := min(n, samples)
			room := (maxMatchSteps/max(p.size, 1) - steps) / each
			ahead := p.ahead(s[from:], room)
			if steps += ahead * each; ahead > room {
				return errSteps
			}
		}
		at := p.next(s, from)
		if at == nil {
			return nil
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
func (p *pattern) ahead(s string, room int) int {
	s = s[:min(len(s), room+utf8.UTFMax)]
	r := strings.NewReader(s)
	p.FindReaderIndex(r)
	return len(s) - r.Len()
}
