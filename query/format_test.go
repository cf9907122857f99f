package query_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

const lastOfFormat1 cells.Timestamp = 1<<62 - 1

// wantFormat checks the format of an open database, and its marker. A database on Pebble
// has format 6 from the beginning.
func wantFormat(t *testing.T, db *query.DB, want int) {
	t.Helper()
	engine, err := query.DefaultEngine(), error(nil)
	if db.Dir() != "" {
		if engine, err = query.EngineOf(db.Dir()); err != nil {
			t.Fatal(err)
		}
	}
	line := ""
	if engine == query.EnginePebble {
		want, line = max(want, 6), "engine pebble\n"
	}
	if got := db.Format(); got != want {
		t.Errorf("the database has format %d, want %d", got, want)
	}
	if db.Dir() == "" {
		return
	}
	marker, err := os.ReadFile(filepath.Join(db.Dir(), "SMOLWC"))
	if text := fmt.Sprintf("smolwc database, format %d\n%s", want, line); err != nil || string(marker) != text {
		t.Errorf("the marker says %q, %v; want %q", marker, err, text)
	}
}

// lateWrites are the ways to write a timestamp into table "a" of checkSchema.
var lateWrites = map[string]func(*query.DB, cells.Timestamp) error{
	"set": func(db *query.DB, ts cells.Timestamp) error {
		return db.Table("a").Apply(ctx, "r", mutate(setAt("any", "q", ts, cells.I64(1))))
	},
	"add": func(db *query.DB, ts cells.Timestamp) error {
		return db.Table("a").Apply(ctx, "r", mutate(func(m *write.Mutation) { m.AddAt("sum", "q", ts, cells.I64(1)) }))
	},
	"delete of a version": func(db *query.DB, ts cells.Timestamp) error {
		return db.Table("a").Apply(ctx, "r", mutate(func(m *write.Mutation) { m.DeleteCell("any", "q", ts) }))
	},
	"delete since": func(db *query.DB, ts cells.Timestamp) error {
		return db.Table("a").Apply(ctx, "r", mutate(func(m *write.Mutation) { m.DeleteTimestampRange("any", "q", ts, 0) }))
	},
	"batch": func(db *query.DB, ts cells.Timestamp) error {
		return db.Apply(ctx, write.NewBatch().Add("a", "q", mutate(set("any", "q", cells.I64(1)))).Add("a", "r", mutate(setAt("any", "q", ts, cells.I64(1)))))
	},
	"many rows": func(db *query.DB, ts cells.Timestamp) error {
		_, err := db.Table("a").ApplyBulk(ctx, []string{"r"}, []*write.Mutation{mutate(setAt("any", "q", ts, cells.I64(1)))})
		return err
	},
	"check and mutate": func(db *query.DB, ts cells.Timestamp) error {
		_, err := db.Table("a").CheckAndMutate(ctx, "no row", nil, nil, mutate(setAt("any", "q", ts, cells.I64(1))))
		return err
	},
	"read-modify-write": func(db *query.DB, ts cells.Timestamp) error {
		m := write.NewReadModifyWrite()
		m.Increment("any", "q", 1)
		m.SetTimestamp(ts)
		_, err := db.Table("a").ApplyReadModifyWrite(ctx, "new row", m)
		return err
	},
	"transaction": func(db *query.DB, ts cells.Timestamp) error {
		return db.Update(ctx, func(tx *query.Tx) error {
			return tx.Apply(ctx, "a", "r", mutate(setAt("any", "q", ts, cells.I64(1))))
		})
	},
	"bulk load": func(db *query.DB, ts cells.Timestamp) error {
		l, err := db.Table("a").BulkLoad(ctx, query.BulkOptions{Overlap: true})
		if err != nil {
			return err
		}
		defer l.Close()
		if err := l.Apply("r", mutate(setAt("any", "q", ts, cells.I64(1)))); err != nil {
			return err
		}
		_, err = l.Commit(ctx)
		return err
	},
}

// A database keeps the format that it was created with until any kind of write needs a
// newer one, and has the newer format from then on.
func TestTheFirstLateTimestampRaisesTheFormat(t *testing.T) {
	for name, write := range lateWrites {
		t.Run(name, func(t *testing.T) {
			dir := fixture(t, "1")
			db := mustOpen(t, dir, query.Options{GCInterval: -1})
			before := text(t, db, "a")
			if err := write(db, lastOfFormat1); err != nil {
				t.Fatal(err)
			}
			wantFormat(t, db, 1)
			for _, ts := range []cells.Timestamp{lastOfFormat1 + 1, cells.MaxTimestamp} {
				if err := write(db, ts); err != nil {
					t.Fatal(err)
				}
				wantFormat(t, db, 2)
			}
			all := text(t, db, "a")
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			db = mustOpen(t, dir, query.Options{ReadOnly: true})
			defer db.Close()
			wantFormat(t, db, 2)
			if got := text(t, db, "a"); got != all {
				t.Errorf("it was\n%s\nopened again it is\n%s", all, got)
			}
			for line := range strings.Lines(before) {
				if !strings.Contains(all, line) {
					t.Errorf("%s is gone", line)
				}
			}
		})
	}
}

