package pebble_test

import (
	"errors"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

// A holding counts, or refuses, what writes hold.
type holding struct {
	cf.Holding
	held, most int
	refusal    error
}

func (h *holding) HoldWrite(n int) (func(), error) {
	if h.refusal != nil {
		return nil, h.refusal
	}
	h.held += n
	h.most = max(h.most, h.held)
	return func() { h.held -= n }, nil
}

// What Pebble copies of a large write is counted while it is written, and can be refused.
func TestLargeWritesAreCounted(t *testing.T) {
	s := open(t, newDisk(), false)
	defer s.Close()
	create(t, s, "t/a")
	h := new(holding)
	write := func(size int) error {
		_, err := s.Write(cf.WithHolding(t.Context(), h), nil, func(b *cf.Batch) error {
			b.Row(cf.RowID{Space: "t", Row: "r"})
			b.Put("t/a", "q", 1, make([]byte, size))
			return nil
		})
		return err
	}
	if err := write(100); err != nil || h.most != 0 {
		t.Errorf("a small write: %v, %d bytes", err, h.most)
	}
	if err := write(2 << 20); err != nil || h.most < 2<<20 || h.held != 0 {
		t.Errorf("a large write: %v, %d bytes at most, %d after it", err, h.most, h.held)
	}
	h.refusal = errors.New("no room")
	if err := write(2 << 20); !errors.Is(err, h.refusal) {
		t.Errorf("a write without room: %v", err)
	}
}
