package function

import (
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A change writes a new text in the place of a part of a JSON. One that its path does not allow,
// such as a member of an array, changes nothing.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/json_functions#json_set

// partial are the functions of a JSON that take NULL for arguments.
var partial = []declaration{
	{"JSON_REMOVE(JSON, STRING…) JSON", func(v []any) (any, error) {
		paths, err := strictPaths(v[1:])
		if v[0] == nil || err != nil {
			return nil, err
		}
		doc := string(v[0].(value.JSON))
		for _, path := range paths {
			switch {
			case path == nil:
			case len(path) == 0:
				return nil, parse.Invalid("JSON_REMOVE cannot remove $, which is all")
			default:
				doc = without(doc, path)
			}
		}
		return value.JSON(doc), nil
	}},
	{"JSON_STRIP_NULLS(JSON[STRING, BOOL, BOOL]) JSON", func(v []any) (any, error) {
		path := any("$")
		if len(v) > 1 {
			path = v[1]
		}
		paths, err := strictPaths([]any{path})
		if v[0] == nil || err != nil || slices.Contains(v, nil) {
			return v[0], err
		}
		doc := string(v[0].(value.JSON))
		of, left := walk(doc, paths[0])
		if len(left) > 0 {
			return v[0], nil
		}
		s := stripper{arrays: len(v) < 3 || v[2] == true, empty: len(v) > 3 && v[3] == true}
		s.value(of)
		if s.drops(string(s.out)) {
			s.out = []byte("null")
		}
		return value.JSON(replaced(doc, of, string(s.out))), nil
	}},
	{"JSON_KEYS(JSON[INT64, STRING]) ARRAY<STRING>", func(v []any) (any, error) {
		k := keyReader{depth: 1 << 62, seen: map[string]bool{}}
		if len(v) > 1 && v[1] != nil {
			k.depth = v[1].(int64)
		}
		if k.depth <= 0 {
			return nil, parse.Invalid("max_depth of JSON_KEYS is %d; it is at least 1", k.depth)
		}
		if len(v) > 2 && v[2] != nil {
			at := slices.Index([]string{"strict", "lax", "lax recursive"}, strings.ToLower(v[2].(string)))
			if at < 0 {
				return nil, parse.Invalid("%.100q is not a mode of JSON_KEYS; there are 'strict', 'lax' and 'lax recursive'", v[2])
			}
			k.lax, k.recursive = at > 0, at > 1
		}
		if v[0] == nil || len(v) > 2 && v[2] == nil {
			return nil, nil
		}
		if _, err := k.value(string(v[0].(value.JSON)), "", k.depth); err != nil {
			return nil, err
		}
		all := make(value.Array, 0, len(k.seen))
		for key := range k.seen {
			all = append(all, key)
		}
		slices.SortFunc(all, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		return all, nil
	}},
}

// strictPaths reads paths in which names follow points and numbers stand in brackets. One that is
// NULL is nil.
func strictPaths(paths []any) (all [][]pathStep, err error) {
	for _, p := range paths {
		path := []pathStep(nil)
		if p != nil {
			if path, err = steps(p.(string)); err != nil {
				return nil, err
			}
			path = append([]pathStep{}, path...) // not nil
		}
		for _, s := range path {
			if _, err := strconv.ParseUint(s.text, 10, 31); s.brackets && err != nil {
				return nil, parse.Invalid("%.100q has [%s], which is not the number of an element", p, s.text)
			}
		}
		all = append(all, path)
	}
	return all, nil
}

// number is the number of an element, -1 for the name of a member.
func (s pathStep) number() int {
	if !s.brackets {
		return -1
	}
	n, _ := strconv.Atoi(s.text)
	return n
}

// leads reports whether there can be such a step in a value.
func (s pathStep) leads(value string) bool {
	return s.brackets && value[0] == '[' || !s.brackets && value[0] == '{'
}

// walk goes as far as a path leads: of is the document from the value there on, and left the steps
// that lead no further.
func walk(doc string, path []pathStep) (of string, left []pathStep) {
	for of = doc; len(path) > 0 && path[0].leads(of); path = path[1:] {
		_, next := seek(of, path[0].text, path[0].number())
		if next == "" {
			break
		}
		of = next
	}
	return of, path
}

// replaced is a document with another value at the place from which on it is of.
func replaced(doc, of, by string) string {
	return doc[:len(doc)-len(of)] + by + of[extent(of):]
}

// without is a document without a member or an element.
func without(doc string, path []pathStep) string {
	last := path[len(path)-1]
	of, left := walk(doc, path[:len(path)-1])
	if len(left) > 0 || !last.leads(of) {
		return doc
	}
	at, v := seek(of, last.text, last.number())
	if at == "" {
		return doc
	}
	before, after := doc[:len(doc)-len(at)], v[extent(v):]
	if after[0] == ',' {
		after = after[1:]
	} else {
		before = strings.TrimSuffix(before, ",")
	}
	return before + after
}

// JSONChange is one of JSON_SET, JSON_ARRAY_APPEND and JSON_ARRAY_INSERT, by its name, of an option,
// a JSON, and paths, each followed by a value. A path that is NULL changes nothing.
func JSONChange(name string, args []any, types []value.Type) (any, error) {
	var named []any
	for i := 2; i < len(args); i += 2 {
		named = append(named, args[i])
	}
	paths, err := strictPaths(named)
	if err != nil || args[1] == nil || args[0] == nil {
		return args[1], err
	}
	doc := string(args[1].(value.JSON))
	for i, path := range paths {
		if path == nil {
			continue
		}
		v, t := args[2*i+3], types[2*i+3]
		var elements []string
		if elements, err = elementsToAdd(v, t, name != "JSON_SET" && args[0] == true); err != nil {
			return nil, err
		}
		switch {
		case name == "JSON_SET":
			doc, err = with(doc, path, elements[0], args[0] == true)
		case t.Kind == value.TypeArray && v == nil && args[0] == true: // no elements, and no array
		case name == "JSON_ARRAY_APPEND":
			doc = appended(doc, path, elements)
		default:
			doc, err = insertedAt(doc, path, elements)
		}
		if err == nil {
			err = value.JSON(doc).Check()
		}
		if err != nil {
			return nil, err
		}
	}
	return value.JSON(doc), nil
}

// elementsToAdd are a value as JSON, or the elements of an array if each is set.
func elementsToAdd(v any, t value.Type, each bool) (all []string, err error) {
	list, types := []any{v}, t
	if each && t.Kind == value.TypeArray {
		list, types = nil, *t.Of
		if array, ok := v.(value.Array); ok {
			list = array
		}
	}
	size := 0
	for _, e := range list {
		j, err := value.ToJSON(e, types, false)
		if err != nil {
			return nil, err
		}
		size += len(j)
		if err := sized(size); err != nil {
			return nil, err
		}
		all = append(all, string(j))
	}
	return all, nil
}

// with is a document in which a path leads to a value. If create is set, the arrays and objects that lead there are made.
func with(doc string, path []pathStep, v string, create bool) (string, error) {
	of, left := walk(doc, path)
	switch {
	case len(left) == 0:
		return replaced(doc, of, v), nil
	case !create || of[0] != 'n' && !left[0].leads(of):
		return doc, nil
	case of[0] == 'n':
		made, err := nested(left, v)
		return replaced(doc, of, made), err
	}
	made, err := nested(left[1:], v)
	if err != nil {
		return "", err
	}
	if of[0] == '{' {
		return withMember(doc, of, left[0].text, made), nil
	}
	return inserted(doc, of, left[0].number(), []string{made})
}

// nested is a value within the arrays and objects that a path leads through.
func nested(path []pathStep, v string) (string, error) {
	for _, s := range slices.Backward(path) {
		if !s.brackets {
			v = "{" + string(value.AppendJSONText(nil, s.text)) + ":" + v + "}"
			continue
		}
		if err := fits(s.number() + 1); err != nil {
			return "", err
		}
		v = "[" + strings.Repeat("null,", s.number()) + v + "]"
		if err := sized(len(v)); err != nil {
			return "", err
		}
	}
	return v, nil
}

// withMember is a document with one more member of the object at a place.
func withMember(doc, of, name, v string) string {
	member := string(value.AppendJSONText(nil, name)) + ":" + v
	rest := of[1:]
	for rest[0] != '}' {
		end := extent(rest)
		if scalar(rest[:end]).(string) > name {
			return doc[:len(doc)-len(rest)] + member + "," + rest
		}
		rest = rest[end+1:]
		if rest = rest[extent(rest):]; rest[0] == ',' {
			rest = rest[1:]
		}
	}
	if of[1] != '}' {
		member = "," + member
	}
	return doc[:len(doc)-len(rest)] + member + rest
}

// inserted is a document with elements at a number of the array at a place, after as many null as
// it lacks before.
func inserted(doc, of string, at int, elements []string) (string, error) {
	rest, n := of[1:], 0
	for ; rest[0] != ']' && n < at; n++ {
		if rest = rest[extent(rest):]; rest[0] == ',' {
			rest = rest[1:]
		}
	}
	if err := fits(at + len(elements)); err != nil {
		return "", err
	}
	if lack := at - n; lack > 0 || len(elements) == 0 && rest[0] == ']' {
		if len(elements) == 0 { // as in GoogleSQL
			lack++
		}
		elements = append(slices.Repeat([]string{"null"}, lack), elements...)
	}
	text := strings.Join(elements, ",")
	switch {
	case text == "":
	case rest[0] != ']':
		text += ","
	case of[1] != ']':
		text = "," + text
	}
	return doc[:len(doc)-len(rest)] + text + rest, nil
}

// appended is a document with elements at the end of the array, or in the place of null, that a
// path leads to.
func appended(doc string, path []pathStep, elements []string) string {
	of, left := walk(doc, path)
	switch {
	case len(left) > 0 || of[0] != '[' && of[0] != 'n':
		return doc
	case of[0] == 'n':
		return replaced(doc, of, "["+strings.Join(elements, ",")+"]")
	}
	end := of[extent(of)-1:]
	text := strings.Join(elements, ",")
	if of[1] != ']' && text != "" {
		text = "," + text
	}
	return doc[:len(doc)-len(end)] + text + end
}

// insertedAt is a document with elements in an array, or in the place of null, at the number that
// is the last step of a path.
func insertedAt(doc string, path []pathStep, elements []string) (string, error) {
	last := len(path) - 1
	if last < 0 || !path[last].brackets {
		return doc, nil
	}
	of, left := walk(doc, path[:last])
	if len(left) > 0 || of[0] != '[' && of[0] != 'n' {
		return doc, nil
	}
	if of[0] == 'n' {
		from := len(doc) - len(of)
		doc = replaced(doc, of, "[]")
		of = doc[from:]
	}
	return inserted(doc, of, path[last].number(), elements)
}

// Member is the member of an object with a name, or the element of an array with a number from
// 0; nil: there is none.
func Member(doc value.JSON, by any) any {
	of := ""
	switch by := by.(type) {
	case string:
		if doc[0] == '{' {
			_, of = seek(string(doc), by, -1)
		}
	case int64:
		if doc[0] == '[' && by >= 0 && by < int64(len(doc)) {
			_, of = seek(string(doc), "", int(by))
		}
	}
	if of == "" {
		return nil
	}
	return value.JSON(strings.Clone(of[:extent(of)]))
}

// A stripper writes a value without null.
type stripper struct {
	out           []byte
	arrays, empty bool // also the elements of arrays; also arrays and objects that are empty then
}

// value writes the value with which a text begins, and returns the text after it.
func (s *stripper) value(rest string) string {
	if rest[0] != '{' && rest[0] != '[' {
		end := extent(rest)
		s.out = append(s.out, rest[:end]...)
		return rest[end:]
	}
	object := rest[0] == '{'
	s.out = append(s.out, rest[0])
	first := true
	for rest = rest[1:]; rest[0] != '}' && rest[0] != ']'; {
		from := len(s.out)
		if !first {
			s.out = append(s.out, ',')
		}
		if object {
			end := extent(rest) + 1
			s.out = append(s.out, rest[:end]...)
			rest = rest[end:]
		}
		at := len(s.out)
		if rest = s.value(rest); rest[0] == ',' {
			rest = rest[1:]
		}
		if of := s.out[at:]; (object || s.arrays) && len(of) <= len("null") && (string(of) == "null" || s.drops(string(of))) {
			s.out = s.out[:from]
		} else {
			first = false
		}
	}
	s.out = append(s.out, rest[0])
	return rest[1:]
}

// drops reports whether a value goes because it is empty.
func (s *stripper) drops(v string) bool {
	return s.empty && (v == "{}" || s.arrays && v == "[]")
}

// A keyReader collects the paths of names for JSON_KEYS.
type keyReader struct {
	depth          int64
	lax, recursive bool
	seen           map[string]bool
	bytes          int
}

// value reads the value with which a text begins, and returns the text after it.
func (k *keyReader) value(rest, path string, depth int64) (_ string, err error) {
	object := rest[0] == '{'
	if depth == 0 || !object && (rest[0] != '[' || !k.lax) {
		return rest[extent(rest):], nil
	}
	for rest = rest[1:]; rest[0] != '}' && rest[0] != ']'; {
		of, left := path, depth
		if object {
			end := extent(rest)
			name := scalar(rest[:end]).(string)
			if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || strings.ContainsRune(".\"\\\u2028\u2029", r) }) {
				name = string(value.AppendJSONText(nil, name))
			}
			if of = name; path != "" {
				of = path + "." + name
			}
			if left, rest = depth-1, rest[end+1:]; !k.seen[of] {
				k.seen[of] = true
				k.bytes += len(of)
			}
			if err = sized(k.bytes); err == nil {
				err = fits(len(k.seen))
			}
			if err != nil {
				return "", err
			}
		}
		if !object && rest[0] == '[' && !k.recursive {
			rest = rest[extent(rest):]
		} else if rest, err = k.value(rest, of, left); err != nil {
			return "", err
		}
		if rest[0] == ',' {
			rest = rest[1:]
		}
	}
	return rest[1:], nil
}
