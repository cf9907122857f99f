package calls

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/smolwc/smolwc/server/internal/access"
)

func anyToken(*access.Token) bool { return true }

// The slowest calls of this hour and the last are remembered, in the order of their times,
// whatever the order in which they end.
func TestTheSlowestCallsAreRemembered(t *testing.T) {
	r := &Registry{}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	end := func(at time.Time, took time.Duration) {
		c := &Call{Method: "s/m", Began: at}
		r.Begin(t.Context(), c, time.Time{})
		r.End(c)
		r.Ended(c, codes.OK, took)
	}
	slow := func(now time.Time) (ms []int64) {
		for _, c := range r.List(now, anyToken).Slow {
			ms = append(ms, c.Took.Milliseconds())
		}
		return ms
	}
	for i := range 1000 {
		end(noon, time.Duration(i*387%1000)*time.Millisecond)
	}
	var want []int64
	for i := range int64(mostSlow) {
		want = append(want, 999-i)
	}
	if got := slow(noon); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	end(noon.Add(time.Hour), 1500*time.Millisecond)
	end(noon.Add(time.Hour), time.Millisecond)
	want = append([]int64{1500}, want[:mostSlow-1]...)
	if got := slow(noon.Add(time.Hour)); !slices.Equal(got, want) {
		t.Errorf("an hour later: %v, want %v", got, want)
	}
	if got := slow(noon.Add(2 * time.Hour)); !slices.Equal(got, []int64{1500, 1}) {
		t.Errorf("two hours later: %v", got)
	}
	if got := slow(noon.Add(4 * time.Hour)); len(got) > 0 {
		t.Errorf("four hours later: %v", got)
	}
}

// Calls begin, end, are listed and are cancelled beside each other.
func TestBeside(t *testing.T) {
	r := &Registry{Describe: func(any) string { return "all rows" }}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 2000 {
				c := &Call{Method: "s/m", Began: time.Now()}
				c.Request.Store("request")
				ctx := r.Begin(t.Context(), c, time.Now().Add(time.Hour))
				c.Read(1, 1)
				if c.id%100 == 0 {
					by := fmt.Sprintf("token %q", "operator")
					if err := r.Cancel(c.id, by, anyToken); err != nil || ctx.Err() == nil || !strings.Contains(c.Cancelled().Error(), by) {
						t.Errorf("%v, %v, %v", err, ctx.Err(), c.Cancelled())
					}
					r.List(time.Now(), anyToken)
				}
				r.End(c)
				r.Ended(c, codes.OK, time.Since(c.Began))
				if ctx.Err() == nil {
					t.Error("the context of a call that is over has not ended")
				}
			}
		})
	}
	wg.Wait()
	if all := r.List(time.Now(), anyToken); len(all.Running) > 0 || len(all.Slow) == 0 {
		t.Errorf("%d are under way, and %d were slow", len(all.Running), len(all.Slow))
	}
}

func BenchmarkCall(b *testing.B) {
	r := &Registry{}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c := &Call{}
			r.Begin(b.Context(), c, time.Time{})
			r.End(c)
			r.Ended(c, codes.OK, 0)
		}
	})
}
