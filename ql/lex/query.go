package lex

import (
	"regexp"
	"slices"
	"strings"
)

// IsQuery reports whether a statement is a query in SQL: its first word is select, with
// or from, or one of them follows explain. Such a statement uses the words and quotes
// of SQL. Newlines end it as they end any statement, but a line that begins with a
// clause or with |> continues it, also after empty lines and comments.
func IsQuery(text string) bool {
	s := newScanState(Pos{1, 1})
	for i := 0; i < len(text) && !s.sql.decided; i++ {
		if s.step(text[i], ahead(text[i+1:])) && s.started {
			break
		}
	}
	s.sql.step(' ') // the text may end with the word
	return s.sql.is
}

// maxAhead is how far after a newline the word is looked for that may go on with the
// statement.
const maxAhead = 512

// nextLine returns the first line that is not blank and no comment, without its indent.
func nextLine(rest string) string {
	for rest != "" {
		line, after, _ := strings.Cut(rest, "\n")
		text := strings.TrimLeft(line, " \t\r")
		if text != "" && !strings.HasPrefix(text, "--") && line[0] != '#' {
			return text
		}
		rest = after
	}
	return ""
}

// continuations are the words that begin a line within a statement of the language, and
// not a statement.
var continuations = []string{"where", "and", "or", "not", "like", "between", "in", "absent", "key", "key-part", "yes",
	"group", "having", "order", "limit", "offset", "cross", "join", "on", "using", "inner", "left", "right", "full", "union", "except", "intersect"} // of the query of a view

// continues reports whether the lines after a newline go on with a statement that is no
// query: the next line that says something begins as no statement begins, such
// as where, prefix= or a column. Otherwise a delete would run without the condition that
// stands on its second line.
func continues(rest string) bool {
	line := nextLine(rest)
	if line == "" {
		return false
	}
	if strings.IndexByte(",&|", line[0]) >= 0 {
		return true
	}
	n := 0
	for n < len(line) && isBareByte(line[n]) && line[n] != ':' {
		n++
	}
	if line[0] == '.' || n == 0 {
		return false
	}
	if n < len(line) && (line[n] == ':' || line[n] == '=') {
		return true
	}
	return slices.Contains(continuations, strings.ToLower(line[:n]))
}

// A sqlState finds out whether a statement is a query.
type sqlState struct {
	word    []byte // in lower case, as far as it can be a keyword
	explain bool   // the first word was explain
	analyze bool   // and the second analyze
	decided bool
	is      bool
	from    bool   // FROM came
	with    bool   // the first word was with, and no SELECT came outside its brackets
	depth   int    // brackets around the place
	last    string // the last word or sign
}

// step takes a byte outside quotes and comments.
func (s *sqlState) step(c byte) {
	if isLetter(c) || c == '_' || isDigit(c) || !s.is && isBareByte(c) {
		if len(s.word) < 16 {
			s.word = append(s.word, c|0x20)
		}
		return
	}
	word := string(s.word)
	s.word = s.word[:0]
	switch {
	case s.is:
		s.from = s.from || word == "from"
		s.with = s.with && (s.depth > 0 || word != "select" && word != "from")
		if word != "" {
			s.last = word
		}
	case s.decided:
	case word == "" && isSpace(c):
	case word == "explain" && !s.explain && isSpace(c):
		s.explain = true
	case word == "analyze" && s.explain && !s.analyze && isSpace(c):
		s.analyze = true
	default:
		s.decided = true
		s.is = (word == "select" || word == "with" || word == "from") && c != '=' && c != ':'
		s.from, s.with, s.last = word == "from", word == "with", word
	}
	switch c {
	case '(':
		s.depth++
	case ')':
		s.depth--
	}
	if s.is && !isSpace(c) && c != '-' && c != '#' { // these may begin a comment
		s.last = string(c)
	}
}

// opens are the words and signs after which a query cannot end.
var opens = []string{"select", "from", "where", "by", "having", "and", "or", "not", "distinct", "join", "on", "with", "union", "all", ",", "=", "<", ">", "+", "/"}

// open reports whether the query cannot end here.
func (s *sqlState) open() bool {
	last := s.last
	if len(s.word) > 0 {
		last = string(s.word)
	}
	return s.is && slices.Contains(opens, last)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// clauses are the words that begin a line within a query, and not a statement.
var clauses = []string{"where", "group", "having", "order", "limit", "offset", "and", "or", "cross", "join", "on", "using", "inner", "left", "right", "full", "union", "except", "intersect"}

// goesOn reports whether the lines after a newline continue the query. FROM may begin
// another query, so it must be on the next line.
func (s *sqlState) goesOn(rest string) bool {
	line := nextLine(rest)
	next := strings.HasPrefix(strings.TrimLeft(rest, " \t\r"), line)
	if s.open() || strings.HasPrefix(line, "|>") || strings.HasPrefix(line, ",") {
		return true
	}
	n := 0
	for n < len(line) && isLetter(line[n]) {
		n++
	}
	word := strings.ToLower(line[:n])
	if s.with && (word == "select" || word == "from") {
		return true
	}
	return slices.Contains(clauses, word) || word == "from" && next && !s.from
}

// QueryKeywords are words of SQL that may stand within a query.
var QueryKeywords = strings.Fields("_key aggregate all and any_value array as asc avg between by case cast coalesce count countif cross current_timestamp date desc distinct drop else end except exists extend extract false from full group having if ifnull in inner intersect is join json_value left length like limit lower map_contains_key map_entries map_keys map_values max min not null nullif offset on or order rename replace right safe_cast select set split starts_with string struct substr sum then timestamp to_int64 true union unnest unpack upper using when where with with_history")

// IsQueryWord reports whether a byte can be part of a word of a query.
func IsQueryWord(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' }

// QueryWords finds the whole word before the last word of a query, in lower case, "" at its
// start, and the table after FROM, "" without one.
func QueryWords(text string) (before, table string) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r >= 0x80 || !IsQueryWord(byte(r)) })
	for i, w := range words {
		if strings.EqualFold(w, "from") && i+1 < len(words) {
			table = words[i+1]
		}
	}
	if len(text) > 0 && IsQueryWord(text[len(text)-1]) {
		words = words[:len(words)-1]
	}
	if len(words) > 0 {
		before = strings.ToLower(words[len(words)-1])
	}
	return before, table
}

// openMapKey is the access of a map at the end of a query, without its end: m['mod.
var openMapKey = regexp.MustCompile("(?:^|[^A-Za-z0-9_`])`?([A-Za-z_][A-Za-z0-9_]*)`?\\[\\s*((?:'(?:[^'\\\\]|\\\\.)*|\"(?:[^\"\\\\]|\\\\.)*)?)$")

// OpenMapKey finds the access of a family as a map that a query ends in, as m['mod: its
// name, where its key begins with its quote, that quote, 0 if none is typed yet, and the
// key so far.
func OpenMapKey(text string) (family string, at int, quote byte, key string, ok bool) {
	m := openMapKey.FindStringSubmatchIndex(text)
	if m == nil {
		return "", 0, 0, "", false
	}
	family, at = text[m[2]:m[3]], m[4]
	if typed := text[m[4]:m[5]]; typed != "" {
		quote, key = typed[0], typed[1:]
	}
	return family, at, quote, key, true
}
