package directory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/tuple"
)

func tupleKey(elems ...any) string { return tuple.Key(elems...) }

func TestManualPrefixes(t *testing.T) {
	db, root := open(t), directory.New(withData)
	key := "tenant-7#user"
	put(t, db, "data", key)
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		made, err := root.CreatePrefix(ctx, tx, path("tenants/seven"), nil, []byte("tenant-7#"))
		if err != nil {
			return err
		}
		if got := made.Rows().Ranges[0].Start; got != "tenant-7#" {
			t.Errorf("its rows begin with %q", got)
		}
		for prefix, want := range map[string]error{
			"tenant-7#": directory.ErrPrefixInUse, "tenant-": directory.ErrPrefixInUse, "tenant-7#user": directory.ErrPrefixInUse,
			"": nil, "\xfe": nil, "\xfe\x01": nil,
		} {
			_, err := root.CreatePrefix(ctx, tx, path("other"), nil, []byte(prefix))
			kind := query.KindFailedPrecondition
			if want == nil {
				want, kind = err, query.KindInvalidArgument
			}
			wantError(t, err, want, kind)
		}
		_, err = root.CreatePrefix(ctx, tx, path("other"), nil, []byte("tenant-7$"))
		return err
	}))
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		_, err := root.Remove(ctx, tx, path("tenants/seven"))
		return err
	}))
	if got := state(t, db, "data", "f"); len(got) != 0 {
		t.Errorf("the table has %v", got)
	}
}

// The allocator skips numbers with which manual prefixes begin, also the manual prefix
// of the same call.
func TestTheAllocatorAvoidsManualPrefixes(t *testing.T) {
	db := open(t)
	root := directory.New(directory.WithPick(withData, lowest()))
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		_, err := root.CreatePrefix(ctx, tx, path("a/b"), nil, []byte(tupleKey(0, "x")))
		return err
	}))
	create(t, db, root, "c", "")
	seen := map[string]string{}
	for _, at := range []string{"a", "a/b", "c"} {
		begin := rowsOf(t, db, root, at)
		for other, prefix := range seen {
			if strings.HasPrefix(begin, prefix) || strings.HasPrefix(prefix, begin) {
				t.Errorf("%s and %s have the prefixes %x and %x", at, other, begin, prefix)
			}
		}
		seen[at] = begin
	}
}

// Of two transactions that create overlapping prefixes at the same time, one fails.
func TestOverlappingPrefixesAtTheSameTime(t *testing.T) {
	for _, prefixes := range [][2]string{{"abc", "ab"}, {"ab", "abc"}, {"ab", "ab"}} {
		db, root, first := open(t), directory.New(withData), true
		create(t, db, root, "z", "")
		err := db.Update(ctx, func(tx *query.Tx) error {
			_, err := root.CreatePrefix(ctx, tx, path("one"), nil, []byte(prefixes[0]))
			if err != nil || !first {
				return err
			}
			first = false
			return db.Update(ctx, func(tx *query.Tx) error {
				_, err := root.CreatePrefix(ctx, tx, path("other"), nil, []byte(prefixes[1]))
				return err
			})
		})
		wantError(t, err, directory.ErrPrefixInUse, query.KindFailedPrecondition)
	}
}

// A prefix of rows that belong to no directory is not given to a new directory.
func TestPrefixesOfForeignRows(t *testing.T) {
	for _, table := range []string{"data", "directories"} {
		db := open(t)
		root := directory.New(directory.WithPick(withData, lowest()))
		put(t, db, table, tupleKey(0, "somebody's"))
		err := db.Update(ctx, func(tx *query.Tx) error {
			_, err := root.Create(ctx, tx, path("a"), nil)
			return err
		})
		wantError(t, err, directory.ErrPrefixInUse, query.KindFailedPrecondition)
	}
}

// A family whose rule would expire the directories is refused.
func TestDirectoriesDoNotExpire(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "directories", Families: []schema.Family{{Name: "d", GC: schema.MaxAge(time.Hour)}}},
	}}})
	must(t, err)
	defer db.Close()
	err = db.Update(ctx, func(tx *query.Tx) error {
		_, err := directory.New(directory.Options{}).Create(ctx, tx, path("a"), nil)
		return err
	})
	if query.KindOf(err) != query.KindFailedPrecondition || !strings.Contains(err.Error(), "max_age") {
		t.Errorf("got %v", err)
	}
}

// overwrite writes raw values into the table of the directories.
func overwrite(t fataler, db *query.DB, key string, value cells.Value) {
	t.Helper()
	m := write.NewMutation()
	m.SetAt("d", "", 0, value)
	must(t, db.Table("directories").Apply(ctx, key, m))
}

