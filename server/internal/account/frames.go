package account

// frames are the buffers of frames that arrive. gRPC's own pool gives a small frame up to
// four times its size, and keeps the buffers of large requests for two collections of
// garbage. Here only whole frames are used again, and few are kept. It implements
// mem.BufferPool.
type frames struct{ free chan *[]byte }

const (
	wholeFrame = 16 << 10 // the most that gRPC's clients send in a frame
	nearWhole  = 12 << 10
	keptFrames = 4 << 20 / wholeFrame
)

func newFrames() *frames { return &frames{make(chan *[]byte, keptFrames)} }

func (f *frames) Get(n int) *[]byte {
	if n < nearWhole || n > wholeFrame {
		b := make([]byte, n)
		return &b
	}
	select {
	case b := <-f.free:
		*b = (*b)[:n]
		return b
	default:
		b := make([]byte, n, wholeFrame)
		return &b
	}
}

func (f *frames) Put(b *[]byte) {
	if cap(*b) != wholeFrame {
		return
	}
	select {
	case f.free <- b:
	default:
	}
}
