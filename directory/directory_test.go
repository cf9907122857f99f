package directory_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/tuple"
)

var ctx = context.Background()

type fataler interface {
	Helper()
	Fatal(...any)
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open is a database with directories and a table of data.
func open(t interface {
	fataler
	Cleanup(func())
}) *query.DB {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "directories", Families: []schema.Family{{Name: "d"}}},
		{Name: "data", Families: []schema.Family{{Name: "f"}}},
	}}})
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

var withData = directory.Options{Data: []string{"data"}, ManualPrefixes: true}

func path(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "/")
}

func create(t fataler, db *query.DB, d *directory.Directory, at, layer string) (made *directory.Directory) {
	t.Helper()
	must(t, db.Update(ctx, func(tx *query.Tx) (err error) {
		made, err = d.Create(ctx, tx, path(at), []byte(layer))
		return err
	}))
	return made
}

func list(t fataler, db *query.DB, d *directory.Directory, at string) (names string) {
	t.Helper()
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		all, err := d.List(ctx, tx, path(at))
		names = strings.Join(all, " ")
		return err
	}))
	return names
}

func put(t fataler, db *query.DB, table, key string) {
	t.Helper()
	m := write.NewMutation()
	m.Set(map[string]string{"data": "f", "directories": "d"}[table], "", cells.Bytes([]byte("row")))
	must(t, db.Table(table).Apply(ctx, key, m))
}

func rowMutation() *write.Mutation {
	m := write.NewMutation()
	m.Set("f", "", cells.String("row"))
	return m
}

// state is a table as a map from keys to values, in hexadecimal.
func state(t fataler, db *query.DB, table, family string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for row, err := range db.Table(table).ReadRows(ctx, read.Versions(1)) {
		must(t, err)
		value, _ := row.Bytes(family, "")
		all[hex.EncodeToString([]byte(row.Key()))] = hex.EncodeToString(value)
	}
	return all
}

func wantError(t testing.TB, err, want error, kind query.Kind) {
	t.Helper()
	if !errors.Is(err, want) || query.KindOf(err) != kind {
		t.Errorf("got %v (%v), want %v (%v)", err, query.KindOf(err), want, kind)
	}
}

type vectors struct {
	Steps []struct {
		Op, Layer string
		Path      []string
		Old, New  []string
		Prefix    string `json:"result_prefix"`
		State     map[string]string
	} `json:"directory_steps"`
	Space      string            `json:"hca_subspace_prefix"`
	First70    []string          `json:"hca_first_70"`
	StateAfter map[string]string `json:"hca_state_after_70"`
}

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	must(t, err)
	must(t, json.Unmarshal(text, &v))
	return v
}

// lowest picks the lowest number that it has not picked before.
func lowest() func(start, end int64) int64 {
	next := int64(0)
	return func(start, end int64) int64 {
		n := max(next, start)
		next = n + 1
		return n
	}
}

// The keys and values after each step agree with FoundationDB's bindings.
func TestVectors(t *testing.T) {
	db, v := open(t), readVectors(t)
	root := directory.New(directory.WithPick(directory.Options{}, lowest()))
	steps := map[string]func(tx *query.Tx, i int) (*directory.Directory, error){
		"create_or_open": func(tx *query.Tx, i int) (*directory.Directory, error) {
			return root.CreateOrOpen(ctx, tx, v.Steps[i].Path, nil)
		},
		"create": func(tx *query.Tx, i int) (*directory.Directory, error) {
			return root.Create(ctx, tx, v.Steps[i].Path, []byte(v.Steps[i].Layer))
		},
		"create (on partition part)": func(tx *query.Tx, i int) (*directory.Directory, error) {
			part, err := root.Open(ctx, tx, []string{"part"}, []byte(directory.PartitionLayer))
			if err != nil {
				return nil, err
			}
			return part.Create(ctx, tx, v.Steps[i].Path, []byte(v.Steps[i].Layer))
		},
		"move": func(tx *query.Tx, i int) (*directory.Directory, error) {
			return root.Move(ctx, tx, v.Steps[i].Old, v.Steps[i].New)
		},
		"remove": func(tx *query.Tx, i int) (*directory.Directory, error) {
			_, err := root.Remove(ctx, tx, v.Steps[i].Path)
			return nil, err
		},
	}
	if len(v.Steps) < 5 {
		t.Fatalf("only %d steps", len(v.Steps))
	}
	for i, step := range v.Steps {
		var got *directory.Directory
		must(t, db.Update(ctx, func(tx *query.Tx) (err error) {
			got, err = steps[step.Op](tx, i)
			return err
		}))
		if step.Prefix != "" {
			space, err := got.Subspace()
			if err != nil || hex.EncodeToString(space.Bytes()) != step.Prefix {
				t.Errorf("%s %q has prefix %v, %v; want %s", step.Op, step.Path, space, err, step.Prefix)
			}
		}
		if got := state(t, db, "directories", "d"); !maps.Equal(got, step.State) {
			t.Errorf("after %s %q the keys are\n%v, want\n%v", step.Op, step.Path, got, step.State)
		}
	}
}

