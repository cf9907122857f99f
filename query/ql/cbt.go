package ql

import (
	"regexp"
	"strings"
	"time"

	"github.com/smolwc/smolwc/query/ql/dialect"
	"github.com/smolwc/smolwc/query/ql/lex"
)

// parseCreateTable parses createtable T [families=F[:POLICY][:TYPE],..]
// [splits=..] of cbt. Tables are not split here.
func parseCreateTable(p *parser) (Statement, error) {
	st := &CreateTable{}
	var err error
	if st.Table, err = p.newName("the table's name"); err != nil {
		return nil, err
	}
	for !p.atEnd() {
		word, list := p.cbtOption()
		switch {
		case word == "families":
			families, err := dialect.ParseFamilies(list.Pos, list.Text)
			if err != nil {
				return nil, err
			}
			st.Families = nil
			for _, f := range families {
				st.Families = append(st.Families, cbtFamily(f, list.Pos))
			}
		case word != "splits":
			return nil, p.unexpected("families=, as in createtable %s families=meta", lex.QuoteName(st.Table.Text))
		}
	}
	return st, nil
}

// cbtOption reads families=.. or splits=.. and joins the words up to the next option.
// The whole option may be quoted, as bash needs it.
func (p *parser) cbtOption() (word string, list Name) {
	t := p.peek()
	if t.Kind == lex.Word && !p.atOption(0) {
		word, rest, ok := strings.Cut(lex.Join(t.Parts), "=")
		if word = strings.ToLower(word); ok && (word == "families" || word == "splits") {
			p.next()
			return word, Name{rest, t.Pos}
		}
		return "", Name{}
	}
	if word = t.Keyword(); word != "families" && word != "splits" || !p.atOption(0) {
		return "", Name{}
	}
	p.next()
	p.next()
	list.Pos = p.peek().Pos
	var b strings.Builder
	for first := true; !p.atEnd() && (first || p.peek().Glued || p.peek().Kind == lex.Mark); first = false {
		t := p.next()
		if t.Kind == lex.Word {
			b.WriteString(lex.Join(t.Parts))
		} else {
			b.WriteString(t.Text)
		}
	}
	list.Text = b.String()
	return word, list
}

// parseCreateFamily parses createfamily T F[:POLICY][:TYPE] of cbt.
func parseCreateFamily(p *parser) (Statement, error) {
	table, err := p.tableNamed()
	if err != nil {
		return nil, err
	}
	if !strings.Contains(p.peek().BareText(), ":") {
		f, err := p.family()
		return &AddFamily{Table: table, Family: f}, err
	}
	text := Name{Pos: p.peek().Pos}
	for !p.atEnd() {
		text.Text += p.next().Text
	}
	families, err := dialect.ParseFamilies(text.Pos, text.Text)
	if err != nil {
		return nil, err
	}
	if len(families) != 1 {
		return nil, lex.ErrorAt(text.Pos, "createfamily takes one family")
	}
	return &AddFamily{Table: table, Family: cbtFamily(families[0], text.Pos)}, nil
}

func cbtFamily(f dialect.Family, at lex.Pos) Family {
	return Family{Name: Name{f.Name, at}, Versions: f.Policy.Versions, TTL: f.Policy.Age, Both: f.Policy.Both, Aggregate: f.Aggregate}
}

// parseSetGCPolicy parses setgcpolicy T F (maxage=D | maxversions=N) [or|and ..]
// | never [force] of cbt. The policy replaces the family's whole policy.
func parseSetGCPolicy(p *parser) (Statement, error) {
	table, err := p.tableNamed()
	if err != nil {
		return nil, err
	}
	st := &SetFamily{Table: table}
	if st.Family.Name, err = p.familyNamed(); err != nil {
		return nil, err
	}
	text := Name{Pos: p.peek().Pos}
	p.wantText(ExpectText, "maxversions=N, maxage=D, or never")
	for !p.atEnd() {
		t := p.next()
		word := t.Text
		if t.Kind == lex.Word {
			word = lex.Join(t.Parts)
		}
		switch word {
		case "force", "yes":
			st.Yes = true
			continue
		case "&&":
			word = "and"
		case "||":
			word = "or"
		}
		if !t.Glued {
			text.Text += " "
		}
		text.Text += word
	}
	policy, err := dialect.ParsePolicy(text.Pos, text.Text)
	st.Family.Versions, st.Family.TTL, st.Family.Both = policy.Versions, policy.Age, policy.Both
	if st.Family.Versions == nil {
		st.Family.Versions = new(int)
	}
	if st.Family.TTL == nil {
		st.Family.TTL = new(time.Duration)
	}
	return st, err
}

// cbtColumn is a column of cbt's columns=, where qualifiers are patterns: fam: means
// the family. A name alone would mean a qualifier in every family and is an error here.
func cbtColumn(t lex.Token, family string, qualifier []lex.Part, ok bool) (Column, error) {
	text := lex.Join(qualifier)
	switch {
	case !ok || family == "":
		name := text
		if !ok {
			name = lex.Join(t.Parts)
		}
		return Column{}, lex.ErrorAt(t.Pos, "cbt's columns=%s means every family; name one, as in columns=FAM:%s, or write scan and columns=FAM:*", lex.Clip(t.Text), lex.QuoteQualifier(name))
	case text == "" || text == ".*" || text == "*":
		return Column{Pos: t.Pos, Family: family, Kind: ColumnFamily}, nil
	case beginsRegexp(qualifier):
		return regexColumn(t, family, qualifier)
	case regexp.QuoteMeta(text) == text:
		return Column{Pos: t.Pos, Family: family, Qualifier: text}, nil
	}
	return Column{Pos: t.Pos, Family: family, Kind: ColumnRegex, Qualifier: text}, nil
}

// cbtVersions makes read and lookup show all versions by default, as cbt does.
func (p *parser) cbtVersions(read *Read) {
	if p.isCbtRead() && read.Versions == 0 && !read.KeysOnly {
		read.Versions = Unlimited
	}
}

func (p *parser) isCbtRead() bool { return p.spelt == "lookup" || p.spelt == "read" }

// includeStatsOption takes cbt's include-stats=full.
func (p *parser) includeStatsOption(to *target) error {
	_, err := p.text("full")
	to.read.Stats = true
	return err
}

// columnPrefixOption takes Smoltable's column.prefix=fam:pre.
func (p *parser) columnPrefixOption(to *target) error {
	c, err := p.exactColumn()
	if err != nil {
		return err
	}
	if c.Kind = ColumnPrefix; c.Qualifier == "" {
		c.Kind = ColumnFamily
	}
	to.read.Columns = append(to.read.Columns, c)
	return nil
}
