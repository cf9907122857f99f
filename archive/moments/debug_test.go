package moments

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestDebug(t *testing.T) {
	fs, _ := filepath.Glob(os.Getenv("SEGS") + "/moments/segments/*.seg")
	for _, f := range fs {
		b, _ := os.ReadFile(f)
		blocks, s, err := decodeSegment(b)
		fmt.Println(s.First, err)
		for _, b := range blocks {
			fmt.Println(" ", b.Number, b.After, b.Last, timeOf(b.Since), timeOf(b.Until), b.Begins, b.Bases)
			for _, r := range b.records {
				fmt.Println("     ", r.after, r.last, timeOf(r.time))
			}
		}
	}
	_ = context.Background
}
