// Package directory gives parts of a key space names: paths such as application,
// tenants, tenant-42. A directory owns a short prefix, unlike any other directory's,
// and the rows whose keys begin with it, in any table. So a tenant is a directory: its
// rows lie together in each table, its keys stay short however long the path is, and a
// move changes only the name.
//
// It is the directory layer of FoundationDB, byte for byte: one table is an ordered
// map from row keys to values, and a copy of the map is read and written by
// FoundationDB's bindings too.
//
// Everything happens in a transaction of the caller's, [query.DB.Update], and takes
// effect with it. Errors are of type [*query.Error]; the error variables of this
// package distinguish more cases than their kinds. A Directory is safe for concurrent
// use; its calls in one transaction run one at a time.
//
// A Directory is found by its path and keeps its prefix. After it was moved or removed,
// it can still make keys, but every operation on names fails with [ErrStale]: nothing
// is created where the directory was.
package directory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/rowmap"
	"github.com/smolwc/smolwc/tuple"
	"github.com/smolwc/smolwc/tuple/subspace"
)

// PartitionLayer is the layer of a partition: a directory whose subdirectories lie in
// its own key space. They cannot be moved out of it, and rows cannot lie in the
// partition itself.
const PartitionLayer = "partition"

// The defaults of [Options].
const (
	DefaultTable  = "directories"
	DefaultFamily = "d"
)

// Options say where directories and their rows are. The zero Options are valid.
type Options struct {
	// Table is the table of the directories; "" is [DefaultTable]. It must exist. It
	// may have other rows only if their keys begin with the prefix of a directory.
	Table string
	// Family is the family of Table with the directories; "" is [DefaultFamily]. Its
	// type is bytes or undeclared, without a max_age.
	Family string
	// Data are the tables with rows of directories, besides Table. Remove deletes the
	// rows there, and a new directory does not get a prefix with which a row key there
	// begins. Every program that shares Table must name the same tables.
	Data []string
	// ManualPrefixes permits CreatePrefix.
	ManualPrefixes bool

	// pick draws the candidates of the allocator; nil draws at random.
	pick func(start, end int64) int64
}

// A Directory is a directory at the time when a transaction found it, or the root.
// It never changes. The zero Directory is the root with the zero Options.
type Directory struct {
	store  store
	path   []string
	prefix string // "" is the root
	layer  string
	home   realm  // the realm of the directory itself
	steps  []step // the entries that lead to it
}

// A step is the entry of a directory in its parent.
type step struct{ key, prefix string }

// New is the root of the directories that the options name. Nothing is read or
// written.
func New(o Options) *Directory {
	o.Data = slices.Clone(o.Data)
	return &Directory{store: store{o}}
}

// Path are the names from the root to the directory, in a new slice.
func (d *Directory) Path() []string {
	return slices.Clone(d.path)
}

// Layer is the label with which the directory was created, in a new slice.
func (d *Directory) Layer() []byte {
	return []byte(d.layer)
}

// Prefix are the bytes with which the directory's row keys begin, in a new slice. The
// prefixes of all directories below a partition begin with its own. The root's prefix
// is nil.
func (d *Directory) Prefix() []byte {
	if d == nil || d.prefix == "" {
		return nil
	}
	return []byte(d.prefix)
}

// Subspace is the key space of the directory's rows. The root and partitions do not
// have one: the error is [ErrRoot] or [ErrPartition].
func (d *Directory) Subspace() (subspace.Subspace, error) {
	const op = "use directory as a key space"
	switch {
	case d == nil:
		return subspace.Subspace{}, kinds.Fail(op, errNil)
	case d.prefix == "":
		return subspace.Subspace{}, kinds.Fail(op, ErrRoot, d.path...)
	case d.isPartition():
		return subspace.Subspace{}, kinds.Fail(op, ErrPartition, d.path...)
	}
	return subspace.FromBytes([]byte(d.prefix)), nil
}

// Key is the row key of a tuple in the directory: the prefix, then the packed elements.
// It fails as [Directory.Subspace] does, or with a [*tuple.PackError].
func (d *Directory) Key(elems ...any) (string, error) {
	space, err := d.Subspace()
	if err != nil {
		return "", err
	}
	key, err := space.Pack(tuple.Tuple(elems))
	if err != nil {
		return "", kinds.Fail("make key in directory", rowmap.Fault(query.KindInvalidArgument, "%w", err), d.path...)
	}
	return string(key), nil
}

// Rows are all rows of the directory, without the directories below it. A read of them
// fails with the error of [Directory.Subspace] if there is one.
func (d *Directory) Rows() read.RowSet {
	if _, err := d.Subspace(); err != nil {
		return read.RowSet{Err: err}
	}
	return read.Prefix(d.prefix)
}

// String is the path, its names with slashes between them, and the prefix in
// hexadecimal.
func (d *Directory) String() string {
	return strings.Join(d.path, "/") + " " + subspace.FromBytes([]byte(d.prefix)).String()
}

func (d *Directory) isPartition() bool { return d.layer == PartitionLayer && d.prefix != "" }

// inner is the realm of the directories below d.
func (d *Directory) inner() realm {
	if d.isPartition() {
		return realm(d.prefix)
	}
	return d.home
}

// node is the prefix of the keys that describe what is below d.
func (d *Directory) node() string {
	r := d.inner()
	if d.isPartition() || d.prefix == "" {
		return r.root()
	}
	return r.node(d.prefix)
}

func (o *Options) table() string  { return cmp.Or(o.Table, DefaultTable) }
func (o *Options) family() string { return cmp.Or(o.Family, DefaultFamily) }

// tables are all tables with rows of directories, each once.
func (o *Options) tables() []string {
	all := append([]string{o.table()}, o.Data...)
	slices.Sort(all)
	return slices.Compact(all)
}
