package shell

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/query/ql/exec"
	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/tuple"
)

const (
	// completionTime is how long the database may be asked for names.
	completionTime = 50 * time.Millisecond
	// completionKeys is how many row keys are proposed at most.
	completionKeys = 50
	// completionRows is how many rows are read for the qualifiers of a family that no
	// statement has shown yet.
	completionRows = 20
)

// keySeparators end the parts that row keys are usually made of.
const keySeparators = "#/:|;,"

// keys are the row keys with the prefix, each up to the separator that follows the prefix.
// There is one seek for each. The last key is always among them, so a beginning that they
// share is shared by all keys with the prefix.
func (s *Session) keys(table, prefix string) []proposal {
	if _, ok := s.runner.Database().Schema().Table(table); !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	t, end := s.runner.Database().Table(table), successor(prefix)
	last, ok := firstKey(ctx, t, read.Range(prefix, end), read.Reverse())
	if !ok {
		return nil
	}
	var found []proposal
	for from := prefix; len(found) < completionKeys; {
		key, ok := firstKey(ctx, t, read.Range(from, end))
		if !ok {
			break
		}
		stop := keyStop(key, len(prefix))
		found = append(found, stop)
		from = stop.text + "\x00" // the key after it
		if stop.open {
			from = successor(stop.text)
		}
		if from == "" || end != "" && from >= end {
			break
		}
	}
	if ctx.Err() != nil {
		return nil // what is known may be misleading
	}
	if stop := keyStop(last, len(prefix)); len(found) > 0 && found[len(found)-1] != stop {
		found = append(found, stop)
	}
	return found
}

// firstKey is the first row key of a read.
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

// successor is the least text beyond all that begin with the prefix; "" if there is
// none.
func successor(prefix string) string {
	next, _ := tuple.Strinc([]byte(prefix)) // nil with an error
	return string(next)
}

// qualifiers are the columns of a family that statements showed lately, or else those of
// its first rows.
func (s *Session) qualifiers(want ql.Expectation) []string {
	known := s.seen[columnsOf{want.Table, want.Family}]
	if len(known) == 0 {
		known = s.firstQualifiers(want.Table, want.Family)
	}
	found := matching(want.Prefix, known)
	bare := !slices.ContainsFunc(found, func(q string) bool { return lex.QuoteQualifier(q) != q })
	var words []string
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
	return words
}

func (s *Session) firstQualifiers(table, family string) []string {
	if !slices.Contains(s.families(table), family) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	var found []string
	for row, err := range s.runner.Database().Table(table).ReadRows(ctx, read.Family(family), read.Versions(1), read.CellsPerRow(seenQualifiers), read.Limit(completionRows)) {
		if err != nil {
			break
		}
		for c := range row.Cells() {
			if !slices.Contains(found, c.Qualifier) {
				found = append(found, c.Qualifier)
			}
		}
	}
	return found
}

// files are the names of files that begin with the prefix, as words of the language.
func files(prefix string, quote byte) []string {
	found := fileNames(prefix)
	bare := quote == 0
	for _, p := range found {
		bare = bare && lex.QuoteKey(p.text) == p.text
	}
	if bare {
		return quoted(found, 0)
	}
	var words []string
	for _, p := range found {
		word := "'" + strings.ReplaceAll(p.text, "'", "''")
		if quote == '"' {
			word = strings.TrimSuffix(lex.QuoteText(p.text), `"`)
		}
		if !p.open && quote == '"' {
			word += `"`
		} else if !p.open {
			word += "'"
		}
		words = append(words, word)
	}
	return words
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
		if !strings.HasPrefix(e.Name(), base) || base == "" && e.Name()[0] == '.' || !isPrintable(e.Name()) {
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
