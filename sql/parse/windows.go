package parse

import (
	"strings"
)

// over reads OVER and a window after a call, if they stand here.
func (p *parser) over(call *Node) (*Node, error) {
	t := p.peek()
	after := p.tokens[min(p.at+1, len(p.tokens)-1)]
	if !t.is("OVER") || !after.is("(") && !after.names() { // SELECT COUNT(*) over FROM t
		return call, nil
	}
	p.take()
	p.goBeyond("window functions", call.Pos)
	call.Windowed = true
	n := &Node{Op: OpOver, Pos: call.Pos, Text: call.Text, Args: []*Node{call}}
	spec, err := p.windowSpec()
	if err != nil {
		return nil, err
	}
	if spec.base == nil {
		n.sees(spec)
	} else {
		p.unnamed = append(p.unnamed, unnamed{n, spec})
	}
	return n, nil
}

// sees gives the node of OpOver its window.
func (n *Node) sees(spec windowSpec) {
	n.Over = &Window{Partition: len(spec.partition), Frame: spec.frame}
	n.Order = spec.order
	n.Args = append(n.Args[:1:1], spec.partition...)
	for _, o := range spec.order {
		n.Args = append(n.Args, o.Expr)
	}
}

// windowSpec reads a window: a name, or its parts in brackets.
func (p *parser) windowSpec() (w windowSpec, err error) {
	if t := p.peek(); !t.is("(") {
		if t, err = p.name("( or the name of a window"); err == nil {
			w.base = &Name{t.text, t.pos}
		}
		return w, err
	}
	p.take()
	if err := p.enter(); err != nil {
		return w, err
	}
	defer func() { p.depth-- }()
	if t := p.peek(); p.atName() && !t.is("PARTITION") && !t.is("ROWS") && !t.is("RANGE") {
		p.take()
		w.base = &Name{t.text, t.pos}
	}
	if p.accept("PARTITION", "BY") {
		for more := true; more; more = p.accept(",") {
			n, err := p.or()
			if err != nil {
				return w, err
			}
			w.partition = append(w.partition, n)
		}
	}
	var s Stage
	if err := p.order(&s); err != nil {
		return w, err
	}
	w.order = s.Order
	if t := p.peek(); t.is("ROWS") || t.is("RANGE") {
		if w.frame, err = p.frame(); err != nil {
			return w, err
		}
	}
	if p.peek().is(")") {
		p.take()
		return w, nil
	}
	return w, p.unexpected("PARTITION BY, ORDER BY, ROWS, RANGE or ), in this order,")
}

// frame reads ROWS or RANGE and the bounds of a frame.
func (p *parser) frame() (f *Frame, err error) {
	t := p.take()
	f = &Frame{Pos: t.pos, Rows: t.is("ROWS"), End: Bound{Kind: CurrentRow, Pos: t.pos}}
	between := p.accept("BETWEEN")
	if f.Start, err = p.bound(); err != nil {
		return nil, err
	}
	if between {
		if err := p.expect("AND"); err != nil {
			return nil, err
		}
		if f.End, err = p.bound(); err != nil {
			return nil, err
		}
	}
	switch {
	case f.Start.Kind == UnboundedFollowing:
		return nil, p.Errorf(f.Start.Pos, "a frame cannot start with UNBOUNDED FOLLOWING")
	case f.End.Kind == UnboundedPreceding:
		return nil, p.Errorf(f.End.Pos, "a frame cannot end with UNBOUNDED PRECEDING")
	case f.Start.Kind > f.End.Kind:
		return nil, p.Errorf(f.Start.Pos, "a frame cannot start after its end: %s", f)
	}
	return f, nil
}

