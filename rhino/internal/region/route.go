package region

import (
	"context"
	"fmt"

	"github.com/smolwc/smolwc/rhino"
	"github.com/smolwc/smolwc/rhino/internal/facts"
	"github.com/smolwc/smolwc/rhino/internal/link"
)

// pk are the columns of a table's key. If the region does not know the table, it asks
// the control: the fact may be on its way. The reply, if it is not nil, is the answer.
func (r *Region) pk(ctx context.Context, p rhino.Place) (pk []string, reply rhino.Message, err error) {
	if err := p.Check(); err != nil {
		return nil, nil, err
	}
	f, found, err := r.facts.Get(ctx, facts.Table, p.TenantID, p.TableName)
	if err != nil || found {
		return f.Value, nil, err
	}
	reply, err = r.ask(ctx, r.o.Control, rhino.GetTableSchema{TenantID: p.TenantID, TableName: p.TableName})
	if err != nil {
		return nil, nil, err
	}
	if s, ok := reply.(rhino.TableSchema); ok {
		return s.PK, nil, rhino.CheckPK(s.PK)
	}
	return nil, reply, nil
}

// locate is the region of a shard.
func (r *Region) locate(ctx context.Context, p rhino.Place) (region string, reply rhino.Message, err error) {
	f, found, err := r.facts.Get(ctx, facts.Shard, p.TenantID, p.ShardName)
	if err != nil {
		return "", nil, err
	}
	if found {
		return f.Value[0], nil, nil
	}
	reply, err = r.ask(ctx, r.o.Control, rhino.GetShardRegion{TenantID: p.TenantID, ShardName: p.ShardName})
	if err != nil {
		return "", nil, err
	}
	if at, ok := reply.(rhino.ShardLocated); ok {
		return at.Region, nil, nil
	}
	return "", reply, nil
}

// elsewhere is the reply of the region where a shard lives, nil if that is this one.
// forward is the request with another place.
func (r *Region) elsewhere(ctx context.Context, p rhino.Place, forward func(*rhino.Place) rhino.Message) (rhino.Message, error) {
	region, reply, err := r.locate(ctx, p)
	switch {
	case err != nil || reply != nil:
		return reply, err
	case region == r.o.Name:
		return nil, nil
	case p.Forwarded:
		return nil, fmt.Errorf("shard %q was looked for here, and lives in %q", p.ShardName, region)
	}
	peer := r.o.Regions[region]
	if peer == nil {
		return nil, fmt.Errorf("shard %q lives in region %q, which is not in the configuration", p.ShardName, region)
	}
	p.Forwarded = true
	return r.ask(ctx, peer, forward(&p))
}

// ask calls another server, in a part of the time that is left.
func (r *Region) ask(ctx context.Context, peer link.Peer, m rhino.Message) (rhino.Message, error) {
	ctx, stop := context.WithTimeout(ctx, r.o.Timeout)
	defer stop()
	return peer.Call(ctx, m)
}
