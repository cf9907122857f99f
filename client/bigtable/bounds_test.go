package bigtable

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/smolwc/smolwc/query"
)

// A row of 250 MiB, whose values come in pieces, and one of a million cells take little
// memory: in a copy, in its comparison, and when the row is copied again as it changed.
func TestMemoryOfLargeRowsIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds of a processor")
	}
	piece := []byte(strings.Repeat("0123456789abcdef", 32<<10)) // 512 KiB
	for _, row := range []struct {
		name            string
		messages, cells int
		message         func(number int) []*bigtablepb.ReadRowsResponse_CellChunk
	}{
		{"bytes", 500, 125, func(number int) []*bigtablepb.ReadRowsResponse_CellChunk {
			c := &bigtablepb.ReadRowsResponse_CellChunk{Value: piece}
			if number%4 == 0 {
				c.Qualifier = wrapperspb.Bytes(fmt.Appendf(nil, "%06d", number))
			}
			if number%4 < 3 {
				c.ValueSize = int32(4 * len(piece))
			}
			return []*bigtablepb.ReadRowsResponse_CellChunk{c}
		}},
		{"cells", 500, 1_000_000, func(number int) (chunks []*bigtablepb.ReadRowsResponse_CellChunk) {
			for i := range 2000 {
				chunks = append(chunks, &bigtablepb.ReadRowsResponse_CellChunk{Qualifier: wrapperspb.Bytes(fmt.Appendf(nil, "%03d-%04d", number, i))})
			}
			return chunks
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			heap := func() uint64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			db := openTarget(t, t.TempDir())
			var before, most uint64
			h := &hostile{rows: func(s bigtablepb.Bigtable_ReadRowsServer) error {
				for number := range row.messages {
					chunks := row.message(number)
					if number == 0 {
						chunks[0].RowKey, chunks[0].FamilyName = []byte("r"), wrapperspb.String("f")
					}
					if number == row.messages-1 {
						chunks[len(chunks)-1].RowStatus = &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
					}
					if err := s.Send(&bigtablepb.ReadRowsResponse{Chunks: chunks}); err != nil {
						return err
					}
					if number%100 == 99 {
						most = max(most, heap())
					}
				}
				return nil
			}}
			from := h.source(t)
			before = heap()
			report := copyAll(t, from, db, Options{Verify: true})
			if got := report.Tables[0]; got.Copied.Cells != int64(row.cells) || got.Source != got.Target || report.Different != 0 {
				t.Errorf("%+v", report)
			}
			c := &copying{from: from, to: db, report: new(Report)}
			if err := c.check(); err != nil {
				t.Fatal(err)
			}
			if err := c.plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := (&following{c: c, t: c.tables[0]}).apply(t.Context(), []string{"r"}); err != nil {
				t.Fatal(err)
			}
			if n, err := db.Table("t").Count(t.Context()); err != nil || n.Cells != int64(row.cells) {
				t.Errorf("%+v, %v", n, err)
			}
			bound := int64(100) // the row has 250 MiB, as changes too
			if !query.HasRocksDB {
				bound += 256 // without cgo, what Pebble may have is Go's
			}
			if got := int64(most-min(most, before)) >> 20; got > bound {
				t.Errorf("it holds %d MiB", got)
			}
		})
	}
}

// messages is a source of rows of 10 KiB, each a message.
func messages(n int) *hostile {
	return &hostile{rows: func(s bigtablepb.Bigtable_ReadRowsServer) error {
		for i := range n {
			m := chunk(fmt.Sprintf("row=%06d f=f q=x commit", i))
			m.Value = make([]byte, 10<<10)
			if err := s.Send(&bigtablepb.ReadRowsResponse{Chunks: []*bigtablepb.ReadRowsResponse_CellChunk{m}}); err != nil {
				return err
			}
		}
		return nil
	}}
}

