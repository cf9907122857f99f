package transfer

import (
	"strconv"
	"strings"
)

// A template makes row keys, or qualifiers. It alternates text and fields.
type template []templatePart

type templatePart struct {
	literal string // the text before the field
	field   int    // index into fieldNames; noField after the last literal
	width   int    // zero padding in digits; 0: no padding
}

const noField = -1

// maxWidth bounds a padding; no integer in a cell is longer.
const maxWidth = 32

// parseTemplate parses a template of a part of the spec, "key" or "columns".
func parseTemplate(text, part string, names *fieldNames) (template, error) {
	var t template
	var literal strings.Builder
	for rest := text; rest != ""; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			literal.WriteString(rest)
			break
		}
		literal.WriteString(rest[:i])
		if strings.HasPrefix(rest[i:], "{{") || strings.HasPrefix(rest[i:], "}}") {
			literal.WriteByte(rest[i])
			rest = rest[i+2:]
			continue
		}
		if rest[i] == '}' {
			return nil, specErrorf(part, "%s: } without { at byte %d; a brace itself is written }}", quote(text), len(text)-len(rest)+i+1)
		}
		end := strings.IndexAny(rest[i+1:], "{}")
		if end < 0 || rest[i+1+end] == '{' {
			return nil, specErrorf(part, "%s: { without } at byte %d; a brace itself is written {{", quote(text), len(text)-len(rest)+i+1)
		}
		next, err := parsePlaceholder(text, rest[i+1:i+1+end], part, names)
		if err != nil {
			return nil, err
		}
		next.literal = literal.String()
		literal.Reset()
		t = append(t, next)
		rest = rest[i+1+end+1:]
	}
	if len(t) == 0 && part == "key" {
		return nil, specErrorf(part, "%s names no field, so all lines would make one row; write a field as {name}", quote(text))
	}
	return append(t, templatePart{literal: literal.String(), field: noField}), nil
}

// parsePlaceholder parses the text between braces: name, or name:0width. A colon
// without a number after it belongs to the name.
func parsePlaceholder(text, inner, part string, names *fieldNames) (templatePart, error) {
	name, width := inner, 0
	if i := strings.LastIndexByte(inner, ':'); i >= 0 && isDigits(inner[i+1:]) {
		name = inner[:i]
		n, err := strconv.Atoi(inner[i+1:])
		if err != nil || inner[i+1] != '0' || n < 1 || n > maxWidth {
			return templatePart{}, specErrorf(part, "%s: {%s} has no such padding; {%s:02} pads with zeros to 2 digits, and %d is the most", quote(text), inner, name, maxWidth)
		}
		width = n
	}
	if name == "" {
		return templatePart{}, specErrorf(part, "%s: {%s} names no field", quote(text), inner)
	}
	return templatePart{field: names.add(name, part, ""), width: width}, nil
}

// append adds what the template makes of a record; what says what that is. of gives the
// fields, which may be those of an element of a list.
func (t template) append(dst []byte, rec *record, what string, of func(field int) field) ([]byte, *LineError) {
	for _, p := range t {
		dst = append(dst, p.literal...)
		if p.field == noField {
			continue
		}
		v := of(p.field)
		switch {
		case v.state == absent:
			return dst, rec.fault(p.field, "has no value here, and the %s needs one", what)
		case v.state == nested:
			return dst, rec.fault(p.field, "is an object or a list here; a %s takes text, numbers and booleans", what)
		}
		text, problem := v.code.decode(v.text)
		switch {
		case problem != "":
			return dst, rec.fault(p.field, "%s", problem)
		case p.width > 0 && !isDigits(text):
			return dst, rec.fault(p.field, "%s cannot be padded to %d digits in the %s; that takes a whole number without a sign", quote(text), p.width, what)
		}
		for n := len(text); n < p.width; n++ {
			dst = append(dst, '0')
		}
		dst = append(dst, text...)
	}
	return dst, nil
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