// The allocator's numbers and its state agree with FoundationDB's bindings.
func TestAllocatorVectors(t *testing.T) {
	db, v := open(t), readVectors(t)
	space, err := hex.DecodeString(v.Space)
	must(t, err)
	o := directory.WithPick(directory.Options{}, lowest())
	var got []string
	for range v.First70 {
		must(t, db.Update(ctx, func(tx *query.Tx) error {
			number, err := directory.Allocate(ctx, tx, o, string(space))
			got = append(got, hex.EncodeToString([]byte(number)))
			return err
		}))
	}
	if !slices.Equal(got, v.First70) {
		t.Errorf("got %v, want %v", got, v.First70)
	}
	if got := state(t, db, "directories", "d"); !maps.Equal(got, v.StateAfter) {
		t.Errorf("the keys are %v, want %v", got, v.StateAfter)
	}
}

func TestLayers(t *testing.T) {
	db, root := open(t), directory.New(withData)
	made := create(t, db, root, "a/b", "mine")
	if string(made.Layer()) != "mine" || !slices.Equal(made.Path(), []string{"a", "b"}) {
		t.Errorf("made %v with layer %q", made, made.Layer())
	}
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		for _, layer := range [][]byte{nil, []byte("mine")} {
			if got, err := root.Open(ctx, tx, path("a/b"), layer); err != nil || got.String() != made.String() {
				t.Errorf("opened %v, %v; want %v", got, err, made)
			}
		}
		for _, layer := range [][]byte{{}, []byte("other")} {
			_, err := root.CreateOrOpen(ctx, tx, path("a/b"), layer)
			wantError(t, err, directory.ErrLayer, query.KindFailedPrecondition)
		}
		_, err := root.Create(ctx, tx, path("a/b"), nil)
		wantError(t, err, directory.ErrExists, query.KindAlreadyExists)
		_, err = root.Open(ctx, tx, path("a/c"), nil)
		wantError(t, err, directory.ErrNotFound, query.KindNotFound)
		_, err = root.List(ctx, tx, path("a/c"))
		wantError(t, err, query.ErrNotFound, query.KindNotFound)
		return nil
	}))
}

// A refused call writes nothing, not even the version.
func TestRefusedCallsWriteNothing(t *testing.T) {
	db := open(t)
	root := directory.New(directory.Options{})
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		_, err := root.CreateOrOpen(ctx, tx, nil, nil)
		wantError(t, err, directory.ErrRoot, query.KindInvalidArgument)
		_, err = root.Open(ctx, tx, nil, nil)
		wantError(t, err, directory.ErrRoot, query.KindInvalidArgument)
		_, err = root.Remove(ctx, tx, nil)
		wantError(t, err, directory.ErrRoot, query.KindInvalidArgument)
		_, err = root.MoveTo(ctx, tx, path("a"))
		wantError(t, err, directory.ErrRoot, query.KindInvalidArgument)
		_, err = root.Move(ctx, tx, path("a"), path("b"))
		wantError(t, err, directory.ErrNotFound, query.KindNotFound)
		for _, bad := range [][]string{{"\xff"}, {"a", "\xff"}} {
			_, err = root.CreateOrOpen(ctx, tx, bad, nil)
			wantError(t, err, err, query.KindInvalidArgument)
			_, err = root.Move(ctx, tx, path("a"), bad)
			wantError(t, err, err, query.KindInvalidArgument)
		}
		_, err = root.CreatePrefix(ctx, tx, path("a"), nil, []byte("p"))
		wantError(t, err, err, query.KindInvalidArgument)
		removed, err := root.Remove(ctx, tx, path("a"))
		if removed || err != nil {
			t.Errorf("removed what does not exist: %v, %v", removed, err)
		}
		_, err = root.Subspace()
		wantError(t, err, directory.ErrRoot, query.KindInvalidArgument)
		return nil
	}))
	if got := state(t, db, "directories", "d"); len(got) != 0 {
		t.Errorf("the table has %v", got)
	}
}

