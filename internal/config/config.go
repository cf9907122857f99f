// Package config reads the settings of the smolwc command: config.yaml, the
// environment and the flags that override it, through viper and strictly. An
// unknown key is an error.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/smolwc/smolwc/schema"
)

// DefaultFile is read when no file is named and it exists.
const DefaultFile = "config.yaml"

// The environment.
const (
	EnvFile = "SMOLWC_CONFIG" // names the file when --config does not
	EnvDB   = "SMOLWC_DB"     // overrides data_dir; --db overrides both
)

// A Config is every setting, checked and with its default filled in.
type Config struct {
	// Path is the file that was read; empty without a file.
	Path string
	// DataDir is the directory of the database, or a URL; a relative directory is
	// relative to the working directory. Default ./data.
	DataDir string
	// Durability is "sync" or "async": whether a write returns when it is on
	// disk, or when the operating system has it. Default sync.
	Durability string
	// Memory is the budget in bytes for the block cache and the write buffers of all
	// families together; at least [MinMemory]. Default 256 MiB.
	Memory int64
	// BackgroundRate limits the bytes per second that flushes and compactions write
	// together; at least [MinBackgroundRate], or 0, the default, for no bound.
	BackgroundRate int64
	// LogLevel is the least level that is logged. Default warn.
	LogLevel slog.Level
	// Schema is the tables that the file declares; nil when it has no tables.
	Schema *schema.Schema
}

// LoadOptions are the flags and the environment.
type LoadOptions struct {
	// Path is --config: the file to read. Empty means $SMOLWC_CONFIG, and when
	// that is empty too, config.yaml in the working directory if there is one.
	Path string
	// DB is --db: the directory of the database, or its URL. It overrides the file and the environment.
	DB string
	// Getenv looks a variable up; nil means [os.Getenv].
	Getenv func(string) string
}

// Load reads the settings. Without a file everything has its default; a file
// that was named and cannot be read is an error. Faults in the file are one
// [*schema.Errors] that lists all of them, each with its line.
func Load(opts LoadOptions) (*Config, error) {
	if opts.Getenv == nil {
		opts.Getenv = os.Getenv
	}
	path, text, err := readFile(opts)
	if err != nil {
		return nil, err
	}
	dataDir := opts.DB
	if dataDir == "" {
		dataDir = opts.Getenv(EnvDB)
	}
	c, err := parse(text, dataDir)
	if e := new(schema.Errors); errors.As(err, &e) {
		e.File = path
	}
	if err != nil {
		return nil, err
	}
	c.Path = path
	return c, nil
}

// readFile finds the file and reads it; path is empty when no file was read.
func readFile(opts LoadOptions) (path string, text []byte, err error) {
	path, source := opts.Path, "--config"
	if path == "" {
		path, source = opts.Getenv(EnvFile), "$"+EnvFile
	}
	if path != "" {
		text, err = os.ReadFile(path)
		if err != nil {
			return "", nil, fmt.Errorf("the configuration file that %s names: %w", source, err)
		}
		return path, text, nil
	}
	text, err = os.ReadFile(DefaultFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("the configuration file: %w", err)
	}
	return DefaultFile, text, nil
}
