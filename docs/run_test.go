package docs_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/shell"
)

// The first statement that make run proposes answers with the grid of the README, below a
// picture of at most ten lines.
func TestRunProposesTheGridOfTheReadme(t *testing.T) {
	if lines := strings.Count(read(t, "docs/examples/model.txt"), "\n"); lines > 10 {
		t.Errorf("the picture has %d lines", lines)
	}
	proposed := regexp.MustCompile(`echo "try: (.*)"`).FindStringSubmatch(read(t, "scripts/run"))
	if proposed == nil {
		t.Fatal("scripts/run proposes no statement")
	}
	declared, err := schema.Parse([]byte(configuredTables(t)))
	if err != nil {
		t.Fatal(err)
	}
	db := openDocumented(t)
	for _, table := range declared.Tables {
		if err := db.CreateTable(context.Background(), table); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	s := shell.New(shell.Options{DB: db, Out: &out, Err: &out, Format: "table", Quiet: true})
	defer s.Close()
	load := strings.ReplaceAll(read(t, "docs/examples/load.smolwc"), "'docs/", "'")
	if err := s.RunStatement(context.Background(), load); err != nil {
		t.Fatal(err, out.String())
	}
	out.Reset()
	if err := s.RunStatement(context.Background(), proposed[1]); err != nil {
		t.Fatal(err, out.String())
	}
	if want := prompt + proposed[1] + "\n" + out.String(); !strings.Contains(read(t, "README.md"), want) {
		t.Errorf("the README does not have\n%s", want)
	}
}

// configuredTables are the tables of config.yaml.
func configuredTables(t *testing.T) string {
	config := read(t, "config.yaml")
	return config[strings.Index(config, "\ntables:"):]
}
