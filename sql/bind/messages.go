package bind

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/smolwc/smolwc/sql/message"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// A decoder is an expression that is a message, decoded; nil for NULL.
type decoder func(*run.Tuple) (protoreflect.Message, error)

// typeNamed is the type of a CAST: a scalar, or a message or an enum of a schema bundle as
// bundle.package.Name.
func (p *planner) typeNamed(n *parse.Node) (t value.Type, err error) {
	if kind, ok := value.TypeNames[n.Text]; ok {
		return value.Type{Kind: kind}, nil
	}
	if of, ok := strings.CutPrefix(n.Text, "ARRAY<"); ok {
		t, err := p.typeNamed(&parse.Node{Pos: n.Pos, Text: strings.TrimSuffix(of, ">")})
		if err == nil && t.Kind == value.TypeArray {
			err = p.Errorf(n.Pos, "an array cannot have elements of type %s", t)
		}
		return value.ArrayOf(t), err
	}
	if of, ok := strings.CutPrefix(n.Text, "STRUCT<"); ok {
		return p.structNamed(n.Pos, strings.TrimSuffix(of, ">"))
	}
	id, name, ok := strings.Cut(n.Text, ".")
	if !ok {
		return t, p.Errorf(n.Pos, "type %s is not one of %s, or a message or an enum of a schema bundle, as bundle.package.Name", n.Text, value.ScalarNames)
	}
	if p.bundles == nil {
		return t, p.Errorf(n.Pos, "Type not found: %s; only a server knows the schema bundles of tables", n.Text)
	}
	bundle, ok, err := p.bundles(id)
	switch {
	case err != nil:
		return t, p.Placed(err, n.Pos)
	case !ok:
		return t, p.Errorf(n.Pos, "Type not found: %s; table %s has no schema bundle %s", n.Text, p.table.Name, id)
	}
	if t, ok = bundle.Type(name); !ok {
		return t, p.Errorf(n.Pos, "Type not found: %s; schema bundle %s has no message and no enum %s", n.Text, id, name)
	}
	return t, nil
}

// structNamed is a struct by the fields that are written: types with commas between, each
// perhaps with a name before it.
func (p *planner) structNamed(pos int, fields string) (t value.Type, err error) {
	t.Kind = value.TypeStruct
	for fields != "" {
		end, depth := 0, 0
		for ; end < len(fields) && (fields[end] != ',' || depth > 0); end++ {
			switch fields[end] {
			case '<':
				depth++
			case '>':
				depth--
			}
		}
		f, of := value.Field{}, fields[:end]
		if name, rest, ok := strings.Cut(of, " "); ok && !strings.Contains(name, "<") {
			f.Name, of = name, rest
		}
		if f.Type, err = p.typeNamed(&parse.Node{Pos: pos, Text: of}); err != nil {
			return t, err
		}
		t.Fields = append(t.Fields, f)
		fields = strings.TrimPrefix(fields[end:], ", ")
	}
	return t, nil
}

// compileProtoCast compiles a CAST to or from a message or an enum.
func compileProtoCast(p *planner, n *parse.Node, of *expr, to value.Type) (*expr, error) {
	if !message.CanCast(of.typ, to) {
		return nil, p.Errorf(n.Pos, "Invalid cast from %s to %s", of.typ, to)
	}
	// failed is the error of a value.
	failed := func(err error) error {
		if err == nil || n.Op == parse.OpSafeCast {
			return nil
		}
		return p.Placed(err, n.Pos)
	}
	e := mapped(of, to, func(v any) (any, error) {
		c, err := message.Cast(v, of.typ, to)
		if err != nil {
			return nil, failed(err)
		}
		return c, nil
	})
	if of.typ.Kind == value.TypeBytes {
		e.decode = func(r *run.Tuple) (protoreflect.Message, error) {
			v, err := of.eval(r)
			if v == nil || err != nil {
				return nil, err
			}
			m, err := r.Message(to, v.([]byte))
			if err != nil {
				return nil, failed(err)
			}
			return m, nil
		}
	}
	return e, nil
}

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

// A mapField is an expression that is a map in a message.
type mapField struct {
	field  *message.Field
	decode decoder
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

// compileFields compiles expression.*: the fields of a struct or a message, or the columns of a
// table by its name.
func compileFields(p *planner, c parse.Column) (all []output, err error) {
	base := c.Expr.Args[0]
	if base.Op == parse.OpName && p.qualifies(base.Text) {
		return p.star(parse.Column{Pos: c.Pos})
	}
	of, err := p.compile(base)
	if err != nil {
		return nil, err
	}
	switch of.typ.Kind {
	case value.TypeStruct:
		for i, f := range of.typ.Fields {
			all = append(all, output{f.Name, structField(of, i)})
		}
	case value.TypeMessage:
		for _, name := range message.Fields(of.typ) {
			if p.parts++; p.parts > maxParts {
				return nil, p.Errorf(c.Pos, "the query is too large: it comes to more than %d expressions", maxParts)
			}
			e, err := compileMessageField(p, &parse.Node{Op: parse.OpField, Pos: c.Expr.Pos, Text: name}, of)
			if err != nil {
				return nil, err
			}
			all = append(all, output{name, e})
		}
	default:
		return nil, p.Errorf(c.Expr.Pos, "%s has no fields", of.typ)
	}
	if len(all) == 0 {
		return nil, p.Errorf(c.Expr.Pos, "%s has no fields", of.typ)
	}
	return all, nil
}

// inEnum gives a literal or a parameter the type of an enum beside it; other expressions
// stay.
func (p *planner) inEnum(e *expr, t value.Type, n *parse.Node) (*expr, error) {
	given := e.literal || n.Op == parse.OpParam
	switch {
	case t.Kind != value.TypeEnum || !given:
		return e, nil
	case e.typ.Kind == value.TypeArray:
		of := *e.typ.Of
		if !message.CanCast(of, t) {
			return e, nil
		}
		return mapped(e, value.ArrayOf(t), func(v any) (any, error) {
			all := make(value.Array, len(v.(value.Array)))
			for i, element := range v.(value.Array) {
				if element == nil {
					continue
				}
				var err error
				if all[i], err = message.Cast(element, of, t); err != nil {
					return nil, p.Placed(err, n.Pos)
				}
			}
			return all, nil
		}), nil
	case !message.CanCast(e.typ, t):
		return e, nil
	}
	of, err := compileProtoCast(p, &parse.Node{Op: parse.OpCast, Pos: n.Pos}, e, t)
	if err != nil || !e.literal {
		return of, err
	}
	v, err := of.eval(nil)
	return fixedExpr(t, v), err
}
