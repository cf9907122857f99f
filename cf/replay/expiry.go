package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// before holds, for each family, the time before which it may drop cells. While these times rise, no reader
// sees a cell that was dropped early. A record that lowers one is applied alone, after the family has dropped
// such cells.
type before map[string]int64

// expiryOf takes apart an entry that says what a family may drop.
func expiryOf(op *cf.LoggedOp) (family string, at int64, ok bool, err error) {
	family, ok = strings.CutPrefix(string(op.Key), cf.ExpiryPrefix)
	if !ok || op.Family != "" || op.Kind != cf.OpPut {
		return "", 0, false, nil
	}
	var e cf.Expiry
	if err := json.Unmarshal(op.Value, &e); err != nil {
		return "", 0, false, fmt.Errorf("%w: %s: %w", cf.ErrCorrupt, op.Key, err)
	}
	return family, e.Before, true, nil
}

// beforeIn reads these times from a store.
func beforeIn(ctx context.Context, store cf.Reader) (before, error) {
	s, err := store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	entries, err := s.MetaPrefix(ctx, cf.ExpiryPrefix)
	if err != nil {
		return nil, err
	}
	all := before{}
	for key, value := range entries {
		family, at, _, err := expiryOf(&cf.LoggedOp{Kind: cf.OpPut, Key: []byte(key), Value: value})
		if err != nil {
			return nil, err
		}
		all[family] = at
	}
	return all, nil
}
