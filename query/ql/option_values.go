package ql

import (
	"strconv"

	"github.com/smolwc/smolwc/query/ql/lex"
)

// intoOption parses the name of the file for the rows.
func (p *parser) intoOption(to *target) error {
	p.wantKind(ExpectFile)
	t := p.peek()
	name, err := p.text("a file, as in 'rows.csv'")
	if err == nil && name == "" {
		err = lex.ErrorAt(t.Pos, "the name of the file is empty")
	}
	to.read.Into = name
	return err
}

func numberOption(what string, least int, field func(*target) *int) func(*parser, *target) error {
	return func(p *parser, to *target) (err error) {
		*field(to), err = p.number(what, least)
		return err
	}
}

func textOption(what string, field func(*target) *string) func(*parser, *target) error {
	return func(p *parser, to *target) (err error) {
		*field(to), err = p.text(what)
		return err
	}
}

// fileOption parses the name of a file or a backup target.
func fileOption(what string, field func(*target) *string) func(*parser, *target) error {
	text := textOption(what, field)
	return func(p *parser, to *target) error {
		p.wantKind(ExpectFile)
		return text(p, to)
	}
}

// choiceOption takes one of the names.
func choiceOption(what string, words []string, field func(*target) *string) func(*parser, *target) error {
	return func(p *parser, to *target) (err error) {
		*field(to), err = p.oneWord(what, words...)
		return err
	}
}

// limitOption takes a number of rows; 0 is no limit.
func (p *parser) limitOption(to *target) error {
	n, err := p.number("a number of rows", 0)
	if to.read.Limit = n; n == 0 {
		to.read.Limit = Unlimited
	}
	return err
}

func drawOption(least int, field func(*target) *int) func(*parser, *target) error {
	return func(p *parser, to *target) (err error) {
		t := p.peek()
		if *field(to), err = p.number("a number", least); err == nil && *field(to) > maxDrawn {
			err = lex.ErrorAt(t.Pos, "expected a number up to %d, not %s", maxDrawn, t.Describe())
		}
		return err
	}
}

// maxDrawn bounds the bins or points of a drawing, which are held in memory.
const maxDrawn = 1000

func (p *parser) separatorOption(to *target) (err error) {
	t := p.peek()
	if *to.separator, err = p.text("what ends a part of a key, as in #"); err == nil && *to.separator == "" {
		err = lex.ErrorAt(t.Pos, "the separator is empty")
	}
	return err
}

// pageOption parses a page token, or "" for the first page.
func (p *parser) pageOption(to *target) error {
	p.wantText(ExpectText, `a token, or "" for the first page`)
	token, err := p.text(`a token, or "" for the first page`)
	to.read.Page = &token
	return err
}

func flagOption(field func(*target) *bool) func(*parser, *target) error {
	return func(p *parser, to *target) (err error) {
		*field(to), err = p.flag()
		return err
	}
}

func timeOption(field func(*Read) **lex.Time) func(*parser, *target) error {
	return func(p *parser, to *target) (err error) {
		*field(to.read), err = p.timeValue()
		return err
	}
}

// keyOption parses a prefix or the bound of a range; either may be empty.
func keyOption(field func(*Rows) *string) func(*parser, *target) error {
	return func(p *parser, to *target) (err error) {
		p.wantKind(ExpectKey)
		if p.atMark("(") {
			*field(to.rows), err = p.tupleKey()
			return err
		}
		*field(to.rows), err = p.text("a row key")
		return err
	}
}

// prefixOption takes a prefix of row keys, by bytes or by the elements of tuples.
func (p *parser) prefixOption(to *target) error {
	to.rows.TuplePrefix = p.atMark("(")
	return keyOption(func(r *Rows) *string { return &r.Prefix })(p, to)
}

