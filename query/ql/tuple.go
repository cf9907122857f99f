package ql

import (
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/tuple"
)

// QuoteTuple returns the tuple in the language's syntax for a row key or a prefix:
// ("plane", "N223AG", 42). Parsing it gives the same tuple. It has no control
// characters.
func QuoteTuple(t tuple.Tuple) string {
	elems := make([]string, len(t))
	for i, e := range t {
		switch e := e.(type) {
		case string:
			elems[i] = lex.QuoteText(e)
		case tuple.Tuple:
			elems[i] = QuoteTuple(e)
		default:
			text := tuple.Tuple{e}.String()
			elems[i] = text[1 : len(text)-1]
		}
	}
	return "(" + strings.Join(elems, ", ") + ")"
}

// QuoteRowKey returns a row key of the table as a word of the language, or as a tuple
// if the table's keys are tuples and the key is a valid one.
func QuoteRowKey(t schema.Table, key string) string {
	if t.KeyFormat == schema.TupleKeys {
		if text, ok := TupleText(key); ok {
			return text
		}
	}
	return lex.QuoteKey(key)
}

// TupleText returns the packed tuple in the language's syntax; ok is false if the key
// is empty or not a tuple.
func TupleText(packed string) (string, bool) {
	if packed == "" {
		return "", false
	}
	t, err := tuple.Unpack([]byte(packed))
	if err != nil {
		return "", false
	}
	return QuoteTuple(t), true
}

// tupleKey parses a tuple, from its bracket on, and packs it.
func (p *parser) tupleKey() (string, error) {
	at := p.peek().Pos
	t, err := p.tuple(1)
	if err != nil {
		return "", err
	}
	p.tuples = true
	key, err := t.Pack()
	if err != nil {
		return "", lex.ErrorAt(at, "%s", strings.TrimPrefix(err.Error(), "tuple: "))
	}
	return string(key), nil
}

