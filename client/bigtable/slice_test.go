package bigtable

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// sparse fills a table with rows of which a sample has the first one only.
func sparse(e *emulator) (sample float64, keys []string) {
	e.create("t", map[string]*adminpb.ColumnFamily{"f": {}})
	for i := range 200 {
		keys = append(keys, fmt.Sprintf("%04d", i))
	}
	lowest := slices.MinFunc(keys[:100], func(a, b string) int { return cmp.Compare(cf.RowHash(a), cf.RowHash(b)) })
	sample = math.Nextafter(math.Ldexp(float64(cf.RowHash(lowest)), -64), 1)
	keys = slices.DeleteFunc(keys, func(key string) bool {
		return key < lowest || key > lowest && float64(cf.RowHash(key)) <= math.Ldexp(sample, 64)
	})
	for _, key := range keys {
		e.set("t", key, "f", "q", 1000, "v")
	}
	return sample, keys
}

// Reads of keys that end again and again come further, also while a row of the sample waits
// for others that are read with it.
func TestSparseSamplesComeFurther(t *testing.T) {
	e := newEmulator(t)
	sample, keys := sparse(e)
	fails := func(_ *bigtablepb.ReadRowsRequest, number int) error {
		if number > 5 {
			return status.Error(codes.Unavailable, "it fails here")
		}
		return nil
	}
	e.fails.Store(&fails)
	db := inMemory(t)
	report := copyAll(t, e.source, db, Options{Sample: sample, pause: time.Millisecond, attempts: 3, Parallel: 1})
	if got := report.Tables[0].Copied.Rows; got != 1 || len(keys) < 50 {
		t.Errorf("%d of %d rows", got, len(keys))
	}
}

// put writes a cell of the first family of a table.
func put(t *testing.T, db *query.DB, table, key string) {
	t.Helper()
	of, _ := db.LookupTable(table)
	m := write.NewMutation()
	m.SetAt(of.Families[0].Name, "q", cells.Timestamp(1000), cells.Bytes([]byte("v")))
	if err := db.Table(table).Apply(t.Context(), key, m); err != nil {
		t.Fatal(err)
	}
}

// A row of the target that is not in the sample differs, although the source has it.
func TestVerifyFindsRowsOutsideTheSample(t *testing.T) {
	e := newEmulator(t)
	sample, keys := sparse(e)
	db := inMemory(t)
	o := Options{Sample: sample}
	copyAll(t, e.source, db, o)
	last := keys[len(keys)-1]
	put(t, db, "t", last)
	o.Verify = true
	report := copyAll(t, e.source, db, o)
	if want := []Difference{{"t", last, "is in the target, and no row of this copy"}}; !slices.Equal(report.Differences, want) {
		t.Errorf("got %v, want %v", report.Differences, want)
	}
}

// Times after now are kept by every age, also those of the far future, with which programs
// order cells.
func TestRetentionKeepsTheFarFuture(t *testing.T) {
	for _, ts := range []cells.Timestamp{math.MaxInt64, math.MaxInt64 - 1, cells.Timestamp(time.Now().Add(time.Hour).UnixMicro())} {
		if dropped([]schema.Limit{{Age: time.Hour}}, 1, ts, time.Now()) {
			t.Errorf("%d is dropped", ts)
		}
	}
}

// A copy that was killed when it had noted that it is whole, and was still marked as
// unfinished, is finished by the next one.
func TestCopyKilledAtItsEnd(t *testing.T) {
	e := newEmulator(t)
	e.fleet(3)
	db := inMemory(t)
	copyAll(t, e.source, db, Options{})
	before := dump(t, db, "fleet")
	c := &copying{from: e.source}
	for _, o := range []Options{{}, {Verify: true}} {
		if err := db.Plumbing().SetCopying(t.Context(), c.id()); err != nil {
			t.Fatal(err)
		}
		copyAll(t, e.source, db, o)
		if !slices.Equal(dump(t, db, "fleet"), before) {
			t.Errorf("the rows are others: %v", dump(t, db, "fleet"))
		}
	}
}

// An empty key, as of a file that was never written, is no key; it is not a random one.
func TestEmptyKey(t *testing.T) {
	e := newEmulator(t)
	e.fleet(1)
	err := Check(context.Background(), e.source, Options{Masks: []Mask{{"pii", "*", Hash}}, MaskKey: []byte{}})
	if query.KindOf(err) != query.KindInvalidArgument {
		t.Error(err)
	}
}

// A row of which only a part came, and which was gone when it was asked for again, is no row.
func TestRowThatIsGoneMeanwhile(t *testing.T) {
	h := &hostile{answers: []string{"row=a f=f q=x v=1fails"}}
	c := &copying{from: h.source(t), o: Options{pause: time.Millisecond}}
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	one := &oneRow{}
	of := &table{id: "t", families: map[string]*family{"f": {Family: schema.Family{Name: "f"}}}}
	if err := (&reading{c: c, t: of, rows: cf.Single("a"), to: one}).whole(t.Context(), nil); err != nil || one.sum.Cells != 0 {
		t.Errorf("%d cells, %v", one.sum.Cells, err)
	}
}
