package ql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// tableName parses the statement's table, or returns the table in use if the statement
// omits it.
func (p *parser) tableName() Name {
	p.wantKind(ExpectTable)
	switch {
	case p.atWord() && (p.env.Table == "" || p.isTable(p.peek())):
		return p.tableNamed()
	case p.env.Table != "":
		p.table = p.env.Table
		return Name{p.env.Table, p.start}
	}
	panic(p.unexpected("a table"))
}

func (p *parser) tableNamed() Name {
	p.wantKind(ExpectTable)
	n := p.name("a table")
	p.table = n.Text
	return n
}

func (p *parser) familyNamed() Name {
	p.wantKind(ExpectFamily)
	return p.name("the family's name")
}

// isTable reports whether the word is a table's name even though a table is in use.
func (p *parser) isTable(t lex.Token) bool {
	if v, _ := findVerb(p.verb); !v.keyed {
		return true
	}
	return p.env.IsTable == nil || p.env.IsTable(lex.Join(t.Parts))
}

// name takes the name of a table or family, which must not be empty.
func (p *parser) name(what string) Name {
	n := p.word(what)
	if n.Text == "" {
		panic(lex.ErrorAt(n.Pos, "expected %s, not an empty name", what))
	}
	return n
}

// word parses any word, including the empty word in quotes.
func (p *parser) word(what string) Name {
	t := p.peek()
	if t.Kind != lex.Word {
		panic(p.unexpected("%s", what))
	}
	p.checkGlue(t) // in a statement with paths
	p.next()
	return Name{lex.Join(t.Parts), t.Pos}
}

// key parses a row key: adjacent bare and quoted parts, or a tuple.
func (p *parser) key() string {
	p.wantKind(ExpectKey)
	t := p.peek()
	var key string
	switch {
	case p.atMark("("):
		key = p.tupleKey()
	case t.Kind != lex.Word || lex.IsReserved(t.Keyword()):
		panic(p.unexpected("a row key"))
	default:
		p.next()
		key = lex.Join(t.Parts)
	}
	if key == "" {
		panic(lex.ErrorAt(t.Pos, "a row key is at least one byte"))
	}
	return key
}

// text parses the value of an option and returns it as written.
func (p *parser) text(what string) string { return p.word(what).Text }

// file parses the name of a file or a directory, or a backup target.
func (p *parser) file(what string) string {
	p.wantKind(ExpectFile)
	return p.text(what)
}

func (p *parser) number(what string, least int) int {
	t := p.peek()
	text := t.BareText()
	if p.foreign && t.Kind == lex.Word { // HBase: '3'
		text = lex.Join(t.Parts)
	}
	n, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
	if err != nil || n < least {
		panic(p.unexpected("%s, a whole number from %d", what, least))
	}
	p.next()
	return n
}

// flag parses the =true or =false that may follow a flag.
func (p *parser) flag() bool {
	if !p.equals() {
		return true
	}
	p.foreign = true
	p.wantOneOf(ExpectChoice, "true", "false")
	t := p.peek()
	if w := t.Keyword(); w == "true" || w == "false" {
		p.next()
		return w == "true"
	}
	panic(p.unexpected("true or false"))
}

func (p *parser) oneWord(what string, words ...string) string {
	p.wantOneOf(ExpectChoice, words...)
	t := p.peek()
	word := t.Keyword()
	if slices.Contains(words, word) {
		p.next()
		return word
	}
	instead := schema.DidYouMean(word, words)
	if last := len(words) - 1; instead == "" {
		instead = "; write " + strings.Join(words[:last], ", ") + " or " + words[last]
	}
	panic(lex.ErrorAt(t.Pos, "expected %s, not %s%s", what, t.Describe(), instead))
}

// timeValue takes the value of since= and until=, with or without an @.
func (p *parser) timeValue() *lex.Time {
	t := p.peek()
	if t.Kind != lex.Word {
		panic(p.unexpected("a time, as in 2024-01-25 or now-36h"))
	}
	p.next()
	text := lex.Join(t.Parts)
	if t.Parts[0].Quote == lex.Bare {
		text = strings.TrimPrefix(text, "@")
	}
	return must(lex.ParseTime(t.Pos, text)).In(p.env.Zone)
}

// literal parses a value: a word, or a call such as i32(42). The time after an @ is nil
// if there is no @.
func (p *parser) literal() (lex.Literal, *lex.Time) {
	t := p.peek()
	if t.Kind != lex.Word {
		panic(p.unexpected("a value"))
	}
	p.next()
	if typ, ok := p.atCall(t); ok {
		return p.call(t, typ)
	}
	lit, at, err := lex.WordLiteral(t)
	return must(lit, err), at.In(p.env.Zone)
}

// untimed parses a value without a time. what names the value, and why says why it
// takes no time.
func (p *parser) untimed(what, why string) lex.Literal {
	if p.peek().Kind != lex.Word {
		panic(p.unexpected("%s", what))
	}
	lit, at := p.literal()
	if at != nil {
		panic(lex.ErrorAt(at.Pos, "%s", why))
	}
	return lit
}

