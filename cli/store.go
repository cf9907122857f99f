package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cli/internal/config"
	"github.com/smolwc/smolwc/query"
)

// Stores open the stores that URLs name, by the schemes of the URLs. A nil map is for a
// program that opens directories only.
type Stores map[string]func(ctx context.Context, url string, o StoreOptions) (cf.Store, error)

// StoreOptions are the options of a store at a URL.
type StoreOptions struct {
	// MustExist makes a missing store the error cf.ErrNotExist, and creates nothing.
	MustExist bool
	// Logger gets messages for an operator.
	Logger *slog.Logger
}

// urlScheme matches the beginning of a URL, which cannot be a directory: a drive of
// Windows is one letter.
var urlScheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+)://`)

func isURL(db string) bool { return urlScheme.MatchString(db) }

// shown is the name of a database for messages: parameters of URLs are left out.
func shown(db string) string {
	if isURL(db) {
		db, _, _ = strings.Cut(db, "?")
	}
	return db
}

// schemes returns the beginnings of the URLs that this build knows.
func (c *command) schemes() []string {
	var known []string
	for _, scheme := range slices.Sorted(maps.Keys(c.stores)) {
		known = append(known, scheme+"://")
	}
	return known
}

// checkURL refuses a URL of an unknown store.
func (c *command) checkURL(url string) error {
	scheme := urlScheme.FindStringSubmatch(url)[1]
	if c.stores[scheme] != nil {
		return nil
	}
	switch {
	case scheme == "tikv":
		return fmt.Errorf("%s: this smolwc has no TiKV; the one that has it is built in the folder tikv of smolwc's source with CGO_ENABLED=0 go build ./cmd/smolwc", shown(url))
	case len(c.stores) == 0:
		return fmt.Errorf("%s: a database is in a directory; there is no %s://", shown(url), scheme)
	}
	return fmt.Errorf("%s: a database is in a directory, or at %s…; there is no %s://", shown(url), strings.Join(c.schemes(), ", "), scheme)
}

// canOpen reports why this build cannot open any database in a directory, or at a URL.
func (c *command) canOpen(db string) error {
	if isURL(db) {
		return fail(exitUsage, c.checkURL(db))
	}
	return nil
}

// checkSettings refuses settings that only a database in a directory can keep.
func checkSettings(cfg *config.Config) error {
	switch {
	case !isURL(cfg.DataDir):
	case cfg.Durability == "async":
		return fmt.Errorf("durability is async, but %s has every write on disk when it is acknowledged; leave the setting out, or use a directory", shown(cfg.DataDir))
	case cfg.BackgroundRate != 0:
		return fmt.Errorf("background_rate is set, but the machines of %s do its background work; leave the setting out, or use a directory", shown(cfg.DataDir))
	}
	return nil
}

// openStore opens the database at a URL. Durability and background rate are set on the
// store's own machines: see checkSettings.
func (c *command) openStore(ctx context.Context, url string, cfg *config.Config, o query.Options) (*query.DB, error) {
	if err := c.checkURL(url); err != nil {
		return nil, fail(exitUsage, err)
	}
	if cfg.Engine != "" {
		return nil, fail(exitUsage, fmt.Errorf("engine is %s, but %s has no engine on this machine; leave the setting out, or use a directory", cfg.Engine, shown(url)))
	}
	c.reserve(cfg.Memory)
	o.Memory, o.Logger = cfg.Memory, c.logger(cfg)
	store, err := c.stores[urlScheme.FindStringSubmatch(url)[1]](ctx, url, StoreOptions{MustExist: o.MustExist, Logger: o.Logger})
	if errors.Is(err, cf.ErrNotExist) {
		return nil, fmt.Errorf("there is no database at %s: %w", shown(url), query.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	db, err := query.OpenStore(ctx, store, o)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return db, nil
}
