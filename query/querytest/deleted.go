package querytest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A TableChange is a step of a history of tables that are created, filled, deleted,
// brought back and purged under a few names.
type TableChange struct {
	Kind  string // one of TableChanges
	Table string
	ID    int // of a table that is created
}

// TableChanges are the kinds of changes.
var TableChanges = []string{"create", "fill", "note", "drop", "delete", "undelete", "purge"}

// Do makes the change.
func (c TableChange) Do(ctx context.Context, db *query.DB) error {
	plan := func(kind schema.ChangeKind) error {
		return db.ApplyPlan(ctx, schema.Plan{Changes: []schema.Change{{Kind: kind, Table: c.Table}}})
	}
	switch c.Kind {
	case "create":
		return db.CreateTable(ctx, schema.Table{Name: c.Table, Families: []schema.Family{{Name: "f", GC: schema.MaxVersions(1)}, {Name: idFamily(c.ID)}}})
	case "fill":
		return db.Table(c.Table).Apply(ctx, "r", setN("f", "q", 7))
	case "note":
		return db.Plumbing().SetTableNote(ctx, c.Table, []byte("note"))
	case "drop":
		return db.DropTable(ctx, c.Table)
	case "delete":
		return plan(schema.DeleteTable)
	case "undelete":
		return plan(schema.UndeleteTable)
	}
	return plan(schema.PurgeTable)
}

func idFamily(id int) string { return fmt.Sprint("id", id) }

type modelTable struct {
	name          string
	id            int
	filled, noted bool
	until         time.Time // of a deleted table
}

// TableModel is a naive model of such a history.
type TableModel struct{ live, deleted []modelTable }

// Clone is a copy of the model.
func (m *TableModel) Clone() *TableModel {
	return &TableModel{slices.Clone(m.live), slices.Clone(m.deleted)}
}

// Do makes a change at a time, and returns the kind of the expected error, 0 for none.
func (m *TableModel) Do(c TableChange, now time.Time) query.Kind {
	named := func(t modelTable) bool { return t.name == c.Table }
	at := slices.IndexFunc(m.live, named)
	switch {
	case c.Kind == "create":
		if at >= 0 {
			return query.KindAlreadyExists
		}
		m.live = append(m.live, modelTable{name: c.Table, id: c.ID})
		return 0
	case c.Kind == "undelete":
		if at >= 0 {
			return query.KindAlreadyExists
		}
		for i, t := range slices.Backward(m.deleted) {
			if named(t) && t.until.After(now) {
				m.live = append(m.live, t)
				m.deleted = slices.Delete(m.deleted, i, i+1)
				return 0
			}
		}
		return query.KindNotFound
	case c.Kind == "purge":
		m.deleted = slices.DeleteFunc(m.deleted, named)
		return 0
	case at < 0:
		return query.KindNotFound
	}
	switch t := &m.live[at]; c.Kind {
	case "fill":
		t.filled = true
	case "note":
		t.noted = true
	case "delete":
		t.until = now.Add(deletedFor)
		m.deleted = append(m.deleted, *t)
		fallthrough
	case "drop":
		m.live = slices.Delete(m.live, at, at+1)
	}
	return 0
}

// deletedFor is how long the databases of these histories keep deleted tables.
const deletedFor = 7 * 24 * time.Hour

// Differs is how a database differs from the model.
func (m *TableModel) Differs(ctx context.Context, db *query.DB, now time.Time) error {
	notes, err := db.Plumbing().TableNotes(ctx)
	if err != nil {
		return err
	}
	var want, got []string
	for _, t := range m.live {
		want = append(want, fmt.Sprintf("%s f,%s filled %t, noted %t", t.name, idFamily(t.id), t.filled, t.noted))
	}
	for _, t := range db.Schema().Tables {
		row, err := db.Table(t.Name).ReadRow(ctx, "r")
		if err != nil {
			return err
		}
		_, filled := row.I64("f", "q")
		got = append(got, fmt.Sprintf("%s %s,%s filled %t, noted %t", t.Name, t.Families[0].Name, t.Families[1].Name, filled, notes[t.Name] != nil))
	}
	slices.Sort(want)
	for _, t := range m.deleted {
		if t.until.After(now) {
			want = append(want, fmt.Sprintf("deleted %s [f %s]", t.name, idFamily(t.id)))
		}
	}
	s, err := db.Stats(ctx)
	if err != nil {
		return err
	}
	for _, t := range s.Deleted {
		got = append(got, fmt.Sprintf("deleted %s %s", t.Table, t.Families))
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the database has\n%q\nwant\n%q", got, want)
	}
	return nil
}

// DeletedTables compares random histories of tables with a naive model. Some days pass
// meanwhile, and the database is closed and opened.
func DeletedTables(t *testing.T, places func() Place) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, p := context.Background(), places()
		defer p.Remove()
		now := time.Date(2024, 1, 25, 0, 0, 0, 0, time.UTC)
		open := func() *query.DB {
			db, err := p.Open(query.Options{Clock: func() time.Time { return now }, GCInterval: -1})
			must(t, err)
			return db
		}
		db, m := open(), &TableModel{}
		defer func() { must(t, db.Close()) }()
		for i := range rapid.IntRange(1, 20).Draw(t, "changes") {
			switch rapid.IntRange(0, 9).Draw(t, "before it") {
			case 0:
				must(t, db.Close())
				db = open()
			case 1:
				now = now.Add(48 * time.Hour)
			}
			c := TableChange{rapid.SampledFrom(TableChanges).Draw(t, "kind"), rapid.SampledFrom([]string{"t", "u", "p/i/t"}).Draw(t, "table"), i}
			want := m.Do(c, now)
			if err := c.Do(ctx, db); query.KindOf(err) != want || (err == nil) != (want == 0) {
				t.Fatalf("%+v: %v, want the kind %v", c, err, want)
			}
			must(t, m.Differs(ctx, db, now))
		}
	})
}
