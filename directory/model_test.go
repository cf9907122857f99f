package directory_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"pgregory.net/rapid"
)

// A model is a tree of directories: it maps each path to the state of its directory.
type model map[string]entry

type entry struct{ layer, prefix string }

// partition is the path of the partition that a directory is in, "" without one.
func (m model) partition(at string) string {
	for {
		at = parent(at)
		if at == "" || m[at].layer == directory.PartitionLayer {
			return at
		}
	}
}

func parent(at string) string { return at[:max(0, strings.LastIndexByte(at, '/'))] }

func below(at, top string) bool { return at == top || strings.HasPrefix(at, top+"/") }

func (m model) children(at string) (names []string) {
	for p := range m {
		if parent(p) == at {
			names = append(names, p[strings.LastIndexByte(p, '/')+1:])
		}
	}
	slices.Sort(names)
	return names
}

func (m model) exists(at string) bool {
	_, ok := m[at]
	return ok || at == ""
}

// move makes a move in the model, or returns its error.
func (m model) move(from, to string) error {
	switch {
	case from == "":
		return directory.ErrRoot
	case !m.exists(from):
		return directory.ErrNotFound
	case below(to, from):
		return errAnother
	case m.exists(to):
		return directory.ErrExists
	case !m.exists(parent(to)):
		return directory.ErrNotFound
	case m.partition(from) != m.partition(to):
		return directory.ErrPartition
	}
	for at, e := range maps.Clone(m) {
		if below(at, from) {
			delete(m, at)
			m[to+at[len(from):]] = e
		}
	}
	return nil
}

func (m model) remove(top string) {
	maps.DeleteFunc(m, func(at string, _ entry) bool { return below(at, top) })
}

var errAnother = errors.New("an error without a name")

// A handle is a directory that a call has returned.
type handle struct {
	*directory.Directory
	at, prefix string
}

// A history is a database beside the model.
type history struct {
	db      *query.DB
	root    *directory.Directory
	model   model
	given   map[string]bool // prefixes, ever
	handles []handle
}

func drawPath(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "é"}), 0, 4).Draw(t, label), "/")
}

// A history takes a tenth of a second; -rapid.checks makes more of them.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestTreesMatchTheModel drives directories and the model through the same random
// history of creations, moves and removals, in partitions too, and compares them.
// rapid prints the seed of a failure; -rapid.checks makes it longer.
func TestTreesMatchTheModel(t *testing.T) {
	db := open(t)
	rapid.Check(t, func(t *rapid.T) {
		for _, table := range []string{"directories", "data"} {
			must(t, db.Table(table).DeleteRange(ctx, read.Prefix("")))
		}
		h := &history{db: db, root: directory.New(withData), model: model{}, given: map[string]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"create": h.create, "move": h.move, "remove": h.remove, "handle": h.useHandle, "compare": h.compare,
		})
		h.compare(t)
	})
}

