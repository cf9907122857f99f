package memory

import (
	"bytes"
	"context"
	"hash/maphash"
)

// A tree is a sorted map of byte strings that never changes: a change makes a new tree,
// which shares most nodes with the old one. It is a treap, whose priorities are hashes of
// the keys; nil is the empty tree.
type tree struct {
	key, value []byte
	priority   uint64
	less, more *tree
	len        int
}

var seed = maphash.MakeSeed()

func (t *tree) size() int {
	if t == nil {
		return 0
	}
	return t.len
}

// with is the node with other subtrees.
func (t *tree) with(less, more *tree) *tree {
	n := *t
	n.less, n.more, n.len = less, more, less.size()+1+more.size()
	return &n
}

// split returns the keys before a key, and the others.
func (t *tree) split(key []byte) (before, rest *tree) {
	switch {
	case t == nil:
		return nil, nil
	case bytes.Compare(t.key, key) < 0:
		before, rest = t.more.split(key)
		return t.with(t.less, before), rest
	default:
		before, rest = t.less.split(key)
		return before, t.with(rest, t.more)
	}
}

// join is a tree of two trees. All keys of a come before all keys of b.
func join(a, b *tree) *tree {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.priority > b.priority:
		return a.with(a.less, join(a.more, b))
	default:
		return b.with(join(a, b.less), b.more)
	}
}

// get is the value of a key, nil if there is no such key.
func (t *tree) get(key []byte) []byte {
	for t != nil {
		switch c := bytes.Compare(key, t.key); {
		case c == 0:
			return t.value
		case c < 0:
			t = t.less
		default:
			t = t.more
		}
	}
	return nil
}

// put sets the value of a key, or removes the key if the value is nil.
func (t *tree) put(key, value []byte) *tree {
	before, rest := t.split(key)
	_, after := rest.split(append(bytes.Clone(key), 0))
	if value == nil {
		return join(before, after)
	}
	return join(join(before, &tree{key: key, value: value, priority: maphash.Bytes(seed, key), len: 1}), after)
}

// drop removes the keys from one, inclusive, to another one, exclusive.
func (t *tree) drop(from, to []byte) *tree {
	before, rest := t.split(from)
	_, after := rest.split(to)
	return join(before, after)
}

// A walker is an iterator over a tree. It implements [ordered.Iterator].
type walker struct {
	tree *tree
	path []*tree // the node that it is at, behind the nodes that come after it
}

func (w *walker) at() *tree { return w.path[len(w.path)-1] }

func (w *walker) Seek(_ context.Context, key []byte) bool {
	w.path = w.path[:0]
	for t := w.tree; t != nil; {
		if bytes.Compare(t.key, key) < 0 {
			t = t.more
		} else {
			w.path = append(w.path, t)
			t = t.less
		}
	}
	return len(w.path) > 0
}

func (w *walker) SeekBefore(ctx context.Context, key []byte) bool {
	var last *tree
	for t := w.tree; t != nil; {
		if bytes.Compare(t.key, key) < 0 {
			last, t = t, t.more
		} else {
			t = t.less
		}
	}
	w.path = w.path[:0]
	return last != nil && w.Seek(ctx, last.key)
}

func (w *walker) Next(context.Context) bool {
	t := w.at().more
	for w.path = w.path[:len(w.path)-1]; t != nil; t = t.less {
		w.path = append(w.path, t)
	}
	return len(w.path) > 0
}

func (w *walker) Key() []byte   { return w.at().key }
func (w *walker) Value() []byte { return w.at().value }
func (w *walker) Err() error    { return nil }
func (w *walker) Close()        {}
