package query_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/bytere"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// The rows that the bombs take long on: a large value, a long qualifier and key, and many
// cells.
const (
	largeRow = "large"
	manyRow  = "many"
)

var (
	longKey = "key" + strings.Repeat("abcdefghij", 400)
	bomb    = ".*" + strings.Repeat(".{0,100}", 20) + "z"
	keyBomb = ".*" + strings.Repeat(".{0,900}", 20) + "z"
)

func openBombed(t *testing.T) *query.DB {
	t.Helper()
	db := openMemory(t, declare(schema.Family{Name: "f"}, schema.Family{Name: "g"}))
	put(t, db, largeRow, "f", "v", cells.Bytes([]byte(strings.Repeat("abcdefghij", 100_000))))
	put(t, db, longKey, "f", "q"+strings.Repeat("abcdefghij", 1600), cells.String("v"))
	m := write.NewMutation()
	for i := range 100_000 {
		m.SetAt("f", fmt.Sprintf("%06d", i), 1, cells.I64(int64(i)))
	}
	if err := db.Table("t").Apply(ctx, manyRow, m); err != nil {
		t.Fatal(err)
	}
	return db
}

// interleaved is a filter of many filters that all look at every cell.
func interleaved(of filter.Filter) filter.Filter {
	all := make([]filter.Filter, 800)
	for i := range all {
		all[i] = of
	}
	return filter.InterleaveOf(all...)
}

// bombs are reads of one row that take longer than a call may.
var bombs = map[string]struct {
	row  string
	want string // in the error
	opts []read.Option
}{
	"value_regex":        {largeRow, "value_regex(", []read.Option{read.Filter(filter.Value(bomb))}},
	"more repetitions":   {largeRow, "on 1000000 bytes", []read.Option{read.Filter(filter.Value(".*" + strings.Repeat(".{0,100}", 100) + "z"))}},
	"column_regex":       {longKey, "column_qualifier_regex(", []read.Option{read.Filter(filter.Column(keyBomb))}},
	"row_key_regex":      {longKey, "row_key_regex(", []read.Option{read.Filter(filter.RowKey(keyBomb))}},
	"in a condition":     {largeRow, "value_regex(", []read.Option{read.Filter(filter.Condition{If: filter.Value(bomb), Then: filter.PassAll{}})}},
	"in an interleave":   {largeRow, "value_regex(", []read.Option{read.Filter(filter.InterleaveOf(filter.BlockAll{}, filter.Value(bomb)))}},
	"before a sink":      {largeRow, "value_regex(", []read.Option{read.Filter(filter.ChainOf(filter.Value(bomb), filter.Sink{}))}},
	"many interleaved":   {manyRow, "takes too long", []read.Option{read.Filter(interleaved(filter.ChainOf(filter.StripValue{}, filter.Value("x"))))}},
	"many conditions":    {manyRow, "combine fewer filters", []read.Option{read.Filter(interleaved(filter.Condition{If: filter.BlockAll{}, Then: filter.PassAll{}, Else: filter.BlockAll{}}))}},
	"where a value":      {largeRow, `the pattern ".*.{0,100}`, []read.Option{read.WhereMatch("f", "v", bomb)}},
	"where a key":        {longKey, "of key takes too long", []read.Option{read.WhereKeyMatch(keyBomb)}},
	"where not":          {largeRow, "of f:v takes too long", []read.Option{read.Negate(read.WhereMatch("f", "v", bomb))}},
	"where one of":       {largeRow, "of f:v takes too long", []read.Option{read.Any(read.WhereMatch("f", "v", bomb), read.WhereMatch("f", "v", "x"+bomb))}},
	"where many times":   {largeRow, "of f:v takes too long", []read.Option{whereAll(40)}},
	"ignoring the case":  {largeRow, "value_regex(", []read.Option{read.Filter(filter.Value("(?i)" + bomb))}},
	"optional parts":     {largeRow, "value_regex(", []read.Option{read.Filter(filter.Value("(?:" + strings.Repeat("[a-j]?", 900) + ")*z"))}},
	"word boundaries":    {largeRow, "value_regex(", []read.Option{read.Filter(filter.Value(`(?:(?:\b|\B){200}[a-z])*z`))}},
	"alternatives":       {largeRow, "value_regex(", []read.Option{read.Filter(filter.Value("(?:[a-j]{1,900}|[a-k]{1,900})*z"))}},
	"many small filters": {largeRow, "value_regex(", []read.Option{read.Filter(interleaved(filter.Value("(a|[b-j])*z")))}},
}

