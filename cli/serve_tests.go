package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/cli/internal/config"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/shell"
)

// A testFlags is smolwc serve --memory-only, the mode for people's tests.
type testFlags struct {
	on     bool
	schema string
	seed   string // the directory
	random uint64 // 0: by chance
	clock  string
}

func (f *testFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.on, "memory-only", false, "serve a new database in memory, for tests: nothing is written to disk, and --http has controls under /test")
	flags.StringVar(&f.schema, "schema", "", "with --memory-only: create the tables that `FILE` declares (default those of the configuration)")
	flags.StringVar(&f.seed, "seed", "", "with --memory-only: import the files of `DIR`, such as fleet.jsonl into table fleet, and run its scripts, NAME.smolwc")
	flags.StringVar(&f.clock, "clock", "", "with --memory-only: let the clock stand at `TIME`, as in 2024-07-04T12:00:00Z")
	flags.Uint64Var(&f.random, "random-seed", 0, "with --memory-only: decide by `N` which calls faults strike (default a number by chance)")
}

// check finds flags that do not go together.
func (f *testFlags) check(r *serveRun) error {
	if !f.on {
		for name, given := range map[string]bool{"schema": f.schema != "", "seed": f.seed != "", "clock": f.clock != "", "random-seed": f.random != 0} {
			if given {
				return fmt.Errorf("--%s goes with --memory-only", name)
			}
		}
		return nil
	}
	switch {
	case r.db != "":
		return errors.New("--memory-only serves a new database in memory, and --db names one; give one of them")
	case r.durability != "":
		return errors.New("--memory-only keeps nothing; leave out --durability")
	}
	if f.clock != "" {
		if _, err := time.Parse(time.RFC3339, f.clock); err != nil {
			return fmt.Errorf("--clock is %q; want a time as in 2024-07-04T12:00:00Z", f.clock)
		}
	}
	return nil
}

// mode makes the controls of the server. The flags were checked.
func (f *testFlags) mode(cfg *config.Config) (*server.TestMode, error) {
	tables := cfg.Schema
	if f.schema != "" {
		var err error
		if tables, err = schema.Load(f.schema); err != nil {
			return nil, fmt.Errorf("--schema: %w", err)
		}
	}
	seeds, err := findSeeds(f.seed)
	if err != nil {
		return nil, fmt.Errorf("--seed: %w", err)
	}
	at, _ := time.Parse(time.RFC3339, cmp.Or(f.clock, "none")) // the zero time without --clock
	return server.NewTestMode(server.TestModeOptions{
		Clock: at,
		Seed:  cmp.Or(f.random, rand.Uint64()),
		Prepare: func(ctx context.Context, db *query.DB) error {
			if tables != nil {
				if _, err := db.Declare(ctx, tables); err != nil {
					return err
				}
			}
			for _, s := range seeds {
				if err := s.run(ctx, db); err != nil {
					return err
				}
			}
			return nil
		},
	}), nil
}

// A seed is a file with the first contents of a table, or with statements.
type seed struct {
	path  string
	table string // "": statements
}

// importable are the ends of the names of files that import reads.
var importable = []string{".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"}

// findSeeds are the files of a directory in the order of their names: files of tables
// first, then scripts.
func findSeeds(dir string) (seeds []seed, err error) {
	if dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var scripts []seed
	for _, e := range entries {
		name := e.Name()
		path := filepath.Join(dir, name)
		table, ok := tableOfSeed(name)
		switch {
		case e.IsDir() || strings.HasPrefix(name, "."):
		case strings.HasSuffix(name, ".smolwc"):
			scripts = append(scripts, seed{path: path})
		case ok:
			seeds = append(seeds, seed{path, table})
		default:
			return nil, fmt.Errorf("%s is neither a file that import reads (%s, also with .gz or .zst) nor a script, NAME.smolwc", path, strings.Join(importable, ", "))
		}
	}
	return append(seeds, scripts...), nil
}

// tableOfSeed is the table for a file of this name.
func tableOfSeed(name string) (table string, ok bool) {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	for _, end := range importable {
		if table, found := strings.CutSuffix(name, end); found && table != "" {
			return table, true
		}
	}
	return "", false
}

func (s seed) run(ctx context.Context, db *query.DB) error {
	var said bytes.Buffer
	session := shell.New(shell.Options{DB: db, Out: io.Discard, Err: &said, Quiet: true})
	var err error
	if s.table != "" {
		err = session.RunStatement(ctx, "import "+lex.QuoteName(s.table)+" from "+lex.QuoteText(s.path))
	} else {
		err = s.script(ctx, session)
	}
	if closeErr := session.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		why := cmp.Or(strings.TrimSpace(said.String()), err.Error())
		if s.table != "" {
			why = strings.TrimPrefix(why, "1:1: ") // the place in the statement
		}
		return fmt.Errorf("seed %s: %s", s.path, why)
	}
	return nil
}

func (s seed) script(ctx context.Context, session *shell.Session) error {
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was read
	return session.RunScript(ctx, filepath.Base(s.path), f)
}

// serveMemoryOnly serves a new database in memory.
func (r *serveRun) serveMemoryOnly(ctx context.Context, cfg *config.Config, o server.Options, listener, pages net.Listener) (err error) {
	if o.Test, err = r.tests.mode(cfg); err != nil {
		return fail(exitUsage, err)
	}
	r.reserve(cfg.Memory)
	opts := r.options()
	opts.Memory, opts.Clock, opts.ClockGoesBack, opts.Logger = cfg.Memory, o.Test.Clock, true, r.logger(cfg)
	db, err := query.OpenInMemory(opts)
	if err != nil {
		return fail(exitOpen, err)
	}
	defer closing(db, &err)
	s, err := server.New(db, o)
	if err != nil {
		return fail(exitUsage, err)
	}
	if err := o.Test.Reset(ctx); err != nil {
		return fail(exitOpen, err)
	}
	return r.serve(ctx, s, o, "a database in memory", listener, pages)
}
