package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/smolwc/smolwc/cli/internal/config"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/standby"
)

func (c *command) load(ctx context.Context) (*config.Config, error) {
	cfg, err := config.Load(ctx, config.LoadOptions{Path: c.config, DB: c.db, Engine: c.engine, Getenv: c.getenv})
	return cfg, fail(exitUsage, err)
}

// engineOf is the engine of the database in a directory, or of the one that would be made
// there.
func engineOf(cfg *config.Config) (query.Engine, error) {
	e, err := query.EngineOf(cfg.DataDir)
	return cmp.Or(e, query.Engine(cfg.Engine), query.DefaultEngine()), fail(exitOpen, err)
}

// wantStandbys returns an error if this build cannot open the database in a directory, or one
// on the engine that was asked for.
func wantStandbys(cfg *config.Config) error {
	switch e, err := engineOf(cfg); {
	case err != nil:
		return err
	case e == query.EngineRocksDB && !query.HasRocksDB:
		return fail(exitOpen, fmt.Errorf("%s: %w", shown(cfg.DataDir), query.ErrNoEngine))
	}
	return nil
}

// open opens the database that the configuration names. It creates a missing database
// if the user asked for it by naming the directory or by declaring tables. At a
// terminal it reports the creation, because the user may have meant another directory.
func (c *command) open(ctx context.Context, cfg *config.Config, o query.Options) (*query.DB, error) {
	if err := checkSettings(cfg); err != nil {
		return nil, fail(exitUsage, err)
	}
	named := c.db != "" || c.getenv(config.EnvDB) != ""
	mayCreate := !o.MustExist && !o.ReadOnly && (named || declares(cfg))
	o.MustExist = true
	db, err := c.openAt(ctx, cfg.DataDir, cfg, o)
	switch missing := errors.Is(err, query.ErrNotFound); {
	case missing && mayCreate:
		o.MustExist = false
		if db, err = c.openAt(ctx, cfg.DataDir, cfg, o); err == nil && !c.quiet && isTerminal(c.stderr) {
			_, _ = fmt.Fprintf(c.stderr, "created a database in %s\n", shown(cfg.DataDir))
		}
	case missing && named && !o.ReadOnly && !declares(cfg):
		err = fmt.Errorf("%w; a statement that creates a table makes one there", err)
	case missing && !o.ReadOnly && declares(cfg):
		err = fmt.Errorf("%w; %s declares its tables: the first statement that writes one makes a database there, and smolwc schema apply does", err, cfg.Path)
	case missing && !o.ReadOnly:
		err = fmt.Errorf("%w; name a directory with --db, or declare tables in %s, and it is created", err, config.DefaultFile)
	}
	if warning := clockWarning(time.Now()); warning != "" && err == nil && !o.ReadOnly && !c.quiet {
		_, _ = fmt.Fprintln(c.stderr, "smolwc:", warning)
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return nil, f
	}
	if err == nil {
		if err = c.checkFinished(ctx, db, cfg.DataDir, o.ReadOnly); err != nil {
			return nil, fail(exitOpen, errors.Join(err, db.Close()))
		}
	}
	return db, fail(exitOpen, err)
}

// checkFinished refuses to write the unfinished target of a copy: the copy would undo that.
// It says what it is where it is read.
func (c *command) checkFinished(ctx context.Context, db *query.DB, dir string, readOnly bool) error {
	of, unfinished, err := db.Unfinished(ctx)
	switch {
	case ctx.Err() != nil: // the next step says so
		return nil
	case err != nil || !unfinished:
		return err
	}
	what := fmt.Sprintf("%s is the unfinished copy of the database with the id %s; the same smolwc copy goes on with it", shown(dir), of)
	if readOnly {
		c.hint(what)
		return nil
	}
	return errors.New(what + ", and until that ends it can only be read: --read-only")
}

// clockWarning warns of a clock that nobody set, as on a machine that starts in 1970; ""
// if there is nothing to warn of. The database opens all the same: its timestamps never
// go back.
func clockWarning(now time.Time) string {
	if now.Year() >= 2024 { // there was no smolwc before
		return ""
	}
	return fmt.Sprintf("this machine's clock says %s; new cells get this time, and retention by age follows it, so set the clock", now.UTC().Format(time.RFC3339))
}