// whereAll is a condition with a pattern many times; each takes a part of what a
// call may.
func whereAll(n int) read.Option {
	terms := make([]read.Condition, n)
	for i := range terms {
		terms[i] = read.WhereMatch("f", "v", strings.Repeat("[a-j]?", 100)+"[a-j]*z")
	}
	return read.Any(terms...)
}

// Whatever asks for a bomb ends with an error that names what took too long. So that the test
// does not take as long as the bombs, their calls may take a part of the steps.
func TestBombsEnd(t *testing.T) {
	db := openBombed(t)
	table := db.Table("t")
	for name, b := range bombs {
		t.Run(name, func(t *testing.T) {
			request, err := read.New(b.opts...)
			if err != nil {
				t.Fatal(err)
			}
			few := func() context.Context { return bytere.NewWork(ctx, bytere.CallSteps/16) }
			for _, err := range table.ReadRows(few(), append(b.opts, read.Key(b.row))...) {
				wantError(t, err, query.KindResourceExhausted, b.want, "a call may take")
			}
			_, err = table.CheckAndMutate(few(), b.row, request, nil, nil)
			wantError(t, err, query.KindResourceExhausted, b.want, "a call may take")
		})
	}
	b := bombs["value_regex"]
	opts := append(b.opts, read.Key(b.row))
	for name, call := range map[string]func() error{
		"row":   func() error { _, err := table.ReadRow(ctx, b.row, b.opts...); return err },
		"count": func() error { _, err := table.Count(ctx, opts...); return err },
		"page":  func() error { _, err := table.ReadPage(ctx, append(b.opts, read.Prefix("l"))...); return err },
		"check": func() error {
			_, err := table.CheckAndMutate(ctx, b.row, b.opts[0], nil, nil)
			return err
		},
		"update": func() error {
			return db.Update(ctx, func(tx *query.Tx) error {
				_, err := tx.ReadRow(ctx, "t", b.row, b.opts...)
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, call(), query.KindResourceExhausted, b.want)
		})
	}
}

// A stopping context stops the goroutine that matches, while it looks at its context, until
// the test lets it go on.
type stopping struct {
	context.Context
	at      []string // only there: all are in its stack
	once    *sync.Once
	stopped chan struct{} // closed when it has stopped
	release chan struct{}
}

func stopAt(ctx context.Context, at ...string) stopping {
	return stopping{ctx, at, new(sync.Once), make(chan struct{}), make(chan struct{})}
}

func (s stopping) Err() error {
	stack := string(debug.Stack())
	if !slices.ContainsFunc(s.at, func(at string) bool { return !strings.Contains(stack, at) }) {
		s.once.Do(func() {
			close(s.stopped)
			<-s.release
		})
	}
	return s.Context.Err()
}

