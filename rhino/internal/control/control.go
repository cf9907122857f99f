// Package control keeps the facts that all regions get: the tokens of tenants, the
// regions of shards, the keys of tables. A fact and the items of the queue that bring it
// to the regions are written in one transaction.
package control

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
	"github.com/smolwc/smolwc/rhino"
	"github.com/smolwc/smolwc/rhino/internal/facts"
	"github.com/smolwc/smolwc/schema"
)

// Schema is the schema of the control's database.
var Schema = &schema.Schema{Tables: []schema.Table{
	facts.Schema,
	{Name: queue.DefaultTable, Families: []schema.Family{{Name: queue.DefaultFamily}}},
	seedSchema,
}}

// Options say which regions there are.
type Options struct {
	Regions []string
	// Lease is how long a replicator may hold facts that it took. When its connection
	// ends they are free at once.
	Lease time.Duration
	// Stop is closed when the control stops: replicators wait no longer.
	Stop   <-chan struct{}
	Logger *slog.Logger
}

// A Control answers requests. It is safe for concurrent use.
type Control struct {
	db    *query.DB
	facts facts.Store
	queue *queue.Queue
	o     Options

	mu    sync.Mutex
	woken map[string]chan struct{} // by region; closed when facts were enqueued for it
}

// New is the control on its database. New regions get all facts.
func New(ctx context.Context, db *query.DB, o Options) (*Control, error) {
	c := &Control{db: db, facts: facts.Store{DB: db}, queue: queue.New(db, queue.Options{}), o: o, woken: map[string]chan struct{}{}}
	for _, region := range o.Regions {
		if err := c.seed(ctx, region, false); err != nil {
			return nil, fmt.Errorf("all facts for region %s: %w", region, err)
		}
	}
	return c, nil
}

// Queue brings facts to the regions; its metrics say how many wait.
func (c *Control) Queue() *queue.Queue { return c.queue }

// serve answers requests that need no session.
func (c *Control) serve(ctx context.Context, m rhino.Message) (rhino.Message, error) {
	switch m := m.(type) {
	case rhino.AddGlobalTenant:
		return c.addTenant(ctx, m)
	case rhino.RemoveGlobalToken:
		return c.removeToken(ctx, m)
	case rhino.AddShardToGlobalRouting:
		return c.addShard(ctx, m)
	case rhino.AddGlobalTableSchema:
		return c.addTable(ctx, m)
	case rhino.SeedRegion:
		if !slices.Contains(c.o.Regions, m.Region) {
			return rhino.RegionNotFound, nil
		}
		return rhino.RegionSeeded, c.seed(ctx, m.Region, true)
	case rhino.GetFacts:
		return c.page(ctx, m)
	}
	if reply, ok, err := facts.Lookup(ctx, c.facts, true, m); ok || err != nil {
		return reply, err
	}
	return rhino.InvalidRequest{Reason: "the control does not take " + rhino.Name(m)}, nil
}

// pageFacts bounds the facts of a reply, so that the largest ones fit.
const pageFacts = 16

// page is some of all facts. A fact that comes meanwhile is enqueued for all regions.
func (c *Control) page(ctx context.Context, m rhino.GetFacts) (reply rhino.Facts, err error) {
	err = c.db.Update(ctx, func(tx *query.Tx) error {
		all, end, err := c.facts.After(ctx, tx, string(m.After), pageFacts)
		reply = rhino.Facts{Facts: []rhino.Fact{}}
		for _, f := range all {
			reply.Facts = append(reply.Facts, f.Wire(""))
		}
		if len(all) == pageFacts {
			reply.Next = []byte(end)
		}
		return err
	})
	return reply, err
}

func (c *Control) addTenant(ctx context.Context, m rhino.AddGlobalTenant) (rhino.Message, error) {
	if err := cmp.Or(rhino.CheckName("tenant_id", m.TenantID), rhino.CheckName("token", m.Token)); err != nil {
		return nil, err
	}
	f := facts.Fact{Kind: facts.Token, Key: []string{rhino.TokenHash(m.Token)}, Value: []string{m.TenantID}}
	return c.change(ctx, f, func(old facts.Fact, exists bool) (rhino.Message, bool) {
		switch {
		case !exists:
			return rhino.GlobalTenantAdded, true
		case old.Value[0] == m.TenantID:
			return rhino.GlobalTenantAdded, false
		}
		return rhino.TokenConflict, false
	})
}

