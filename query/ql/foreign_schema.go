package ql

import (
	"strings"
	"time"

	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// hbaseCreate parses 't', 'cf', {NAME => 'cf2', VERSIONS => 3, TTL => 3600}, ...
func (p *parser) hbaseCreate() (Statement, error) {
	p.foreign = true
	st := &CreateTable{}
	var err error
	if st.Table, err = p.newName("the table's name"); err != nil {
		return nil, err
	}
	for p.accept(",") {
		f, isFamily, err := p.hbaseFamily(nil)
		if err != nil {
			return nil, err
		}
		if isFamily {
			st.Families = append(st.Families, f.OfHBase())
		}
	}
	if len(st.Families) == 0 {
		return nil, p.unexpected("a family")
	}
	return st, nil
}

// storage are HBase's options of how a family or a table is stored, which smolwc
// chooses by itself. Passing over them changes no result.
var storage = map[string]bool{
	"bloomfilter": true, "blockcache": true, "blocksize": true, "compression": true, "compression_compact": true,
	"data_block_encoding": true, "in_memory": true, "replication_scope": true, "cache_data_on_write": true,
	"cache_index_on_write": true, "cache_blooms_on_write": true, "evict_blocks_on_close": true, "prefetch_blocks_on_open": true,
	"dfs_replication": true, "storage_policy": true, "configuration": true, "metadata": true,
	"splits": true, "splits_file": true, "numregions": true, "splitalgo": true, "region_replication": true, "max_filesize": true,
	"memstore_flushsize": true, "durability": true, "compaction_enabled": true, "split_enabled": true, "merge_enabled": true,
}

// hbaseFamily parses 'cf', or {NAME => 'cf', VERSIONS => 3}, or that without its
// braces. What says how to store is passed over; isFamily is false when nothing
// else was there. method is set to METHOD's value, where one is allowed.
func (p *parser) hbaseFamily(method *string) (f Family, isFamily bool, err error) {
	if p.peek().Kind == lex.Word && !p.atOption(0) {
		f.Name, err = p.newName("a family")
		return f, true, err
	}
	at := p.peek().Pos
	braces := p.accept("{")
	said := false
	for {
		switch word := p.peek().Keyword(); {
		case !p.atOption(0):
			return f, false, p.unexpected("NAME => 'family'")
		case word == "name":
			p.next()
			p.equals()
			f.Name, err = p.newName("the family's name")
		case word == "method" && method != nil:
			p.next()
			p.equals()
			*method, err = p.text("'delete'")
		case word == "min_versions" || word == "keep_deleted_cells":
			err = p.hbaseUnkept("versions=N ttl=AGE drop=both keeps the newest N however old they are, and what is deleted is not kept")
		case word == "readonly":
			err = p.hbaseUnkept("the flag --read-only opens a whole database so")
		case storage[word]:
			p.next()
			p.equals()
			p.skipValue()
		default:
			said = true
			err = p.familyOption(&f)
		}
		if err != nil {
			return f, false, err
		}
		if !p.atMark(",") || !braces && !p.atOption(1) {
			break
		}
		p.next()
	}
	if braces {
		err = p.expect("}")
	}
	if f.Name.Text == "" && said && err == nil {
		err = lex.ErrorAt(at, "the family's NAME is missing")
	}
	return f, f.Name.Text != "", err
}

// hbaseUnkept takes MIN_VERSIONS => 0, KEEP_DELETED_CELLS => false and the like:
// there is no more than that here.
func (p *parser) hbaseUnkept(instead string) error {
	t := p.next()
	p.equals()
	value, err := p.text("0 or false")
	if err == nil && value != "0" && !strings.EqualFold(value, "false") {
		err = lex.ErrorAt(t.Pos, "there is no option %s; %s", t.Describe(), instead)
	}
	return err
}

// hbaseAlter parses alter 't', 'cf' | NAME => 'cf', VERSIONS => 3 | {..} |
// NAME => 'cf', METHOD => 'delete' | 'delete' => 'cf'. It says one thing.
func (p *parser) hbaseAlter() (Statement, error) {
	p.foreign = true
	table, err := p.tableNamed()
	if err != nil {
		return nil, err
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	if t := p.peek(); t.Kind == lex.Word && lex.Join(t.Parts) == "delete" && p.isMark(1, "=>") {
		p.next()
		p.next()
		return p.alterFamily(table, "drop")
	}
	method := ""
	at := p.peek().Pos
	f, isFamily, err := p.hbaseFamily(&method)
	switch {
	case err != nil:
		return nil, err
	case !isFamily:
		return nil, lex.ErrorAt(at, "how a table is stored is chosen here by itself; alter table %s set F ttl=30d versions=3 sets retention", lex.QuoteName(table.Text))
	case p.atMark(","):
		return nil, p.unexpected("the end of the statement: alter one family at a time")
	case method == "delete":
		return &DropFamily{Table: table, Family: f.Name, Yes: p.acceptWord("yes")}, nil
	case method != "":
		return nil, lex.ErrorAt(at, "there is no METHOD %s; a family is added, set, or deleted with METHOD => 'delete'", lex.QuoteText(lex.Clip(method)))
	}
	return &SetFamily{Table: table, Family: f, Add: true, Yes: p.acceptWord("yes")}, nil
}

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
			if st.Families, err = cbtFamilies(list); err != nil {
				return nil, err
			}
		case word != "splits":
			return nil, p.unexpected("families=, as in createtable %s families=meta", lex.QuoteName(st.Table.Text))
		}
	}
	return st, nil
}