// tuple parses ("plane", 42, ("nested", nil)); depth is the number of open brackets.
func (p *parser) tuple(depth int) (tuple.Tuple, error) {
	if depth > tuple.MaxDepth {
		return nil, lex.ErrorAt(p.peek().Pos, "tuples are nested more than %d deep", tuple.MaxDepth)
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	t := tuple.Tuple{}
	for !p.atMark(")") {
		e, err := p.element(depth)
		if err != nil {
			return nil, err
		}
		t = append(t, e)
		if !p.accept(",") {
			break
		}
	}
	if !p.atMark(")") {
		return nil, p.unexpected(`"," or ")" in a tuple`)
	}
	p.next()
	return t, nil
}

// element parses one element of a tuple.
func (p *parser) element(depth int) (any, error) {
	p.wantText(ExpectText, "an element of a tuple, as in \"plane\", 42, true, nil, x'00', uuid'…'")
	if p.atMark("(") {
		return p.tuple(depth + 1)
	}
	t := p.peek()
	if t.Kind != lex.Word {
		return nil, p.unexpected("an element of a tuple")
	}
	if e, ok, err := markedElement(t); ok || err != nil {
		p.next()
		return e, err
	}
	lit, err := p.elementLiteral(t)
	if err != nil {
		return nil, err
	}
	v, err := lit.Value()
	if err != nil {
		return nil, err
	}
	return elementOf(v), nil
}

// elementLiteral parses a literal; an @ in it does not begin a time.
func (p *parser) elementLiteral(t lex.Token) (lex.Literal, error) {
	if typ, err := cells.ParseType(t.Keyword()); err == nil && p.peekAt(1).Glued && p.peekAt(1).Text == "(" {
		p.next()
		lit, at, err := p.call(t, typ)
		if err == nil && at != nil {
			err = lex.ErrorAt(at.Pos, "an element of a tuple has no timestamp")
		}
		return lit, err
	}
	p.next()
	return lex.PlainLiteral(t)
}

// markedElement parses the elements that cannot be cell values: nil, whole numbers of
// any size, uuid'…', versionstamp'…', f32'7f800001'.
func markedElement(t lex.Token) (e any, ok bool, err error) {
	switch word := t.Keyword(); {
	case word == "nil" || word == "null":
		return nil, true, nil
	case lex.IsInteger(t.BareText()):
		n, err := bigElement(t)
		return n, true, err
	}
	if len(t.Parts) != 2 || t.Parts[0].Quote != lex.Bare || t.Parts[1].Quote != lex.Single {
		return nil, false, nil
	}
	text := t.Parts[1].Text
	switch strings.ToLower(t.Parts[0].Text) {
	case "uuid":
		id, err := uuid.Parse(text)
		if err != nil || len(text) != 36 {
			return nil, false, lex.ErrorAt(t.Pos, "%s is not a UUID, as in uuid'6ba7b810-9dad-11d1-80b4-00c04fd430c8'", lex.QuoteText(lex.Clip(text)))
		}
		return id, true, nil
	case "versionstamp":
		return versionstampElement(t.Pos, text)
	case "f32":
		bits, err := strconv.ParseUint(text, 16, 32)
		if err != nil || len(text) != 8 {
			return nil, false, lex.ErrorAt(t.Pos, "%s is not the 8 hexadecimal digits of an f32", lex.QuoteText(lex.Clip(text)))
		}
		return math.Float32frombits(uint32(bits)), true, nil
	case "f64":
		bits, err := strconv.ParseUint(text, 16, 64)
		if err != nil || len(text) != 16 {
			return nil, false, lex.ErrorAt(t.Pos, "%s is not the 16 hexadecimal digits of an f64", lex.QuoteText(lex.Clip(text)))
		}
		return math.Float64frombits(bits), true, nil
	}
	return nil, false, nil
}

// bigElement parses a whole number; tuples also hold numbers larger than an i64.
func bigElement(t lex.Token) (any, error) {
	text := strings.ReplaceAll(t.BareText(), "_", "")
	if digits := strings.TrimPrefix(text, "-"); len(digits) > 1 && digits[0] == '0' && '0' <= digits[1] && digits[1] <= '9' {
		return nil, lex.ErrorAt(t.Pos, "number %s begins with 0; write it without, or quote it if it is text", lex.Clip(t.Text))
	}
	const most = 2*tuple.MaxIntBytes + 128 // hexadecimal or decimal digits
	if len(text) > most {
		return nil, lex.ErrorAt(t.Pos, "number %s is too large for a tuple, which holds %d bytes of it", lex.Clip(text), tuple.MaxIntBytes)
	}
	n, ok := new(big.Int).SetString(text, 0)
	if !ok {
		return nil, lex.ErrorAt(t.Pos, "%s is not a whole number", lex.QuoteText(lex.Clip(text)))
	}
	if n.IsInt64() {
		return n.Int64(), nil
	}
	return n, nil
}

func versionstampElement(at lex.Pos, text string) (any, bool, error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 12 {
		return nil, false, lex.ErrorAt(at, "%s is not the 24 hexadecimal digits of a versionstamp", lex.QuoteText(lex.Clip(text)))
	}
	v := tuple.Versionstamp{UserVersion: uint16(b[10])<<8 | uint16(b[11])}
	copy(v.TransactionVersion[:], b)
	return v, true, nil
}

// elementOf returns a cell's value as an element of a tuple.
func elementOf(v cells.Value) any {
	switch v.Type() {
	case cells.TypeString:
		text, _ := v.AsString()
		return text
	case cells.TypeBytes:
		b, _ := v.AsBytes()
		return b
	case cells.TypeBool:
		b, _ := v.AsBool()
		return b
	case cells.TypeF32:
		f, _ := v.AsF32()
		return f
	case cells.TypeF64:
		f, _ := v.Float()
		if f != f {
			return math.NaN() // keys use Go's NaN, for compatibility
		}
		return f
	}
	n, _ := v.Int()
	return n
}
