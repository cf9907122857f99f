package archive

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Progress is how far an operation is, in bytes. Bytes that have to be sent again are
// subtracted from Done.
type Progress struct{ Done, Total int64 }

// A Bar shows on a terminal how many bytes have been transferred, the rate, and the
// time left; a nil or zero Bar shows nothing. It is not safe for concurrent use.
type Bar struct {
	w     io.Writer
	title string
	bar   *progressbar.ProgressBar // nil before the first Report
}

// NewBar makes a bar on w; with a nil w it shows nothing.
func NewBar(w io.Writer, title string) *Bar {
	if w == nil {
		return nil
	}
	return &Bar{w: w, title: title}
}

// Errors of the bar are ignored: it is decoration.

// Report shows how far the operation is.
func (b *Bar) Report(p Progress) {
	switch {
	case b == nil || b.w == nil:
		return
	case b.bar == nil:
		b.bar = b.start(p.Total)
	}
	_ = b.bar.Set64(p.Done)
}

func (b *Bar) start(total int64) *progressbar.ProgressBar {
	if total <= 0 {
		total = -1 // a spinner
	}
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(b.w),
		progressbar.OptionSetDescription(b.title),
		progressbar.OptionShowCount(),
		progressbar.OptionShowBytes(true),
		progressbar.OptionShowTotalBytes(true),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionClearOnFinish(),
	)
}

// Finish removes the bar.
func (b *Bar) Finish() {
	if b != nil && b.bar != nil {
		_ = b.bar.Finish()
		_ = b.bar.Clear()
	}
}
