package function

import (
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
)

// oldSteps reads a path such as $.a['b c'][0], of the functions of GoogleSQL's first years, where
// others write "b c".
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
		all, rest = append(all, pathStep{text: name}), after
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
