package facts

import (
	"context"
	"errors"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/rhino"
)

// Lookup answers the requests for a fact, from a database alone; ok is false for other
// requests.
func Lookup(ctx context.Context, s Store, m rhino.Message) (reply rhino.Message, ok bool, err error) {
	switch m := m.(type) {
	case rhino.GetTenantIdByToken:
		f, found, err := s.Get(ctx, Token, rhino.TokenHash(m.Token))
		if err != nil || !found {
			return rhino.InvalidToken, true, err
		}
		return rhino.TenantIdByToken{TenantID: f.Value[0]}, true, nil
	case rhino.GetShardRegion:
		f, found, err := find(ctx, s, Shard, m.TenantID, m.ShardName)
		if err != nil || !found {
			return rhino.ShardNotFound, true, err
		}
		return rhino.ShardLocated{Region: f.Value[0]}, true, nil
	case rhino.GetTableSchema:
		f, found, err := find(ctx, s, Table, m.TenantID, m.TableName)
		if err != nil || !found {
			return rhino.TableNotFound, true, err
		}
		return rhino.TableSchema{PK: f.Value}, true, nil
	}
	return nil, false, nil
}

// find is Get for names from outside.
func find(ctx context.Context, s Store, kind Kind, key ...string) (f Fact, found bool, err error) {
	for _, name := range key {
		if err := rhino.CheckName("a name", name); err != nil {
			return Fact{}, false, err
		}
	}
	return s.Get(ctx, kind, key...)
}

// Reply is the reply, or the one that says what the error means: the request is wrong,
// or it may succeed later. who names the server.
func Reply(reply rhino.Message, err error, who string) rhino.Message {
	switch {
	case err == nil:
		return reply
	case isInvalid(err):
		return rhino.InvalidRequest{Reason: err.Error()}
	}
	return rhino.PleaseRetry{Reason: who + ": " + err.Error()}
}

func isInvalid(err error) bool {
	if _, ok := errors.AsType[*rhino.Error](err); ok {
		return true
	}
	switch query.KindOf(err) {
	case query.KindInvalidArgument, query.KindResourceExhausted:
		return true
	}
	return false
}
