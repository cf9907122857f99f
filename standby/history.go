package standby

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/history"
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
	theirs, ours := hello.GetEpochs(), h.Epochs
	for len(theirs) > 0 && len(ours) > 0 && theirs[0].GetId() == ours[0].ID {
		theirs, ours = theirs[1:], ours[1:]
	}
	switch {
	case len(theirs) == 0 && len(ours) == 0:
		return nil
	case len(theirs) == 0:
		if max(hello.GetLast(), hello.GetLatest()) > ours[0].After || hello.GetLoading() {
			return &ours[0]
		}
		return nil
	case len(ours) > 0 && ours[0].After <= theirs[0].GetAfter():
		return &ours[0]
	}
	first := epochOf(theirs[0]) // that the standby followed, and this server did not
	return &first
}

// forkPoint returns the epoch that a standby followed, with the position at which its
// history diverges from another one.
func forkPoint(h history.History, hello *smolwcpb.Hello) *smolwcpb.Epoch {
	e := epochOf(hello.GetEpoch())
	if own := fork(h, hello); own != nil && len(hello.GetEpochs()) > 0 {
		e.After = own.After
	}
	return messageOf(e)
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
