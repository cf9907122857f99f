package shell

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/query/ql"
)

// complete returns the words that may stand at the end of the line before the
// cursor, each as the whole word, and where the word begins.
func (s *Session) complete(line string) (begin int, words []string) {
	line = line[strings.LastIndexByte(line, ';')+1:]
	trimmed := strings.TrimLeft(line, " \t")
	before := strings.Fields(trimmed)
	if trimmed != "" && !strings.HasSuffix(trimmed, " ") && len(before) > 0 {
		before = before[:len(before)-1]
	}
	word := trimmed[strings.LastIndexAny(trimmed, " \t=,")+1:]
	return len(word), matching(word, s.candidates(before, trimmed))
}

// candidates are the words that may follow those before, whatever they begin with.
func (s *Session) candidates(before []string, line string) []string {
	if len(before) == 0 {
		if strings.HasPrefix(line, ".") {
			return dotNames()
		}
		return spaced(ql.Verbs())
	}
	verb, last := strings.ToLower(before[0]), strings.ToLower(before[len(before)-1])
	if verb == "explain" || verb == "analyze" {
		if len(before) == 1 {
			return []string{"count ", "get ", "scan "}
		}
		before, verb = before[1:], strings.ToLower(before[1])
	}
	switch {
	case verb[0] == '.' || verb[0] == '\\':
		return s.dotCandidates(verb)
	case verb == "help":
		return ql.HelpTopics()
	case last == "as":
		return ql.Formats
	case (verb == "create" || verb == "alter" || verb == "drop") && len(before) == 1:
		return []string{"table "}
	case (verb == "alter" || verb == "drop") && len(before) == 2, len(before) == 1 && verb != "create":
		return append(spaced(s.tableNames()), s.inUse(verb)...)
	case verb == "alter" && len(before) == 3:
		return []string{"add family ", "drop family ", "set "}
	}
	return append(ql.Options(verb), s.families(before)...)
}

// inUse is what may stand in place of a table while one is in use.
func (s *Session) inUse(verb string) []string {
	if s.table == "" {
		return nil
	}
	return ql.Options(verb)
}

func (s *Session) dotCandidates(command string) []string {
	switch command {
	case ".use", ".schema", `\d`, `\c`:
		return s.tableNames()
	case ".mode":
		return ql.Formats
	case ".timing", ".bail":
		return []string{"on", "off"}
	case ".versions":
		return []string{"all"}
	}
	return nil
}

func dotNames() []string {
	var names []string
	for _, c := range dotCommands {
		names = append(names, c.name)
	}
	return names
}

// families are the families of the statement's table, with their colons.
func (s *Session) families(words []string) []string {
	known := s.db.Schema()
	for _, w := range append(words[1:min(len(words), 4)], s.table) {
		t, ok := known.Table(w)
		if !ok {
			continue
		}
		var names []string
		for _, f := range t.Families {
			names = append(names, f.Name+":")
		}
		return names
	}
	return nil
}

func spaced(words []string) []string {
	with := make([]string, len(words))
	for i, w := range words {
		with[i] = w + " "
	}
	return with
}

// matching are the candidates that begin with word, sorted.
func matching(word string, candidates []string) []string {
	var found []string
	for _, c := range candidates {
		if strings.HasPrefix(c, word) && c != word {
			found = append(found, c)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
