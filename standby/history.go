package standby

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/server/smolwcpb"
)

// A history says what a database has been through. It is an entry of the catalog, so a
// standby has it as of its position.
type history struct {
	// ID is new when a database gets its first standby, and when it is a copy or was
	// restored: its positions then mean other records.
	ID string `json:"id"`
	// Epoch grows by one with each promotion, and Epochs has an entry for each.
	Epoch  int64   `json:"epoch"`
	Epochs []epoch `json:"epochs,omitempty"`
}

// An epoch begins with a promotion. The first one has only a number.
type epoch struct {
	Number int64  `json:"epoch"`
	ID     string `json:"id"`     // two standbys may have been promoted to the same number
	After  uint64 `json:"after"`  // the last position of the epoch before
	Leader string `json:"leader"` // the address of the server that was promoted
}

func (e epoch) message() *smolwcpb.Epoch {
	return &smolwcpb.Epoch{Number: e.Number, Id: e.ID, After: e.After, Leader: e.Leader}
}

func epochOf(m *smolwcpb.Epoch) epoch {
	return epoch{m.GetNumber(), m.GetId(), m.GetAfter(), m.GetLeader()}
}

// epoch is the epoch with a number.
func (h history) epoch(number int64) epoch {
	for _, e := range h.Epochs {
		if e.Number == number {
			return e
		}
	}
	return epoch{Number: number}
}

func (h history) current() epoch { return h.epoch(h.Epoch) }

// begin adds an epoch. A promotion that was begun twice has it already.
func (h history) begin(e epoch) history {
	if h.Epoch < e.Number {
		h.Epoch, h.Epochs = e.Number, append(slices.Clone(h.Epochs), e)
	}
	return h
}

// fork compares a standby with the history. own is not nil if the standby may have changes
// of its own: those after own.After.
func (h history) fork(hello *smolwcpb.Hello) (own *epoch) {
	theirs := epochOf(hello.GetEpoch())
	ours := h.epoch(theirs.Number)
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