// A write that is not committed or is refused does not raise the format.
func TestTheFormatStaysWhereNothingLateIsWritten(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "db"), query.Options{Schema: checkSchema, GCInterval: -1})
	defer db.Close()
	late := mutate(setAt("any", "q", cells.MaxTimestamp, cells.I64(1)))
	back := errors.New("back")
	if err := db.Update(ctx, func(tx *query.Tx) error { return errors.Join(tx.Apply(ctx, "a", "r", late), back) }); !errors.Is(err, back) {
		t.Fatal(err)
	}
	l, err := db.Table("a").BulkLoad(ctx, query.BulkOptions{})
	if err := errors.Join(err, l.Apply("r", late), l.Close()); err != nil {
		t.Fatal(err)
	}
	wantError(t, db.Table("a").Apply(ctx, "", late), query.KindInvalidArgument, "row key is empty")
	wantError(t, db.Table("none").Apply(ctx, "r", late), query.KindNotFound, "none")
	late.Reset()
	setAt("any", "q", lastOfFormat1, cells.I64(1))(late)
	late.Set("any", "now", cells.I64(1))
	if err := db.Table("a").Apply(ctx, "r", late); err != nil {
		t.Fatal(err)
	}
	for range db.Table("a").ReadRows(ctx, read.TimeRange(cells.MaxTimestamp, 0)) {
		t.Error("there is a row")
	}
	wantFormat(t, db, 1)
}

// Copies have the format of their source.
func TestCopiesHaveTheFormatOfTheirCells(t *testing.T) {
	db := mustOpen(t, fixture(t, "2"), query.Options{GCInterval: -1})
	defer db.Close()
	whole, one := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "one")
	if err := errors.Join(db.Checkpoint(ctx, whole), db.CheckpointTable(ctx, "a", one)); err != nil {
		t.Fatal(err)
	}
	if err := db.Plumbing().Freeze(ctx, func(f plumbing.Frozen) error {
		if f.Format != 2 {
			t.Errorf("the frozen copy has format %d", f.Format)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{whole, one} {
		c := mustOpen(t, dir, query.Options{GCInterval: -1})
		wantFormat(t, c, 2)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	other := mustOpen(t, filepath.Join(t.TempDir(), "other"), query.Options{GCInterval: -1})
	defer other.Close()
	wantFormat(t, other, 1)
	if err := other.CopyTable(ctx, "a", db.Table("a"), nil); err != nil {
		t.Fatal(err)
	}
	wantFormat(t, other, 2)
	if got, want := text(t, other, "a"), text(t, db, "a"); got != want {
		t.Errorf("the copy has\n%s\nwant\n%s", got, want)
	}
}

// A reader beside the writer sees the new format together with the cells that need it,
// and refuses an unknown format.
func TestAReaderFollowsTheFormat(t *testing.T) {
	dir := fixture(t, "1")
	db := mustOpen(t, dir, query.Options{GCInterval: -1})
	r, err := query.OpenReadOnly(dir, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := errors.Join(lateWrites["set"](db, cells.MaxTimestamp), r.Refresh(ctx)); err != nil {
		t.Fatal(err)
	}
	wantFormat(t, r, 2)
	if got, want := text(t, r, "a"), text(t, db, "a"); got != want {
		t.Errorf("the reader has\n%s\nwant\n%s", got, want)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	store, err := query.OpenEngine(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Write(ctx, nil, func(b *cf.Batch) error {
		b.PutMeta("smolwc/format", fmt.Append(nil, query.FormatVersion+1))
		return nil
	})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	wantError(t, r.Refresh(ctx), query.KindFailedPrecondition, fmt.Sprint("format ", query.FormatVersion+1), "newer smolwc")
}

// An open makes the marker agree with the catalog, also after a crash or a copy.
func TestTheMarkerFollowsTheCatalog(t *testing.T) {
	for format, marker := range map[int]int{1: 2, 2: 1} {
		dir := fixture(t, fmt.Sprint(format))
		if err := os.WriteFile(filepath.Join(dir, "SMOLWC"), fmt.Appendf(nil, "smolwc database, format %d\n", marker), 0o600); err != nil {
			t.Fatal(err)
		}
		db := mustOpen(t, dir, query.Options{GCInterval: -1})
		wantFormat(t, db, format)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A write that is refused because the database is read-only or closed changes
// nothing.
func TestTheFormatStaysWhereNothingCanBeWritten(t *testing.T) {
	dir := fixture(t, "1")
	r := mustOpen(t, dir, query.Options{ReadOnly: true})
	if err := lateWrites["set"](r, cells.MaxTimestamp); err == nil {
		t.Error("a read-only database was written to")
	}
	wantFormat(t, r, 1)
	db := mustOpen(t, dir, query.Options{GCInterval: -1})
	if err := errors.Join(r.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	if err := lateWrites["set"](db, cells.MaxTimestamp); err == nil {
		t.Error("a closed database was written to")
	}
	wantFormat(t, db, 1)
}

// A format that cannot be raised, here since the marker cannot be written, is an error
// of the write that needs it, and nothing is written. The next write tries again.
func TestAFormatThatCannotBeRaised(t *testing.T) {
	for name, write := range lateWrites {
		t.Run(name, func(t *testing.T) {
			db := mustOpen(t, fixture(t, "1"), query.Options{GCInterval: -1})
			before, inTheWay := text(t, db, "a"), filepath.Join(db.Dir(), "SMOLWC.tmp")
			if err := os.Mkdir(inTheWay, 0o700); err != nil {
				t.Fatal(err)
			}
			wantError(t, write(db, cells.MaxTimestamp), query.KindUnavailable, inTheWay)
			wantFormat(t, db, 1)
			if got := text(t, db, "a"); got != before {
				t.Errorf("there was\n%s\nand is\n%s", before, got)
			}
			if err := errors.Join(os.Remove(inTheWay), write(db, cells.MaxTimestamp)); err != nil {
				t.Fatal(err)
			}
			wantFormat(t, db, 2)
		})
	}
}
