// Package bytere matches whole byte strings with regular expressions, as RE2 does in
// its Latin-1 mode. It finds prefixes and strings that bound an expression's
// matches, so that a store need not read others, and it keeps compiled expressions.
package bytere

import (
	"fmt"
	"slices"
	"sync"

	"rsc.io/binaryregexp"
	"rsc.io/binaryregexp/syntax"
)

// A Regexp is a compiled expression. It is immutable and safe for concurrent use.
type Regexp struct {
	quick   *binaryregexp.Regexp // the library's matcher, for short strings; nil when it is large, or there are pieces
	program func() *program
	stems   Stems
	pieces  *pieces // nil when it is not of that kind
	size    int     // see memory
	steps   int     // see instructions
	length  int     // of the program
	runes   int     // in it
}

// Compile compiles an expression, or takes it from the cache. Expressions have RE2's
// syntax; each byte of the expression is a character.
func Compile(expr string) (*Regexp, error) {
	if r := expressions.get(expr); r != nil {
		return r, nil
	}
	tree, err := parse(expr)
	if err == nil && instructions(tree) > MaxSteps {
		err = fmt.Errorf("the expression is too large: with its repetitions written out it has more than %d steps", MaxSteps)
	}
	if err != nil {
		return nil, err
	}
	r := &Regexp{stems: stemsOf(tree), pieces: piecesOf(tree), steps: instructions(tree)}
	if r.pieces == nil {
		prog, err := syntax.Compile(tree.Simplify())
		if err != nil {
			return nil, err
		}
		r.program = sync.OnceValue(func() *program { return newProgram(prog) })
		for i := range prog.Inst {
			r.runes += len(prog.Inst[i].Rune)
		}
		if r.length = len(prog.Inst); r.length <= quickSteps {
			r.quick = wholeOf(expr)
		}
	}
	r.size = r.memory(expr)
	expressions.add(expr, r)
	return r, nil
}

// MaxSteps bounds the memory of a compiled expression to some tens of MiB.
const MaxSteps = 100_000

// parse parses an expression of bytes. The library reads an expression as UTF-8 and
// matches bytes with code points up to ff: the text is one of those code points.
func parse(expr string) (*syntax.Regexp, error) {
	tree, err := syntax.Parse(latin1(expr), syntax.Perl)
	if err == nil {
		err = checkCodePoints(tree)
	}
	return tree, err
}

// CheckSteps refuses expressions that have more than MaxSteps steps together: compiled,
// they would take too much memory. It does not compile them, and leaves other mistakes in
// them to Compile.
func CheckSteps(exprs []string) error {
	steps := 0
	for _, expr := range exprs {
		if r := expressions.get(expr); r != nil {
			steps += r.steps
		} else if tree, err := parse(expr); err == nil {
			steps += instructions(tree)
		}
		if steps > MaxSteps {
			return fmt.Errorf("with the repetitions written out they have more than %d steps together", MaxSteps)
		}
	}
	return nil
}

// MustCompile is Compile for a checked expression.
func MustCompile(expr string) *Regexp {
	re, err := Compile(expr)
	if err != nil {
		panic(err)
	}
	return re
}

// Stems bound the strings that the expression matches.
func (r *Regexp) Stems() Stems { return r.stems }

// Match reports whether the expression matches the whole of s. Its error comes from w.
func (r *Regexp) Match(w *Work, s string) (bool, error) {
	if r.pieces != nil {
		return r.pieces.match(w, s)
	}
	if r.quick != nil && len(s) <= quickBytes {
		if err := w.Spend(1 + r.length*len(s)/quickShare); err != nil {
			return false, err
		}
		return r.quick.MatchString(s), nil
	}
	return r.program().match(w, s)
}

// The library's matcher is quicker, and cannot be stopped: it is for small programs and short
// strings. It does not say how many steps it takes: at most one for each instruction at each
// byte, and mostly far fewer.
const (
	quickSteps = ByteSteps
	quickBytes = 1 << 10
	quickShare = 4 // one of this number of steps is counted
)

// wholeOf is the library's matcher of the whole of strings, nil when it refuses the
// expression.
func wholeOf(expr string) *binaryregexp.Regexp {
	for _, end := range []string{`)\z`, `\E)\z`} { // an expression may end within \Q
		if re, err := binaryregexp.Compile(`\A(?:` + latin1(expr) + end); err == nil {
			return re
		}
	}
	return nil
}

// latin1 is the UTF-8 of the code points that have the bytes of s as numbers.
func latin1(s string) string {
	points := make([]rune, len(s))
	for i := range len(s) {
		points[i] = rune(s[i])
	}
	return string(points)
}

