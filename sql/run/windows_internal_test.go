package run

import (
	"fmt"
	"math"
	"testing"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A stepped accumulator counts its own steps and those of its parts.
type stepped struct{ steps *int }

func (s stepped) add(any) error           { *s.steps++; return nil }
func (s stepped) result() (any, error)    { *s.steps++; return nil, nil }
func (s stepped) merge(accumulator) error { *s.steps++; return nil }

// A function over frames takes steps by the rows of its partition, and not by those of its frames,
// also when both double.
func TestFramesAreNotAddedAnew(t *testing.T) {
	bound := func(kind parse.BoundKind, by any) FrameBound {
		b := FrameBound{Kind: kind}
		if by != nil {
			b.By = func(*Tuple) (any, error) { return by, nil }
		}
		return b
	}
	for _, n := range []int{500, 1000, 2000} {
		half, third := int64(n/2), int64(n/3)
		for i, f := range []Frame{
			{End: bound(parse.CurrentRow, nil)},
			{Rows: true, End: bound(parse.UnboundedFollowing, nil)},
			{Rows: true, Start: bound(parse.Preceding, int64(1e18)), End: bound(parse.CurrentRow, nil)},
			{Rows: true, Start: bound(parse.Preceding, half), End: bound(parse.CurrentRow, nil)},
			{Rows: true, Start: bound(parse.Preceding, half), End: bound(parse.Preceding, third)},
			{Rows: true, Start: bound(parse.Following, third), End: bound(parse.Following, half)},
			{Rows: true, Start: bound(parse.CurrentRow, nil), End: bound(parse.UnboundedFollowing, nil)},
			{Start: bound(parse.Preceding, half), End: bound(parse.Following, third)},
			{Start: bound(parse.Following, third), End: bound(parse.UnboundedFollowing, nil)},
		} {
			t.Run(fmt.Sprintf("frame %d of %d rows", i, n), func(t *testing.T) {
				x := &execution{call: &call{ctx: t.Context()}, limits: DefaultLimits()}
				p := &partition{x: x, ordered: true}
				for i := range n {
					v, _ := value.Append(nil, int64(i))
					if err := p.put(row{key: value.AppendSortKey(nil, int64(i), false, false), values: v}, math.MaxInt); err != nil {
						t.Fatal(err)
					}
				}
				steps := 0
				sum, err := Over(&Aggregate{Arg: Slot(0), Make: func(*execution) accumulator { return stepped{&steps} }})(p, &WindowCall{Frame: f})
				if err != nil {
					t.Fatal(err)
				}
				for i := range n {
					if _, err := sum(i); err != nil {
						t.Fatal(err)
					}
				}
				if steps > 7*n {
					t.Errorf("%d steps", steps)
				}
			})
		}
	}
}

// A partition that went to a file holds nothing of the query's memory at its end.
func TestPartitionsGiveTheirMemoryBack(t *testing.T) {
	limits := DefaultLimits()
	limits.Dir = t.TempDir
	x := &execution{call: &call{ctx: t.Context()}, limits: limits}
	defer x.close()
	p := &partition{x: x}
	for range 5 {
		if err := p.put(row{values: make([]byte, 100)}, 300); err != nil {
			t.Fatal(err)
		}
	}
	rows := 0
	err := (&Windowing{}).one(p, sink{push: func(*Tuple) error { rows++; return nil }})
	p.close()
	if rows != 5 || err != nil || x.held != 0 {
		t.Errorf("after %d rows, it holds %d bytes: %v", rows, x.held, err)
	}
}