func (p *parser) bound() (b Bound, err error) {
	t := p.peek()
	b.Pos = t.pos
	switch {
	case p.accept("CURRENT", "ROW"):
		b.Kind = CurrentRow
		return b, nil
	case p.accept("UNBOUNDED", "PRECEDING"):
		return b, nil
	case p.accept("UNBOUNDED", "FOLLOWING"):
		b.Kind = UnboundedFollowing
		return b, nil
	case t.is("-") || t.is("+") || t.kind == IntToken || t.kind == FloatToken || t.kind == ParamToken:
		if b.By, err = p.unary(); err != nil {
			return b, err
		}
	}
	if b.By == nil || b.By.Op != OpLiteral && b.By.Op != OpParam {
		return b, p.Errorf(t.pos, "Syntax error: the bound of a frame is UNBOUNDED, CURRENT ROW, a number or a parameter, and not %s", t)
	}
	switch {
	case p.accept("PRECEDING"):
		b.Kind = Preceding
	case p.accept("FOLLOWING"):
		b.Kind = Following
	default:
		return b, p.unexpected("PRECEDING or FOLLOWING")
	}
	return b, nil
}

// windows reads WINDOW, if it stands here, and looks up the windows of the calls that were read
// since there were from of them.
func (p *parser) windows(s *Stage, from int) error {
	if t := p.peek(); (s.Kind == SelectStage || s.Kind == ExtendStage) && p.accept("WINDOW") {
		p.goBeyond("WINDOW", t.pos)
		for more := true; more; more = p.accept(",") {
			t, err := p.name("the name of a window")
			if err != nil {
				return err
			}
			if s.window(t.text) != nil {
				return p.Errorf(t.pos, "WINDOW gives the name %s to two windows", t.text)
			}
			if err := p.expect("AS"); err != nil {
				return err
			}
			spec, err := p.windowSpec()
			if err != nil {
				return err
			}
			if spec, err = p.extended(s, spec); err != nil {
				return err
			}
			if s.windows = append(s.windows, namedWindow{t.text, spec}); len(s.windows) > maxWindows {
				return p.Errorf(t.pos, "WINDOW has too many names; it may have up to %d", maxWindows)
			}
		}
	}
	return p.lookUp(s, from)
}

// lookUp looks up the windows of the calls that were read since there were from of them.
func (p *parser) lookUp(s *Stage, from int) error {
	for _, u := range p.unnamed[from:] {
		spec, err := p.extended(s, u.spec)
		if err != nil {
			return err
		}
		if p.repeated += len(spec.partition) + len(spec.order); p.repeated > maxRepeated {
			return p.Errorf(u.over.Pos, "the query is too large: the named windows of its functions come to more than %d expressions", maxRepeated)
		}
		u.over.sees(spec)
	}
	p.unnamed = p.unnamed[:from]
	return nil
}

func (s *Stage) window(name string) *windowSpec {
	for i := range s.windows {
		if Same(s.windows[i].name, name) {
			return &s.windows[i].spec
		}
	}
	return nil
}

// extended is a window with what the named window has that it extends.
func (p *parser) extended(s *Stage, w windowSpec) (windowSpec, error) {
	if w.base == nil {
		return w, nil
	}
	base := s.window(w.base.Text)
	if base == nil {
		var names []string
		for _, of := range s.windows {
			names = append(names, of.name)
		}
		known := "; the query has no WINDOW clause"
		if len(names) > 0 {
			known = "; WINDOW has " + strings.Join(names[:min(len(names), 20)], ", ")
		}
		return w, p.Errorf(w.base.Pos, "Unrecognized window: %s%s", w.base.Text, known)
	}
	adds := len(w.order) > 0 || w.frame != nil
	switch {
	case len(w.partition) > 0:
		return w, p.Errorf(w.base.Pos, "PARTITION BY cannot follow the name of a window, %s; the window itself can have it", w.base.Text)
	case len(w.order) > 0 && len(base.order) > 0:
		return w, p.Errorf(w.base.Pos, "ORDER BY cannot follow the window %s, which has its own", w.base.Text)
	case adds && base.frame != nil:
		return w, p.Errorf(w.base.Pos, "nothing can follow the window %s, which has a frame", w.base.Text)
	}
	all := *base
	if len(w.order) > 0 {
		all.order = w.order
	}
	if w.frame != nil {
		all.frame = w.frame
	}
	return all, nil
}
