package parse

// A walk visits the parts of a query, each once.
type walk struct {
	blocks map[*Block]bool
	nodes  map[*Node]bool
	from   func(*From)
	each   func(*Node) // nil: nothing is wanted of them
}

// EachFrom calls fn for each source of the rows of the query and of those within it.
func (b *Block) EachFrom(fn func(*From)) {
	w := walk{map[*Block]bool{}, map[*Node]bool{}, fn, nil}
	w.block(b)
}

// EachNode calls fn for each expression of the query and of those within it.
func (b *Block) EachNode(fn func(*Node)) {
	w := walk{map[*Block]bool{}, map[*Node]bool{}, func(*From) {}, fn}
	w.block(b)
}

func (w *walk) block(b *Block) {
	if b == nil || w.blocks[b] {
		return
	}
	w.blocks[b] = true
	w.source(&b.From)
	for _, s := range b.Stages {
		w.stage(s)
	}
}

func (w *walk) source(f *From) {
	w.from(f)
	w.block(f.Of)
	if f.Set != nil {
		for _, of := range f.Set.Blocks {
			w.block(of)
		}
	}
	for _, o := range f.Options {
		w.node(o.Value)
	}
	if f.Unpack != nil {
		w.unnests(f.Unpack.Unnests)
		for _, s := range f.Unpack.Stages {
			w.stage(s)
		}
	}
	w.unnests(f.Unnests)
	for i := range f.Joins {
		w.source(&f.Joins[i].With)
		w.node(f.Joins[i].On)
		w.unnests(f.Joins[i].Unnests)
	}
}

func (w *walk) unnests(all []Unnest) {
	for _, u := range all {
		w.node(u.Array)
	}
}

func (w *walk) stage(s *Stage) { s.eachNode(w.node) }

func (w *walk) node(n *Node) {
	if n == nil || w.nodes[n] {
		return
	}
	w.nodes[n] = true
	if w.each != nil {
		w.each(n)
	}
	w.block(n.Query)
	for _, arg := range n.Args {
		w.node(arg)
	}
}

// eachNode calls fn for each expression of the stage.
func (s *Stage) eachNode(fn func(*Node)) {
	columns := func(all []Column) {
		for _, c := range all {
			fn(c.Expr)
			for _, r := range c.Replace {
				fn(r.Expr)
			}
		}
	}
	columns(s.Columns)
	columns(s.Group)
	fn(s.Where)
	fn(s.Having)
	fn(s.Qualify)
	for _, o := range s.Order {
		fn(o.Expr)
	}
	fn(s.Limit)
	fn(s.Offset)
	if s.Unnest != nil {
		fn(s.Unnest.Array)
	}
}

// EachNode calls fn for each expression of the stage; none is nil.
func (s *Stage) EachNode(fn func(*Node)) {
	s.eachNode(func(n *Node) {
		if n != nil {
			fn(n)
		}
	})
}

// HasQuery reports whether an expression of the stage has a query in it.
func (s *Stage) HasQuery() bool {
	found := false
	w := walk{map[*Block]bool{}, map[*Node]bool{}, func(*From) { found = true }, nil}
	w.stage(s)
	return found
}

// Find returns the first part of an expression, outside of queries in it, that is wanted; nil:
// none. It visits each part once, as BETWEEN and IN have their operand twice.
func (n *Node) Find(wanted func(*Node) bool) *Node { return n.find(map[*Node]bool{}, wanted) }

func (n *Node) find(seen map[*Node]bool, wanted func(*Node) bool) *Node {
	switch {
	case n == nil || seen[n]:
		return nil
	case wanted(n):
		return n
	}
	if len(n.Args) > 0 {
		seen[n] = true
	}
	for _, arg := range n.Args {
		if found := arg.find(seen, wanted); found != nil {
			return found
		}
	}
	return nil
}

// Find is [Node.Find] in all expressions of the stage.
func (s *Stage) Find(wanted func(*Node) bool) (found *Node) {
	seen := map[*Node]bool{}
	s.eachNode(func(n *Node) {
		if found == nil {
			found = n.find(seen, wanted)
		}
	})
	return found
}

func isWindow(n *Node) bool { return n.Op == OpOver }

// Window is a window function in an expression, outside of queries in it; nil: it has none.
func (n *Node) Window() *Node { return n.Find(isWindow) }

// HasWindow reports whether an expression of the stage has a window function.
func (s *Stage) HasWindow() bool { return s.Find(isWindow) != nil }
