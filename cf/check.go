package cf

import "context"

// A Checker is a store that can be checked below the level of cells.
type Checker interface {
	// CheckFiles reads each of the store's files to its end and compares checksums. It
	// calls fn with every file, sound ones too. An error of fn ends it and is returned
	// as it is.
	CheckFiles(ctx context.Context, fn func(CheckedFile) error) error
}

// A CheckedFile is the result of checking a file.
type CheckedFile struct {
	Name   string
	Family string // "" when the file belongs to several
	Bytes  int64
	Err    error // the fault, of the kind [ErrCorrupt]; nil for a sound file
}

// An EntryReader is a snapshot that reads the stored entries of a family as they are.
type EntryReader interface {
	// Entries calls fn with each physical key and value of a family in the order of the
	// store, also with entries that are not cells. The bytes are valid until fn
	// returns. An error of fn ends it and is returned as it is.
	Entries(ctx context.Context, family string, fn func(key, value []byte) error) error
}
