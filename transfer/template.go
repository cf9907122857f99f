package transfer

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A template makes row keys, or qualifiers. It alternates text and fields.
type template []templatePart

type templatePart struct {
	literal  string // the text before the field
	field    int    // index into fieldNames; noField after the last literal
	width    int    // zero padding in digits; 0: no padding
	reversed bool   // the field is an address, whose host is reversed
}

const noField = -1

// maxWidth bounds a padding; no integer in a cell is longer.
const maxWidth = 32

// parseTemplate parses a template of a part of the spec, "key", "columns" or "ts".
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
	return append(t, templatePart{literal: literal.String(), field: noField}), nil
}

// reversal follows the name of a field whose host is to be reversed.
const reversal = ":reversed"

// parsePlaceholder parses the text between braces: name, name:0width or name:reversed.
// Another colon belongs to the name.
func parsePlaceholder(text, inner, part string, names *fieldNames) (templatePart, error) {
	name, reversed := strings.CutSuffix(inner, reversal)
	width := 0
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
	return templatePart{field: names.add(name, part, ""), width: width, reversed: reversed}, nil
}

// append adds what the template makes of a record; what says what that is. of gives the
// fields, which may be fields of an element of a list.
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
		if p.reversed {
			text = reverseHost(text)
		}
		dst = append(dst, text...)
	}
	return dst, nil
}

// reverseHost returns an address without its scheme, with the names of its host in the
// other order: org.example.docs/install for https://docs.example.org/install. So the pages
// of a site and of its subdomains are neighbours. It leaves numeric addresses, and hosts
// with a user before them, in their order.
func reverseHost(address string) string {
	rest := address
	if i := strings.Index(rest, "//"); i == 0 || i > 0 && rest[i-1] == ':' && !strings.ContainsAny(rest[:i-1], "/?#:") {
		rest = rest[i+2:]
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host, path := rest[:end], rest[end:]
	name, port, hasPort := strings.Cut(host, ":")
	if _, err := netip.ParseAddr(name); err == nil || hasPort && !isDigits(port) || strings.ContainsAny(host, "@[") {
		return rest
	}
	names := strings.Split(strings.ToLower(name), ".")
	slices.Reverse(names)
	return strings.Join(names, ".") + host[len(name):] + path
}
