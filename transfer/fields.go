package transfer

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
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

// find returns the index of a field in a file, and the encoding of its content. If the file
// has no such field, the index is -1 with an error.
func (f *fieldNames) find(i int, in header) (at int, c code, err error) {
	for _, s := range f.spellings(i) {
		if at, err := in.find(s.name); at >= 0 || err != nil {
			return at, s.code, err
		}
	}
	return -1, noCode, unknownField(f.names[i], in.read)
}

// allIn reports whether a file with this header has all fields.
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

// A header has the fields of a file, in their order.
type header struct {
	names []string          // no two are equal, and none is empty
	read  []string          // as the file has them, but for empty ones
	twice map[string][2]int // the first two fields of a name that several have
}

// newHeader gives a name to each field without one, column2 for the second, and to those
// with one name their places, #2 for the second field, unless a field is called so.
func newHeader(fields []string) header {
	h := header{names: slices.Clone(fields), read: slices.Clone(fields), twice: map[string][2]int{}}
	taken := map[string]int{}
	for i, name := range fields {
		if first, again := taken[name]; !again {
			taken[name] = i
		} else if _, known := h.twice[name]; !known && name != "" {
			h.twice[name] = [2]int{first, i}
		}
	}
	for i, name := range fields {
		if _, twice := h.twice[name]; name != "" && !twice {
			continue
		}
		name = "#" + strconv.Itoa(i+1)
		if alone := "column" + name[1:]; fields[i] == "" {
			if _, is := taken[alone]; !is {
				name = alone
			}
		}
		for is := true; is; {
			if _, is = taken[name]; is {
				name = "#" + name
			}
		}
		taken[name] = i
		if h.names[i] = name; fields[i] == "" {
			h.read[i] = name
		}
	}
	return h
}

// find returns the index of a field by its name, or by its place, as in #2; -1: the
// file lacks it.
func (h header) find(name string) (int, error) {
	if at := slices.Index(h.names, name); at >= 0 {
		return at, nil
	}
	if of, twice := h.twice[name]; twice {
		return -1, fmt.Errorf("the header has field %s twice, as fields %d and %d; it is not clear which one is meant; write %s or %s",
			quote(name), of[0]+1, of[1]+1, h.names[of[0]], h.names[of[1]])
	}
	if place, ok := strings.CutPrefix(name, "#"); ok && isDigits(place) {
		if n, err := strconv.Atoi(place); err == nil && n >= 1 && n <= len(h.names) {
			return n - 1, nil
		}
	}
	return -1, nil
}
