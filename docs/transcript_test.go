package docs_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/shell"
)

// go test ./docs -update writes the shell's output into the pages: read the difference
// before you commit it.
var update = flag.Bool("update", false, "write the results of transcripts into the pages")

const (
	prompt   = "smolwc> "
	goesOn   = "   -> "
	silently = " quiet" // a block's session prints no messages
)

// transcripts are the pages whose statements run.
var transcripts = []string{
	"README.md", "docs/modelling.md", "docs/recipes.md", directoriesPage, queuesPage,
	"docs/start-shell.md", "docs/start-crawl.md", "docs/from-bigtable.md", "docs/from-hbase.md", "docs/from-sql.md", "docs/from-redis.md",
}

// languagePages are the reference of the language. Their statements run too, in this
// order and on one database.
var languagePages = []string{
	"docs/shell-language.md", "docs/shell-reading.md", "docs/shell-writing.md", "docs/shell-tables.md", "docs/shell-upkeep.md", "docs/shell-formats.md",
}

// The statements after a prompt run in order, each page on its own database, and print
// the output on the page. In a block marked `smolwc quiet` the session has no messages,
// as with --quiet.
func TestTranscripts(t *testing.T) {
	for _, page := range transcripts {
		t.Run(filepath.Base(page), func(t *testing.T) {
			db := openDocumented(t)
			var ids []string
			switch page {
			case directoriesPage:
				addTenants(t, db)
			case queuesPage:
				db, ids = openQueue(t)
			}
			checkTranscript(t, db, page, ids)
		})
	}
	t.Run("language", func(t *testing.T) {
		db := openDocumented(t)
		for _, page := range languagePages {
			checkTranscript(t, db, page, nil)
		}
	})
}

func checkTranscript(t *testing.T, db *query.DB, page string, ids []string) {
	shown := read(t, page)
	got, statements := replay(t, db, shown, ids)
	if statements < 3 {
		t.Errorf("%s has only %d statements", page, statements)
	}
	switch {
	case got == shown:
	case *update:
		if err := os.WriteFile(filepath.Join("..", page), []byte(got), 0o644); err != nil {
			t.Error(err)
		}
	default:
		reportDifference(t, page, shown, got)
	}
}

// replay returns the page with the results that its statements give. ids are pairs: the
// id of an item on the page, and in the database.
func replay(t *testing.T, db *query.DB, page string, ids []string) (result string, statements int) {
	t.Helper()
	typed := strings.NewReplacer(ids...)
	slices.Reverse(ids)
	printed := strings.NewReplacer(ids...)
	var out strings.Builder
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		out.WriteString(line)
		if i < len(lines)-1 {
			out.WriteString("\n")
		}
		info, ok := strings.CutPrefix(line, "```smolwc")
		if !ok || info != "" && info != silently {
			continue
		}
		s := shell.New(shell.Options{DB: db, Out: &out, Err: &out, Format: "table", Quiet: info == silently})
		for i++; i < len(lines) && lines[i] != "```"; i++ {
			if !strings.HasPrefix(lines[i], prompt) {
				continue // a result, which is computed
			}
			statement := strings.TrimPrefix(lines[i], prompt)
			out.WriteString(lines[i] + "\n")
			for i+1 < len(lines) && strings.HasPrefix(lines[i+1], goesOn) {
				i++
				statement += "\n" + strings.TrimPrefix(lines[i], goesOn)
				out.WriteString(lines[i] + "\n")
			}
			statements++
			_ = s.RunStatement(context.Background(), typed.Replace(statement)) // an error is part of what is printed
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		out.WriteString("```\n")
	}
	return printed.Replace(out.String()), statements
}

// openDocumented is an empty database at noon of 4 July 2024.
func openDocumented(t *testing.T) *query.DB {
	t.Helper()
	return openWithClock(t, func() time.Time { return noon })
}

var noon = time.Date(2024, 7, 4, 12, 0, 0, 0, time.UTC)

func openWithClock(t *testing.T, clock func() time.Time) *query.DB {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// reportDifference shows the first difference between the page and the output.
func reportDifference(t *testing.T, page, shown, got string) {
	t.Helper()
	want, have := strings.Split(shown, "\n"), strings.Split(got, "\n")
	for i := range min(len(want), len(have)) {
		if want[i] != have[i] {
			t.Errorf("%s:%d: the page shows\n\t%s\nand the shell prints\n\t%s\n(go test ./docs -update, then look at the difference)", page, i+1, want[i], have[i])
			return
		}
	}
	t.Errorf("%s: the page has %d lines, the shell makes it %d", page, len(want), len(have))
}
