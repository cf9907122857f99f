package codec

import (
	"slices"
	"sync"

	"google.golang.org/grpc/mem"
)

// The first message of a read is sent early, and the later ones are larger, so
// that the client can work while the server reads on. Large messages are less
// work for both sides, but a client waits for all of each.
const (
	FirstMessage   = 16 << 10
	FullMessage    = 960 << 10
	LargestMessage = 1 << 20 // of several rows
)

// Encoded is a message as it goes over the wire. It can be sent once.
type Encoded struct{ buf *[]byte }

// NewEncoded makes a message of the bytes in a buffer of [Buffers].
func NewEncoded(buf *[]byte) *Encoded { return &Encoded{buf} }

// Room is how many bytes the buffer of the message takes.
func (e *Encoded) Room() int { return cap(*e.buf) }

// take hands the bytes to gRPC, which gives the buffer back when they are sent.
func (e *Encoded) take() mem.BufferSlice {
	buf := e.buf
	e.buf = nil
	return mem.BufferSlice{mem.NewBuffer(buf, Buffers)}
}

// A bufferPool keeps buffers for messages in the sizes that reads use, each four
// times the one before, with room for one more row. It does not keep larger ones,
// of large rows. It implements mem.BufferPool.
type bufferPool [len(bufferSizes)]sync.Pool

var bufferSizes = [...]int{FirstMessage + 4<<10, 4*FirstMessage + 16<<10, 16*FirstMessage + 64<<10, LargestMessage}

// Buffers is the pool of the buffers of all messages.
var Buffers = new(bufferPool)

// Get returns an empty buffer, which append may grow.
func (p *bufferPool) Get(size int) *[]byte {
	for i := range p {
		if size > bufferSizes[i] && i < len(p)-1 {
			continue
		}
		if b, ok := p[i].Get().(*[]byte); ok {
			*b = (*b)[:0]
			return b
		}
		size = bufferSizes[i]
		break
	}
	b := make([]byte, 0, size)
	return &b
}

func (*bufferPool) Size(size int) int {
	for _, n := range bufferSizes {
		if size <= n {
			return n
		}
	}
	return bufferSizes[len(bufferSizes)-1]
}

func (p *bufferPool) Put(b *[]byte) {
	if i := slices.Index(bufferSizes[:], cap(*b)); i >= 0 {
		p[i].Put(b)
	}
}
