package queues

import (
	"strings"
	"testing"
)

// A short run of both tables.
func TestRun(t *testing.T) {
	var out strings.Builder
	o := Options{Dir: t.TempDir(), Items: 100, Waiting: 10, Rounds: 1, Workers: 4, Dequeues: 20, Memory: 64 << 20, Out: &out}
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ratio ", "10 waiting", "10 done"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, out.String())
		}
	}
}