// mayOnlyRead reports whether there is a database in a directory that this process may
// read, but not write.
func mayOnlyRead(dir string) bool {
	current, err := os.Open(filepath.Join(dir, "CURRENT"))
	if err != nil {
		return false
	}
	_ = current.Close()
	lock, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_WRONLY, 0)
	if err == nil {
		_ = lock.Close() // nothing was written
	}
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// openAt opens the database in a directory or at a URL, with the configuration's
// settings.
func (c *command) openAt(ctx context.Context, dir string, cfg *config.Config, o query.Options) (*query.DB, error) {
	if isURL(dir) {
		return c.openStore(ctx, dir, cfg, o)
	}
	c.reserve(cfg.Memory)
	there, err := query.EngineOf(dir)
	if err != nil {
		return nil, err
	}
	if there == "" || c.engine != "" { // a setting is for new databases, and a flag is for this one
		o.Engine = query.Engine(cfg.Engine)
	}
	o.Memory, o.BackgroundRate = cfg.Memory, cfg.BackgroundRate
	if cfg.Durability == "async" {
		o.Durability = query.DurabilityAsync
	}
	o.Logger = c.logger(cfg)
	return query.Open(dir, o)
}

// openStopped opens the database of a standby that no process runs, to copy it.
func (c *command) openStopped(ctx context.Context, cfg *config.Config) (*query.DB, error) {
	if err := cmp.Or(checkSettings(cfg), wantStandbys(cfg)); err != nil {
		return nil, fail(exitUsage, err)
	}
	c.reserve(cfg.Memory)
	db, err := standby.OpenStopped(ctx, cfg.DataDir, query.Options{Memory: cfg.Memory, BackgroundRate: cfg.BackgroundRate, Logger: c.logger(cfg)})
	return db, fail(exitOpen, err)
}

func (c *command) logger(cfg *config.Config) *slog.Logger {
	return slog.New(slog.NewTextHandler(c.stderr, &slog.HandlerOptions{Level: cfg.LogLevel}))
}

// declares reports whether the configuration declares tables of its database.
func declares(cfg *config.Config) bool { return cfg.Schema != nil && !cfg.Aside }

// declare creates the tables and families that the configuration declares. It reports
// the changes that it does not make because they would hide or drop data.
func (c *command) declare(ctx context.Context, db *query.DB, cfg *config.Config) error {
	if !declares(cfg) {
		return nil
	}
	undone, err := db.Declare(ctx, cfg.Schema)
	if err != nil {
		return fail(exitOpen, misdeclared(ctx, db, cfg, err))
	}
	if !undone.Empty() && !c.quiet {
		_, _ = fmt.Fprintf(c.stderr, "smolwc: %s declares changes that hide or drop data; they are not made, smolwc schema apply makes them:\n%s", cfg.Path, undone)
	}
	return nil
}

// misdeclared says which declaration of the file the database refuses, and how to go
// without the file.
func misdeclared(ctx context.Context, db *query.DB, cfg *config.Config, err error) error {
	if ctx.Err() != nil {
		return err
	}
	place := cfg.Path
	for _, change := range schema.Diff(db.Schema(), cfg.Schema).WithoutDrops().Changes {
		if db.CheckPlan(ctx, schema.Plan{Changes: []schema.Change{change}}) != nil {
			place = cfg.Place(change.Table, change.Family)
			break
		}
	}
	return fmt.Errorf("%s: %w; mend the declaration, or go without the file: --config %s", place, err, os.DevNull)
}

// undeclared says which tables the configuration declares that the database does not
// have, and the commands that create them; or "".
func undeclared(db *query.DB, cfg *config.Config) string {
	if cfg.Schema == nil {
		return ""
	}
	var missing []string
	for _, t := range cfg.Schema.Tables {
		if _, ok := db.Schema().Table(t.Name); !ok {
			missing = append(missing, t.Name)
		}
	}
	switch {
	case len(missing) == 0:
		return ""
	case cfg.Aside:
		return fmt.Sprintf("%s declares tables of its own data_dir, and not of %s; --config %s declares them there", cfg.Path, shown(cfg.DataDir), cfg.Path)
	}
	return fmt.Sprintf("%s declares tables that %s does not have yet (%s): the first statement that writes creates them", cfg.Path, shown(cfg.DataDir), strings.Join(missing, ", "))
}

func (c *command) openDeclared(ctx context.Context, cfg *config.Config, o query.Options) (*query.DB, error) {
	db, err := c.open(ctx, cfg, o)
	if err != nil {
		return nil, err
	}
	if err := c.declare(ctx, db, cfg); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// closing closes the database at the end of a function. An error of closing becomes the
// function's error unless it already failed. A database that calls still use is left to the
// end of the process.
func closing(db *query.DB, err *error) {
	if errors.Is(*err, server.ErrCallsLeft) {
		return
	}
	if closeErr := db.Close(); *err == nil {
		*err = fail(exitFailed, closeErr)
	}
}
