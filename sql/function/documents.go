package function

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// documents are the functions of JSON in a STRING. A text that is not JSON yields no
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
		if raw == nil || raw[0] == 'n' || err != nil { // null is NULL
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
func found(v []any) (json.RawMessage, error) { return foundBy(v, steps) }

// foundBy is found for paths that are read by a function.
func foundBy(v []any, read func(path string) ([]pathStep, error)) (json.RawMessage, error) {
	path := "$"
	if len(v) == 2 {
		path = v[1].(string)
	}
	steps, err := read(path)
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

// A pathStep is the name of a member of an object; of an array, the number of an element.
type pathStep string

// of is the text from the first member of the name, or the element, on; nil: there is no
// such one. The text before is valid JSON, so that only its structure is looked at.
func (s pathStep) of(raw json.RawMessage) json.RawMessage {
	object, index := raw[0] == '{', -1
	if !object {
		n, err := strconv.ParseUint(string(s), 10, 31)
		if raw[0] != '[' || err != nil {
			return nil
		}
		index = int(n)
	}
	for n, rest := 0, space(raw[1:]); rest[0] != '}' && rest[0] != ']'; n++ {
		same := n == index
		if object {
			end := extent(rest)
			same = nameIs(rest[:end], string(s))
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

// elementsOf returns the elements of an array; ok is false if it is not one.
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

// steps reads a path such as $.a.b[0] or $."a b", as GoogleSQL does.
// https://github.com/google/googlesql/blob/master/googlesql/public/functions/json_internal.cc
func steps(path string) (all []pathStep, err error) {
	bad := parse.Invalid("%.100q is not a JSONPath; it is like $.a.b[0] or $.\"a b\", with up to %d steps", path, maxSteps)
	rest, ok := strings.CutPrefix(path, "$")
	for rest != "" && ok && len(all) < maxSteps {
		var name string
		if quoted, found := strings.CutPrefix(rest, `."`); found {
			name, rest, ok = cutQuoted(quoted)
		} else if inner, found := strings.CutPrefix(rest, "["); found {
			inner = strings.TrimLeft(inner, jsonSpace)
			end := strings.IndexFunc(inner, func(r rune) bool { return !unicode.IsNumber(r) && r != '_' && r != '-' })
			if end <= 0 {
				return nil, bad
			}
			name = inner[:end]
			rest, ok = strings.CutPrefix(strings.TrimLeft(inner[end:], jsonSpace), "]")
		} else if rest[0] == '.' {
			end := strings.IndexFunc(rest[1:], func(r rune) bool {
				return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_-:"+jsonSpace, r)
			}) + 1
			if end == 0 {
				end = len(rest)
			}
			name, rest, ok = rest[1:end], rest[end:], end > 1
		} else {
			ok = false
		}
		all = append(all, pathStep(name))
	}
	if !ok || rest != "" {
		return nil, bad
	}
	return all, nil
}

const jsonSpace = " \t\n\f\r"

// cutQuoted reads a name up to its quote; a quote inside is escaped with a backslash.
func cutQuoted(s string) (name, rest string, ok bool) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return strings.ReplaceAll(s[:i], `\"`, `"`), s[i+1:], true
		}
	}
	return "", "", false
}
