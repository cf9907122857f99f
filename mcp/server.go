package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/smolwc/smolwc/branch"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
)

// Options say what is served. One of DB and Client is set.
type Options struct {
	DB     *query.DB
	Client *client.Client

	// Writes permits writes: the database is a branch.
	Writes bool
	// Branch is the branch that DB is; nil: what was changed in it cannot be listed.
	Branch *branch.Branch

	// Names are the tables and views that exist for the caller; none: all. With some, nothing
	// tells of others.
	Names []string

	Budget  sql.Budget    // of a call
	Timeout time.Duration // of a call; 0: [DefaultTimeout]
	Version string        // of the program
	Logger  *slog.Logger  // nil: none
}

// DefaultBudget is for a call that looks around.
var DefaultBudget = sql.Budget{Rows: 100_000, Bytes: 64 << 20}

// DefaultTimeout bounds a call.
const DefaultTimeout = 30 * time.Second

// Bounds of all calls of a server, and of one result.
const (
	maxCalls   = 4         // at once; others wait
	maxResult  = 256 << 10 // bytes of the rows of a result
	largeRow   = 4 << 20   // of the values of a row, more than maxResult as JSON
	maxOpen    = 32        // calls that are read, and not answered
	maxRows    = 1000      // of a result
	fewRows    = 100       // without a limit
	maxQuery   = 64 << 10  // bytes of a query
	maxChanges = 1000      // of a call
	maxMessage = 4 << 20   // bytes
	maxListed  = 100       // tables and views of which a list has estimates
)

// A server answers calls.
type server struct {
	Options
	ctx   context.Context // of all calls
	at    source
	calls chan struct{} // has an element for each call under way
	room  *room
}

// checkNames is an error for a name that does not exist.
func (s *server) checkNames(ctx context.Context) error {
	if len(s.Names) == 0 {
		return nil
	}
	all, err := s.at.list(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range all {
		names = append(names, e.name)
	}
	for _, name := range s.Names {
		if !slices.Contains(names, name) {
			return missing(name, names)
		}
	}
	return nil
}

// visible reports whether a table or view exists for the caller.
func (s *server) visible(name string) bool {
	return len(s.Names) == 0 || slices.Contains(s.Names, name)
}

// list are the tables and views that exist for the caller.
func (s *server) list(ctx context.Context) (seen []entry, err error) {
	all, err := s.at.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if s.visible(e.name) {
			seen = append(seen, e)
		}
	}
	return seen, nil
}

// find is a table or view that exists for the caller.
func (s *server) find(ctx context.Context, name string) (entry, error) {
	seen, err := s.list(ctx)
	if err != nil {
		return entry{}, err
	}
	var names []string
	for _, e := range seen {
		if e.name == name {
			return e, nil
		}
		names = append(names, e.name)
	}
	return entry{}, missing(name, names)
}

func missing(name string, seen []string) error {
	return fmt.Errorf("there is no table or view %.200q%s", name, schema.DidYouMean(name, seen))
}
