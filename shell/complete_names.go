package shell

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/tuple"
)

// keySeparators end the usual parts of row keys.
const keySeparators = "#/:|;,"

// keys returns the row keys with the prefix, each cut after the first separator that
// follows the prefix. Each one takes one seek. The last key is always included, so the
// common prefix of the proposals is common to all keys with the prefix. more says that
// there are keys between the last one and the one before.
func (s *Session) keys(table, prefix string) (found []proposal, more bool) {
	if _, ok := s.runner.Database().Schema().Table(table); !ok {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	t, end := s.runner.Database().Table(table), successor(prefix)
	last, ok := firstKey(ctx, t, read.Range(prefix, end), read.Reverse())
	if !ok {
		return nil, false
	}
	for from := prefix; ; {
		key, ok := firstKey(ctx, t, read.Range(from, end))
		if !ok {
			break
		}
		stop := keyStop(key, len(prefix))
		if len(found) == completionKeys {
			more = stop != keyStop(last, len(prefix))
			break
		}
		found = append(found, stop)
		from = stop.text + "\x00" // the next key
		if stop.open {
			from = successor(stop.text)
		}
		if from == "" || end != "" && from >= end {
			break
		}
	}
	if ctx.Err() != nil {
		return nil, false // an incomplete list may be misleading
	}
	if stop := keyStop(last, len(prefix)); len(found) > 0 && found[len(found)-1] != stop {
		found = append(found, stop)
	}
	return found, more
}

func firstKey(ctx context.Context, t exec.Table, opts ...read.Option) (string, bool) {
	for row, err := range t.ReadRows(ctx, append(opts, read.KeysOnly(), read.Limit(1))...) {
		if err != nil {
			break
		}
		return row.Key(), true
	}
	return "", false
}

// keyStop cuts a key after the first separator that follows its first n bytes.
func keyStop(key string, n int) proposal {
	at := strings.IndexAny(key[n:], keySeparators)
	if at < 0 || n+at+1 == len(key) {
		return proposal{text: key}
	}
	return proposal{text: key[:n+at+1], open: true}
}

// successor returns the first text after all texts that begin with the prefix; "" if
// there is no such text.
func successor(prefix string) string {
	next, _ := tuple.Strinc([]byte(prefix)) // nil with an error
	return string(next)
}

// paths returns the paths with one more name. A path with directories below it ends in a
// slash. The names are bare only if all of them can be and no quote is open. more says that
// there are names between the last one and the one before.
func (s *Session) paths(want ql.Expectation, quote byte) (words []string, more bool) {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	found, more := s.runner.DirectoryNames(ctx, want.Table, want.Path, want.Prefix, completionKeys)
	pathOf := func(name string) string { return lex.QuotePath(append(slices.Clip(want.Path), name)) }
	parent := strings.TrimSuffix(pathOf("x"), "x")
	bare := quote == 0 && !slices.ContainsFunc(found, func(d exec.DirectoryName) bool { return pathOf(d.Name) != parent+d.Name })
	for _, d := range found {
		word := parent + lex.QuoteText(d.Name)
		if bare {
			word = parent + d.Name
		}
		if d.Parent {
			word += "/"
		}
		words = append(words, word)
	}
	return words, more
}

// queueNames returns the zones of a queue, or the dead letters of a zone.
func (s *Session) queueNames(want ql.Expectation, quote byte) []string {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	if want.Kind == ql.ExpectItem {
		return spaced(s.runner.DeadLetterIDs(ctx, want.Table, want.Zone, want.Prefix, completionItems))
	}
	names := s.runner.ZoneNames(ctx, want.Table, want.Prefix, completionItems)
	bare := quote == 0 && !slices.ContainsFunc(names, func(name string) bool { return ql.QuoteWord(name) != name })
	for i, name := range names {
		if !bare {
			names[i] = lex.QuoteText(name)
		}
	}
	return spaced(names)
}

// qualifiers returns the columns of a family that recent statements showed, and the ones
// in some of its rows. more says that the family may have further ones.
func (s *Session) qualifiers(want ql.Expectation) (words []string, more bool) {
	known, more := s.someQualifiers(want)
	seen := s.seen[columnsOf{want.Table, want.Family}]
	more = more || len(seen) == seenQualifiers
	found := matching(want.Prefix, append(known, seen...))
	bare := !slices.ContainsFunc(found, func(q string) bool { return lex.QuoteQualifier(q) != q })
	for _, q := range found {
		if q == "" && want.Alone {
			continue
		}
		word := lex.QuoteText(q)
		if bare {
			word = q
		}
		if !want.Alone {
			word = lex.QuoteColumn(want.Family, "") + word
		}
		words = append(words, word)
	}
	return words, more
}

// mapKeys are the qualifiers of a family as keys of a map in a query. Before FROM the table
// is any one with such a family.
func (s *Session) mapKeys(want ql.Expectation, quote byte) (words []string, more bool) {
	tables := []string{want.Table}
	if want.Table == "" {
		tables = s.tableNames()
	}
	if quote == 0 {
		quote = '\''
	}
	mark := string(quote)
	escape := strings.NewReplacer(`\`, `\\`, mark, `\`+mark)
	for _, table := range tables {
		want.Table = table
		known, cut := s.someQualifiers(want)
		more = more || cut
		for _, q := range matching(want.Prefix, append(known, s.seen[columnsOf{table, want.Family}]...)) {
			if lex.IsPrintable(q) {
				words = append(words, mark+escape.Replace(q)+mark+"]")
			}
		}
	}
	return words, more
}

// someQualifiers are the qualifiers with the prefix in the first rows of each group of keys
// that begin alike, since these often have columns of their own. more says that there may be
// further ones.
func (s *Session) someQualifiers(want ql.Expectation) (found []string, more bool) {
	if !slices.Contains(s.families(want.Table), want.Family) {
		return nil, false
	}
	groups, more := s.keys(want.Table, "")
	columns := read.ColumnPrefix(want.Family, want.Prefix)
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	for _, g := range groups {
		rows := 0
		for row, err := range s.runner.Database().Table(want.Table).ReadRows(ctx, read.Prefix(g.text), columns, read.Versions(1), read.CellsPerRow(seenQualifiers), read.Limit(completionRows+1)) {
			if rows++; err != nil || rows > completionRows {
				more = true
				break
			}
			more = more || row.Len() == seenQualifiers
			for c := range row.Cells() {
				if !slices.Contains(found, c.Qualifier) {
					found = append(found, c.Qualifier)
				}
			}
		}
	}
	return found, more
}

// files are the names of files that begin with the prefix, as words of the language.
func files(prefix string, quote byte) []string {
	write := lex.QuoteText
	if quote != '"' {
		write = func(name string) string { return "'" + strings.ReplaceAll(name, "'", "''") + "'" }
	}
	return quoted(fileNames(prefix), quote, write)
}

// commandFiles are the names of files that begin with arg, as a session command takes them.
func commandFiles(arg string) []string {
	if strings.HasPrefix(arg, "|") {
		return nil
	}
	open := strings.HasPrefix(arg, "'") || strings.HasPrefix(arg, `"`)
	var words []string
	for _, p := range fileNames(strings.TrimLeft(arg, `'"`)) {
		if open {
			p.text = arg[:1] + p.text
			if !p.open {
				p.text += arg[:1]
			}
		}
		words = append(words, p.text)
	}
	return words
}

// fileNames are the names of files that begin with the prefix; a directory is open.
func fileNames(prefix string) []proposal {
	dir, base := filepath.Split(prefix)
	entries, err := os.ReadDir(filepath.Clean(fileName(dir)))
	if err != nil {
		return nil
	}
	var found []proposal
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), base) || base == "" && e.Name()[0] == '.' || !lex.IsPrintable(e.Name()) {
			continue
		}
		info, err := os.Stat(filepath.Join(fileName(dir), e.Name()))
		p := proposal{text: dir + e.Name()}
		if err == nil && info.IsDir() {
			p.text, p.open = p.text+"/", true
		}
		found = append(found, p)
	}
	return found
}
