package bulk

import (
	"fmt"
	"sync"
	"testing"
)

// One part of a run begins while another part frees its frames; the race detector
// checks this.
func TestAPartBeginsWhileAnotherIsRead(t *testing.T) {
	seg := new(segment)
	seg.left.Store(1 << 40) // its count never reaches 0: there is no file to remove
	run := spillRun{}
	for i := range 100 {
		run.frames = append(run.frames, frame{row: fmt.Sprintf("%03d", i), segment: seg, size: 1})
	}
	s := &spill{runs: []spillRun{run}}
	var parts sync.WaitGroup
	parts.Go(func() { s.release(0) })
	parts.Go(func() {
		for i := range 100 {
			row := []byte(fmt.Sprintf("%03d", i))
			if src := newSpillSource(s, 0, row, nil, nil); src.frames[0].row > string(row) {
				t.Errorf("from %s on the first frame begins at %s", row, src.frames[0].row)
			}
		}
	})
	parts.Wait()
}
