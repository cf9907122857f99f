package bind

import (
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/sketch"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// completeCountDistinct compiles APPROX_COUNT_DISTINCT, which is exact here: it keeps the values,
// as COUNT(DISTINCT x) does.
func completeCountDistinct(p *planner, n *parse.Node, a *aggregate) error {
	if !a.args[0].typ.Groupable() {
		return p.Errorf(n.Args[0].Pos, "%s cannot compare values of type %s", n.Text, a.args[0].typ)
	}
	a.distinct = true
	return completeCount(p, n, a)
}

// maxQuantiles bounds the last argument of APPROX_QUANTILES and its like.
const maxQuantiles = 100_000

// completeQuantiles compiles APPROX_QUANTILES(x, n): the least value, n - 1 values between, and
// the greatest. They are exact.
func completeQuantiles(p *planner, n *parse.Node, a *aggregate) error {
	if len(a.args) != 2 || a.args[1].typ.Kind != value.TypeInt64 || !a.args[1].fixed {
		return p.Errorf(n.Pos, "APPROX_QUANTILES takes an expression, and an INT64 that is the same for every row")
	}
	if !a.args[0].typ.Comparable() {
		return p.Errorf(n.Args[0].Pos, "APPROX_QUANTILES cannot compare values of type %s", a.args[0].typ)
	}
	a.typ = value.ArrayOf(a.args[0].typ)
	number := numberOf(p, n, a.args[1])
	a.make = run.Quantiles(number)
	return nil
}

// completeHLLInit compiles HLL_COUNT.INIT(x [, precision]). The precision is checked, but every
// sketch gets the precision that the sketches of families have.
func completeHLLInit(p *planner, n *parse.Node, a *aggregate) error {
	switch a.args[0].typ.Kind {
	case value.TypeInt64, value.TypeString, value.TypeBytes, value.TypeNull:
	default:
		return p.Errorf(n.Args[0].Pos, "%s takes INT64, STRING or BYTES, not %s", n.Text, a.args[0].typ)
	}
	if len(a.args) == 2 {
		precision := a.args[1]
		bad := p.Errorf(n.Args[1].Pos, "the precision of %s must be a number from 10 to 24", n.Text)
		if !precision.literal || precision.typ.Kind != value.TypeInt64 {
			return bad
		}
		if v, err := precision.eval(nil); err != nil || v.(int64) < 10 || v.(int64) > 24 {
			return bad
		}
	}
	a.typ = value.Type{Kind: value.TypeBytes}
	a.make = run.Sketch(false, func(s *sketch.Set, v any) error {
		switch v := v.(type) {
		case int64:
			s.Add(cells.I64(v))
		case string:
			s.Add(cells.String(v))
		case []byte:
			s.Add(cells.Bytes(v))
		}
		return nil
	})
	return nil
}

// completeHLLMerge compiles HLL_COUNT.MERGE and HLL_COUNT.MERGE_PARTIAL.
func completeHLLMerge(p *planner, n *parse.Node, a *aggregate) error {
	counts := n.Text == "HLL_COUNT.MERGE"
	if err := typeArgument(p, n, a, value.TypeBytes); err != nil {
		return err
	}
	if a.typ = a.args[0].typ; counts {
		a.typ = value.Type{Kind: value.TypeInt64}
	}
	a.make = run.Sketch(counts, func(s *sketch.Set, v any) error {
		if !s.Merge(storedSketch(v.([]byte))) {
			return notSketch(p, n, v.([]byte))
		}
		return nil
	})
	return nil
}

// storedSketch is a sketch as stored in a cell.
func storedSketch(b []byte) []byte { return append([]byte{byte(cells.TypeBytes)}, b...) }

func notSketch(p *planner, n *parse.Node, b []byte) error {
	return p.Errorf(n.Pos, "%s: the BYTES are not a sketch of HLL_COUNT.INIT: %s", n.Text, sketch.Check(storedSketch(b)))
}

// compileHLLExtract compiles HLL_COUNT.EXTRACT, which is 0 for NULL.
func compileHLLExtract(p *planner, n *parse.Node) (*expr, error) {
	of, err := p.only(n, value.TypeBytes)
	if err != nil {
		return nil, err
	}
	return &expr{typ: value.Type{Kind: value.TypeInt64}, fixed: of.fixed, eval: func(r *run.Tuple) (any, error) {
		v, err := of.eval(r)
		if v == nil || err != nil {
			return int64(0), err
		}
		if sketch.Check(storedSketch(v.([]byte))) != nil {
			return nil, notSketch(p, n, v.([]byte))
		}
		count, _ := sketch.Estimate(storedSketch(v.([]byte)))
		return count, nil
	}}, nil
}
