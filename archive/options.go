package archive

import "io"

// Options control how files are transferred. The zero Options are usable.
type Options struct {
	// Parallel is how many files are transferred at once; 0 is [DefaultParallel].
	Parallel int
	// Rate limits the bytes per second of all files together; 0 is no limit.
	Rate int64
	// Progress gets a progress bar, which needs a terminal; nil shows none.
	Progress io.Writer
	// Report is called often with the operation's progress, by one goroutine at a time.
	// It must return at once. It may be nil.
	Report func(Progress)
}

// DefaultParallel is how many files are transferred at once by default.
const DefaultParallel = 4

func (o Options) parallel() int {
	if o.Parallel <= 0 {
		return DefaultParallel
	}
	return o.Parallel
}

// Progress is how far an operation is, in bytes. Bytes that have to be sent again are
// subtracted from Done.
type Progress struct{ Done, Total int64 }
