package regions

import (
	"context"
	"slices"

	"github.com/tikv/client-go/v2/tikv"
)

// Get reads the values of keys at the timestamp of the options, whose bounds it does not
// use. The prefix is added to the keys. The values are in the order of the keys; the
// value of a key that does not exist is nil. It fails as an [Iterator] does.
func Get(ctx context.Context, store *tikv.KVStore, o Options, keys ...[]byte) ([][]byte, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	raw := make([][]byte, len(keys))
	for i, key := range keys {
		raw[i] = slices.Concat(o.Prefix, key)
	}
	snap := store.GetSnapshot(o.At) // of this call, since it keeps all that it read
	snap.SetNotFillCache(o.NoFillCache)
	found, err := snap.BatchGet(ctx, raw)
	if err != nil {
		return nil, wrap(ctx, err)
	}
	values := make([][]byte, len(keys))
	for i, key := range raw {
		values[i] = found[string(key)].Value
	}
	return values, nil
}
