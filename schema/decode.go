package schema

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/smolwc/smolwc/cells"
)

// A decoder turns YAML nodes into values and continues after a fault. Each of its
// methods takes a node and the node's path; a nil node is an absent key, which is
// no fault.
type decoder struct {
	faults faults
	lines  map[string]int  // the line of each path
	unread map[string]bool // paths that have a fault already, or are inside such a path
}

// fault notes a fault at the node n with this path.
func (d *decoder) fault(n *yaml.Node, path, format string, args ...any) {
	d.faults = append(d.faults, Fault{n.Line, path, fmt.Sprintf(format, args...)})
	d.unread[path] = true
}

// check adds Validate's findings, except where reading already failed.
func (d *decoder) check(s *Schema) {
	e, ok := s.Validate().(*Errors)
	if !ok {
		return
	}
	for _, f := range e.Faults {
		if !d.unread[f.Path] {
			f.Line = d.line(f.Path)
			d.faults = append(d.faults, f)
		}
	}
	d.faults.sort()
}

// line is the line of path, or of the nearest path above it whose line is known.
func (d *decoder) line(path string) int {
	for path != "" {
		if n, ok := d.lines[path]; ok {
			return n
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 1
}

// mapping returns the values of a mapping by key; nil when n is not a mapping.
func (d *decoder) mapping(n *yaml.Node, path string, known []string) map[string]*yaml.Node {
	d.lines[path] = n.Line
	values, faults := CheckKeys(n, path, known)
	d.faults = append(d.faults, faults...)
	if values == nil {
		d.unread[path+".name"] = true
	}
	return values
}

// list returns the elements of a list.
func (d *decoder) list(n *yaml.Node, path string) []*yaml.Node {
	if n == nil {
		return nil
	}
	d.lines[path] = n.Line
	if n.Kind != yaml.SequenceNode {
		d.fault(n, path, "want a list, not %s", describe(n))
		return nil
	}
	return n.Content
}

// text returns the text of a scalar as it is written, whatever type YAML sees in
// it: a name may be 2014 or no.
func (d *decoder) text(n *yaml.Node, path string) string {
	if n == nil {
		return ""
	}
	d.lines[path] = n.Line
	if !scalar(n) {
		d.fault(n, path, "want text, not %s", describe(n))
		return ""
	}
	return n.Value
}

// nameIn is the value of the key name in a mapping that is not decoded yet. The
// mapping's path shows it.
func nameIn(n *yaml.Node) string {
	if n.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "name" && scalar(n.Content[i+1]) {
			return n.Content[i+1].Value
		}
	}
	return ""
}

// named parses the text of a scalar. It returns the zero T if n is nil or not a scalar.
func named[T any](d *decoder, n *yaml.Node, path string, parse func(string) (T, error)) (v T) {
	text := d.text(n, path)
	if n == nil || !scalar(n) {
		return v
	}
	v, err := parse(text)
	if err != nil {
		d.fault(n, path, "%v", err)
	}
	return v
}

func parseType(name string) (cells.Type, error) {
	t, err := cells.ParseType(name)
	if err == nil {
		return t, nil
	}
	var names []string
	for t := cells.TypeAny + 1; t.Valid(); t++ {
		names = append(names, t.String())
	}
	return t, unknownName("type", name, names)
}

func (d *decoder) maxVersions(n *yaml.Node, path string) *Rule {
	d.lines[path] = n.Line
	v, ok := wholeNumber(n)
	if !ok {
		d.fault(n, path, "want a whole number of versions, 1 or more, not %s", describe(n))
		return placeholder()
	}
	if err := checkVersions(v); err != nil {
		d.fault(n, path, "%v", err)
		return placeholder()
	}
	return MaxVersions(v)
}

func (d *decoder) maxAge(n *yaml.Node, path string) *Rule {
	d.lines[path] = n.Line
	if !scalar(n) {
		d.fault(n, path, "want an age, as in 30d, not %s", describe(n))
		return placeholder()
	}
	age, err := ParseAge(n.Value)
	if err != nil {
		d.fault(n, path, "%v", err)
		return placeholder()
	}
	return MaxAge(age)
}