// checkCodePoints finds a literal, such as \x{100}, that is not a byte.
func checkCodePoints(re *syntax.Regexp) error {
	if re.Op == syntax.OpLiteral {
		for _, c := range re.Rune {
			if c > 0xff {
				return fmt.Errorf(`\x{%x} is not a byte`, c)
			}
		}
	}
	for _, sub := range re.Sub {
		if err := checkCodePoints(sub); err != nil {
			return err
		}
	}
	return nil
}

// Stems bound the strings that an expression can match: the strings of Exact, and
// those that start with one of Prefixes.
type Stems struct {
	Exact, Prefixes []string
	// Whole says that the expression matches all of them.
	Whole bool
}

// maxStems bounds the ranges that the store is asked for.
const maxStems = 64

// anything is the bound of an expression when nothing is known of its matches.
func anything(whole bool) Stems { return Stems{Prefixes: []string{""}, Whole: whole} }

// Bounded reports whether there is a string beyond the stems.
func (s Stems) Bounded() bool { return !slices.Contains(s.Prefixes, "") }

func stemsOf(re *syntax.Regexp) Stems {
	if lits, ok := literals(re); ok {
		return Stems{Exact: lits, Whole: true}
	}
	switch re.Op {
	case syntax.OpCapture:
		return stemsOf(re.Sub[0])
	case syntax.OpStar:
		return anything(re.Sub[0].Op == syntax.OpAnyChar)
	case syntax.OpAlternate:
		return stemsOfAlternate(re.Sub)
	case syntax.OpConcat:
		return stemsOfConcat(re.Sub)
	}
	return anything(false)
}

func stemsOfAlternate(subs []*syntax.Regexp) Stems {
	all := Stems{Whole: true}
	for _, sub := range subs {
		s := stemsOf(sub)
		all.Exact = append(all.Exact, s.Exact...)
		all.Prefixes = append(all.Prefixes, s.Prefixes...)
		all.Whole = all.Whole && s.Whole
		if len(all.Exact)+len(all.Prefixes) > maxStems {
			return anything(false)
		}
	}
	return all
}

func stemsOfConcat(subs []*syntax.Regexp) Stems {
	heads := []string{""}
	for i, sub := range subs {
		if sub.Op == syntax.OpBeginText && i == 0 || sub.Op == syntax.OpEndText && i == len(subs)-1 {
			continue // the whole is matched anyway
		}
		if lits, ok := literals(sub); ok && len(heads)*len(lits) <= maxStems {
			heads = product(heads, lits)
			continue
		}
		rest := subs[i:]
		if n := len(rest); n > 1 && rest[n-1].Op == syntax.OpEndText {
			rest = rest[:n-1]
		}
		return Stems{Prefixes: heads, Whole: len(rest) == 1 && rest[0].Op == syntax.OpStar && rest[0].Sub[0].Op == syntax.OpAnyChar}
	}
	return Stems{Exact: heads, Whole: true}
}

// literals are the strings that an expression matches, when they are few.
func literals(re *syntax.Regexp) ([]string, bool) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return []string{""}, true
	case syntax.OpLiteral:
		return literal(re)
	case syntax.OpCharClass:
		return classLiterals(re.Rune)
	case syntax.OpCapture:
		return literals(re.Sub[0])
	case syntax.OpQuest:
		lits, ok := literals(re.Sub[0])
		return append(lits, ""), ok
	case syntax.OpAlternate:
		return joinLiterals(nil, re.Sub, func(all, lits []string) []string { return append(all, lits...) })
	case syntax.OpConcat:
		return joinLiterals([]string{""}, re.Sub, product)
	}
	return nil, false
}

func literal(re *syntax.Regexp) ([]string, bool) {
	if re.Flags&syntax.FoldCase != 0 {
		return nil, false
	}
	b := make([]byte, len(re.Rune))
	for i, c := range re.Rune {
		b[i] = byte(c)
	}
	return []string{string(b)}, true
}

// classLiterals are the bytes of a class, which is given as pairs of bounds.
func classLiterals(pairs []rune) ([]string, bool) {
	var lits []string
	for i := 0; i < len(pairs); i += 2 {
		for c := pairs[i]; c <= min(pairs[i+1], 0xff); c++ {
			if lits = append(lits, string([]byte{byte(c)})); len(lits) > maxStems {
				return nil, false
			}
		}
	}
	return lits, true
}

func joinLiterals(all []string, subs []*syntax.Regexp, join func(all, lits []string) []string) ([]string, bool) {
	for _, sub := range subs {
		lits, ok := literals(sub)
		if !ok || len(all)*len(lits) > maxStems {
			return nil, false
		}
		if all = join(all, lits); len(all) > maxStems {
			return nil, false
		}
	}
	return all, true
}

func product(heads, tails []string) []string {
	all := make([]string, 0, len(heads)*len(tails))
	for _, h := range heads {
		for _, t := range tails {
			all = append(all, h+t)
		}
	}
	return all
}
