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

// documents are the functions that read a JSON, or a STRING of JSON: a text that is not JSON
// yields no values. https://cloud.google.com/bigquery/docs/reference/standard-sql/json_functions
var documents = append(
	extractors(steps, "JSON_VALUE", "JSON_QUERY", "JSON_VALUE_ARRAY", "JSON_QUERY_ARRAY"),
	extractors(oldSteps, "JSON_EXTRACT_SCALAR", "JSON_EXTRACT", "JSON_EXTRACT_STRING_ARRAY", "JSON_EXTRACT_ARRAY")...)

// extractors are four functions with paths that are read by a function: of a single value, of any, and
// of arrays of these.
func extractors(path func(string) ([]pathStep, error), scalarName, partName, scalarsName, partsName string) (list []declaration) {
	for _, doc := range []string{"STRING", "JSON"} {
		typed, args := doc == "JSON", "("+doc+"[STRING]) "
		part := func(raw string) any {
			if typed {
				return value.JSON(strings.Clone(raw))
			}
			return compact(raw)
		}
		list = append(list, declaration{scalarName + args + "STRING", func(v []any) (any, error) {
			raw, err := found(v, path)
			if raw == "" || err != nil {
				return nil, err
			}
			return scalar(raw), nil
		}}, declaration{partName + args + doc, func(v []any) (any, error) {
			raw, err := found(v, path)
			if raw == "" || raw[0] == 'n' && !typed || err != nil { // null in a text is NULL
				return nil, err
			}
			return part(raw), nil
		}}, declaration{scalarsName + args + "ARRAY<STRING>", func(v []any) (any, error) {
			return foundAll(v, path, func(e string) (any, bool) { return scalar(e), e[0] != '{' && e[0] != '[' })
		}}, declaration{partsName + args + "ARRAY<" + doc + ">", func(v []any) (any, error) {
			return foundAll(v, path, func(e string) (any, bool) { return part(e), true })
		}})
	}
	return list
}

// scalar is the text of a string, a number or a truth value; nil for other values.
func scalar(raw string) any {
	switch raw[0] {
	case '{', '[', 'n':
		return nil
	case '"':
		var s string
		if json.Unmarshal([]byte(raw), &s) != nil {
			return nil
		}
		return s
	}
	return strings.Clone(raw)
}

func compact(raw string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(raw)) != nil {
		return raw
	}
	return b.String()
}

// found is the part of a document at a path that is read by a function, empty when there is no
// such part.
func found(v []any, read func(path string) ([]pathStep, error)) (string, error) {
	path := "$"
	if len(v) == 2 {
		path = v[1].(string)
	}
	steps, err := read(path)
	if err != nil {
		return "", err
	}
	var raw string
	switch doc := v[0].(type) {
	case value.JSON:
		raw = string(doc)
	case string:
		if raw = strings.TrimSpace(doc); !json.Valid([]byte(raw)) {
			return "", nil
		}
	}
	for _, s := range steps {
		if raw = s.of(raw); raw == "" {
			return "", nil
		}
	}
	return raw[:extent(raw)], nil
}

// foundAll is the array of the elements at a path; NULL if there is none, or if of does not take
// an element.
func foundAll(v []any, read func(path string) ([]pathStep, error), of func(string) (any, bool)) (any, error) {
	raw, err := found(v, read)
	if raw == "" || err != nil {
		return nil, err
	}
	parts, ok, err := elementsOf(raw)
	if !ok || err != nil {
		return nil, err
	}
	all := make(value.Array, len(parts))
	for i, e := range parts {
		if all[i], ok = of(e); !ok {
			return nil, nil
		}
	}
	return all, nil
}

// A pathStep is the name of a member of an object; of an array, the number of an element.
type pathStep struct {
	text     string
	brackets bool // it stood in brackets, and not after a point
}

// of is the text from the first member of the name, or the element, on; empty: there is no
// such one. The text before is valid JSON, so that only its structure is looked at.
func (s pathStep) of(raw string) string {
	switch raw[0] {
	case '{':
		_, of := seek(raw, s.text, -1)
		return of
	case '[':
		if n, err := strconv.ParseUint(s.text, 10, 31); err == nil {
			_, of := seek(raw, "", int(n))
			return of
		}
	}
	return ""
}

// seek is the text from the first member of a name on, or from the element of a number, which is
// -1 in an object; at begins with the name of the member. Both are empty: there is none.
func seek(raw, name string, index int) (at, of string) {
	for n, rest := 0, space(raw[1:]); rest[0] != '}' && rest[0] != ']'; n++ {
		at, same := rest, n == index
		if index < 0 {
			end := extent(rest)
			same = nameIs(rest[:end], name)
			rest = space(space(rest[end:])[1:]) // beyond the colon
		}
		if same {
			return at, rest
		}
		if rest = space(rest[extent(rest):]); rest[0] == ',' {
			rest = space(rest[1:])
		}
	}
	return "", ""
}

func nameIs(quoted, name string) bool {
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1:len(quoted)-1] == name
	}
	return scalar(quoted) == name
}

func space(raw string) string { return strings.TrimLeft(raw, " \t\r\n") }

// extent is the length of the value with which valid JSON begins.
func extent(raw string) int {
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
func elementsOf(raw string) (all []string, ok bool, err error) {
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
		var s pathStep
		if quoted, found := strings.CutPrefix(rest, `."`); found {
			s.text, rest, ok = cutQuoted(quoted)
		} else if inner, found := strings.CutPrefix(rest, "["); found {
			inner = strings.TrimLeft(inner, jsonSpace)
			end := strings.IndexFunc(inner, func(r rune) bool { return !unicode.IsNumber(r) && r != '_' && r != '-' })
			if end <= 0 {
				return nil, bad
			}
			s = pathStep{inner[:end], true}
			rest, ok = strings.CutPrefix(strings.TrimLeft(inner[end:], jsonSpace), "]")
		} else if rest[0] == '.' {
			end := strings.IndexFunc(rest[1:], func(r rune) bool {
				return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_-:"+jsonSpace, r)
			}) + 1
			if end == 0 {
				end = len(rest)
			}
			s.text, rest, ok = rest[1:end], rest[end:], end > 1
		} else {
			ok = false
		}
		all = append(all, s)
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
