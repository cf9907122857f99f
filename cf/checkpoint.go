package cf

import "context"

// A Checkpointer is a [Store] that lies in files and can make a copy of them.
// An engine that is spread over machines has other ways to be backed up.
type Checkpointer interface {
	// Checkpoint makes a directory, which must not exist, with a copy of the
	// store as it is at a moment during the call, the same one in all
	// families: it can be opened like the store itself. Where the file system
	// allows it, files that never change are linked and not copied. The copy
	// has every commit up to the position.
	Checkpoint(ctx context.Context, dir string) (Position, error)
}

// A DropTeller is a [Store] that knows which families were dropped before it was
// opened.
type DropTeller interface {
	// Dropped are families that the store dropped before it was opened, as far as
	// it knows, and that were not created again until then.
	Dropped() []string
}