// cbtOption takes families=.. or splits=.., which bash wants in quotes as a
// whole: the words up to the next option, put together.
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

// cbtFamilies reads F[:POLICY][:TYPE],..: the policy as setgcpolicy has it, with
// || and &&, the type one of an aggregate.
func cbtFamilies(list Name) (families []Family, err error) {
	for text := range strings.SplitSeq(list.Text, ",") {
		parts := strings.Split(text, ":")
		f := Family{Name: Name{parts[0], list.Pos}}
		if parts[0] == "" {
			return nil, lex.ErrorAt(list.Pos, "the name of a family is empty")
		}
		for _, part := range parts[1:] {
			if aggregate, ok := cbtTypes[strings.ToLower(part)]; ok {
				f.Aggregate = &aggregate
				continue
			}
			part = strings.ReplaceAll(strings.ReplaceAll(part, "||", " or "), "&&", " and ")
			if err := cbtPolicy(&f, Name{part, list.Pos}); err != nil {
				return nil, err
			}
		}
		families = append(families, f)
	}
	return families, nil
}

// cbtTypes are the types of cbt's families that aggregate.
var cbtTypes = map[string]schema.Aggregate{
	"intsum": schema.AggregateSum, "intmin": schema.AggregateMin, "intmax": schema.AggregateMax, "inthll": schema.AggregateHLL,
}

// cbtPolicy reads maxage=30d, maxversions=3, two of them with and or or between,
// or never.
func cbtPolicy(f *Family, text Name) error {
	text.Text = strings.TrimSpace(text.Text)
	wrong := func() error {
		return lex.ErrorAt(text.Pos, "%s is no policy that is known here; write maxversions=3, maxage=30d, both with or or and between them, or never", lex.QuoteText(lex.Clip(text.Text)))
	}
	words := strings.Fields(strings.ToLower(strings.NewReplacer("(", " ", ")", " ").Replace(text.Text)))
	if len(words) == 1 && words[0] == "never" {
		all, forever := 0, time.Duration(0)
		f.Versions, f.TTL = &all, &forever
		return nil
	}
	for i, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case i == 1 && (word == "or" || word == "and"):
			both := word == "and"
			f.Both = &both
		case i == 1 || i > 2:
			return wrong()
		case name == "maxversions" && f.Versions == nil && lex.IsInteger(value):
			n, err := lex.ParseInteger(value)
			if err != nil || n < 1 || n > 1<<31-1 {
				return wrong()
			}
			versions := int(n)
			f.Versions = &versions
		case name == "maxage" && f.TTL == nil:
			age, err := schema.ParseAge(value)
			if err != nil {
				return lex.ErrorAt(text.Pos, "%s", err)
			}
			f.TTL = &age
		default:
			return wrong()
		}
	}
	if len(words) != 1 && len(words) != 3 {
		return wrong()
	}
	return nil
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
	families, err := cbtFamilies(text)
	if err != nil {
		return nil, err
	}
	if len(families) != 1 {
		return nil, lex.ErrorAt(text.Pos, "createfamily takes one family")
	}
	return &AddFamily{Table: table, Family: families[0]}, nil
}

// parseSetGCPolicy parses setgcpolicy T F (maxage=D | maxversions=N) [or|and ..]
// | never [force] of cbt. What the policy does not say is not kept.
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
	if err := cbtPolicy(&st.Family, text); err != nil {
		return nil, err
	}
	if st.Family.Versions == nil {
		st.Family.Versions = new(int)
	}
	if st.Family.TTL == nil {
		st.Family.TTL = new(time.Duration)
	}
	return st, nil
}