const rootNode = "\xfe\x01\xfe\x00"

func TestVersions(t *testing.T) {
	for _, c := range []struct {
		version     string
		read, write query.Kind
	}{
		{"\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00", query.KindInternal, query.KindInternal},
		{"\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00", query.KindInternal, query.KindFailedPrecondition},
		{"\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", query.KindFailedPrecondition, query.KindFailedPrecondition},
		{"\x01", query.KindCorruption, query.KindCorruption},
		{"", query.KindCorruption, query.KindCorruption},
	} {
		db, root := open(t), directory.New(withData)
		create(t, db, root, "a", "")
		overwrite(t, db, rootNode+tupleKey([]byte("version")), cells.Bytes([]byte(c.version)))
		must(t, db.Update(ctx, func(tx *query.Tx) error {
			_, read := root.Open(ctx, tx, path("a"), nil)
			_, create := root.Create(ctx, tx, path("b"), nil)
			_, move := root.Move(ctx, tx, path("a"), path("c"))
			if query.KindOf(read) != c.read || (read == nil) != (c.read == query.KindInternal) {
				t.Errorf("version %x: a read gave %v", c.version, read)
			}
			for _, err := range []error{create, move} {
				if query.KindOf(err) != c.write || (err == nil) != (c.write == query.KindInternal) {
					t.Errorf("version %x: a write gave %v", c.version, err)
				}
			}
			return nil
		}))
	}
}

// Damaged entries are errors. Nothing is removed on their account.
func TestDamage(t *testing.T) {
	entryOfA := func(name any) string { return "\xfe" + tupleKey([]byte("\x14"), 0, name) }
	for name, damage := range map[string]func(db *query.DB){
		"an empty prefix":         func(db *query.DB) { overwrite(t, db, entryOfA("b"), cells.Bytes(nil)) },
		"the directories' prefix": func(db *query.DB) { overwrite(t, db, entryOfA("b"), cells.Bytes([]byte("\xfe"))) },
		"a circle":                func(db *query.DB) { overwrite(t, db, entryOfA("b"), cells.Bytes([]byte("\x14"))) },
		"not bytes":               func(db *query.DB) { overwrite(t, db, entryOfA("b"), cells.I64(1)) },
		"a counter that is short": func(db *query.DB) {
			overwrite(t, db, rootNode+tupleKey([]byte("hca"), 0, 64), cells.Bytes([]byte("1")))
		},
		"a counter that is negative": func(db *query.DB) {
			overwrite(t, db, rootNode+tupleKey([]byte("hca"), 0, 64), cells.Bytes([]byte("\xff\xff\xff\xff\xff\xff\xff\xff")))
		},
		"a name that is a number": func(db *query.DB) { overwrite(t, db, entryOfA(5), cells.Bytes([]byte("\x15\x40"))) },
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			root := directory.New(directory.WithPick(withData, lowest()))
			create(t, db, root, "a", "")
			put(t, db, "data", "z")
			damage(db)
			var errs []error
			for _, call := range []func(tx *query.Tx) error{
				func(tx *query.Tx) error { _, err := root.Open(ctx, tx, path("a/b/b"), nil); return err },
				func(tx *query.Tx) error { _, err := root.List(ctx, tx, path("a")); return err },
				func(tx *query.Tx) error { _, err := root.Descendants(ctx, tx, nil); return err },
				func(tx *query.Tx) error { _, err := root.Create(ctx, tx, path("n"), nil); return err },
				func(tx *query.Tx) error { _, err := root.Remove(ctx, tx, path("a")); return err },
			} {
				err := db.Update(ctx, call)
				if query.KindOf(err) == query.KindCorruption {
					errs = append(errs, err)
				}
			}
			if len(errs) == 0 {
				t.Error("no call has found the damage")
			}
			if got := state(t, db, "data", "f"); len(got) != 1 {
				t.Errorf("the rows are %v", got)
			}
		})
	}
}

// Descendants ends in a damaged table too, where a directory is below itself.
func TestACircleHasNoDescendants(t *testing.T) {
	db := open(t)
	root := directory.New(directory.WithPick(withData, lowest()))
	create(t, db, root, "a", "")
	overwrite(t, db, "\xfe"+tupleKey([]byte("\x14"), 0, "b"), cells.Bytes([]byte("\x14")))
	for _, from := range []string{"", "a"} {
		err := db.Update(ctx, func(tx *query.Tx) error {
			_, err := root.Descendants(ctx, tx, path(from))
			return err
		})
		if query.KindOf(err) != query.KindCorruption {
			t.Errorf("below %q: %v", from, err)
		}
	}
}
