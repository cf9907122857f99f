package transfer

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// A bar shows how much of the file has been read; a nil bar shows nothing.
type bar struct{ bar *progressbar.ProgressBar }

func newBar(w io.Writer, title string, size int64) *bar {
	if w == nil {
		return nil
	}
	if size == 0 {
		size = -1 // a spinner
	}
	return &bar{progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(title),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionClearOnFinish(),
	)}
}

// newCounter returns a bar for an operation without a known end; it counts cells.
func newCounter(w io.Writer, title string) *bar {
	if w == nil {
		return nil
	}
	return &bar{progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(title),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("cells"),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)}
}

// Errors of the bar are ignored: it is decoration.

func (b *bar) add(n int) {
	if b != nil {
		_ = b.bar.Add(n)
	}
}

func (b *bar) finish() {
	if b != nil {
		_ = b.bar.Finish()
		_ = b.bar.Clear()
	}
}
