package standby

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/history"
	"github.com/smolwc/smolwc/server/smolwcpb"
)

// An epoch begins with a promotion.
type epoch = history.Epoch

func messageOf(e epoch) *smolwcpb.Epoch {
	return &smolwcpb.Epoch{Number: e.Number, Id: e.ID, After: e.After, Leader: e.Leader}
}

func epochOf(m *smolwcpb.Epoch) epoch {
	return epoch{Number: m.GetNumber(), ID: m.GetId(), After: m.GetAfter(), Leader: m.GetLeader()}
}

// fork compares a standby with a history. own is not nil if the standby may have changes
// of its own: those after own.After.
func fork(h history.History, hello *smolwcpb.Hello) (own *epoch) {
	theirs := epochOf(hello.GetEpoch())
	ours := h.Numbered(theirs.Number)
	if ours.ID == "" && theirs.ID != "" { // nobody has followed the standby in its epoch
		for _, next := range h.Epochs {
			if next.Number > theirs.Number {
				theirs.After = min(theirs.After, next.After)
			}
		}
		return &theirs
	}
	if ours.ID != theirs.ID {
		ours.After = min(ours.After, theirs.After)
		return &ours
	}
	for _, next := range h.Epochs {
		if next.Number <= theirs.Number {
			continue
		}
		if max(hello.GetLast(), hello.GetLatest()) > next.After || hello.GetLoading() {
			return &next
		}
		return nil
	}
	return nil
}

const (
	uuidKey   = "smolwc/uuid"
	formatKey = "smolwc/format"
)

// An identity is what the catalog says of a database.
type identity struct {
	uuid    string
	format  int
	history history.History
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
	for key, to := range map[string]any{formatKey: &id.format, history.Key: &id.history} {
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
func writeHistory(ctx context.Context, store cf.Store, h history.History) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	_, err = store.Write(ctx, nil, func(b *cf.Batch) error {
		b.Sync()
		b.PutMeta(history.Key, text)
		return nil
	})
	return err
}
