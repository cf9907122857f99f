package bytere

import (
	"strings"
	"sync"

	"rsc.io/binaryregexp/syntax"
)

// An expressionCache keeps compiled expressions between reads: the same filters come
// again and again, and compiling an expression can take longer than reading a row. The
// cache is bounded.
//
// It consists of two halves. New expressions, and expressions of the old half that are
// requested again, go into the young half. When the young half is full it becomes the
// old half, and the previous old half is dropped.
type expressionCache struct {
	mu         sync.Mutex
	young, old map[string]*Regexp
	bytes      int // of the young half
}

// The bounds of one half, and of one expression.
const (
	halfExpressions = 256
	halfBytes       = 256 << 10
	expressionBytes = 64 << 10
)

// expressions is shared by all databases of the process: expressions reveal nothing
// about the data.
var expressions expressionCache

// get is the expression compiled, nil when it is not in the cache.
func (c *expressionCache) get(expr string) *Regexp {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.young[expr]
	if r == nil {
		if r = c.old[expr]; r != nil {
			c.put(expr, r)
		}
	}
	return r
}

// add keeps an expression, unless it is large.
func (c *expressionCache) add(expr string, r *Regexp) {
	if r.size > expressionBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(expr, r)
}

func (c *expressionCache) put(expr string, r *Regexp) {
	if len(c.young) >= halfExpressions || c.bytes+r.size > halfBytes {
		c.young, c.old, c.bytes = nil, c.young, 0
	}
	if c.young == nil {
		c.young = map[string]*Regexp{}
	}
	if c.young[expr] == nil { // another read may have been faster
		c.bytes += r.size
		c.young[strings.Clone(expr)] = r // it may be part of a long text
	}
}

// memory estimates the memory of a compiled expression, in bytes, rather too high than
// too low.
func (r *Regexp) memory(expr string) int {
	n := 512 + 2*len(expr) // the text is kept as UTF-8
	for _, list := range [][]string{r.stems.Exact, r.stems.Prefixes} {
		for _, s := range list {
			n += 16 + len(s)
		}
	}
	if r.pieces != nil {
		return n + 16*len(r.pieces.texts) + len(expr)
	}
	if r.quick != nil { // without backtracking the tables grow with the square
		n += 128*r.length + 8*r.length*r.length
	}
	return n + 12*r.runes + r.length*(64+48+4*8) // of the library, of ours, and the lists of two matches
}

// instructions is about how long the program of an expression is.
func instructions(re *syntax.Regexp) int {
	n := 2 + len(re.Rune)
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1) // less than 1,000 with all around it
	}
	return n
}
