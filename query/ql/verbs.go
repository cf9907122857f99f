package ql

import (
	"io"
	"slices"

	"github.com/smolwc/smolwc/query/ql/lex"
)

// A verb is the word that begins a statement. Its declaration stands beside the
// statement's types, parser and printer; package exec runs the statement.
type verb struct {
	name    string
	parse   func(*parser) (Statement, error)
	foreign []spelling
	help    helpTopic // named like the verb
}

// A spelling is a word that begins the statement in cbt, HBase or SQL.
type spelling struct {
	word  string
	parse func(*parser) (Statement, error)
}

// verbs are in the order of their help. byWord has all spellings of them.
var (
	verbs  []verb
	byWord = map[string]verb{}
)

func init() {
	verbs = []verb{
		getVerb, scanVerb, countVerb, histogramVerb, sparklineVerb, statsVerb,
		putVerb, deleteVerb, addVerb, incrVerb, appendVerb, casVerb,
		beginVerb, commitVerb, abortVerb, createVerb, alterVerb, dropVerb,
		truncateVerb, tablesVerb, describeVerb, importVerb, exportVerb, backupVerb,
		backupsVerb, restoreVerb, verifyVerb, checkpointVerb, refreshVerb, compactVerb,
		flushVerb, gcVerb, explainVerb, analyzeVerb, quitVerb, helpVerb,
	}
	for _, v := range verbs {
		byWord[v.name] = v
		for _, s := range v.foreign {
			byWord[s.word] = verb{name: v.name, parse: s.parse}
		}
	}
}

// findVerb is the verb that the word, in lower case, spells.
func findVerb(word string) (verb, bool) {
	v, ok := byWord[word]
	return v, ok
}

// NewReader returns a reader of the script r: see [lex.NewReader].
func NewReader(r io.Reader) *lex.Reader {
	return lex.NewReader(r, func(word string) bool {
		_, isVerb := findVerb(word)
		return isVerb || word == "cbt"
	})
}

// Verbs are the words that begin a statement in smolwc's own spelling, sorted.
func Verbs() []string {
	var names []string
	for _, v := range verbs {
		names = append(names, v.name)
	}
	slices.Sort(names)
	return names
}
