// Package bar shows on a terminal how far an operation is.
package bar

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// A Bar is one line of a terminal; a nil Bar shows nothing. Its errors are ignored: it
// is decoration. It is not safe for concurrent use.
type Bar struct{ bar *progressbar.ProgressBar }

// OfBytes is a bar of an operation on this many bytes, a spinner for 0. With a nil w the
// result is nil.
func OfBytes(w io.Writer, title string, total int64) *Bar {
	if total <= 0 {
		total = -1
	}
	return start(w, title, total,
		progressbar.OptionShowCount(),
		progressbar.OptionShowBytes(true),
		progressbar.OptionShowTotalBytes(true),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetRenderBlankState(true),
	)
}

// OfCells counts the cells of an operation without a known end. With a nil w the result
// is nil.
func OfCells(w io.Writer, title string) *Bar {
	return start(w, title, -1,
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("cells"),
	)
}

func start(w io.Writer, title string, total int64, options ...progressbar.Option) *Bar {
	if w == nil {
		return nil
	}
	return &Bar{progressbar.NewOptions64(total, append(options,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(title),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)...)}
}

// Add moves the bar on.
func (b *Bar) Add(n int) {
	if b != nil {
		_ = b.bar.Add(n)
	}
}

// Set moves the bar to a place.
func (b *Bar) Set(at int64) {
	if b != nil {
		_ = b.bar.Set64(at)
	}
}

// Finish removes the bar.
func (b *Bar) Finish() {
	if b != nil {
		_ = b.bar.Finish()
		_ = b.bar.Clear()
	}
}
