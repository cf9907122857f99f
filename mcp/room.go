package mcp

import (
	"errors"
	"sync/atomic"

	"github.com/smolwc/smolwc/query"
)

// maxMemory is for all calls together.
const maxMemory = 256 << 20

var errMemory = errors.New("the calls under way take more than 256 MiB of memory; ask for fewer rows, or one after the other")

// A room is the memory of all calls together.
type room struct{ held atomic.Int64 }

// A holding is the memory of a call.
type holding struct {
	room *room
	own  atomic.Int64
}

func (h *holding) Hold(n int, _ bool) error {
	if h.room.held.Add(int64(n)) > maxMemory && n > 0 {
		h.room.held.Add(-int64(n))
		return h.Refusal(n)
	}
	h.own.Add(int64(n))
	return nil
}

func (h *holding) Room() (n int, alone bool) {
	held := h.room.held.Load()
	return int(max(0, maxMemory-held)), held == h.own.Load()
}

func (h *holding) Refusal(int) error {
	return &query.Error{Op: "call", Kind: query.KindResourceExhausted, Err: errMemory}
}

// release gives back what the call still holds.
func (h *holding) release() { h.room.held.Add(-h.own.Swap(0)) }
