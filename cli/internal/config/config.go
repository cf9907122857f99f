// Package config reads the settings of the smolwc command: config.yaml, the
// environment and the flags that override it, through viper and strictly. An
// unknown key is an error.
package config

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

	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/schema"
)

// DefaultFile is read when no file is named and it exists.
const DefaultFile = "config.yaml"

// The environment.
const (
	EnvFile   = "SMOLWC_CONFIG" // names the file when --config does not
	EnvDB     = "SMOLWC_DB"     // overrides data_dir; --db overrides both
	EnvEngine = "SMOLWC_ENGINE" // overrides engine; --engine overrides both
)

// A Config is every setting, checked and with its default filled in.
type Config struct {
	// Path is the file that was read; empty without a file.
	Path string
	// DataDir is the directory of the database, or a URL; a relative directory is
	// relative to the working directory. Default ./data.
	DataDir string
	// Engine is the engine of a new database, "rocksdb" or "pebble"; "", the default, is
	// RocksDB in a build that contains it.
	Engine string
	// Durability is "sync" or "async": whether a write returns when it is on disk, or
	// when the operating system accepted it. Default sync.
	Durability string
	// Memory is the budget in bytes for the block cache and the write buffers of all
	// families together; at least [MinMemory]. Default 256 MiB.
	Memory int64
	// BackgroundRate limits the bytes per second that flushes and compactions write
	// together; at least [MinBackgroundRate], or 0, the default, for no bound.
	BackgroundRate int64
	// LogLevel is the least level that is logged. Default warn.
	LogLevel slog.Level
	// Schema is the tables that the file declares; nil when it declares no tables.
	Schema *schema.Schema
	// Aside says that Schema is of another database: the file was found, and not named,
	// and --db or $SMOLWC_DB names a database other than the file's data_dir.
	Aside bool

	lines map[string]int // of the names in the file: see Place
}

// Place returns FILE:LINE of a declared family, or of its table if family is "" or not
// declared, and FILE of an undeclared table.
func (c *Config) Place(table, family string) string {
	line := cmp.Or(c.lines[table+"/"+family], c.lines[table])
	if line == 0 {
		return c.Path
	}
	return fmt.Sprintf("%s:%d", c.Path, line)
}

// LoadOptions are the flags and the environment.
type LoadOptions struct {
	// Path is --config: the file to read. Empty means $SMOLWC_CONFIG, and when
	// that is empty too, config.yaml in the working directory if there is one.
	Path string
	// DB is --db: the directory of the database, or its URL. It overrides the file and the environment.
	DB string
	// Engine is --engine: the engine of a new database. It overrides the file and the
	// environment.
	Engine string
	// Getenv looks a variable up; nil means [os.Getenv].
	Getenv func(string) string
}

// Load reads the settings. Without a file everything is at its default; a file that was
// named and cannot be read is an error. Faults in the file are one [*schema.Errors] that
// lists all of them, each with its line. The context ends the wait for a pipe.
func Load(ctx context.Context, opts LoadOptions) (*Config, error) {
	if opts.Getenv == nil {
		opts.Getenv = os.Getenv
	}
	path, text, err := readFile(ctx, opts)
	if err != nil {
		return nil, err
	}
	c, err := parse(text)
	if e := new(schema.Errors); errors.As(err, &e) {
		e.File = path
	}
	if err != nil {
		return nil, err
	}
	c.Path = path
	if err := cmp.Or(c.choose(opts), c.chooseEngine(opts)); err != nil {
		return nil, err
	}
	return c, nil
}

// chooseEngine sets Engine from the flag or the environment, if given.
func (c *Config) chooseEngine(opts LoadOptions) error {
	named, source := opts.Engine, "--engine"
	if named == "" {
		named, source = opts.Getenv(EnvEngine), "$"+EnvEngine
	}
	if named == "" {
		return nil
	}
	if err := (*engine)(&c.Engine).UnmarshalText([]byte(named)); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	return nil
}

// choose sets DataDir to the database that the flag or the environment names, if one does.
func (c *Config) choose(opts LoadOptions) (err error) {
	own, ownErr := home("data_dir of "+c.Path, c.DataDir)
	named, source := opts.DB, "--db"
	if named == "" {
		named, source = opts.Getenv(EnvDB), "$"+EnvDB
	}
	if named == "" {
		c.DataDir = own
		return ownErr
	}
	if err := new(directory).UnmarshalText([]byte(named)); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	if c.DataDir, err = home(source, named); err != nil {
		return err
	}
	found := opts.Path == "" && opts.Getenv(EnvFile) == ""
	c.Aside = found && c.Schema != nil && !same(c.DataDir, own)
	return nil
}

// home is osfile.Home for a directory that a setting names.
func home(setting, dir string) (string, error) {
	dir, err := osfile.Home(dir)
	if err != nil {
		err = fmt.Errorf("%s: %w", setting, err)
	}
	return dir, err
}

// same reports whether two names are of one database.
func same(a, b string) bool {
	if strings.Contains(a, "://") || strings.Contains(b, "://") {
		return a == b
	}
	return resolved(a) == resolved(b)
}

// resolved is an absolute path without links, as far as it exists.
func resolved(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return filepath.Clean(dir)
	}
	if to, err := osfile.Leads(abs); err == nil {
		return to
	}
	return abs
}

// readFile finds the file and reads it; path is empty when no file was read.
func readFile(ctx context.Context, opts LoadOptions) (path string, text []byte, err error) {
	path, source := opts.Path, "--config"
	if path == "" {
		path, source = opts.Getenv(EnvFile), "$"+EnvFile
	}
	if path != "" {
		if path, err = home(source, path); err == nil {
			text, err = osfile.ReadFile(ctx, path)
		}
		if err != nil {
			return "", nil, fmt.Errorf("the configuration file that %s names: %w", source, err)
		}
		return path, text, nil
	}
	// A link that leads nowhere is no missing file: it named another configuration.
	if _, err := os.Lstat(DefaultFile); errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	text, err = osfile.ReadFile(ctx, DefaultFile)
	if to, linkErr := os.Readlink(DefaultFile); linkErr == nil && errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is a link to %s, which is missing; to go without it, give --config %s", DefaultFile, to, os.DevNull)
	}
	if err != nil {
		return "", nil, fmt.Errorf("the configuration file: %w", err)
	}
	return DefaultFile, text, nil
}