func TestMoves(t *testing.T) {
	db, root := open(t), directory.New(withData)
	b := create(t, db, root, "a/b", "")
	create(t, db, root, "a/b/c", "")
	create(t, db, root, "x/y", "")
	create(t, db, root, "part", directory.PartitionLayer)
	create(t, db, root, "part/in", "")
	before := state(t, db, "directories", "d")
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		for _, c := range []struct {
			from, to string
			want     error
			kind     query.Kind
		}{
			{"a/b", "a/b", nil, query.KindInvalidArgument},
			{"a/b", "a/b/c/d", nil, query.KindInvalidArgument},
			{"a/b", "x/y", directory.ErrExists, query.KindAlreadyExists},
			{"a/b", "x/z/b", directory.ErrNotFound, query.KindNotFound},
			{"a/none", "x/b", directory.ErrNotFound, query.KindNotFound},
			{"a/b", "part/b", directory.ErrPartition, query.KindInvalidArgument},
			{"part/in", "a/in", directory.ErrPartition, query.KindInvalidArgument},
			{"a/b", "", directory.ErrExists, query.KindAlreadyExists},
		} {
			_, err := root.Move(ctx, tx, path(c.from), path(c.to))
			if c.want == nil {
				c.want = err
			}
			wantError(t, err, c.want, c.kind)
		}
		return nil
	}))
	if after := state(t, db, "directories", "d"); !maps.Equal(before, after) {
		t.Errorf("refused moves have changed %v to %v", before, after)
	}

	var moved *directory.Directory
	must(t, db.Update(ctx, func(tx *query.Tx) (err error) {
		moved, err = b.MoveTo(ctx, tx, path("x/b"))
		return err
	}))
	was, _ := b.Subspace()
	if is, err := moved.Subspace(); is != was || err != nil {
		t.Errorf("the prefix was %v and is %v, %v", was, is, err)
	}
	if got := list(t, db, moved, ""); got != "c" {
		t.Errorf("below it there is %q", got)
	}
}

// A handle of a directory that was moved or removed changes nothing, even if another
// directory has its path.
func TestStaleHandles(t *testing.T) {
	for _, layer := range []string{"", directory.PartitionLayer} {
		for _, gone := range []string{"moved", "removed", "recreated", "parent moved"} {
			t.Run(layer+" "+gone, func(t *testing.T) {
				db, root := open(t), directory.New(withData)
				old := create(t, db, root, "a/b", layer)
				create(t, db, old, "c", "")
				must(t, db.Update(ctx, func(tx *query.Tx) (err error) {
					switch gone {
					case "moved":
						_, err = root.Move(ctx, tx, path("a/b"), path("m"))
					case "parent moved":
						_, err = root.Move(ctx, tx, path("a"), path("m"))
					default:
						_, err = root.Remove(ctx, tx, path("a/b"))
					}
					return err
				}))
				if gone == "recreated" {
					create(t, db, root, "a/b", layer)
				}
				before := state(t, db, "directories", "d")
				must(t, db.Update(ctx, func(tx *query.Tx) error {
					exists, err := old.Exists(ctx, tx, nil)
					if exists || err != nil {
						t.Errorf("it exists: %v, %v", exists, err)
					}
					_, open := old.Open(ctx, tx, nil, nil)
					_, create := old.CreateOrOpen(ctx, tx, path("d"), nil)
					_, list := old.List(ctx, tx, nil)
					_, move := old.Move(ctx, tx, path("c"), path("d"))
					_, moveTo := old.MoveTo(ctx, tx, path("z"))
					_, remove := old.Remove(ctx, tx, nil)
					_, below := old.Exists(ctx, tx, path("c"))
					for _, err := range []error{open, create, list, move, moveTo, remove, below} {
						wantError(t, err, directory.ErrStale, query.KindFailedPrecondition)
					}
					return nil
				}))
				if after := state(t, db, "directories", "d"); !maps.Equal(before, after) {
					t.Errorf("a stale handle has changed %v to %v", before, after)
				}
			})
		}
	}
}

func TestKeys(t *testing.T) {
	db := open(t)
	d := create(t, db, directory.New(withData), "a", "")
	space, err := d.Subspace()
	must(t, err)
	want, err := space.Pack(tuple.Tuple{"user", 7})
	must(t, err)
	if key, err := d.Key("user", 7); key != string(want) || err != nil {
		t.Errorf("got %x, %v; want %x", key, err, want)
	}
	_, err = d.Key("\xff")
	if _, ok := errors.AsType[*tuple.PackError](err); !ok || query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("got %v (%v)", err, query.KindOf(err))
	}
}

