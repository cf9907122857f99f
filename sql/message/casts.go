package message

import (
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// CanCast reports whether values of a type can be cast to or from a message or an enum.
func CanCast(from, to value.Type) bool {
	switch {
	case to.Kind == value.TypeMessage:
		return from.Kind == value.TypeBytes || from.Kind == value.TypeString
	case to.Kind == value.TypeEnum:
		return from.Kind == value.TypeString || from.Kind == value.TypeInt64
	case from.Kind == value.TypeMessage:
		return to.Kind == value.TypeBytes || to.Kind == value.TypeString
	case from.Kind == value.TypeEnum:
		return to.Kind == value.TypeString || to.Kind == value.TypeInt64
	}
	return false
}

// Cast converts a value, which is not NULL, between types for which [CanCast] is true.
func Cast(v any, from, to value.Type) (any, error) {
	switch {
	case to.Kind == value.TypeMessage && from.Kind == value.TypeBytes:
		_, err := Decode(to, v.([]byte))
		return v, err
	case to.Kind == value.TypeMessage:
		return ofText(to, v.(string))
	case to.Kind == value.TypeEnum:
		return number(to, v)
	case from.Kind == value.TypeMessage && to.Kind == value.TypeString:
		m, err := Decode(from, v.([]byte))
		if err != nil {
			return nil, err
		}
		return text(m)
	case to.Kind == value.TypeString:
		return enumText(from, v.(int64)), nil
	}
	return v, nil
}

// number is the number of an enum's value by its name or number.
func number(t value.Type, v any) (any, error) {
	values := t.Proto.Of.(protoreflect.EnumDescriptor).Values()
	switch v := v.(type) {
	case string:
		if found := values.ByName(protoreflect.Name(v)); found != nil {
			return int64(found.Number()), nil
		}
		return nil, parse.Invalid("%s has no value %.100q; it has %s", t, v,
			listed(values.Len(), func(i int) protoreflect.Name { return values.Get(i).Name() }))
	case int64:
		if v >= math.MinInt32 && v <= math.MaxInt32 && values.ByNumber(protoreflect.EnumNumber(v)) != nil {
			return v, nil
		}
	}
	return nil, parse.Invalid("%s has no value with the number %v", t, v)
}

// enumText is the name of an enum's value, or the number of one without a name: messages
// of newer versions can have such values.
func enumText(t value.Type, n int64) string {
	if found := t.Proto.Of.(protoreflect.EnumDescriptor).Values().ByNumber(protoreflect.EnumNumber(n)); found != nil {
		return string(found.Name())
	}
	return strconv.FormatInt(n, 10)
}

// ofText reads a message in protobuf's text format.
func ofText(t value.Type, text string) (any, error) {
	if len(text) > MaxMessage {
		return nil, parse.Invalid("a text of %d bytes is too large for a message; it may have up to %d", len(text), MaxMessage)
	}
	m := dynamicpb.NewMessage(t.Proto.Of.(protoreflect.MessageDescriptor))
	if err := (prototext.UnmarshalOptions{Resolver: noTypes}).Unmarshal([]byte(text), m); err != nil {
		return nil, parse.Invalid("the text is not a valid %s: %s", t.Proto.Name, plain(err))
	}
	return Encode(m)
}

// text is a message in protobuf's text format, on one line. The library varies the spaces
// of its output on purpose.
func text(m protoreflect.Message) (any, error) {
	b, err := prototext.MarshalOptions{Resolver: noTypes, AllowPartial: true}.Marshal(m.Interface())
	if err != nil {
		return nil, parse.Invalid("%s", plain(err))
	}
	var out strings.Builder
	quoted := false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			out.WriteByte(c)
			i++
			out.WriteByte(b[i])
		case c == '"':
			quoted = !quoted
			out.WriteByte(c)
		case quoted, c != ' ' && c != ':' && c != '{' && c != '}':
			out.WriteByte(c)
		case c == ':' && i+1 < len(b) && b[i+1] == '{':
		case c == ':':
			out.WriteString(": ")
		case c == '{':
			out.WriteString(" {")
			if i+1 < len(b) && b[i+1] != '}' {
				out.WriteByte(' ')
			}
		case c == '}':
			out.WriteString(" }")
		case b[i-1] != ' ':
			out.WriteByte(c)
		}
	}
	return out.String(), nil
}
