package transfer

import (
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/schema"
)

// fieldNames are the distinct fields that a spec uses.
type fieldNames struct {
	names []string
	parts []string      // the part of the spec that named it first
	also  []string      // another possible name in the file; "": no other
	coded bool          // a file may have the field with a suffix
	paths map[int]*path // of the fields that are paths into JSON
}

// add returns the index of a field, and adds the field if it is new.
func (f *fieldNames) add(name, part, also string) int {
	for i, n := range f.names {
		if n == name && f.also[i] == also {
			return i
		}
	}
	f.names, f.parts, f.also = append(f.names, name), append(f.parts, part), append(f.also, also)
	return len(f.names) - 1
}

// A spelling is a name that a field may have in a file, and the encoding of its
// content.
type spelling struct {
	name string
	code code
}

// spellings returns the spellings of a field; the first one in the file is used.
func (f *fieldNames) spellings(i int) (all []spelling) {
	names := []string{f.names[i]}
	if f.also[i] != "" {
		names = append(names, f.also[i])
	}
	for _, name := range names {
		all = append(all, spelling{name, noCode})
		for c := hexCode; f.coded && c <= base64Code; c++ {
			all = append(all, spelling{name + suffixes[c], c})
		}
	}
	return all
}

// find returns the index of a field in a file, and the encoding of its content. If the
// field is missing, the index is -1 with an error.
func (f *fieldNames) find(i int, in header) (at int, c code, err error) {
	for _, s := range f.spellings(i) {
		if at, err := in.find(s.name); at >= 0 || err != nil {
			return at, s.code, err
		}
	}
	return -1, noCode, unknownField(f.names[i], in.read)
}

// allIn reports whether all fields are in a file with this header.
func (f *fieldNames) allIn(h header) bool {
	for i := range f.names {
		if at, _, err := f.find(i, h); at < 0 || err != nil {
			return false
		}
	}
	return true
}

// uses reports whether a field other than the whole object is the member of this name, or
// in it.
func (f *fieldNames) uses(name string) bool {
	for i, n := range f.names {
		if p := f.paths[i]; p != nil && len(p.steps) > 0 && p.steps[0].name == name || p == nil && (n == name || f.also[i] == name) {
			return true
		}
	}
	return false
}

// unknownField returns the error for a field that a file does not have.
func unknownField(name string, known []string) error {
	const most = 30
	list := known
	if len(list) > most {
		list = append(list[:most:most], "…")
	}
	return fmt.Errorf("there is no field %s%s (the fields are %s)", quote(name), schema.DidYouMean(name, known), strings.Join(list, ", "))
}

// The fields of the long form: one line for each cell.
const (
	rowField       = "row"
	familyField    = "family"
	qualifierField = "qualifier"
	timestampField = "timestamp"
	typeField      = "type"
	valueField     = "value"
)
