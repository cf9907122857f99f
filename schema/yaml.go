package schema

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/smolwc/smolwc/internal/excerpt"
)

// ParseYAML reads text as one YAML document and returns its root, an empty mapping for
// an empty document. A fault of syntax is an [*Errors] with its line. It is for readers
// of files that hold a schema and other keys.
func ParseYAML(text []byte) (*yaml.Node, error) {
	line := 0
	for text := range bytes.Lines(text) {
		if line++; !utf8.Valid(text) {
			return nil, &Errors{Faults: []Fault{{Line: line, Problem: "this is not UTF-8 text"}}}
		}
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, next yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return &yaml.Node{Kind: yaml.MappingNode, Line: 1}, nil
	}
	if err != nil {
		return nil, syntaxError(err)
	}
	switch err := dec.Decode(&next); {
	case errors.Is(err, io.EOF):
		return rootOf(&doc), nil
	case err != nil:
		return nil, syntaxError(err)
	}
	return nil, &Errors{Faults: []Fault{{Line: next.Line, Problem: "a second document begins here; want just one"}}}
}

// rootOf is the content of the document, an empty mapping for an empty one.
func rootOf(doc *yaml.Node) *yaml.Node {
	root := doc.Content[0]
	if root.Tag == "!!null" {
		return &yaml.Node{Kind: yaml.MappingNode, Line: root.Line}
	}
	return root
}

var (
	yamlLine = regexp.MustCompile(`^line (\d+): `)
	// yamlParserProblem matches the errors whose line yaml reports one too early.
	yamlParserProblem = regexp.MustCompile(`^did not find expected ('|key|node content|<document start>)`)
)

// syntaxError turns an error of the yaml package, "yaml: line 3: …", into a fault.
func syntaxError(err error) error {
	problem := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if m := yamlLine.FindStringSubmatch(problem); m != nil {
		line, _ = strconv.Atoi(m[1])
		problem = problem[len(m[0]):]
		if yamlParserProblem.MatchString(problem) {
			line++
		}
	} else if !strings.HasPrefix(problem, "unknown anchor") {
		line = 1 // yaml leaves the first line out
	}
	return &Errors{Faults: []Fault{{Line: line, Problem: "malformed YAML: " + problem}}}
}

// CheckKeys adds to the faults each key of the mapping n that is not one of known, or
// that is repeated, and returns the values by key. path is the mapping's path, empty
// for the top level. If n is not a mapping, that is a fault, and it returns nil.
func CheckKeys(n *yaml.Node, path string, known []string) (map[string]*yaml.Node, []Fault) {
	if n == nil {
		n = new(yaml.Node)
	}
	if n.Kind != yaml.MappingNode {
		return nil, []Fault{{n.Line, path, "want a mapping with the keys " + strings.Join(known, ", ") + ", not " + describe(n)}}
	}
	values := map[string]*yaml.Node{}
	var faults []Fault
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		name := excerpt.Of(key.Value)
		if problem := keyProblem(key, values, known); problem != "" {
			faults = append(faults, Fault{key.Line, path, problem})
			continue
		}
		values[name] = n.Content[i+1]
	}
	return values, faults
}

func keyProblem(key *yaml.Node, seen map[string]*yaml.Node, known []string) string {
	name := excerpt.Of(key.Value)
	switch {
	case key.Kind != yaml.ScalarNode:
		return "a key must be text, not " + describe(key)
	case seen[name] != nil:
		return "the key " + strconv.Quote(name) + " occurs twice"
	case slices.Contains(known, name):
		return ""
	}
	problem := "unknown key " + strconv.Quote(name)
	if near := DidYouMean(name, known); near != "" {
		return problem + near
	}
	return problem + "; the keys are " + strings.Join(known, ", ")
}

// describe names the kind of n for a message.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "an alias (aliases are not supported; write the value out)"
	case n.Tag == "!!null":
		return "nothing"
	}
	return strconv.Quote(excerpt.Of(n.Value))
}

// wholeNumber is the decimal number in n; numbers out of range become the
// nearest int.
func wholeNumber(n *yaml.Node) (v int, ok bool) {
	v, err := strconv.Atoi(n.Value)
	return v, n.Kind == yaml.ScalarNode && (err == nil || errors.Is(err, strconv.ErrRange))
}

// scalar reports whether n is a scalar other than null.
func scalar(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag != "!!null" }
