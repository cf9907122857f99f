package cf

import "context"

// A Checker is a store that can be checked below the level of cells.
type Checker interface {
	// CheckFiles reads each of the store's files to its end and compares
	// checksums, and calls fn with every file, the sound ones too. An error
	// of fn ends it and is returned as it is.
	CheckFiles(ctx context.Context, fn func(CheckedFile) error) error
}

// A CheckedFile is what came of checking a file.
type CheckedFile struct {
	Name   string
	Family string // "" when it is of several
	Bytes  int64
	Err    error // what is wrong with it, of the kind [ErrCorrupt]; nil when nothing is
}

// An EntryReader is a snapshot that gives what is stored in a family as it is.
type EntryReader interface {
	// Entries calls fn with each physical key and value of a family in the
	// order of the store, also with those that are no cells'. They are good
	// until fn returns. An error of fn ends it and is returned as it is.
	Entries(ctx context.Context, family string, fn func(key, value []byte) error) error
}
