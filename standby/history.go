package standby

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/smolwc/smolwc/cf"
)

// A history says what a database has been through. It is an entry of the catalog, so a
// standby has it as of its position.
type history struct {
	// ID is new when a database gets its first standby, and when it is a copy or was
	// restored: its positions then mean other records.
	ID string `json:"id"`
	// Epoch grows by one with each promotion.
	Epoch int64 `json:"epoch"`
}

const (
	historyKey = "note/standbys"
	uuidKey    = "smolwc/uuid"
	formatKey  = "smolwc/format"
)

// newHistory is the history of a database that gets its first standby.
func newHistory() history { return history{ID: rand.Text(), Epoch: 1} }

// An identity is what the catalog says of a database.
type identity struct {
	uuid    string
	format  int
	history history
}

// identify reads the catalog of a store.
func identify(ctx context.Context, store cf.Reader) (id identity, err error) {
	snap, err := store.Snapshot(ctx)
	if err != nil {
		return id, err
	}
	defer snap.Close()
	uuid, err := snap.Meta(ctx, uuidKey)
	if err != nil {
		return id, err
	}
	id.uuid = string(uuid)
	for key, to := range map[string]any{formatKey: &id.format, historyKey: &id.history} {
		text, err := snap.Meta(ctx, key)
		if err == nil && text != nil {
			err = json.Unmarshal(text, to)
		}
		if err != nil {
			return id, fmt.Errorf("catalog entry %s: %w", key, err)
		}
	}
	return id, nil
}

// writeHistory writes the entry of the catalog, to the disk.
func writeHistory(ctx context.Context, store cf.Store, h history) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	_, err = store.Write(ctx, nil, func(b *cf.Batch) error {
		b.Sync()
		b.PutMeta(historyKey, text)
		return nil
	})
	return err
}
