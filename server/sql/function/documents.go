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
		var elements []json.RawMessage
		if raw == nil || err != nil || raw[0] != '[' || json.Unmarshal(raw, &elements) != nil {
			return nil, err
		}
		all := value.Array{}
		for _, e := range elements {
			if e[0] == '{' || e[0] == '[' {
				return nil, nil
			}
			all = append(all, scalar(e))
		}
		return all, nil
	}},
	{"JSON_QUERY_ARRAY(STRING[STRING]) ARRAY<STRING>", func(v []any) (any, error) {
		raw, err := found(v)
		var elements []json.RawMessage
		if raw == nil || err != nil || raw[0] != '[' || json.Unmarshal(raw, &elements) != nil {
			return nil, err
		}
		all := value.Array{}
		for _, e := range elements {
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
	return raw, nil
}

// A pathStep is a member of an object, or an element of an array; a member may have a
// number as its name.
type pathStep struct {
	name  string
	index int // -1: by name
}

func (s pathStep) of(raw json.RawMessage) json.RawMessage {
	switch {
	case raw[0] == '{' && s.index < 0:
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) == nil {
			return members[s.name]
		}
	case raw[0] == '[' && s.index >= 0:
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) == nil && s.index < len(elements) {
			return elements[s.index]
		}
	}
	return nil
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
