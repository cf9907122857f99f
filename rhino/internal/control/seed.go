package control

import (
	"context"
	"encoding/json"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/rowmap"
	"github.com/smolwc/smolwc/rhino"
	"github.com/smolwc/smolwc/rhino/internal/facts"
	"github.com/smolwc/smolwc/schema"
)

// The table of seeds keeps a row for each region that got all facts, or gets them: how
// far that is.
const (
	seedTable  = "seeds"
	seedFamily = "s"
	seedBatch  = 200
)

var seedSchema = schema.Table{Name: seedTable, Families: []schema.Family{{Name: seedFamily}}}

// seeded is the row of a region that got all facts. It is not a row key of facts.
const seeded = "\xff"

// seed enqueues all facts for a region, in several transactions, which go on where a
// crash ended them. Facts that come meanwhile are enqueued by themselves. Without again
// it does that once for each region.
func (c *Control) seed(ctx context.Context, region string, again bool) error {
	for {
		var end bool
		err := c.db.Update(ctx, func(tx *query.Tx) (err error) {
			end, err = c.seedSome(ctx, tx, region, again)
			return err
		})
		if end || err != nil {
			return err
		}
		again = false
	}
}

func (c *Control) seedSome(ctx context.Context, tx *query.Tx, region string, again bool) (end bool, err error) {
	rows := &rowmap.View{Map: rowmap.Map{Table: seedTable, Family: seedFamily}, Ctx: ctx, Tx: tx}
	after, _, err := rows.Get(region)
	if err != nil {
		return false, err
	}
	if again {
		after = ""
	}
	if after == seeded {
		return true, nil
	}
	all, last, err := c.facts.After(ctx, tx, after, seedBatch)
	if err != nil {
		return false, err
	}
	for _, f := range all {
		if err := c.enqueue(ctx, tx, f, region); err != nil {
			return false, err
		}
	}
	if end = len(all) < seedBatch; end {
		last = seeded
	}
	return end, rows.Set(region, last)
}

// encode is a fact as the payload of an item, and decode the way back.
func encode(f facts.Fact) ([]byte, error) { return json.Marshal(f.Wire("")) }

func decode(payload []byte, id string) (f rhino.Fact, err error) {
	err = json.Unmarshal(payload, &f)
	f.ID = id
	return f, err
}