// atCall returns the type that a word names, if its bracket follows: i32(.
func (p *parser) atCall(word lex.Token) (cells.Type, bool) {
	typ, err := cells.ParseType(word.Keyword())
	return typ, err == nil && p.peek().Glued && p.atMark("(")
}

// call parses the rest of i32(42)@ts, from the bracket on.
func (p *parser) call(name lex.Token, typ cells.Type) (lex.Literal, *lex.Time) {
	p.next() // (
	arg := p.peek()
	if arg.Kind != lex.Word {
		panic(p.unexpected("a value in %s(…)", typ))
	}
	p.next()
	if arg.Parts[0].Quote == lex.Binary && typ != cells.TypeBytes {
		panic(lex.ErrorAt(arg.Pos, "value %s is bytes and cannot be made %s", lex.Clip(arg.Text), typ))
	}
	p.expect(")")
	lit := must(lex.TypedLiteral(arg.Pos, lex.Join(arg.Parts), typ))
	lit.Pos = name.Pos
	if at := p.peek(); at.Glued && strings.HasPrefix(at.BareText(), "@") {
		p.next()
		return lit, must(lex.ParseTime(at.Pos, at.BareText()[1:])).In(p.env.Zone)
	}
	return lit, nil
}

// filled parses text that must not be empty; name is for its error.
func (p *parser) filled(what, name string) string {
	n := p.word(what)
	if n.Text == "" {
		panic(lex.ErrorAt(n.Pos, "%s is empty", name))
	}
	return n.Text
}

func (p *parser) intoOption(to *target) {
	p.wantKind(ExpectFile)
	to.read.Into = p.filled("a file, as in 'rows.csv'", "the name of the file")
}

// limitOption takes a number of rows; 0 is no limit.
func (p *parser) limitOption(to *target) {
	if to.read.Limit = p.number("a number of rows", 0); to.read.Limit == 0 {
		to.read.Limit = Unlimited
	}
}

// drawn takes a number of bins, points or parts.
func (p *parser) drawn(least int) int { return p.upTo(least, maxDrawn) }

// upTo takes a number within bounds.
func (p *parser) upTo(least, most int) int {
	t := p.peek()
	n := p.number("a number", least)
	if n > most {
		panic(lex.ErrorAt(t.Pos, "expected a number up to %d, not %s", most, t.Describe()))
	}
	return n
}

// maxDrawn bounds the bins or points of a drawing, which are held in memory.
const maxDrawn = 1000

// pageOption parses a page token, or "" for the first page.
func (p *parser) pageOption(to *target) {
	token := p.text(`a token, or "" for the first page`)
	to.read.Page = &token
}

// keyBound parses a prefix or the bound of a range; either may be empty.
func (p *parser) keyBound() string {
	p.wantKind(ExpectKey)
	if p.atMark("(") {
		return p.tupleKey()
	}
	return p.text("a row key")
}

// prefixOption takes a prefix of row keys, by bytes or by the elements of tuples.
func (p *parser) prefixOption(to *target) {
	to.rows.TuplePrefix = p.atMark("(")
	to.rows.Prefix = p.keyBound()
}

func (p *parser) keysOption(to *target) {
	brackets := p.accept("[")
	to.rows.Keys = append(to.rows.Keys, p.key())
	for p.listGoesOn() {
		to.rows.Keys = append(to.rows.Keys, p.key())
	}
	if brackets {
		p.expect("]")
	}
}

// regexOption takes a pattern: between slashes, in quotes, or both.
func (p *parser) regexOption(to *target) { to.read.Regex = p.pattern("regex=") }

// pattern takes a pattern; after is the text before it.
func (p *parser) pattern(after string) *Pattern {
	t := p.peek()
	if t.Kind != lex.Word {
		panic(p.unexpected("a pattern, as in /plane#.*/"))
	}
	p.next()
	expr, between := cutSlashes(t.Parts)
	switch first := t.Parts[0]; {
	case between || first.Quote != lex.Bare:
	case first.Text[0] == '/' && p.peek().Kind == lex.Mark && p.peek().Glued:
		panic(lex.ErrorAt(p.peek().Pos, "a pattern with %s needs quotes between its slashes, as in %s/'a{2}'/", lex.QuoteText(p.peek().Text), after))
	case first.Text[0] == '/':
		panic(lex.ErrorAt(t.Pos, "a pattern ends with /, as in %s/plane#.*/; quote one that begins with a / of its own", after))
	case first.Text[0] == '~' && t.Glued:
		panic(lex.ErrorAt(t.Pos, "a pattern stands after %s, without a ~; write %s/%s/", after, after, lex.Printable(lex.Clip(expr[1:]))))
	}
	return &Pattern{t.Pos, expr}
}

func (p *parser) sampleOption(to *target) {
	text := p.peek().BareText()
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || lex.Spelling(text) != cells.TypeF64 || !(f > 0 && f < 1) {
		panic(p.unexpected("a share of the rows, more than 0 and less than 1, as in 0.01"))
	}
	to.read.Sample = f
	p.next()
}

func (p *parser) versionsOption(to *target) {
	to.read.Versions = Unlimited
	if !p.acceptWord("all") {
		to.read.Versions = p.number("a number of versions, or all", 1)
	}
}
