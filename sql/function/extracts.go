package function

import (
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// extracts are the functions of JSON in a STRING of GoogleSQL's first years, whose paths write
// names as ['a b'], where others write "a b".
// https://cloud.google.com/bigquery/docs/reference/standard-sql/json_functions
var extracts = []declaration{
	{"JSON_EXTRACT(STRING[STRING]) STRING", func(v []any) (any, error) {
		raw, err := foundBy(v, oldSteps)
		if raw == nil || raw[0] == 'n' || err != nil { // null is NULL
			return nil, err
		}
		return compact(raw), nil
	}},
	{"JSON_EXTRACT_SCALAR(STRING[STRING]) STRING", func(v []any) (any, error) {
		raw, err := foundBy(v, oldSteps)
		if raw == nil || err != nil {
			return nil, err
		}
		return scalar(raw), nil
	}},
	{"JSON_EXTRACT_ARRAY(STRING[STRING]) ARRAY<STRING>", func(v []any) (any, error) {
		return extracted(v, func(e []byte) any { return compact(e) })
	}},
	{"JSON_EXTRACT_STRING_ARRAY(STRING[STRING]) ARRAY<STRING>", func(v []any) (any, error) {
		return extracted(v, func(e []byte) any {
			if e[0] == '{' || e[0] == '[' {
				return errScalar
			}
			return scalar(e)
		})
	}},
}

// errScalar says that an element is not a single value.
var errScalar = parse.Invalid("an element is not a single value")

// extracted is an array of the elements at a path; NULL if there is none, or if of does not
// take an element.
func extracted(v []any, of func([]byte) any) (any, error) {
	raw, err := foundBy(v, oldSteps)
	if raw == nil || err != nil {
		return nil, err
	}
	parts, ok, err := elementsOf(raw)
	if !ok || err != nil {
		return nil, err
	}
	all := value.Array{}
	for _, e := range parts {
		part := of(e)
		if part == errScalar {
			return nil, nil
		}
		all = append(all, part)
	}
	return all, nil
}

// oldSteps reads a path such as $.a['b c'][0].
func oldSteps(path string) (all []pathStep, err error) {
	for rest := path; ; {
		before, quoted, found := strings.Cut(rest, "['")
		if strings.Contains(before, `"`) {
			return nil, parse.Invalid("%.100q is not a path of JSON_EXTRACT and its like; it is like $.a['b c'][0]", path)
		}
		if before != "" {
			if len(all) > 0 { // it follows ['…']
				before = "$" + before
			}
			more, err := steps(before)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		} else if len(all) == 0 && rest == path {
			_, err := steps(path) // it does not begin with $
			return nil, err
		}
		if len(all) > maxSteps {
			return nil, parse.Invalid("the path has more than %d steps", maxSteps)
		}
		if !found {
			return all, nil
		}
		name, after, ok := cutSingle(quoted)
		if !ok {
			return nil, parse.Invalid("%.100q is not a path of JSON_EXTRACT and its like: a name in ['…'] does not end", path)
		}
		all, rest = append(all, pathStep(name)), after
		if rest == "" {
			return all, nil
		}
	}
}

// cutSingle reads a name up to '], which a backslash escapes a quote in.
func cutSingle(s string) (name, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '\'':
			i++
			b.WriteByte('\'')
		case s[i] == '\'':
			rest, ok = strings.CutPrefix(s[i+1:], "]")
			return b.String(), rest, ok
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}