// A source is read no faster than the rate, but for the first tenth of a second.
func TestRateIsKept(t *testing.T) {
	const rate, rows = 1 << 20, 60
	from, db := messages(rows).source(t), inMemory(t)
	began := time.Now()
	report := copyAll(t, from, db, Options{Rate: rate})
	took := time.Since(began) // is longer on a slow machine, and never shorter
	if least := time.Duration(float64(rows*10<<10)/rate*float64(time.Second)) - time.Second/10; took < least {
		t.Errorf("%d bytes were read in %v, and not in %v or more", report.Tables[0].Copied.Bytes, took, least)
	}
}

// A copy whose rate would take it beyond its deadline ends as one that is out of time; the
// source is not at fault.
func TestRateBeyondTheDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	_, err := Copy(ctx, messages(4).source(t), inMemory(t), Options{Rate: 1})
	if !errors.Is(err, context.DeadlineExceeded) || query.KindOf(err) != query.KindCanceled {
		t.Error(err)
	}
}

// The end of the context ends the wait for a rate.
func TestContextEndsTheWaitForARate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	of := messages(100)
	all := of.rows
	of.rows = func(s bigtablepb.Bigtable_ReadRowsServer) error {
		context.AfterFunc(s.Context(), cancel)
		time.AfterFunc(time.Millisecond, cancel)
		return all(s)
	}
	if _, err := Copy(ctx, of.source(t), inMemory(t), Options{Rate: 1}); !errors.Is(err, context.Canceled) || query.KindOf(err) != query.KindCanceled {
		t.Error(err)
	}
}

// A row of the target without the copy's prefix differs.
func TestVerifyFindsRowsOutsideThePrefix(t *testing.T) {
	e := newEmulator(t)
	e.fleet(20)
	db := inMemory(t)
	o := Options{Tables: []string{"users"}, Prefix: pilot(1)[:len(pilot(1))-1]}
	copyAll(t, e.source, db, o)
	for _, key := range []string{"A", "Zebedee-0", "Zebedee-1", "z"} {
		put(t, db, "users", key)
	}
	o.Verify = true
	report := copyAll(t, e.source, db, o)
	var got []string
	for _, d := range report.Differences {
		got = append(got, d.Row+" "+d.What)
	}
	want := "A is in the target, and no row of this copy, Zebedee-0 is in the target, and no row of this copy, Zebedee-1 is in the target, and no row of this copy, z is in the target, and no row of this copy"
	if strings.Join(got, ", ") != want || report.Tables[0].Source.Rows+4 != report.Tables[0].Target.Rows {
		t.Errorf("%+v", report)
	}
}

// Of two copies that write a target at once, neither ends as if it were whole: each may have
// removed or doubled what the other wrote.
func TestTwoCopiesAtOnce(t *testing.T) {
	e := newEmulator(t)
	e.fleet(5)
	db := inMemory(t)
	reached, release := make(chan struct{}), make(chan struct{})
	first := true
	fails := func(*bigtablepb.ReadRowsRequest, int) error {
		if first {
			first = false
			close(reached)
			<-release
		}
		return nil
	}
	e.fails.Store(&fails)
	o := Options{Tables: []string{"fleet"}, Parallel: 1}
	ended := make(chan error, 1)
	go func() {
		_, err := Copy(t.Context(), e.source, db, o)
		ended <- err
	}()
	<-reached
	e.fails.Store(nil)
	copyAll(t, e.source, db, o)
	close(release)
	if err := <-ended; query.KindOf(err) != query.KindConflict {
		t.Errorf("the first one: %v", err)
	}
	o.Verify = true
	if _, err := Copy(t.Context(), e.source, db, o); query.KindOf(err) != query.KindConflict {
		t.Errorf("the next one: %v", err)
	}
}

// A request for changes that are gone says that a new copy is needed.
func TestChangesThatAreGone(t *testing.T) {
	err := (&hostile{}).source(t).failed(t.Context(), "t", status.Error(codes.OutOfRange, "too old"))
	if err.Error() != "copy t: bigtable://p/i answers OutOfRange: too old; copy into a new database" || query.KindOf(err) != query.KindFailedPrecondition {
		t.Error(err)
	}
}
