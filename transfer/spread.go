package transfer

import (
	"cmp"
	"fmt"

	"github.com/smolwc/smolwc/cells"
)

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

// list makes a version of the column of each element, or a column by its template.
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

type spreadCell struct {
	family, qualifier string
	ts                cells.Timestamp
}

// elementTimes are the times of the elements of a list, if ts= is one.
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

// into is the value in an element of a list to which a path leads.
func into(element string, p *path) (f field, problem string) {
	raw, problem := follow(element, p.each)
	if problem != "" {
		return field{}, problem
	}
	return fieldOf(raw)
}
