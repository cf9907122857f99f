package archive

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// A bar shows how many bytes have travelled, how fast, and for how long it will
// go on; a nil bar shows nothing. It is safe for concurrent use.
type bar struct {
	mu  sync.Mutex
	bar *progressbar.ProgressBar
}

func newBar(w io.Writer, title string, size int64) *bar {
	if w == nil {
		return nil
	}
	if size <= 0 {
		size = -1 // a spinner
	}
	return &bar{bar: progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(title),
		progressbar.OptionShowCount(),
		progressbar.OptionShowBytes(true),
		progressbar.OptionShowTotalBytes(true),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionClearOnFinish(),
	)}
}

// The errors of the bar are of no account: it is decoration.

func (b *bar) add(n int64) {
	if b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		_ = b.bar.Add64(n)
	}
}

func (b *bar) finish() {
	if b != nil {
		_ = b.bar.Finish()
		_ = b.bar.Clear()
	}
}
