package parse

import (
	"strings"
)

// endOfType reads the > after a type within another one; two of them may be one sign.
func (p *parser) endOfType(err error) error {
	if t := &p.tokens[p.at]; err == nil && t.is(">>") {
		t.text, t.pos = ">", t.pos+1
		return nil
	}
	return p.expectUnless(err, ">")
}

// structName reads what follows STRUCT<: types, each perhaps with a name before it.
func (p *parser) structName() (string, error) {
	if err := p.enter(); err != nil {
		return "", err
	}
	defer func() { p.depth-- }()
	var fields []string
	for {
		field := ""
		if next := p.tokens[p.at+1]; p.atName() && (next.kind == WordToken || next.kind == QuotedToken) {
			name := p.take()
			if strings.ContainsAny(name.text, " <>,") {
				return "", p.Errorf(name.pos, "Syntax error: the name %s of a field cannot have spaces, commas or the signs < and > here", name)
			}
			field = name.text + " "
		}
		of, err := p.typeName()
		if err != nil {
			return "", err
		}
		fields = append(fields, field+of)
		if !p.accept(",") {
			return "STRUCT<" + strings.Join(fields, ", ") + ">", p.endOfType(nil)
		}
	}
}

// typeName reads a type: INT64, or a message or an enum such as bundle.pkg.Message. The id
// of a bundle may have hyphens.
func (p *parser) typeName() (string, error) {
	if p.accept("ARRAY", "<") {
		if err := p.enter(); err != nil {
			return "", err
		}
		defer func() { p.depth-- }()
		of, err := p.typeName()
		return "ARRAY<" + of + ">", p.endOfType(err)
	}
	if p.accept("STRUCT", "<") {
		return p.structName()
	}
	if p.accept("INTERVAL") { // a reserved word
		return "INTERVAL", nil
	}
	t, err := p.name("a type")
	parts := []string{t.text}
	for err == nil && t.kind == WordToken && p.peek().is("-") && p.peek().pos == t.pos+len(t.text) {
		p.take()
		if t = p.take(); t.kind != WordToken && t.kind != IntToken {
			return "", p.Errorf(t.pos, "Syntax error: expected the rest of a type but got %s", t)
		}
		parts = append(parts, "-", t.text)
	}
	for err == nil && p.accept(".") {
		t, err = p.part("the rest of a type")
		parts = append(parts, ".", t.text)
	}
	path := strings.Join(parts, "")
	if !strings.Contains(path, ".") {
		path = strings.ToUpper(path)
	}
	return path, err
}
