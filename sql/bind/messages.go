package bind

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/smolwc/smolwc/sql/message"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// decoded is the decoder of a message.
func decoded(p *planner, of *expr, pos int) decoder {
	if of.decode != nil {
		return of.decode
	}
	return func(r *run.Tuple) (protoreflect.Message, error) {
		v, err := of.eval(r)
		if v == nil || err != nil {
			return nil, err
		}
		m, err := r.Message(of.typ, v.([]byte))
		if err != nil {
			return nil, p.Placed(err, pos)
		}
		return m, nil
	}
}

// compileMessageField compiles a field of a message: NULL if the message is NULL.
func compileMessageField(p *planner, n *parse.Node, of *expr) (*expr, error) {
	f, err := message.FieldOf(of.typ, n.Text)
	if err != nil {
		return nil, p.Placed(err, n.Pos)
	}
	decode := decoded(p, of, n.Pos)
	e := &expr{typ: f.Type, fixed: of.fixed, strict: of.strict, eval: func(r *run.Tuple) (any, error) {
		m, err := decode(r)
		if m == nil || err != nil {
			return nil, err
		}
		v, err := f.Get(m)
		if err != nil {
			return nil, p.Placed(err, n.Pos)
		}
		return v, nil
	}}
	switch _, isMap := f.KeyType(); {
	case isMap:
		e.entries = &mapField{f, decode}
	case f.Type.Kind == value.TypeMessage:
		e.decode = func(r *run.Tuple) (protoreflect.Message, error) {
			m, err := decode(r)
			if m == nil || err != nil {
				return nil, err
			}
			return f.Message(m), nil
		}
	}
	return e, nil
}

// compileEntry compiles map[KEY(k)] and map[SAFE_KEY(k)]; it is nil for another index.
func compileEntry(p *planner, n *parse.Node, of *expr) (*expr, error) {
	by := n.Args[1]
	if by.Op != parse.OpCall || by.Text != "KEY" && by.Text != "SAFE_KEY" {
		return nil, nil
	}
	if of.entries == nil {
		return nil, p.Errorf(by.Pos, "%s takes a field of a message that is a map, not %s", by.Text, of.typ)
	}
	if len(by.Args) != 1 {
		return nil, p.Errorf(by.Pos, "%s takes one argument", by.Text)
	}
	field, decode := of.entries.field, of.entries.decode
	t, _ := field.KeyType()
	key, err := p.typed(by.Args[0], t.Kind, "a key of the map")
	if err != nil {
		return nil, err
	}
	return &expr{typ: field.EntryType(), fixed: of.fixed && key.fixed, strict: of.strict || key.strict, eval: func(r *run.Tuple) (any, error) {
		m, err := decode(r)
		if m == nil || err != nil {
			return nil, err
		}
		k, err := key.eval(r)
		if k == nil || err != nil {
			return nil, err
		}
		v, ok, err := field.Entry(m, k)
		switch {
		case err != nil:
			return nil, p.Placed(err, n.Pos)
		case !ok && by.Text == "KEY":
			return nil, p.Errorf(n.Pos, "the map has no key %v; SAFE_KEY makes this NULL", k)
		}
		return v, nil
	}}, nil
}
