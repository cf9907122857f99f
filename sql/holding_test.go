package sql_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	reads "github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
)

// little has room for a MiB.
type little struct{ held int }

var errFull = errors.New("there is no more room")

func (l *little) Hold(n int, _ bool) error {
	if l.held+n > 1<<20 {
		return errFull
	}
	l.held += n
	return nil
}

func (l *little) Room() (int, bool) { return 1<<20 - l.held, false }

func (l *little) Refusal(int) error { return errFull }

// What a query holds counts with all that its connection holds.
func TestWhatAQueryHoldsIsCounted(t *testing.T) {
	table := schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}}}
	var rows iter.Seq2[*query.Row, error] = func(yield func(*query.Row, error) bool) {
		for i := range 50_000 {
			if !yield(query.NewRow(fmt.Sprintf("row %d", i), []cells.Cell{{Family: "f", Qualifier: "q", Timestamp: 1, Value: cells.I64(int64(i))}}), nil) {
				return
			}
		}
	}
	for _, text := range []string{
		"SELECT _key, COUNT(*) FROM t GROUP BY _key",
		"SELECT DISTINCT _key FROM t",
		"SELECT ARRAY_AGG(_key) FROM t",
	} {
		q, err := sql.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := q.On(table).Plan(sql.Params{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		err = p.Run(cf.WithHolding(context.Background(), new(little)), sql.Only(someRows{rows}), func([]any) error { return nil })
		if !errors.Is(err, errFull) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// someRows is a table of given rows, in one part.
type someRows struct {
	rows iter.Seq2[*query.Row, error]
}

func (s someRows) ReadRows(context.Context, ...reads.Option) iter.Seq2[*query.Row, error] {
	return s.rows
}

func (s someRows) ReadPartsParallel(ctx context.Context, _ int, fn func(context.Context, int, iter.Seq2[*query.Row, error]) error, _ ...reads.Option) error {
	return fn(ctx, 0, s.rows)
}