// While a predicate is judged that takes long, everyone else reads and writes, the same row
// too, and changes the schema. The context ends it in the midst of a match.
func TestASlowPredicateHoldsNobodyUp(t *testing.T) {
	db := openBombed(t)
	for name, b := range bombs {
		t.Run(name, func(t *testing.T) {
			request, err := read.New(b.opts...)
			if err != nil {
				t.Fatal(err)
			}
			ending, cancel := context.WithCancel(ctx)
			slow := stopAt(ending, "(*check).aside", "bytere.(*Work).Spend")
			var judging sync.WaitGroup
			judging.Go(func() {
				defer slow.once.Do(func() { close(slow.stopped) })
				if _, err := db.Table("t").CheckAndMutate(slow, b.row, request, mutate(setAt("g", "x", 1, cells.I64(1))), nil); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
			<-slow.stopped
			canary(t, db, b.row)
			cancel()
			close(slow.release)
			judging.Wait()
		})
	}
}

// canary does what others do.
func canary(t *testing.T, db *query.DB, row string) {
	t.Helper()
	table := db.Table("t")
	for _, key := range []string{"other", row} {
		put(t, db, key, "g", "x", cells.I64(2))
		if _, err := table.CheckAndMutate(ctx, key, read.Exists("g", "x"), mutate(setAt("g", "y", 1, cells.I64(3))), nil); err != nil {
			t.Error(err)
		}
		if _, err := table.Increment(ctx, key, "g", "n", 1); err != nil {
			t.Error(err)
		}
		if _, err := table.ReadRow(ctx, key, read.Column("g", "x")); err != nil {
			t.Error(err)
		}
	}
	if err := db.CreateTable(ctx, schema.Table{Name: "new", Families: []schema.Family{{Name: "f"}}}); err != nil {
		t.Error(err)
	}
	put(t, db, "after", "g", "x", cells.I64(4))
	if err := table.DeleteRange(ctx, read.Prefix("after")); err != nil {
		t.Error(err)
	}
	if err := db.DropTable(ctx, "new"); err != nil {
		t.Error(err)
	}
	put(t, db, "after", "g", "x", cells.I64(4))
}

// A predicate that takes long is judged again if the row is changed meanwhile, so that the
// check and the write are one step.
func TestASlowPredicateIsOneStepWithItsWrite(t *testing.T) {
	db := openBombed(t)
	table := db.Table("t")
	value := strings.Repeat("abcdefghij", 200_000) // larger than what is judged under a lock
	put(t, db, largeRow, "f", "v", cells.Bytes([]byte(value)))
	slow := stopAt(ctx, "(*check).aside")
	var judging sync.WaitGroup
	judging.Go(func() {
		matched, err := table.CheckAndMutate(slow, largeRow, read.WhereMatch("f", "v", "[a-j]+"), mutate(setAt("g", "matched", 1, cells.I64(1))), mutate(setAt("g", "other", 1, cells.I64(1))))
		if matched || err != nil {
			t.Errorf("the old value has matched: %v, %v", matched, err)
		}
	})
	<-slow.stopped
	put(t, db, largeRow, "f", "v", cells.Bytes([]byte(value+"!")))
	close(slow.release)
	judging.Wait()
	row, err := table.ReadRow(ctx, largeRow, read.Family("g"))
	if err != nil || row.Len() != 1 {
		t.Fatal(row, err)
	}
	if _, ok := row.Cell("g", "other"); !ok {
		t.Errorf("it has written %v", row)
	}
}

// Many calls with such predicates on one row all come to their end.
func TestSlowPredicatesOfOneRowTakeTurns(t *testing.T) {
	db := openBombed(t)
	table := db.Table("t")
	put(t, db, largeRow, "f", "v", cells.Bytes([]byte(strings.Repeat("abcdefghij", 110_000))))
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			matched, err := table.CheckAndMutate(ctx, largeRow, read.WhereMatch("f", "v", "[a-j]+"), mutate(setAt("g", fmt.Sprint(i), 1, cells.I64(1))), nil)
			if !matched || err != nil {
				t.Error(matched, err)
			}
		})
	}
	all.Wait()
	if row, err := table.ReadRow(ctx, largeRow, read.Family("g")); err != nil || row.Len() != 20 {
		t.Error(row, err)
	}
}

// A change of the schema that waits for a write lets others pass.
func TestAWaitingChangeOfTheSchemaLetsWritesPass(t *testing.T) {
	db := openBombed(t)
	table := db.Table("t")
	slow := stopAt(ctx, "(*commit).write")
	var all sync.WaitGroup
	all.Go(func() {
		if err := table.Apply(slow, "slow", mutate(setAt("g", "x", 1, cells.I64(1)))); err != nil {
			t.Error(err)
		}
	})
	<-slow.stopped
	ending, cancel := context.WithCancel(ctx)
	all.Go(func() {
		if err := db.CreateTable(ending, schema.Table{Name: "waits"}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	for i := range 20 {
		put(t, db, fmt.Sprint("other ", i), "g", "x", cells.I64(2))
	}
	cancel()
	close(slow.release)
	all.Wait()
	if err := db.CreateTable(ctx, schema.Table{Name: "waits"}); err != nil {
		t.Error(err)
	}
}
