package parse

// sample reads TABLESAMPLE after a source, if it stands there. The source becomes a query
// with a condition that is true of some rows.
func (p *parser) sample(f *From) error {
	t := p.peek()
	if !p.accept("TABLESAMPLE") {
		return nil
	}
	p.goBeyond("TABLESAMPLE", t.pos)
	if method := p.peek(); !p.accept("BERNOULLI") && !p.accept("SYSTEM") {
		return p.Errorf(method.pos, "Syntax error: expected BERNOULLI or SYSTEM but got %s", method)
	}
	if err := p.expect("("); err != nil {
		return err
	}
	percent, err := p.unary()
	if err != nil {
		return err
	}
	if err := p.expect("PERCENT", ")"); err != nil {
		return err
	}
	of := &Node{Op: OpSample, Pos: t.pos, Args: []*Node{percent}}
	if p.accept("REPEATABLE", "(") {
		seed, err := p.unary()
		if err != nil {
			return err
		}
		if err := p.expect(")"); err != nil {
			return err
		}
		of.Args = append(of.Args, seed)
	}
	*f = From{Pos: f.Pos, Alias: f.Alias, Of: &Block{From: *f, Stages: []*Stage{{Kind: WhereStage, Pos: t.pos, Where: of}}}}
	return nil
}
