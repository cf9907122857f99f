package function

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/server/sql/parse"
	"github.com/smolwc/smolwc/server/sql/value"
)

// documents are the functions of JSON in a STRING. A text that is not JSON has no
// values. https://cloud.google.com/bigquery/docs/reference/standard-sql/json_functions
var documents = []declaration{
	{"JSON_VALUE(STRING[STRING]) STRING", func(v []any) (any, error) {
		raw, err := found(v)
		if raw == nil || err != nil {
			return nil, err
		}
		return scalar(raw), nil
	}},
	{"JSON_QUERY(STRING[STRING]) STRING", func(v []any) (any, error) {
		raw, err := found(v)
		if raw == nil || err != nil {
			return nil, err
		}
		return compact(raw), nil
	}},
	{"JSON_VALUE_ARRAY(STRING[STRING]) ARRAY<STRING>", func(v []any) (any, error) {
		raw, err := found(v)
		if raw == nil || err != nil {
			return nil, err
		}
		parts, ok, err := elementsOf(raw)
		if !ok || err != nil {
			return nil, err
		}
		all := value.Array{}
		for _, e := range parts {
			if e[0] == '{' || e[0] == '[' {
				return nil, nil
			}
			all = append(all, scalar(e))
		}
		return all, nil
	}},
	{"JSON_QUERY_ARRAY(STRING[STRING]) ARRAY<STRING>", func(v []any) (any, error) {
		raw, err := found(v)
		if raw == nil || err != nil {
			return nil, err
		}
		parts, ok, err := elementsOf(raw)
		if !ok || err != nil {
			return nil, err
		}
		all := value.Array{}
		for _, e := range parts {
			all = append(all, compact(e))
		}
		return all, nil
	}},
}

// scalar is the text of a string, a number or a truth value; nil for other values.
func scalar(raw []byte) any {
	switch raw[0] {
	case '{', '[', 'n':
		return nil
	case '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return nil
		}
		return s
	}
	return string(raw)
}

func compact(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// found is the part of a document at a path, nil when there is no such part.
func found(v []any) (json.RawMessage, error) {
	path := "$"
	if len(v) == 2 {
		path = v[1].(string)
	}
	steps, err := steps(path)
	if err != nil {
		return nil, err
	}
	raw := json.RawMessage(strings.TrimSpace(v[0].(string)))
	if !json.Valid(raw) {
		return nil, nil
	}
	for _, s := range steps {
		if raw = s.of(raw); raw == nil {
			return nil, nil
		}
	}
	return raw[:extent(raw)], nil
}

// A pathStep is a member of an object, or an element of an array; a member may have a
// number as its name.
type pathStep struct {
	name  string
	index int // -1: by name
}

// of is the text from the first member of the name, or the element, on; nil: there is no
// such one. The text before is valid JSON, so that only its structure is looked at.
func (s pathStep) of(raw json.RawMessage) json.RawMessage {
	object := raw[0] == '{'
	if object != (s.index < 0) || !object && raw[0] != '[' {
		return nil
	}
	for n, rest := 0, space(raw[1:]); rest[0] != '}' && rest[0] != ']'; n++ {
		same := n == s.index
		if object {
			end := extent(rest)
			same = nameIs(rest[:end], s.name)
			rest = space(space(rest[end:])[1:]) // beyond the colon
		}
		if same {
			return rest
		}
		if rest = space(rest[extent(rest):]); rest[0] == ',' {
			rest = space(rest[1:])
		}
	}
	return nil
}

func nameIs(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == name
	}
	var s string
	return json.Unmarshal(quoted, &s) == nil && s == name
}

func space(raw []byte) []byte { return bytes.TrimLeft(raw, " \t\r\n") }

// extent is the length of the value with which valid JSON begins.
func extent(raw []byte) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1 + min(depth, 0) // the end of what the value lies in is not of it
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return len(raw)
}

// elementsOf are those of an array; ok is false if it is not one.
func elementsOf(raw []byte) (all [][]byte, ok bool, err error) {
	if raw[0] != '[' {
		return nil, false, nil
	}
	for rest := space(raw[1:]); rest[0] != ']'; {
		end := extent(rest)
		all = append(all, rest[:end])
		if err := fits(len(all)); err != nil {
			return nil, false, err
		}
		if rest = space(rest[end:]); rest[0] == ',' {
			rest = space(rest[1:])
		}
	}
	return all, true, nil
}

const maxSteps = 100

// steps reads a path such as $.a.b[0] or $."a b".
func steps(path string) (all []pathStep, err error) {
	bad := parse.Invalid("%.100q is not a JSONPath; it is like $.a.b[0], with up to %d steps", path, maxSteps)
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return nil, bad
	}
	for rest != "" {
		var name string
		s := pathStep{index: -1}
		switch {
		case strings.HasPrefix(rest, `."`):
			if name, rest, ok = strings.Cut(rest[2:], `"`); !ok {
				return nil, bad
			}
			s.name = name
		case rest[0] == '.':
			n := strings.IndexAny(rest[1:], ".[") + 1
			if n == 0 {
				n = len(rest)
			}
			s.name, rest = rest[1:n], rest[n:]
		case rest[0] == '[':
			if name, rest, ok = strings.Cut(rest[1:], "]"); !ok {
				return nil, bad
			}
			if s.index, err = strconv.Atoi(name); err != nil || s.index < 0 {
				return nil, bad
			}
		default:
			return nil, bad
		}
		if s.index < 0 && s.name == "" || len(all) == maxSteps {
			return nil, bad
		}
		all = append(all, s)
	}
	return all, nil
}
