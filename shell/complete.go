package shell

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
)

// Complete proposes words for the end of a statement, sorted, as the terminal does. Each
// word replaces the text from begin on. It proposes no files, and no commands of the
// session: the person may be on another machine.
func (s *Session) Complete(statement string) (begin int, words []string) {
	if s == nil || s.runner.DB == nil && s.runner.Remote == nil {
		return len(statement), nil
	}
	expected := s.env().Expect(statement, len(statement))
	if expected.Session {
		return len(statement), nil
	}
	begin, words, _ = s.proposals(expected, func(want ql.Expectation) bool { return want.Kind != ql.ExpectFile })
	return begin, words
}

// complete proposes words for the end of the text, sorted. Each word replaces the text
// from begin on. The grammar says what is expected there; the session and its database
// provide the names. more says that there are further ones.
func (s *Session) complete(text string) (begin int, words []string, more bool) {
	expected := s.env().Expect(text, len(text))
	if expected.Session {
		begin, words = s.completeCommand(text)
		return begin, words, false
	}
	return s.proposals(expected, func(ql.Expectation) bool { return true })
}

func (s *Session) proposals(expected ql.Expected, may func(ql.Expectation) bool) (begin int, words []string, more bool) {
	for _, want := range expected.Wants {
		if may(want) {
			some, cut := s.propose(want, expected.Quote)
			words, more = append(words, some...), more || cut
		}
	}
	slices.Sort(words)
	return expected.Begin, slices.Compact(words), more
}

// propose returns the words for one expectation, and whether there are more of them.
func (s *Session) propose(want ql.Expectation, quote byte) (words []string, more bool) {
	switch want.Kind {
	case ql.ExpectQualifier:
		if want.MapKey {
			return s.mapKeys(want, quote)
		}
		return s.qualifiers(want)
	case ql.ExpectKey:
		found, more := s.keys(want.Table, want.Prefix)
		return quoted(found, quote, lex.QuoteText), more
	case ql.ExpectPath:
		return s.paths(want, quote)
	}
	return s.proposeNames(want, quote), false
}

func (s *Session) proposeNames(want ql.Expectation, quote byte) []string {
	switch want.Kind {
	case ql.ExpectVerb, ql.ExpectKeyword, ql.ExpectOption, ql.ExpectChoice, ql.ExpectTopic:
		return spaced(matching(strings.ToLower(want.Prefix), want.Candidates))
	case ql.ExpectTable:
		return spaced(matching(want.Prefix, s.tableNames()))
	case ql.ExpectFamily:
		if want.Table == "" { // a query that does not name its table yet
			return spaced(matching(want.Prefix, s.allFamilies()))
		}
		return spaced(matching(want.Prefix, s.families(want.Table)))
	case ql.ExpectColumn:
		var words []string
		for _, f := range matching(want.Prefix, s.families(want.Table)) {
			words = append(words, lex.QuoteColumn(f, ""))
		}
		return words
	case ql.ExpectZone, ql.ExpectItem:
		return s.queueNames(want, quote)
	case ql.ExpectFile:
		return files(want.Prefix, quote)
	}
	return nil
}

// completeCommand completes a session command. Its words are separated by spaces.
func (s *Session) completeCommand(text string) (int, []string) {
	line := strings.TrimLeft(text[strings.LastIndexByte(text, '\n')+1:], " \t")
	name, arg, hasArg := strings.Cut(line, " ")
	if !hasArg {
		return len(text) - len(line), spaced(matching(strings.ToLower(name), commandNames(line)))
	}
	arg = strings.TrimLeft(arg, " ")
	begin := len(text) - len(arg)
	switch c := findCommand(strings.ToLower(name)); {
	case c == nil:
		return begin, nil
	case strings.Contains(c.args, "FILE") || strings.Contains(c.args, "DIR"):
		return begin, commandFiles(arg)
	default:
		return begin, matching(arg, s.commandWords(c, strings.ToLower(name)))
	}
}

// commandNames returns the names of the commands, in psql's spelling if the line begins
// with a backslash.
func commandNames(line string) []string {
	var names []string
	for _, c := range dotCommands {
		for _, name := range append([]string{c.name}, c.also...) {
			if name[0] == line[0] && (name == c.name || name[0] == '\\') {
				names = append(names, name)
			}
		}
	}
	if line[0] == '\\' {
		names = append(names, `\x`)
	}
	slices.Sort(names)
	return names
}

func (s *Session) commandWords(c *dotCommand, spelled string) []string {
	switch {
	case c.args == "[T]" || spelled == `\d`:
		return s.tableNames()
	case c.name == ".mode":
		return ql.Formats
	case c.name == ".versions":
		return []string{"all"}
	case strings.Contains(c.args, "on|off"):
		return strings.Split(strings.Trim(c.args, "[]"), "|")
	}
	return nil
}
