package cf

import "context"

// A Refresher is a [Reader] of a store that another process, or this one, writes. It
// shows the moment when it was opened or last refreshed.
type Refresher interface {
	// Refresh shows the newest state from now on. If there is anything new, it calls
	// accept with it first; an error of accept changes nothing and is returned as it
	// is. Snapshots taken before stay as they are.
	Refresh(ctx context.Context, accept func(s Snapshot, families []string) error) error
}
