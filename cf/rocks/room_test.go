//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/rocks"
)

var errNoRoom = errors.New("no room")

// A limit is a Holding with room for up to most bytes.
type limit struct {
	most   int
	others bool // read too

	mu         sync.Mutex
	held, peak int
}

func (l *limit) Hold(n int, needed bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n >= 0 && l.held+n > l.most {
		return errNoRoom
	}
	l.held += n
	l.peak = max(l.peak, l.held)
	return nil
}

func (l *limit) Room() (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.most - l.held, !l.others
}

func (l *limit) Refusal(int) error { return errNoRoom }

// Large values in files are read when there is room for them and their copies. Reads
// without room leave no bytes counted.
func TestLargeValuesAreReadWhereThereIsRoom(t *testing.T) {
	const value = 4 << 20
	values := map[string][]byte{"random": make([]byte, value), "zeros": make([]byte, value)}
	_, _ = rand.Read(values["random"])
	for _, name := range []string{"random", "zeros", "random in one file"} {
		t.Run(name, func(t *testing.T) {
			content, apart := values[name], true
			if content == nil {
				content, apart = values["random"], false
			}
			s := open(t, t.TempDir(), rocks.Options{Memory: 64 << 20})
			defer s.Close()
			if err := s.CreateFamily(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
			for row := range 3 {
				if _, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
					b.Row(cf.RowID{Space: "t", Row: fmt.Sprint(row)})
					b.Put("t", "q", 1, content)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				if apart || row == 2 {
					if err := s.Flush(t.Context(), "t"); err != nil {
						t.Fatal(err)
					}
				}
			}
			one := []cf.Range{{Start: "1", End: "1\x00"}}
			forms := map[string]func(context.Context) (int, error){
				"read": func(ctx context.Context) (int, error) {
					var a cf.Answer
					err := s.Read(ctx, &cf.Scan{Family: "t", Rows: one}, &a)
					return len(slices.Collect(a.Blocks())), err
				},
				"scan": func(ctx context.Context) (int, error) {
					snap, err := s.Snapshot(ctx)
					if err != nil {
						return 0, err
					}
					defer snap.Close()
					got, _, err := cftest.Collect(ctx, snap, cf.Scan{Family: "t", Rows: []cf.Range{{}}})
					return len(got), err
				},
			}
			for form, read := range forms {
				alone := &limit{most: value + value/2}
				if n, err := read(cf.WithHolding(t.Context(), alone)); err != nil || n == 0 || alone.held != 0 {
					t.Errorf("%s alone: %d, %v, %d bytes held", form, n, err, alone.held)
				}
			}
			for form, read := range forms {
				little := &limit{most: value, others: true}
				for range 20 {
					if n, err := read(cf.WithHolding(t.Context(), little)); !errors.Is(err, errNoRoom) {
						t.Fatalf("%s: %d, %v", form, n, err)
					}
				}
				if little.held != 0 {
					t.Errorf("%s: %d bytes are held behind reads without room", form, little.held)
				}
				enough := &limit{most: 9 * value, others: true}
				n, err := read(cf.WithHolding(t.Context(), enough))
				if err != nil || n == 0 || enough.held != 0 {
					t.Errorf("%s with room: %d, %v, %d bytes held", form, n, err, enough.held)
				}
				if enough.peak < value {
					t.Errorf("%s: %d bytes were counted", form, enough.peak)
				}
			}
		})
	}
}
