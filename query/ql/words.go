package ql

import (
	"io"
	"slices"

	"github.com/smolwc/smolwc/query/ql/lex"
)

// A verb is a word that begins a statement.
type verb struct {
	name    string // the statement's own verb
	foreign bool   // the word is a spelling of cbt, HBase or SQL
	parse   func(*parser) (Statement, error)
}

var verbs map[string]verb

func init() {
	verbs = map[string]verb{
		"get":     {"get", false, parseGet},
		"scan":    {"scan", false, parseScan},
		"count":   {"count", false, parseCount},
		"put":     {"put", false, parsePut},
		"delete":  {"delete", false, parseDelete},
		"incr":    {"incr", false, parseIncr},
		"append":  {"append", false, parseAppend},
		"cas":     {"cas", false, parseCas},
		"add":     {"add", false, parseAdd},
		"explain": {"explain", false, parseExplain},
		"analyze": {"analyze", false, parseAnalyze},
		"gc":      {"gc", false, parseGC},
		"stats":   {"stats", false, parseStats},

		"histogram": {"histogram", false, parseHistogram},
		"sparkline": {"sparkline", false, parseSparkline},

		"begin":      {"begin", false, parseBegin},
		"commit":     {"commit", false, parseCommit},
		"abort":      {"abort", false, parseAbort},
		"create":     {"create", false, parseCreate},
		"alter":      {"alter", false, parseAlter},
		"drop":       {"drop", false, parseDrop},
		"truncate":   {"truncate", false, parseTruncate},
		"describe":   {"describe", false, parseDescribe},
		"tables":     {"tables", false, parseTables},
		"export":     {"export", false, parseExport},
		"backup":     {"backup", false, parseBackup},
		"backups":    {"backups", false, parseBackups},
		"restore":    {"restore", false, parseRestore},
		"verify":     {"verify", false, parseVerify},
		"checkpoint": {"checkpoint", false, parseCheckpoint},
		"refresh":    {"refresh", false, parseRefresh},
		"import":     {"import", false, parseImport},
		"compact":    {"compact", false, parseCompact},
		"flush":      {"flush", false, parseFlush},
		"help":       {"help", false, parseHelp},
		"quit":       {"quit", false, parseQuit},

		"lookup":        {"get", true, parseGet},
		"read":          {"scan", true, parseScan},
		"set":           {"put", true, parsePut},
		"addtocell":     {"add", true, parseAdd},
		"rollback":      {"abort", true, parseAbort},
		"ls":            {"tables", true, parseTables},
		"list":          {"tables", true, parseTables},
		"desc":          {"describe", true, parseDescribe},
		"exit":          {"quit", true, parseQuit},
		"deleteall":     {"delete", true, parseDelete},
		"deleterow":     {"delete", true, parseDeleteRow},
		"deletecolumn":  {"delete", true, parseDeleteColumn},
		"deleteallrows": {"truncate", true, parseTruncate},
		"createtable":   {"create", true, parseCreateTable},
		"deletetable":   {"drop", true, parseDropTable},
		"createfamily":  {"alter", true, parseCreateFamily},
		"deletefamily":  {"alter", true, parseDeleteFamily},
		"setgcpolicy":   {"alter", true, parseSetGCPolicy},

		"exists":            {"describe", true, parseDescribe},
		"get_counter":       {"get", true, parseGet},
		"major_compact":     {"compact", true, parseCompact},
		"truncate_preserve": {"truncate", true, parseTruncate},
		"status":            {"stats", true, parseStatus},
	}
}

// NewReader returns a reader of the script r: see [lex.NewReader].
func NewReader(r io.Reader) *lex.Reader {
	return lex.NewReader(r, func(word string) bool {
		_, isVerb := findVerb(word)
		return isVerb || word == "cbt"
	})
}

func findVerb(word string) (verb, bool) {
	v, ok := verbs[word]
	return v, ok
}

// Verbs are the words that begin a statement in smolwc's own spelling, sorted.
func Verbs() []string {
	var names []string
	for word, v := range verbs {
		if !v.foreign {
			names = append(names, word)
		}
	}
	slices.Sort(names)
	return names
}

func parseQuit(p *parser) (Statement, error) { return &Quit{}, nil }

// parseHelp takes the topic as one word; `help create table` means create.
func parseHelp(p *parser) (Statement, error) {
	st := &Help{}
	p.wantOneOf(ExpectTopic, HelpTopics()...)
	if t := p.peek(); t.Kind == lex.Word {
		st.Topic = t.Keyword()
		p.next()
		for !p.atEnd() {
			p.next()
		}
	}
	return st, nil
}
