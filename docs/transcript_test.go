package docs_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/shell"
)

// go test ./docs -update writes what the shell prints into the pages: read the
// difference before it is committed.
var update = flag.Bool("update", false, "write the results of transcripts into the pages")

const (
	prompt   = "smolwc> "
	goesOn   = "   -> "
	silently = " quiet" // a block's session prints no messages
)

// What follows a prompt in the pages runs, page by page, from the first to the
// last on a database of its own, and prints what the page shows. In a block
// marked `smolwc quiet` the session has no messages, as with --quiet.
func TestTranscripts(t *testing.T) {
	for _, page := range []string{"README.md", "docs/shell.md", "docs/modelling.md"} {
		t.Run(filepath.Base(page), func(t *testing.T) {
			shown := read(t, page)
			got, statements := replay(t, shown)
			if statements < 5 {
				t.Errorf("only %d statements", statements)
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
		})
	}
}

// replay returns the page with the results that its statements give.
func replay(t *testing.T, page string) (result string, statements int) {
	t.Helper()
	db := openDocumented(t)
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
			_ = s.RunStatement(context.Background(), statement) // an error is part of what is printed
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		out.WriteString("```\n")
	}
	return out.String(), statements
}

// openDocumented is an empty database at noon of 4 July 2024.
func openDocumented(t *testing.T) *query.DB {
	t.Helper()
	noon := time.Date(2024, 7, 4, 12, 0, 0, 0, time.UTC)
	db, err := query.OpenInMemory(query.Options{Clock: func() time.Time { return noon }})
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

// reportDifference shows where the page and what was printed part.
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
