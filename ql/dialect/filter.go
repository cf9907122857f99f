package dialect

import (
	"regexp"
	"strings"

	"github.com/smolwc/smolwc/ql/lex"
)

// A Filter is one filter of HBase's FILTER => "...", with its arguments.
type Filter struct {
	Name string
	Args []Arg
}

// An Arg is 'text', or a bare word: a number, a comparison, true or false.
type Arg struct {
	Text   string
	Quoted bool
}

// Texts returns the arguments if all are quoted, else nil.
func (f Filter) Texts() (texts []string) {
	for _, a := range f.Args {
		if !a.Quoted {
			return nil
		}
		texts = append(texts, a.Text)
	}
	return texts
}

// filterPart is the name of a filter, or a word or bracket between filters.
var filterPart = regexp.MustCompile(`^\s*(\w+|&&|[()])`)

// filterArg is an argument and the comma or bracket after it.
var filterArg = regexp.MustCompile(`^\s*('(?:[^']|'')*'|[<>=!]+|\w+)\s*([,)])`)

// ParseFilters reads filters joined by AND, in any brackets. Errors have the place of
// the text.
func ParseFilters(at lex.Pos, text string) (filters []Filter, err error) {
	depth, and := 0, true // and: a filter may follow
	for rest := text; strings.TrimSpace(rest) != ""; {
		m := filterPart.FindStringSubmatch(rest)
		if m == nil {
			return nil, lex.ErrorAt(at, "%s is not a filter of HBase; one looks like PrefixFilter('p')", lex.QuoteText(lex.Clip(strings.TrimSpace(rest))))
		}
		word := m[1]
		rest = rest[len(m[0]):]
		switch upper := strings.ToUpper(word); {
		case word == "(" && and:
			depth++
		case word == ")" && !and && depth > 0:
			depth--
		case (upper == "AND" || word == "&&") && !and:
			and = true
		case upper == "OR" || upper == "SKIP" || upper == "WHILE":
			return nil, lex.ErrorAt(at, "filters are joined only by AND here, and %s is not known; run a scan for each, or see where, regex= and columns=", upper)
		case !and || word == ")" || word == "&&" || upper == "AND":
			return nil, lex.ErrorAt(at, "unexpected %s; filters have AND between them", lex.QuoteText(lex.Clip(word+rest)))
		default:
			f := Filter{Name: word}
			if f.Args, rest, err = parseArgs(at, f.Name, rest); err != nil {
				return nil, err
			}
			filters, and = append(filters, f), false
		}
	}
	if len(filters) == 0 {
		return nil, lex.ErrorAt(at, "there is no filter in %s", lex.QuoteText(lex.Clip(text)))
	}
	if depth > 0 || and {
		return nil, lex.ErrorAt(at, "the filter %s has no end", lex.QuoteText(lex.Clip(text)))
	}
	return filters, nil
}

// parseArgs reads the arguments in brackets; rest is the text after them.
func parseArgs(at lex.Pos, name, text string) (args []Arg, rest string, err error) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(text, " "), "(")
	if !ok {
		return nil, "", lex.ErrorAt(at, "%s wants its arguments in brackets, as in %s('..')", name, name)
	}
	if after, empty := strings.CutPrefix(strings.TrimLeft(rest, " "), ")"); empty {
		return nil, after, nil
	}
	for {
		m := filterArg.FindStringSubmatch(rest)
		if m == nil {
			return nil, "", lex.ErrorAt(at, "%s is not an argument of %s; write text in ' quotes, and end the list with a bracket", lex.QuoteText(lex.Clip(rest)), name)
		}
		rest = rest[len(m[0]):]
		arg := Arg{Text: m[1], Quoted: m[1][0] == '\''}
		if arg.Quoted {
			arg.Text = strings.ReplaceAll(m[1][1:len(m[1])-1], "''", "'")
		}
		args = append(args, arg)
		if m[2] == ")" {
			return args, rest, nil
		}
	}
}
