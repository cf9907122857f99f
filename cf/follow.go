package cf

import "context"

// A Refresher is a [Reader] beside a store that another process, or this
// one, writes: it shows the moment when it was opened or refreshed last.
type Refresher interface {
	// Refresh moves on to the present, if there is anything new and accept,
	// which sees it, returns no error; an error of accept is returned as it
	// is. Snapshots taken before stay as they are.
	Refresh(ctx context.Context, accept func(s Snapshot, families []string) error) error
}
