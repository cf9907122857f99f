// Package region keeps the rows of the shards that live in one region, and a copy of all
// facts. It answers from its own database alone, unless a shard lives elsewhere or a
// fact has not arrived yet.
package region

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/rhino"
	"github.com/smolwc/smolwc/rhino/internal/facts"
	"github.com/smolwc/smolwc/rhino/internal/link"
	"github.com/smolwc/smolwc/schema"
)

// The table of rows. Each tenant's table in a shard is a directory; a row's key is a
// tuple in it, and a column is a qualifier with one cell.
const (
	table  = "rows"
	family = "d"
)

// Schema is the schema of a region's database.
var Schema = &schema.Schema{Tables: []schema.Table{
	facts.Schema,
	{Name: directory.DefaultTable, Families: []schema.Family{{Name: directory.DefaultFamily, Type: cells.TypeBytes}}},
	{Name: table, Families: []schema.Family{{Name: family}}},
}}

// Options say which region it is, and where the others are.
type Options struct {
	Name    string
	Control link.Peer
	Regions map[string]link.Peer // the others
	// Timeout bounds the calls of others.
	Timeout time.Duration
	Logger  *slog.Logger
}

// A Region answers requests. It is safe for concurrent use.
type Region struct {
	db    *query.DB
	facts facts.Store
	dirs  *directory.Directory
	o     Options
	ready atomic.Bool // it once held all facts

	mu    sync.Mutex
	known map[string]*directory.Directory // by path; directories are never moved or removed
}

// New is the region on its database. It is incomplete before Fill ends, unless it held all
// facts at an earlier time.
func New(ctx context.Context, db *query.DB, o Options) (*Region, error) {
	r := &Region{db: db, facts: facts.Store{DB: db}, o: o, known: map[string]*directory.Directory{},
		dirs: directory.New(directory.Options{Data: []string{table}})}
	complete, err := r.facts.Complete(ctx)
	r.ready.Store(complete)
	return r, err
}

// Ready reports whether the region once held all facts: what it does not know is on its way,
// or does not exist.
func (r *Region) Ready() bool { return r.ready.Load() }

// Known reports true: there is the secret.
func (r *Region) Known() bool { return true }

// Close does nothing: a connection to a region is stateless.
func (r *Region) Close() {}

// Serve answers a request.
func (r *Region) Serve(ctx context.Context, m rhino.Message) rhino.Message {
	reply, err := r.serve(ctx, m)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the request took too long: %w", err)
	}
	return facts.Reply(reply, err, "region "+r.o.Name)
}

func (r *Region) serve(ctx context.Context, m rhino.Message) (rhino.Message, error) {
	switch m := m.(type) {
	case rhino.SetRow:
		if err := m.Row.Check(); err != nil {
			return nil, err
		}
		return r.row(ctx, m.Place, m.Row, r.set(m.Row), func(p *rhino.Place) rhino.Message { m.Place = *p; return m })
	case rhino.GetRow:
		return r.row(ctx, m.Place, m.PK, r.get(), func(p *rhino.Place) rhino.Message { m.Place = *p; return m })
	case rhino.DeleteRow:
		return r.row(ctx, m.Place, m.PK, r.remove(), func(p *rhino.Place) rhino.Message { m.Place = *p; return m })
	case rhino.GetRows:
		return r.rows(ctx, m)
	}
	if f, done, ok, err := facts.Of(m); ok {
		if err != nil {
			return nil, err
		}
		return done, r.facts.Apply(ctx, f)
	}
	if reply, ok, err := facts.Lookup(ctx, r.facts, r.Ready(), m); ok || err != nil {
		return reply, err
	}
	return rhino.InvalidRequest{Reason: "a region does not take " + rhino.Name(m)}, nil
}
