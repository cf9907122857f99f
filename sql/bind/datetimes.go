package bind

import (
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

var datetime = value.Type{Kind: value.TypeDatetime}

// compileDatetime compiles DATETIME: of one argument it is a CAST.
func compileDatetime(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) != 1 {
		return compileForms(p, n)
	}
	of, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	return p.castTo(&parse.Node{Op: parse.OpCast, Pos: n.Pos}, of, datetime)
}

// compileCurrentDatetime compiles CURRENT_DATETIME, in UTC or a time zone, which is the same in
// the whole query.
func compileCurrentDatetime(p *planner, n *parse.Node) (*expr, error) {
	if p.steady {
		return nil, p.Errorf(n.Pos, "a materialized view cannot have %s, whose value is not the same in every call", n.Text)
	}
	switch len(n.Args) {
	case 0:
		d, err := value.DatetimeOf(p.now.UTC())
		return &expr{typ: datetime, fixed: true, eval: func(*run.Tuple) (any, error) { return d, err }}, nil
	case 1:
		now, err := value.TimestampOf(p.now)
		if err != nil {
			return nil, err
		}
		zone, err := p.typed(n.Args[0], value.TypeString, "the time zone of CURRENT_DATETIME")
		if err != nil {
			return nil, err
		}
		return compileApplied(p, n, "DATETIME", []*expr{fixedExpr(value.Type{Kind: value.TypeTimestamp}, now), zone}, false)
	}
	return nil, p.Errorf(n.Pos, "CURRENT_DATETIME takes no argument but a time zone")
}
