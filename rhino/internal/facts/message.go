package facts

import (
	"cmp"

	"github.com/smolwc/smolwc/rhino"
)

// Of is the fact of a message to a region; ok is false for other messages. The error
// says what is wrong with the message.
func Of(m rhino.Message) (f Fact, done rhino.Bare, ok bool, err error) {
	switch m := m.(type) {
	case rhino.AddLocalTenant:
		hash := m.TokenHash
		if m.Token != "" {
			hash = rhino.TokenHash(m.Token)
		}
		f = fact(Token, m.Version, []string{hash}, m.TenantID)
		return f, rhino.LocalTenantAdded, true, check("token_hash", hash, "tenant_id", m.TenantID)
	case rhino.AddShardToLocalRouting:
		f = fact(Shard, m.Version, []string{m.TenantID, m.ShardName}, m.Region)
		return f, rhino.ShardAddedToLocalRouting, true,
			check("tenant_id", m.TenantID, "shard_name", m.ShardName, "region", m.Region)
	case rhino.AddLocalTableSchema:
		f = fact(Table, m.Version, []string{m.TenantID, m.TableName}, m.PK...)
		return f, rhino.LocalTableSchemaAdded, true, cmp.Or(
			check("tenant_id", m.TenantID, "table_name", m.TableName), rhino.CheckPK(m.PK))
	}
	return Fact{}, "", false, nil
}

func fact(kind Kind, v rhino.Version, key []string, value ...string) Fact {
	return Fact{Kind: kind, Key: key, Value: value, Version: v.Version, Removed: v.Removed}
}

// check checks pairs of a field and a name.
func check(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if err := rhino.CheckName(pairs[i], pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// Wire is the fact as the replicator gets it.
func (f Fact) Wire(id string) rhino.Fact {
	v := rhino.Version{Version: f.Version, Removed: f.Removed}
	w := rhino.Fact{ID: id}
	switch f.Kind {
	case Token:
		w.Tenant = &rhino.AddLocalTenant{TenantID: f.Value[0], TokenHash: f.Key[0], Version: v}
	case Shard:
		w.Shard = &rhino.AddShardToLocalRouting{TenantID: f.Key[0], ShardName: f.Key[1], Region: f.Value[0], Version: v}
	case Table:
		w.Table = &rhino.AddLocalTableSchema{TenantID: f.Key[0], TableName: f.Key[1], PK: f.Value, Version: v}
	}
	return w
}
