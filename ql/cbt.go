package ql

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"github.com/smolwc/smolwc/ql/dialect"
	"github.com/smolwc/smolwc/ql/lex"
)

// parseCreateTable parses createtable T [families=F[:POLICY][:TYPE],..]
// [splits=..] of cbt. Tables are not split here.
func parseCreateTable(p *parser) Statement {
	st := &CreateTable{Table: p.name("the table's name")}
	for !p.atEnd() {
		wrong := p.unexpected("families=, as in createtable %s families=meta", lex.QuoteName(st.Table.Text))
		option := p.gluedWords() // quoted as a whole, as bash needs it, or not
		switch word, list, _ := strings.Cut(option.Text, "="); strings.ToLower(word) {
		case "families":
			st.Families = cbtFamilies(Name{list, option.Pos.Plus(len("families="))})
		case "splits":
		default:
			panic(wrong)
		}
	}
	return st
}

// parseCbtLs parses ls of cbt, which lists the tables, and ls T, which describes one.
func parseCbtLs(p *parser) Statement {
	if p.peek().Kind == lex.Word {
		return parseDescribe(p)
	}
	return &Tables{}
}

// gluedWords joins a word with the words and marks that follow without a space, and
// with marks.
func (p *parser) gluedWords() Name {
	list := Name{Pos: p.peek().Pos}
	for first := true; !p.atEnd() && (first || p.peek().Glued || p.peek().Kind == lex.Mark); first = false {
		list.Text += p.next().Plain()
	}
	return list
}

// parseCreateFamily parses createfamily T F[:POLICY][:TYPE] of cbt.
func parseCreateFamily(p *parser) Statement {
	table := p.tableNamed()
	if !strings.Contains(p.peek().BareText(), ":") {
		return &AddFamily{Table: table, Family: p.family()}
	}
	families := cbtFamilies(p.gluedWords())
	if len(families) != 1 {
		panic(lex.ErrorAt(families[0].Name.Pos, "createfamily takes one family"))
	}
	return &AddFamily{Table: table, Family: families[0]}
}

// cbtFamilies returns the families of F[:POLICY][:TYPE],..
func cbtFamilies(list Name) (families []Family) {
	for _, f := range must(dialect.ParseFamilies(list.Pos, list.Text)) {
		families = append(families, Family{Name: Name{f.Name, list.Pos}, Versions: f.Policy.Versions, TTL: f.Policy.Age, Both: f.Policy.Both, Aggregate: f.Aggregate})
	}
	return families
}

// parseSetGCPolicy parses setgcpolicy T F (maxage=D | maxversions=N) [or|and ..]
// | never [force] of cbt. The policy replaces the family's whole policy.
func parseSetGCPolicy(p *parser) Statement {
	st := &SetFamily{Table: p.tableNamed()}
	st.Family.Name = p.familyNamed()
	text := Name{Pos: p.peek().Pos}
	for !p.atEnd() {
		switch t := p.next(); {
		case t.Keyword() == "force" || t.Keyword() == "yes":
			st.Yes = true
		case t.Glued:
			text.Text += t.Plain()
		default:
			text.Text += " " + t.Plain()
		}
	}
	policy := must(dialect.ParsePolicy(text.Pos, text.Text))
	st.Family.Versions, st.Family.TTL, st.Family.Both = cmp.Or(policy.Versions, new(int)), cmp.Or(policy.Age, new(time.Duration)), policy.Both
	return st
}

// cbtColumn is a column of cbt's columns=, where qualifiers are patterns: fam: means
// the family. A bare name would mean a qualifier in every family and is an error here.
func cbtColumn(t lex.Token, family string, qualifier []lex.Part, ok bool) Column {
	text := lex.Join(qualifier)
	switch {
	case !ok || family == "":
		name := text
		if !ok {
			name = lex.Join(t.Parts)
		}
		panic(lex.ErrorAt(t.Pos, "cbt's columns=%s means every family; name one, as in columns=FAM:%s, or write scan and columns=FAM:*", lex.Clip(t.Text), lex.QuoteQualifier(name)))
	case text == "" || text == ".*" || text == "*":
		return Column{Pos: t.Pos, Family: family, Kind: ColumnFamily}
	case beginsRegexp(qualifier):
		return regexColumn(t, family, qualifier)
	case regexp.QuoteMeta(text) == text:
		return Column{Pos: t.Pos, Family: family, Qualifier: text}
	}
	return Column{Pos: t.Pos, Family: family, Kind: ColumnRegex, Qualifier: text}
}

// cbtVersions makes read and lookup show all versions by default, as cbt does.
func (p *parser) cbtVersions(read *Read) {
	if p.isCbtRead() && read.Versions == 0 && !read.KeysOnly {
		read.Versions = Unlimited
	}
}

func (p *parser) isCbtRead() bool { return p.spelt == "lookup" || p.spelt == "read" }

// columnPrefixOption takes Smoltable's column.prefix=fam:pre.
func (p *parser) columnPrefixOption(to *target) {
	c := p.exactColumn()
	if c.Kind = ColumnPrefix; c.Qualifier == "" {
		c.Kind = ColumnFamily
	}
	to.read.Columns = append(to.read.Columns, c)
}
