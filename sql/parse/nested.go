package parse

// EachExpr calls fn for each expression of the source of rows, without those of queries in
// its place.
func (f *From) EachExpr(fn func(*Node)) {
	each := func(n *Node) {
		if n != nil {
			fn(n)
		}
	}
	for _, o := range f.Options {
		each(o.Value)
	}
	if f.Unpack != nil {
		for _, u := range f.Unpack.Unnests {
			each(u.Array)
		}
		for _, s := range f.Unpack.Stages {
			s.eachNode(each)
		}
	}
	for _, u := range f.Unnests {
		each(u.Array)
	}
	for i := range f.Joins {
		f.Joins[i].With.EachExpr(fn)
		each(f.Joins[i].On)
		for _, u := range f.Joins[i].Unnests {
			each(u.Array)
		}
	}
}
