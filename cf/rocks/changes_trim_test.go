//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// Logs that are trimmed while their beginnings are looked up are skipped.
func TestStartsBesideATrimmingAreThoseThatStay(t *testing.T) {
	s := open(t, memoryDir(t), rocks.Options{Async: true})
	defer s.Close()
	ctx := context.Background()
	if err := errors.Join(s.CreateFamily(ctx, "t"), s.KeepChanges(time.Now().Add(-time.Hour))); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		for range 3 {
			_, err := s.Write(ctx, nil, func(b *cf.Batch) error {
				b.Note([]byte("n"))
				b.Row(cf.RowID{Space: "t", Row: "r"})
				b.Put("t", "q", 1, nil)
				return nil
			})
			if err := errors.Join(err, s.Flush(ctx, "t")); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan error)
		go func() { done <- s.KeepChanges(time.Now().Add(time.Hour)) }()
		for looking := true; looking; {
			starts, err := s.ChangeStarts()
			if err != nil || len(starts) == 0 {
				t.Fatal(starts, err)
			}
			if _, err := s.Changes(starts[len(starts)-1]); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
				looking = false
			default:
			}
		}
	}
}
