package querytest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// Marks lets several goroutines write rows of a marked table, in all ways, while two
// others follow the marks: each copies marked rows to a second table and deletes their
// marks, in one transaction. In the end the tables are equal. Materialized views rest on
// this.
func Marks(t *testing.T, place func() Place) {
	p := place()
	defer p.Remove()
	families := []schema.Family{{Name: "f"}}
	db, err := p.Open(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: families}, {Name: "copy", Families: families}}}})
	must(t, err)
	defer func() { must(t, db.Close()) }()
	ctx := context.Background()
	_, err = db.Plumbing().MarkChanges(ctx, "t")
	must(t, err)
	var writers, followers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			for range 60 {
				if err := changeMarked(ctx, db, random); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stop := make(chan struct{})
	for range 2 {
		followers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if err := followMarks(ctx, db); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	followers.Wait()
	must(t, followMarks(ctx, db))
	if n, err := db.Table(schema.MarksOf("t")).Count(ctx); n.Rows != 0 || err != nil {
		t.Errorf("%d marks are left, %v", n.Rows, err)
	}
	if got, want := rowsOf(t, db, "copy"), rowsOf(t, db, "t"); got != want {
		t.Errorf("the copy has\n%s\nwant\n%s", got, want)
	}
}

// changeMarked writes a row in a random way.
func changeMarked(ctx context.Context, db *query.DB, random *rand.Rand) error {
	key, t := fmt.Sprint("r", random.IntN(12)), db.Table("t")
	set := write.NewMutation()
	set.SetAt("f", "q", 1, cells.I64(random.Int64N(1000)))
	remove := write.NewMutation()
	remove.DeleteRow()
	switch random.IntN(7) {
	case 0:
		return t.Apply(ctx, key, remove)
	case 1:
		_, err := t.CheckAndMutate(ctx, key, nil, remove, set)
		return err
	case 2:
		_, err := t.Increment(ctx, key, "f", "n", 1)
		return err
	case 3:
		err := db.Update(ctx, func(tx *query.Tx) error { return tx.Apply(ctx, "t", key, set) })
		if query.KindOf(err) == query.KindConflict {
			return nil
		}
		return err
	case 4:
		return db.Apply(ctx, write.NewBatch().Add("t", key, set).Add("t", key+"x", remove))
	case 5:
		return t.DeleteRange(ctx, read.Prefix(key))
	}
	return t.Apply(ctx, key, set)
}

// followMarks copies the rows that the marks name. A row that is written all the time
// stays marked.
func followMarks(ctx context.Context, db *query.DB) error {
	var keys []string
	for row, err := range db.Table(schema.MarksOf("t")).ReadRows(ctx, read.KeysOnly()) {
		if err != nil {
			return err
		}
		keys = append(keys, row.Key())
	}
	for _, key := range keys {
		err := db.Update(ctx, func(tx *query.Tx) error { return followMark(ctx, tx, key) })
		if err != nil && query.KindOf(err) != query.KindConflict {
			return err
		}
	}
	return nil
}

func followMark(ctx context.Context, tx *query.Tx, key string) error {
	row, err := tx.ReadRow(ctx, "t", key)
	if err != nil {
		return err
	}
	m, unmark := write.NewMutation(), write.NewMutation()
	m.DeleteRow()
	if row != nil {
		for c := range row.Cells() {
			m.SetAt(c.Family, c.Qualifier, c.Timestamp, c.Value)
		}
	}
	unmark.DeleteCell("m", "", 0)
	return errors.Join(tx.Apply(ctx, "copy", key, m), tx.Apply(ctx, schema.MarksOf("t"), key, unmark))
}

func rowsOf(t *testing.T, db *query.DB, table string) (text string) {
	for row, err := range db.Table(table).ReadRows(context.Background()) {
		must(t, err)
		text += row.String() + "\n"
	}
	return text
}
