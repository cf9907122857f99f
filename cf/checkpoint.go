package cf

import "context"

// A Checkpointer is a [Store] in files that can copy them. An engine that is spread
// over machines is backed up in other ways.
type Checkpointer interface {
	// Checkpoint copies the store to a directory, which it creates and which must not
	// exist. The copy shows one moment during the call, in all families, and can be
	// opened like the store itself. It contains every commit up to the returned
	// position. Where the file system allows it, files that never change are linked and
	// not copied.
	Checkpoint(ctx context.Context, dir string) (Position, error)
}

// A DropTeller is a [Store] that knows which families were dropped before it was
// opened.
type DropTeller interface {
	// Dropped are the families that were dropped before the store was opened, as far as
	// it knows, and that were not created again.
	Dropped() []string
}