func TestPartitions(t *testing.T) {
	db, root := open(t), directory.New(withData)
	part := create(t, db, root, "p", directory.PartitionLayer)
	inside := create(t, db, part, "q", directory.PartitionLayer)
	leaf := create(t, db, inside, "r/s", "")
	if _, err := part.Subspace(); !errors.Is(err, directory.ErrPartition) {
		t.Errorf("a partition is a key space: %v", err)
	}
	if _, err := part.Key("a"); !errors.Is(err, directory.ErrPartition) {
		t.Errorf("a partition has keys: %v", err)
	}
	for _, err := range db.Table("data").ReadRows(ctx, part.Rows()) {
		if err == nil {
			t.Error("a partition has rows")
		}
	}
	_, prefix, _ := strings.Cut(inside.String(), "x'")
	if at, ok := strings.CutPrefix(rowsOf(t, db, root, "p/q/r/s"), unhex(t, strings.TrimSuffix(prefix, "'"))); !ok || at == "" {
		t.Errorf("%v is not in the key space of %v", leaf, inside)
	}
	key, err := leaf.Key("row")
	must(t, err)
	put(t, db, "data", key)
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		same, err := root.Open(ctx, tx, path("p/q/r/s"), nil)
		if err != nil || same.String() != leaf.String() {
			t.Errorf("from the root it is %v, %v; want %v", same, err, leaf)
		}
		_, err = part.CreatePrefix(ctx, tx, path("m"), nil, []byte("mm"))
		wantError(t, err, directory.ErrPartition, query.KindInvalidArgument)
		removed, err := part.Remove(ctx, tx, nil)
		if !removed {
			t.Errorf("not removed: %v", err)
		}
		return err
	}))
	if got := state(t, db, "data", "f"); len(got) != 0 {
		t.Errorf("the rows of the partition are there: %v", got)
	}
	if got := list(t, db, root, ""); got != "" {
		t.Errorf("the root has %q", got)
	}
}

func unhex(t fataler, text string) string {
	b, err := hex.DecodeString(text)
	must(t, err)
	return string(b)
}

func rowsOf(t fataler, db *query.DB, d *directory.Directory, at string) (start string) {
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		found, err := d.Open(ctx, tx, path(at), nil)
		if err == nil {
			start = found.Rows().Ranges[0].Start
		}
		return err
	}))
	return start
}

// Remove removes the rows of the directory and of the directories below it, and no
// other rows.
func TestRemoveTakesTheRows(t *testing.T) {
	db, root := open(t), directory.New(withData)
	a, below, beside := create(t, db, root, "a", ""), create(t, db, root, "a/b", ""), create(t, db, root, "c", "")
	for _, d := range []*directory.Directory{a, below, beside} {
		key, err := d.Key("row")
		must(t, err)
		put(t, db, "data", key)
		put(t, db, "directories", key)
	}
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		_, err := a.Remove(ctx, tx, nil)
		return err
	}))
	key, _ := beside.Key("row")
	if got := state(t, db, "data", "f"); len(got) != 1 || got[hex.EncodeToString([]byte(key))] == "" {
		t.Errorf("the table has %v", got)
	}
	if got := list(t, db, root, ""); got != "c" {
		t.Errorf("the root has %q", got)
	}
}

func TestListPrefix(t *testing.T) {
	db, root := open(t), directory.New(withData)
	for _, name := range []string{"a", "a\x00", "a\x00b", "ab", "abc", "b", "é", "ê"} {
		must(t, db.Update(ctx, func(tx *query.Tx) error {
			_, err := root.Create(ctx, tx, []string{"p", name}, nil)
			return err
		}))
	}
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		for _, c := range []struct {
			prefix string
			opts   []read.Option
			want   []string
		}{
			{"", []read.Option{read.Limit(2)}, []string{"a", "a\x00"}},
			{"a", nil, []string{"a", "a\x00", "a\x00b", "ab", "abc"}},
			{"a", []read.Option{read.Reverse(), read.Limit(1)}, []string{"abc"}},
			{"a\x00", nil, []string{"a\x00", "a\x00b"}},
			{"abc", nil, []string{"abc"}},
			{"é", nil, []string{"é"}},
			{"z", nil, nil},
		} {
			if got, err := root.ListPrefix(ctx, tx, path("p"), c.prefix, c.opts...); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%q: %q, %v; want %q", c.prefix, got, err, c.want)
			}
		}
		_, err := root.ListPrefix(ctx, tx, path("p"), "\xff")
		if query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("a prefix that is not text: %v", err)
		}
		return nil
	}))
}
