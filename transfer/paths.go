package transfer

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
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

// eachMember calls fn with the members of an object.
func eachMember(raw string, fn func(name, value string)) {
	for s := (scanner{raw, 1}); ; {
		name, ok := s.member()
		if !ok {
			return
		}
		start := s.pos
		s.skip()
		fn(name, s.text[start:s.pos])
	}
}

// eachElement calls fn with the elements of a list.
func eachElement(raw string, fn func(value string)) {
	for s := (scanner{raw, 1}); ; {
		s.space()
		if s.text[s.pos] == ',' {
			s.pos++
			s.space()
		}
		if s.text[s.pos] == ']' {
			return
		}
		start := s.pos
		s.skip()
		fn(s.text[start:s.pos])
	}
}

// fieldOf is a value as a field. An object or a list keeps its text.
func fieldOf(raw string) (f field, problem string) {
	switch {
	case raw == "" || raw == "null":
		return field{}, ""
	case raw[0] == '{' || raw[0] == '[':
		return field{text: raw, state: nested}, ""
	case raw[0] == '"' && !strings.Contains(raw, `\`):
		return field{text: raw[1 : len(raw)-1], state: present}, ""
	case raw[0] == '"':
		text, ok := (&scanner{raw, 0}).str()
		if !ok {
			return f, "has half of a surrogate pair, which is no character"
		}
		return field{text: text, state: present}, ""
	}
	return field{text: raw, state: bare}, ""
}

// naturalType is the type of a JSON value by its form. A whole number that does not fit an
// i64 is text, as an f64 would round it, and so is one that is too large for an f64.
func (f field) naturalType() cells.Type {
	switch {
	case f.state != bare:
		return cells.TypeString
	case f.text == "true" || f.text == "false":
		return cells.TypeBool
	case strings.ContainsAny(f.text, ".eE"):
		if _, err := strconv.ParseFloat(f.text, 64); err != nil {
			return cells.TypeString
		}
		return cells.TypeF64
	}
	if _, err := strconv.ParseInt(f.text, 10, 64); err != nil {
		return cells.TypeString
	}
	return cells.TypeI64
}

// A spread makes several cells of the values of one record.
type spread struct {
	plan  *plan
	rec   *record
	ts    cells.Timestamp   // of cells without a time of their own
	times []cells.Timestamp // of the elements of lists; nil: ts= is no list
	made  []cells.Cell
	left  int                // elements of lists without a value
	seen  map[spreadCell]int // the index in made
}

type spreadCell struct {
	family, qualifier string
	ts                cells.Timestamp
}

// times are those of the elements of a list, if ts= is one.
func (p *plan) elementTimes(rec *record) (times []cells.Timestamp, bad *LineError) {
	f := rec.fields[p.ts]
	if f.state == absent {
		return nil, nil
	}
	if f.state != nested || f.text[0] != '[' {
		return nil, rec.fault(p.ts, "is not a list here")
	}
	eachElement(f.text, func(raw string) {
		if bad != nil {
			return
		}
		raw, problem := follow(raw, p.tsPath.each)
		var of field
		if problem == "" {
			of, problem = fieldOf(raw)
		}
		if problem == "" && (of.state == nested || p.empty(of)) {
			problem = "has no timestamp in one of its elements"
		}
		var ts cells.Timestamp
		if problem == "" {
			ts, problem = parseTimestamp(of.text)
		}
		if problem != "" {
			bad = rec.fault(p.ts, "%s", problem)
		}
		times = append(times, ts)
	})
	return times, bad
}

// column adds the cells of one mapping.
func (s *spread) column(c *column) *LineError {
	f := s.rec.fields[c.field]
	switch {
	case c.path != nil && c.path.list:
		return s.list(c, f)
	case c.all:
		return s.object(c, f)
	case f.state == nested:
		return s.rec.notOneValue(c)
	}
	if s.plan.leavesOut(c, f) {
		return nil
	}
	name, bad := s.plan.name(c, s.rec, s.rec.field)
	if bad != nil {
		return bad
	}
	return s.value(c, name, s.ts, f)
}

// list makes a version of the column of each element, or a column if it has a template.
func (s *spread) list(c *column, f field) *LineError {
	if f.state == absent {
		return nil
	}
	if f.state != nested || f.text[0] != '[' {
		return s.rec.fault(c.field, "is not a list here")
	}
	var elements []string
	eachElement(f.text, func(raw string) { elements = append(elements, raw) })
	if s.times != nil && len(elements) != len(s.times) {
		return s.rec.fault(c.field, "has %d elements, and ts= has %d times", len(elements), len(s.times))
	}
	for i, element := range elements {
		at := s.ts
		if s.times != nil {
			at = s.times[i]
		}
		if bad := s.element(c, element, at); bad != nil {
			return bad
		}
	}
	return nil
}

// element makes a cell of an element of a list.
func (s *spread) element(c *column, element string, at cells.Timestamp) *LineError {
	of, problem := into(element, c.path)
	if problem == "" && of.state == nested {
		problem = "has an object or a list as an element; lead the path into it"
	}
	if problem != "" {
		return s.rec.fault(c.field, "%s", problem)
	}
	if s.plan.leavesOut(c, of) {
		s.left++
		return nil
	}
	name, bad := s.plan.name(c, s.rec, func(i int) field {
		p := s.plan.names.paths[i]
		if p == nil || !p.list {
			return s.rec.fields[i]
		}
		f, wrong := into(element, p)
		problem = cmp.Or(problem, wrong)
		return f
	})
	switch {
	case problem != "":
		return s.rec.fault(c.field, "%s", problem)
	case bad != nil:
		return bad
	}
	return s.value(c, name, at, of)
}

// into is the value in an element of a list to which a path leads.
func into(element string, p *path) (f field, problem string) {
	raw, problem := follow(element, p.each)
	if problem != "" {
		return field{}, problem
	}
	return fieldOf(raw)
}

// object makes a column of each member, of the whole object only of the members that no
// other field uses.
func (s *spread) object(c *column, f field) (bad *LineError) {
	if f.state == absent {
		return nil
	}
	if f.state != nested || f.text[0] != '{' {
		return s.rec.fault(c.field, "is not an object here, whose members would be columns of %s", c.family)
	}
	eachMember(f.text, func(name, raw string) {
		if bad != nil || len(c.path.steps) == 0 && s.plan.names.uses(name) {
			return
		}
		of, problem := fieldOf(raw)
		switch {
		case of.state == nested:
			problem = "has an object or a list as its member " + quote(name) + "; a column takes text, numbers and booleans"
		case len(name) > cells.MaxQualifier:
			problem = fmt.Sprintf("has a name of %d bytes; a qualifier has at most %d", len(name), cells.MaxQualifier)
		}
		if problem != "" {
			bad = s.rec.fault(c.field, "%s", problem)
			return
		}
		bad = s.value(c, name, s.ts, of)
	})
	return bad
}

// value adds one cell.
func (s *spread) value(c *column, qualifier string, ts cells.Timestamp, f field) *LineError {
	if s.plan.leavesOut(c, f) {
		return nil
	}
	text, problem := f.code.decode(f.text)
	if problem == "" {
		text, problem = c.code.decode(text)
	}
	var v cells.Value
	if problem == "" {
		v, problem = c.convert(text, f)
	}
	if problem != "" {
		return s.rec.fault(c.field, "%s (for %s:%s)", problem, c.family, qualifier)
	}
	at := spreadCell{c.family, qualifier, ts}
	i, twice := s.seen[at]
	if twice && c.named != nil { // as a page that links to another one twice
		s.made[i].Value = v
		return nil
	}
	if twice {
		return s.rec.fault(c.field, "makes a cell of %s:%s that this line has already made, at the same time", c.family, qualifier)
	}
	s.seen[at] = len(s.made)
	s.made = append(s.made, cells.Cell{Family: c.family, Qualifier: qualifier, Timestamp: ts, Value: v})
	return nil
}