func (h *history) same(t *rapid.T, what string, got, want error) {
	if errors.Is(want, errAnother) && got != nil {
		return
	}
	if !errors.Is(got, want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func (h *history) create(t *rapid.T) {
	at := drawPath(t, "path")
	layer := rapid.SampledFrom([]string{"", "", "layer", directory.PartitionLayer}).Draw(t, "layer")
	var made *directory.Directory
	err := h.db.Update(ctx, func(tx *query.Tx) (err error) {
		made, err = h.root.CreateOrOpen(ctx, tx, path(at), []byte(layer))
		return err
	})
	var want error
	if at == "" {
		want = directory.ErrRoot
	} else if h.model.exists(at) && h.model[at].layer != layer {
		want = directory.ErrLayer
	}
	h.same(t, "create "+at, err, want)
	if err != nil {
		return
	}
	for p := at; p != "" && !h.model.exists(p); p = parent(p) {
		e := entry{prefix: h.prefix(t, p)}
		if p == at {
			e.layer = layer
		}
		if h.given[e.prefix] {
			t.Fatalf("%s has the prefix %x, which another directory has had", p, e.prefix)
		}
		h.given[e.prefix] = true
		h.model[p] = e
	}
	h.handles = append(h.handles, handle{made, at, h.model[at].prefix})
}

// prefix is the prefix that String shows, also for partitions.
func (h *history) prefix(t *rapid.T, at string) (prefix string) {
	must(t, h.db.Update(ctx, func(tx *query.Tx) error {
		d, err := h.root.Open(ctx, tx, path(at), nil)
		if err == nil {
			prefix = strings.TrimPrefix(d.String(), at+" ")
		}
		return err
	}))
	return prefix
}

func (h *history) move(t *rapid.T) {
	from, to := drawPath(t, "from"), drawPath(t, "to")
	err := h.db.Update(ctx, func(tx *query.Tx) error {
		_, err := h.root.Move(ctx, tx, path(from), path(to))
		return err
	})
	h.same(t, "move "+from+" to "+to, err, h.model.move(from, to))
}

func (h *history) remove(t *rapid.T) {
	at := drawPath(t, "path")
	var removed bool
	err := h.db.Update(ctx, func(tx *query.Tx) (err error) {
		removed, err = h.root.Remove(ctx, tx, path(at))
		return err
	})
	var want error
	if at == "" {
		want = directory.ErrRoot
	}
	h.same(t, "remove "+at, err, want)
	if want == nil && removed != h.model.exists(at) {
		t.Fatalf("remove %s: %v", at, removed)
	}
	if at != "" {
		h.model.remove(at)
	}
}

// useHandle creates a directory through an old handle: this succeeds exactly if the
// handle's directory still has its path.
func (h *history) useHandle(t *rapid.T) {
	if len(h.handles) == 0 {
		t.Skip("no handles")
	}
	old := rapid.SampledFrom(h.handles).Draw(t, "handle")
	var made *directory.Directory
	err := h.db.Update(ctx, func(tx *query.Tx) (err error) {
		made, err = old.CreateOrOpen(ctx, tx, path("a"), nil)
		return err
	})
	var want error
	if h.model[old.at].prefix != old.prefix {
		want = directory.ErrStale
	}
	h.same(t, "create below "+old.at, err, want)
	if at := old.at + "/a"; err == nil && !h.model.exists(at) {
		h.model[at] = entry{prefix: h.prefix(t, at)}
		h.handles = append(h.handles, handle{made, at, h.model[at].prefix})
	}
}

// compare compares every directory of the model, with a row in each directory that can
// have rows.
func (h *history) compare(t *rapid.T) {
	rows := 0
	must(t, h.db.Update(ctx, func(tx *query.Tx) error {
		rows = 0
		for _, at := range append(slices.Sorted(maps.Keys(h.model)), "") {
			names, err := h.root.List(ctx, tx, path(at))
			if err != nil || !slices.Equal(names, h.model.children(at)) {
				t.Fatalf("below %q: %q, %v; want %q", at, names, err, h.model.children(at))
			}
			h.compareBelow(t, tx, at)
			if at == "" {
				continue
			}
			d, err := h.root.Open(ctx, tx, path(at), []byte(h.model[at].layer))
			if err != nil || d.String() != at+" "+h.model[at].prefix {
				t.Fatalf("%v, %v; want %s %s", d, err, at, h.model[at].prefix)
			}
			if key, err := d.Key("row"); err == nil {
				rows++
				if err := tx.Apply(ctx, "data", key, rowMutation()); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	if n, err := h.db.Table("data").Count(ctx, read.KeysOnly()); err != nil || int(n.Rows) != rows {
		t.Fatalf("%d rows, %v; want those of %d directories", n.Rows, err, rows)
	}
}

// compareBelow looks at the directories in one, and at all below it.
func (h *history) compareBelow(t *rapid.T, tx *query.Tx, at string) {
	all, err := h.root.Descendants(ctx, tx, path(at))
	must(t, err)
	directly, err := h.root.Children(ctx, tx, path(at))
	must(t, err)
	var names, found []string
	for _, d := range directly {
		names = append(names, d.Path()[len(path(at))])
	}
	for _, d := range all {
		p := strings.Join(d.Path(), "/")
		found = append(found, p)
		if e := h.model[p]; string(d.Layer()) != e.layer || fmt.Sprintf("x'%x'", d.Prefix()) != e.prefix {
			t.Fatalf("%v has the layer %q; want %+v", d, d.Layer(), e)
		}
	}
	want := slices.DeleteFunc(slices.Sorted(maps.Keys(h.model)), func(p string) bool { return p == at || at != "" && !below(p, at) })
	if !slices.Equal(found, want) || !slices.Equal(names, h.model.children(at)) {
		t.Fatalf("in %q are %q, and %q in all; want %q, and %q", at, names, found, h.model.children(at), want)
	}
}
