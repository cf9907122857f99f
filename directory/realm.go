package directory

import (
	"strings"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/rowmap"
	"github.com/smolwc/smolwc/tuple"
)

// A realm is a key space with its own directories: all keys, or the keys of a
// partition. Its value is the prefix of the key space. The keys that describe its
// directories begin with the prefix and FE.
type realm string

func (r realm) nodes() string { return string(r) + "\xfe" }

// node is the prefix of the keys that describe the directory with a prefix.
func (r realm) node(prefix string) string {
	return string(tuple.AppendBytes([]byte(r.nodes()), []byte(prefix)))
}

// root is the node of the realm itself.
func (r realm) root() string { return r.node(r.nodes()) }

func (r realm) versionKey() string { return r.root() + tuple.Key([]byte("version")) }

func (r realm) allocator() string { return r.root() + tuple.Key([]byte("hca")) }

// owns reports whether a directory of the realm can have a prefix.
func (r realm) owns(prefix string) bool {
	return len(prefix) > len(r) && strings.HasPrefix(prefix, string(r)) && !strings.HasPrefix(prefix, r.nodes())
}

func layerKey(node string) string { return node + tuple.Key([]byte("layer")) }

// entryKey is the key of the child with a name, which is valid UTF-8.
func entryKey(node, name string) string { return node + tuple.Key(0, name) }

// entries is the prefix of the keys of all children.
func entries(node string) string { return node + tuple.Key(0) }

// nameOf is the name in the key of a child.
func nameOf(key, entries string) (string, error) {
	if t, err := tuple.Unpack([]byte(strings.TrimPrefix(key, entries))); err == nil && len(t) == 1 {
		if name, ok := t[0].(string); ok {
			return name, nil
		}
	}
	return "", rowmap.Fault(query.KindCorruption, "row %x is not the entry of a directory", key)
}
