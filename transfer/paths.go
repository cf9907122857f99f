package transfer

import (
	"fmt"
	"strconv"
	"strings"
)

// A path leads from a JSON object to a value within it: $.to.airport, $.legs[0],
// $.to["a name"]. With [*], at one place, it leads to a value in each element of a list.
type path struct {
	steps []step
	each  []step // from each element; the list is at the end of steps
	list  bool
}

// A step leads to a member of an object or to an element of a list.
type step struct {
	name  string
	index int // of an element; -1: the step is a name
}

// isPath reports whether a field is a path rather than the name of a member.
func isPath(field string) bool {
	return field == "$" || strings.HasPrefix(field, "$.") || strings.HasPrefix(field, "$[")
}

func parsePath(text string) (*path, error) {
	p := new(path)
	wrong := func(rest string) error {
		return fmt.Errorf("%s is not a path, from byte %d on; paths are like $.to.airport, $.legs[0], $.legs[*].miles and $[\"a name\"]", quote(text), len(text)-len(rest)+1)
	}
	for rest := text[1:]; rest != ""; {
		s := step{index: -1}
		end := 0
		switch {
		case rest[0] == '.':
			if end = strings.IndexAny(rest[1:], ".["); end < 0 {
				end = len(rest) - 1
			}
			if end++; end == 1 {
				return nil, wrong(rest)
			}
			s.name = rest[1:end]
		case strings.HasPrefix(rest, "[*]"):
			if p.list {
				return nil, fmt.Errorf("%s has [*] twice; one list can be taken apart", quote(text))
			}
			p.list, rest = true, rest[3:]
			continue
		case strings.HasPrefix(rest, `["`):
			n := strings.Index(rest, `"]`)
			if n < 2 {
				return nil, wrong(rest)
			}
			s.name, end = rest[2:n], n+2
		default:
			n := strings.IndexByte(rest, ']')
			if n < 2 || rest[0] != '[' || !isDigits(rest[1:n]) {
				return nil, wrong(rest)
			}
			at, err := strconv.Atoi(rest[1:n])
			if err != nil {
				return nil, wrong(rest)
			}
			s.index, end = at, n+1
		}
		if p.list {
			p.each = append(p.each, s)
		} else {
			p.steps = append(p.steps, s)
		}
		rest = rest[end:]
	}
	if len(p.steps) > 0 && p.steps[0].index >= 0 || p.list && len(p.steps) == 0 {
		return nil, fmt.Errorf("%s does not begin with a name, and each line is an object; paths are like $.legs[0]", quote(text))
	}
	return p, nil
}

// follow returns the text of the value to which the steps lead; "" if there is no such
// value. raw is well-formed JSON. problem says why the steps cannot be followed.
func follow(raw string, steps []step) (value, problem string) {
	for _, s := range steps {
		if raw == "" || raw == "null" {
			return "", ""
		}
		found := ""
		switch {
		case s.index < 0 && raw[0] == '{':
			twice := false
			eachMember(raw, func(name, value string) {
				if name == s.name {
					twice = found != ""
					found = value
				}
			})
			if twice {
				return "", quote(s.name) + " occurs twice in its object; it is not clear which one is meant"
			}
		case s.index >= 0 && raw[0] == '[':
			i := 0
			eachElement(raw, func(value string) {
				if i == s.index {
					found = value
				}
				i++
			})
		case s.index < 0:
			return "", "has no object here in which " + quote(s.name) + " could be"
		default:
			return "", fmt.Sprintf("has no list here whose element %d could be taken", s.index)
		}
		raw = found
	}
	return raw, ""
}

// stepText is the step of a path to a member.
func stepText(name string) string {
	if name == "" || strings.ContainsAny(name, `.[]"`) {
		return `["` + name + `"]`
	}
	return "." + name
}