func (c *Control) removeToken(ctx context.Context, m rhino.RemoveGlobalToken) (rhino.Message, error) {
	if err := rhino.CheckName("token", m.Token); err != nil {
		return nil, err
	}
	f := facts.Fact{Kind: facts.Token, Key: []string{rhino.TokenHash(m.Token)}, Value: []string{"-"}, Removed: true}
	return c.change(ctx, f, func(_ facts.Fact, exists bool) (rhino.Message, bool) {
		if !exists {
			return rhino.InvalidToken, false
		}
		return rhino.GlobalTokenRemoved, true
	})
}

func (c *Control) addShard(ctx context.Context, m rhino.AddShardToGlobalRouting) (rhino.Message, error) {
	if err := cmp.Or(rhino.CheckName("tenant_id", m.TenantID), rhino.CheckName("shard_name", m.ShardName)); err != nil {
		return nil, err
	}
	if !slices.Contains(c.o.Regions, m.Region) {
		return rhino.RegionNotFound, nil
	}
	f := facts.Fact{Kind: facts.Shard, Key: []string{m.TenantID, m.ShardName}, Value: []string{m.Region}}
	return c.change(ctx, f, unlessExists(rhino.ShardAddedToGlobalRouting, rhino.ShardRoutingAlreadyExists))
}

func (c *Control) addTable(ctx context.Context, m rhino.AddGlobalTableSchema) (rhino.Message, error) {
	if err := cmp.Or(rhino.CheckName("tenant_id", m.TenantID), rhino.CheckName("table_name", m.TableName), rhino.CheckPK(m.PK)); err != nil {
		return nil, err
	}
	f := facts.Fact{Kind: facts.Table, Key: []string{m.TenantID, m.TableName}, Value: m.PK}
	return c.change(ctx, f, unlessExists(rhino.GlobalTableSchemaAdded, rhino.TableAlreadyExists))
}

func unlessExists(added, exists rhino.Bare) decision {
	return func(_ facts.Fact, found bool) (rhino.Message, bool) {
		if found {
			return exists, false
		}
		return added, true
	}
}

// A decision says what to answer, and whether to make a change, from the fact that there
// is; exists is false for one that was removed.
type decision func(old facts.Fact, exists bool) (reply rhino.Message, change bool)

// change writes a fact with the next version, and enqueues it for all regions.
func (c *Control) change(ctx context.Context, f facts.Fact, decide decision) (reply rhino.Message, err error) {
	err = c.db.Update(ctx, func(tx *query.Tx) error {
		old, found, err := c.facts.Find(ctx, tx, f.Kind, f.Key...)
		if err != nil {
			return err
		}
		var change bool
		if reply, change = decide(old, found && !old.Removed); !change {
			return nil
		}
		f.Version = old.Version + 1
		if err := c.facts.Put(ctx, tx, f); err != nil {
			return err
		}
		return c.enqueue(ctx, tx, f, c.o.Regions...)
	})
	return reply, err
}

// enqueue brings a fact to regions. The zone of the queue is the region.
func (c *Control) enqueue(ctx context.Context, tx *query.Tx, f facts.Fact, regions ...string) error {
	payload, err := encode(f)
	if err != nil {
		return err
	}
	for _, region := range regions {
		i := queue.Item{Type: string(f.Kind), Payload: payload, MaxAttempts: math.MaxInt32}
		if _, err := c.queue.Enqueue(ctx, tx, region, i); err != nil {
			return err
		}
	}
	tx.OnCommit(func() { c.wake(regions) })
	return nil
}

func (c *Control) wake(regions []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, region := range regions {
		if ch := c.woken[region]; ch != nil {
			close(ch)
			delete(c.woken, region)
		}
	}
}

// wait is closed when facts are enqueued for a region from now on.
func (c *Control) wait(region string) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.woken[region] == nil {
		c.woken[region] = make(chan struct{})
	}
	return c.woken[region]
}
