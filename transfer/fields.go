package transfer

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// A code is an encoding of bytes as text.
type code uint8

const (
	noCode code = iota // not encoded
	hexCode
	base64Code
)

// suffixes end the names of fields that have the encoding.
var suffixes = [...]string{hexCode: "_hex", base64Code: base64Suffix}

// codes are the encodings by name.
var codes = map[string]code{"": hexCode, "hex": hexCode, "base64": base64Code}

// codeOf returns the encoding that a field's name ends in.
func codeOf(name string) code {
	for c := hexCode; c <= base64Code; c++ {
		if strings.HasSuffix(name, suffixes[c]) {
			return c
		}
	}
	return noCode
}

func (c code) encode(raw string) string {
	switch c {
	case hexCode:
		return hex.EncodeToString([]byte(raw))
	case base64Code:
		return base64.StdEncoding.EncodeToString([]byte(raw))
	}
	return raw
}

// decode decodes the text that encode made; problem says why it cannot.
func (c code) decode(text string) (raw, problem string) {
	var b []byte
	var err error
	switch c {
	case hexCode:
		if b, err = hex.DecodeString(text); err != nil {
			return "", quote(text) + " is not hexadecimal, as the name of the field says"
		}
	case base64Code:
		if b, err = base64.StdEncoding.DecodeString(text); err != nil {
			return "", quote(text) + " is not base64, as the name of the field says"
		}
	default:
		return text, ""
	}
	return string(b), ""
}

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

// find returns the index of a field in a file's names, and the encoding of its content.
// If the file has no such field, the index is -1 with an error.
func (f *fieldNames) find(i int, has []string) (at int, c code, err error) {
	for _, s := range f.spellings(i) {
		if slices.Contains(has, s.name) {
			at, err = findField(has, s.name)
			return at, s.code, err
		}
	}
	return -1, noCode, unknownField(f.names[i], has)
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