func (p *parser) keysOption(to *target) error {
	brackets := p.accept("[")
	for {
		key, err := p.key()
		if err != nil {
			return err
		}
		to.rows.Keys = append(to.rows.Keys, key)
		if !p.listGoesOn() {
			break
		}
	}
	if brackets {
		return p.expect("]")
	}
	return nil
}

func (p *parser) columnsOption(to *target) (err error) {
	to.read.Columns, err = p.columnList()
	return err
}

// regexOption takes a pattern: between slashes, in quotes, or both.
func (p *parser) regexOption(to *target) error {
	p.wantText(ExpectText, "a pattern, as in /plane#.*/")
	t := p.peek()
	if t.Kind != lex.Word {
		return p.unexpected("a pattern, as in /plane#.*/")
	}
	p.next()
	expr, between := cutSlashes(t.Parts)
	switch first := t.Parts[0]; {
	case between || first.Quote != lex.Bare:
	case first.Text[0] == '/':
		return lex.ErrorAt(t.Pos, "a pattern ends with /, as in regex=/plane#.*/; quote one that begins with a / of its own")
	case first.Text[0] == '~' && t.Glued:
		return lex.ErrorAt(t.Pos, "a pattern stands after regex=, without a ~; write regex=/%s/", lex.Printable(lex.Clip(expr[1:])))
	}
	to.read.Regex = &Pattern{t.Pos, expr}
	return nil
}

// sampleOption takes a share of the rows, more than 0 and less than 1.
func (p *parser) sampleOption(to *target) error {
	p.wantText(ExpectNumber, "a share of the rows, more than 0 and less than 1")
	t := p.peek()
	f, err := strconv.ParseFloat(t.BareText(), 64)
	if err != nil || !(f > 0 && f < 1) {
		return p.unexpected("a share of the rows, more than 0 and less than 1, as in 0.01")
	}
	to.read.Sample = f
	p.next()
	return nil
}

// versionsOption takes a number or all.
func (p *parser) versionsOption(to *target) (err error) {
	if p.acceptWord("all") {
		to.read.Versions = Unlimited
		return nil
	}
	to.read.Versions, err = p.number("a number of versions, or all", 1)
	return err
}

// whereOption parses COL OP LIT [and ..], COL exists and COL absent.
func (p *parser) whereOption(to *target) error {
	for {
		c, err := p.condition()
		if err != nil {
			return err
		}
		to.read.Where = append(to.read.Where, c)
		if p.accept("&&") {
			p.foreign = true
		} else if p.peek().Keyword() == "or" || p.atMark("||") {
			return lex.ErrorAt(p.peek().Pos, "conditions are joined by and, not by or; run a statement for each")
		} else if !p.acceptWord("and") {
			return nil
		}
	}
}

// operators maps every spelling of a comparison to smolwc's own.
var operators = map[string]string{"=": "==", "==": "==", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

func (p *parser) condition() (c Condition, err error) {
	if c.Column, err = p.exactColumn(); err != nil {
		return c, err
	}
	p.wantOneOf(ExpectKeyword, "==", "!=", "<", "<=", ">", ">=", "exists", "absent")
	t := p.peek()
	if w := t.Keyword(); w == "exists" || w == "absent" {
		c.Op = w
		p.next()
		return c, nil
	}
	if err = p.checkOperator(); err != nil {
		return c, err
	}
	if c.Op = operators[t.Text]; t.Kind != lex.Mark || c.Op == "" {
		return c, p.unexpected("a comparison (== != < <= > >=, exists, absent)")
	}
	p.next()
	if w := p.peek().Keyword(); w == "null" || w == "nil" {
		return c, lex.ErrorAt(p.peek().Pos, "there is no %s; write %s absent or %s exists, or quote the text", w, c.Column, c.Column)
	}
	var at *lex.Time
	if c.Value, at, err = p.literal(); err == nil && at != nil {
		err = lex.ErrorAt(at.Pos, "a value to compare with has no timestamp; use since= and until=")
	}
	return c, err
}
