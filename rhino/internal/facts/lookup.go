package facts

import (
	"cmp"
	"context"
	"errors"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/rhino"
)

// errIncomplete is for a fact that may be on its way.
var errIncomplete = errors.New("it does not have all facts yet")

// Lookup answers the requests for a fact, from a database alone; ok is false for other
// requests. If the database is not complete, a fact that it never had is an error.
func Lookup(ctx context.Context, s Store, complete bool, m rhino.Message) (reply rhino.Message, ok bool, err error) {
	switch m := m.(type) {
	case rhino.GetTenantIdByToken:
		f, found, err := s.Get(ctx, Token, rhino.TokenHash(m.Token))
		if err != nil || !found {
			return rhino.InvalidToken, true, cmp.Or(err, missing(f, complete))
		}
		return rhino.TenantIdByToken{TenantID: f.Value[0]}, true, nil
	case rhino.GetShardRegion:
		f, found, err := find(ctx, s, Shard, m.TenantID, m.ShardName)
		if err != nil || !found {
			return rhino.ShardNotFound, true, cmp.Or(err, missing(f, complete))
		}
		return rhino.ShardLocated{Region: f.Value[0]}, true, nil
	case rhino.GetTableSchema:
		f, found, err := find(ctx, s, Table, m.TenantID, m.TableName)
		if err != nil || !found {
			return rhino.TableNotFound, true, cmp.Or(err, missing(f, complete))
		}
		return rhino.TableSchema{PK: f.Value}, true, nil
	}
	return nil, false, nil
}

// missing is an error for a fact that was not found, unless it was removed or is not there.
func missing(f Fact, complete bool) error {
	if complete || f.Removed {
		return nil
	}
	return errIncomplete
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
