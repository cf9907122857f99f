package soak

import (
	"context"
	"errors"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

func short(t *testing.T, out *strings.Builder) Options {
	return Options{Dir: t.TempDir(), Duration: 500 * time.Millisecond, Interval: 200 * time.Millisecond, Seed: 1, Memory: 16 << 20, Out: out}
}

// A soak of a second does some of everything, and finds nothing wrong.
func TestSoak(t *testing.T) {
	var out strings.Builder
	if err := Run(t.Context(), short(t, &out)); err != nil {
		t.Fatalf("%v, after\n%s", err, &out)
	}
	for _, want := range []string{"writes/s", "none wrong", "check: nothing wrong"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// A soak finds each kind of fault, and ends with an error that names it.
func TestSoakFindsWhatIsWrong(t *testing.T) {
	var left *os.File
	for _, test := range []struct {
		name  string
		spoil func(ctx context.Context, db *query.DB) error
		want  []string // any of these
	}{
		{"lost rows", func(ctx context.Context, db *query.DB) error {
			return db.Table("groups").DeleteRange(ctx, read.Prefix("group#"))
		}, []string{"is missing", "is torn"}},
		{"a lost row", func(ctx context.Context, db *query.DB) error {
			return changeFirst(ctx, db, (*write.Mutation).DeleteRow)
		}, []string{"is missing", "is torn"}},
		{"half of a row", func(ctx context.Context, db *query.DB) error {
			return changeFirst(ctx, db, func(m *write.Mutation) { m.DeleteCellsInFamily("a") })
		}, []string{"is torn"}},
		{"another value", func(ctx context.Context, db *query.DB) error {
			return changeFirst(ctx, db, func(m *write.Mutation) { m.Set("a", "q", cells.Bytes([]byte("other value"))) })
		}, []string{"a value that nobody wrote"}},
		{"a lost count", func(ctx context.Context, db *query.DB) error {
			return db.Table("numbers").DeleteRange(ctx, read.Prefix("counter#"))
		}, []string{"was acknowledged before", "is missing"}},
		{"money", func(ctx context.Context, db *query.DB) error {
			_, err := db.Table("numbers").Increment(ctx, account(1), "n", "n", 1)
			return err
		}, []string{"the accounts have 40001 together"}},
		{"an open file", func(context.Context, *query.DB) (err error) {
			left, err = os.Open(os.DevNull)
			return err
		}, []string{"files are open"}},
		{"an open read", func(ctx context.Context, db *query.DB) error {
			next, stop := iter.Pull2(db.Table("numbers").ReadRows(ctx))
			t.Cleanup(stop)
			_, err, _ := next()
			return err
		}, []string{"cursors are open"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			o := short(t, &out)
			o.Duration, o.spoil = 100*time.Millisecond, test.spoil
			err := Run(t.Context(), o)
			if left != nil {
				left.Close()
			}
			for _, want := range test.want {
				if err != nil && strings.Contains(err.Error(), want) {
					return
				}
			}
			t.Errorf("got %v, want one of %q, after\n%s", err, test.want, &out)
		})
	}
}

// changeFirst changes the first row of a table.
func changeFirst(ctx context.Context, db *query.DB, change func(*write.Mutation)) error {
	t := db.Table("groups")
	for row, err := range t.ReadRows(ctx, read.Limit(1)) {
		if err != nil {
			return err
		}
		m := write.NewMutation()
		change(m)
		return t.Apply(ctx, row.Key(), m)
	}
	return errors.New("no rows")
}

// Growth is found; variation and warming up are not reported.
func TestFlatness(t *testing.T) {
	ramp := func(n int, f func(i int) float64) (v []float64) {
		for i := range n {
			v = append(v, f(i))
		}
		return v
	}
	for _, test := range []struct {
		name    string
		samples []float64
		flat    bool
	}{
		{"constant", ramp(300, func(int) float64 { return 100 }), true},
		{"warming up", ramp(300, func(i int) float64 { return float64(min(i, 100)) * 3 }), true},
		{"saw teeth", ramp(300, func(i int) float64 { return 100 + float64(i%50) }), true},
		{"a leak", ramp(300, func(i int) float64 { return 100 + float64(i)/2 }), false},
		{"too short a leak to tell", ramp(leastSamples-1, func(i int) float64 { return 100 * float64(i) }), true},
	} {
		v := judge("memory", test.samples, memorySlack)
		if err := v.err(); (err == nil) != test.flat {
			t.Errorf("%s: %v, %v", test.name, v, err)
		}
	}
}
