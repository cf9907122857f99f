package bind

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/smolwc/smolwc/sql/function"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// compileSample compiles the condition of TABLESAMPLE, which takes each row or leaves it out by
// itself. With REPEATABLE a hash of the number and the row key decides, so that the same rows
// are taken again, whatever else is in the table.
func compileSample(p *planner, n *parse.Node) (*expr, error) {
	number := func(i int, what string, want value.Kind) (*expr, error) {
		e, err := p.compile(n.Args[i])
		if err == nil {
			e, err = p.converted(n.Args[i], e, value.Type{Kind: want})
		}
		if err == nil && (e.typ.Kind != want || !e.fixed) {
			err = p.Errorf(n.Args[i].Pos, "%s must be a number that is the same for every row", what)
		}
		return e, err
	}
	percent, err := number(0, "the percentage of TABLESAMPLE", value.TypeFloat64)
	if err != nil {
		return nil, err
	}
	seed := fixedExpr(value.Type{Kind: value.TypeInt64}, int64(0))
	draw := func(*run.Tuple, int64) float64 { return rand.Float64() }
	if len(n.Args) == 2 {
		if seed, err = number(1, "the number of REPEATABLE", value.TypeInt64); err != nil {
			return nil, err
		}
		if !p.scope.table || len(p.plan.Steps) > 0 {
			return nil, p.Errorf(n.Pos, "REPEATABLE is for tables, whose rows have keys; put TABLESAMPLE after the table itself")
		}
		draw = func(t *run.Tuple, seed int64) float64 {
			of := append(binary.BigEndian.AppendUint64(nil, uint64(seed)), t.Row.Key()...)
			return float64(function.Fingerprint(of)>>11) / (1 << 53)
		}
	}
	return &expr{typ: value.Type{Kind: value.TypeBool}, eval: func(t *run.Tuple) (any, error) {
		of, by, err := both(percent, seed, t)
		if err != nil {
			return nil, err
		}
		share, ok := of.(float64)
		if !ok || !(share >= 0 && share <= 100) {
			return nil, p.Errorf(n.Args[0].Pos, "the percentage of TABLESAMPLE must be from 0 to 100")
		}
		number, ok := by.(int64)
		if !ok || number < 0 {
			return nil, p.Errorf(n.Args[1].Pos, "the number of REPEATABLE must not be negative or NULL")
		}
		return draw(t, number)*100 < share, nil
	}}, nil
}
