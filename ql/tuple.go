package ql

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strings"

	"github.com/google/uuid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/tuple"
)

// QuoteTuple returns the tuple in the language's syntax for a row key or a prefix:
// ("plane", "N223AG", 42). Parsing it gives the same tuple. It contains no control
// characters.
func QuoteTuple(t tuple.Tuple) string {
	elems := make([]string, len(t))
	for i, e := range t {
		elems[i] = quoteElement(e)
	}
	return "(" + strings.Join(elems, ", ") + ")"
}

func quoteElement(e any) string {
	switch e := e.(type) {
	case string:
		return lex.QuoteText(e)
	case tuple.Tuple:
		return QuoteTuple(e)
	case tuple.Descending:
		return "desc(" + quoteElement(e.Element) + ")"
	}
	text := tuple.Tuple{e}.String()
	return text[1 : len(text)-1]
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
func (p *parser) tupleKey() string {
	at := p.peek().Pos
	t := p.tuple(1)
	p.tuples = true
	key, err := t.Pack()
	if err != nil {
		panic(lex.ErrorAt(at, "%s", strings.TrimPrefix(err.Error(), "tuple: ")))
	}
	return string(key)
}

// tuple parses ("plane", 42, ("nested", nil)); depth is the number of open brackets.
func (p *parser) tuple(depth int) tuple.Tuple {
	if depth > tuple.MaxDepth {
		panic(lex.ErrorAt(p.peek().Pos, "tuples are nested more than %d deep", tuple.MaxDepth))
	}
	p.expect("(")
	t := tuple.Tuple{}
	for !p.atMark(")") {
		t = append(t, p.element(depth))
		if !p.accept(",") {
			break
		}
	}
	if !p.atMark(")") {
		panic(p.unexpected(`"," or ")" in a tuple`))
	}
	p.next()
	return t
}

func (p *parser) element(depth int) any {
	if p.atMark("(") {
		return p.tuple(depth + 1)
	}
	t := p.peek()
	if t.Kind != lex.Word {
		panic(p.unexpected("an element of a tuple"))
	}
	p.next()
	if t.Keyword() == "desc" && p.atMark("(") {
		return p.descending(depth + 1)
	}
	if e, ok := markedElement(t); ok {
		return e
	}
	return elementOf(must(p.elementLiteral(t).Value()))
}

// descending parses the (element) of desc(element).
func (p *parser) descending(depth int) any {
	if depth > tuple.MaxDepth {
		panic(lex.ErrorAt(p.peek().Pos, "tuples are nested more than %d deep", tuple.MaxDepth))
	}
	p.expect("(")
	e := p.element(depth)
	p.expect(")")
	return tuple.Desc(e)
}

// elementLiteral makes a literal of a word; an @ in it does not begin a time.
func (p *parser) elementLiteral(t lex.Token) lex.Literal {
	typ, ok := p.atCall(t)
	if !ok {
		return must(lex.PlainLiteral(t))
	}
	lit, at := p.call(t, typ)
	if at != nil {
		panic(lex.ErrorAt(at.Pos, "an element of a tuple has no timestamp"))
	}
	return lit
}

// markedElement parses the elements that cannot be cell values: nil, whole numbers of
// any size, uuid'…', versionstamp'…', f32'7f800001'.
func markedElement(t lex.Token) (e any, ok bool) {
	switch word := t.Keyword(); {
	case word == "nil" || word == "null":
		return nil, true
	case lex.IsInteger(t.BareText()):
		return bigElement(t), true
	}
	if len(t.Parts) != 2 || t.Parts[0].Quote != lex.Bare || t.Parts[1].Quote != lex.Single {
		return nil, false
	}
	text := t.Parts[1].Text
	switch strings.ToLower(t.Parts[0].Text) {
	case "uuid":
		id, err := uuid.Parse(text)
		if err != nil || len(text) != 36 {
			panic(lex.ErrorAt(t.Pos, "%s is not a UUID, as in uuid'6ba7b810-9dad-11d1-80b4-00c04fd430c8'", lex.QuoteText(lex.Clip(text))))
		}
		return id, true
	case "versionstamp":
		b := hexDigits(t.Pos, text, 12, "a versionstamp")
		return tuple.Versionstamp{TransactionVersion: [10]byte(b), UserVersion: binary.BigEndian.Uint16(b[10:])}, true
	case "f32":
		return math.Float32frombits(binary.BigEndian.Uint32(hexDigits(t.Pos, text, 4, "an f32"))), true
	case "f64":
		return math.Float64frombits(binary.BigEndian.Uint64(hexDigits(t.Pos, text, 8, "an f64"))), true
	}
	return nil, false
}

func hexDigits(at lex.Pos, text string, n int, of string) []byte {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != n {
		panic(lex.ErrorAt(at, "%s is not the %d hexadecimal digits of %s", lex.QuoteText(lex.Clip(text)), 2*n, of))
	}
	return b
}

// bigElement parses a whole number; tuples also hold numbers larger than an i64.
func bigElement(t lex.Token) any {
	text := strings.ReplaceAll(t.BareText(), "_", "")
	if digits := strings.TrimPrefix(text, "-"); len(digits) > 1 && digits[0] == '0' && '0' <= digits[1] && digits[1] <= '9' {
		panic(lex.ErrorAt(t.Pos, "number %s begins with 0; write it without the zeros, or quote it if it is text", lex.Clip(t.Text)))
	}
	const most = 2*tuple.MaxIntBytes + 128 // hexadecimal or decimal digits
	if len(text) > most {
		panic(lex.ErrorAt(t.Pos, "number %s is too large for a tuple, which holds %d bytes of it", lex.Clip(text), tuple.MaxIntBytes))
	}
	n, ok := new(big.Int).SetString(text, 0)
	if !ok {
		panic(lex.ErrorAt(t.Pos, "%s is not a whole number", lex.QuoteText(lex.Clip(text))))
	}
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}

// elementOf is a value as an element. Keys have Go's NaN, for compatibility.
func elementOf(v cells.Value) any {
	if f, ok := v.AsF64(); ok && f != f {
		return math.NaN()
	}
	return v.Any()
}
