package server

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
)

// A chosen is what processors were set to, and when.
type chosen struct {
	one   bool
	after time.Duration
}

// chosenFor runs processors while callers call, and returns what was chosen.
func chosenFor(t *testing.T, callers func(p *processors)) (list []chosen) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		p := newProcessors(func(one bool) { list = append(list, chosen{one, time.Since(began)}) })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.run(ctx); close(done) }()
		synctest.Wait()
		callers(p)
		synctest.Wait()
		cancel()
		<-done
		if p.one.Load() {
			t.Error("one processor is left behind")
		}
	})
	return list
}

// callOnce is one call that takes so long.
func callOnce(p *processors, req any, takes time.Duration) {
	p.begin()
	p.arrived(req)
	time.Sleep(takes)
	p.end()
	synctest.Wait()
}

var (
	oneRow = &bigtablepb.ReadRowsRequest{Rows: &bigtablepb.RowSet{RowKeys: [][]byte{[]byte("r")}}}
	write  = &bigtablepb.MutateRowRequest{}
)

const short = time.Millisecond

// callsFor is one caller for so long, who makes one call after another.
func callsFor(p *processors, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		callOnce(p, oneRow, short)
		callOnce(p, write, short)
	}
}

func TestOneCallerIsServedByOneProcessor(t *testing.T) {
	got := chosenFor(t, func(p *processors) { callsFor(p, time.Second) })
	if len(got) != 2 || !got[0].one || got[0].after > 100*time.Millisecond || got[1].one {
		t.Errorf("chosen: %v; want one soon, and all at the end", got)
	}
}

func TestAllProcessorsComeBackAtOnce(t *testing.T) {
	for name, more := range map[string]func(p *processors){
		"a second caller": func(p *processors) { p.begin(); callOnce(p, oneRow, short); p.end() },
		"a scan":          func(p *processors) { callOnce(p, &bigtablepb.ReadRowsRequest{}, short) },
		"an admin call":   func(p *processors) { callOnce(p, nil, short) },
	} {
		t.Run(name, func(t *testing.T) {
			var before time.Duration
			got := chosenFor(t, func(p *processors) {
				began := time.Now()
				callsFor(p, time.Second+lookEvery/3)
				before = time.Since(began)
				more(p)
				time.Sleep(lookEvery / 3) // less than to the next look
			})
			if len(got) != 2 || !got[0].one || got[1].one || got[1].after > before+short {
				t.Errorf("chosen: %v; want all again within %v of %v", got, short, before)
			}
		})
	}
}

// A call that asks for little can take long all the same.
func TestALongCallHasAllProcessors(t *testing.T) {
	got := chosenFor(t, func(p *processors) {
		callsFor(p, time.Second)
		callOnce(p, oneRow, time.Second)
		callsFor(p, time.Second)
	})
	want := []bool{true, false, true, false}
	if !slices.EqualFunc(got, want, func(c chosen, one bool) bool { return c.one == one }) {
		t.Errorf("chosen: %v; want %v", got, want)
	}
}

// Nobody looks while nobody calls, and the next call is seen.
func TestProcessorsSleep(t *testing.T) {
	got := chosenFor(t, func(p *processors) {
		callsFor(p, 10*time.Millisecond)
		time.Sleep(time.Hour)
		if !p.asleep.Load() {
			t.Error("somebody looks after an hour without calls")
		}
		callsFor(p, time.Second)
		if p.asleep.Load() {
			t.Error("nobody looks though there are calls")
		}
	})
	if len(got) != 2 || !got[0].one || got[0].after < time.Hour {
		t.Errorf("chosen: %v; want one after an hour", got)
	}
}

func TestSmallRequests(t *testing.T) {
	many := make([][]byte, fewRows+1)
	for _, c := range []struct {
		req   any
		small bool
	}{
		{oneRow, true},
		{&bigtablepb.ReadRowsRequest{Rows: &bigtablepb.RowSet{RowKeys: many}}, false},
		{&bigtablepb.ReadRowsRequest{Rows: &bigtablepb.RowSet{RowKeys: many[:1], RowRanges: []*bigtablepb.RowRange{{}}}}, false},
		{&bigtablepb.ReadRowsRequest{RowsLimit: 100}, true},
		{&bigtablepb.ReadRowsRequest{RowsLimit: fewRows + 1}, false},
		{&bigtablepb.ReadRowsRequest{RowsLimit: 100, Filter: &bigtablepb.RowFilter{}}, false}, // which may pass over many
		{write, true},
		{&bigtablepb.MutateRowsRequest{Entries: make([]*bigtablepb.MutateRowsRequest_Entry, fewEntries)}, true},
		{&bigtablepb.MutateRowsRequest{Entries: make([]*bigtablepb.MutateRowsRequest_Entry, fewEntries+1)}, false},
		{&bigtablepb.SampleRowKeysRequest{}, false},
	} {
		if got := isSmall(c.req); got != c.small {
			t.Errorf("%T %v: small %v; want %v", c.req, c.req, got, c.small)
		}
	}
}

// What the user has chosen stays.
func TestGivenProcessorsStay(t *testing.T) {
	t.Setenv("GOMAXPROCS", "2")
	if !processorsGiven() {
		t.Error("GOMAXPROCS is set, and not respected")
	}
	t.Setenv("GOMAXPROCS", "")
	if got, want := processorsGiven(), runtime.GOMAXPROCS(0) == 1; got != want {
		t.Errorf("processors given: %v; want %v", got, want)
	}
}
