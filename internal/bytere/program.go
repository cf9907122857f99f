package bytere

import (
	"sync"
	"unicode"

	"rsc.io/binaryregexp/syntax"
)

// A program matches whole strings. It follows all alternatives at a time, so a match takes
// at most a step per byte and instruction of the program, and can be stopped.
type program struct {
	insts   []inst
	start   uint32
	engines sync.Pool
}

type inst struct {
	op       syntax.InstOp // InstRune for all that take a byte
	out, arg uint32
	bytes    [4]uint64 // that an InstRune takes
}

func (in *inst) takes(c byte) bool { return in.bytes[c>>6]>>(c&63)&1 != 0 }

func (in *inst) take(from, to rune) {
	for c := from; c <= min(to, 0xff); c++ {
		in.bytes[c>>6] |= 1 << (c & 63)
	}
}

func newProgram(prog *syntax.Prog) *program {
	p := &program{insts: make([]inst, len(prog.Inst)), start: uint32(prog.Start)}
	for i := range prog.Inst {
		from, in := &prog.Inst[i], &p.insts[i]
		in.op, in.out, in.arg = from.Op, from.Out, from.Arg
		switch from.Op {
		case syntax.InstRuneAny:
			in.take(0, 0xff)
		case syntax.InstRuneAnyNotNL:
			in.take(0, '\n'-1)
			in.take('\n'+1, 0xff)
		case syntax.InstRune, syntax.InstRune1:
			in.takeRunes(from)
		default:
			continue
		}
		in.op = syntax.InstRune
	}
	p.engines.New = func() any { return &engine{seen: make([]uint32, len(p.insts))} }
	return p
}

// takeRunes takes the bytes of a literal, which may be folded, or of a class, which is given
// as pairs of bounds.
func (in *inst) takeRunes(from *syntax.Inst) {
	if len(from.Rune) == 1 {
		c := from.Rune[0]
		in.take(c, c)
		if syntax.Flags(from.Arg)&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(c); f != c; f = unicode.SimpleFold(f) {
				in.take(f, f)
			}
		}
		return
	}
	for i := 0; i+1 < len(from.Rune); i += 2 {
		in.take(from.Rune[i], from.Rune[i+1])
	}
}

// An engine is the memory of a match.
type engine struct {
	now, next []uint32 // instructions that take the byte at a place, and at the one after
	seen      []uint32 // by instruction, the place where it was reached last
	place     uint32   // counted over all matches
	stack     []uint32
	matched   bool // the program may end here
}

// match reports whether the program matches the whole of s. Its error comes from w.
func (p *program) match(w *Work, s string) (bool, error) {
	e := p.engines.Get().(*engine)
	defer p.engines.Put(e)
	e.next = e.next[:0]
	e.enter()
	if err := w.Spend(1 + e.follow(p, p.start, s, 0)); err != nil {
		return false, err
	}
	for i := range len(s) {
		e.now, e.next = e.next, e.now[:0]
		if len(e.now) == 0 {
			return false, nil
		}
		e.enter()
		steps := len(e.now)
		for _, at := range e.now {
			if in := &p.insts[at]; in.takes(s[i]) {
				steps += e.follow(p, in.out, s, i+1)
			}
		}
		if err := w.Spend(steps); err != nil {
			return false, err
		}
	}
	return e.matched, nil
}

// enter begins a further place.
func (e *engine) enter() {
	e.matched = false
	if e.place++; e.place == 0 {
		clear(e.seen)
		e.place = 1
	}
}

// follow adds an instruction to next, or those that follow it without a byte, and returns
// how many it looked at. at is the place in s.
func (e *engine) follow(p *program, from uint32, s string, at int) (looked int) {
	e.stack = append(e.stack[:0], from)
	for len(e.stack) > 0 {
		i := e.stack[len(e.stack)-1]
		e.stack = e.stack[:len(e.stack)-1]
		looked++
		if e.seen[i] == e.place {
			continue
		}
		e.seen[i] = e.place
		switch in := &p.insts[i]; in.op {
		case syntax.InstRune:
			e.next = append(e.next, i)
		case syntax.InstMatch:
			e.matched = true
		case syntax.InstAlt, syntax.InstAltMatch:
			e.stack = append(e.stack, in.arg, in.out)
		case syntax.InstCapture, syntax.InstNop:
			e.stack = append(e.stack, in.out)
		case syntax.InstEmptyWidth:
			if assertion := syntax.EmptyOp(in.arg); around(s, at)&assertion == assertion {
				e.stack = append(e.stack, in.out)
			}
		}
	}
	return looked
}

// around describes a place between two bytes of a string.
func around(s string, at int) syntax.EmptyOp {
	before, after := rune(-1), rune(-1)
	if at > 0 {
		before = rune(s[at-1])
	}
	if at < len(s) {
		after = rune(s[at])
	}
	return syntax.EmptyOpContext(before, after)
}
