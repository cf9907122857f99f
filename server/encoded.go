package server

import (
	"slices"
	"sync"

	"google.golang.org/grpc/mem"
)

// The first message of a read is sent early, and the later ones larger, so that
// the client has something to do while the server reads on. Large ones are less
// work for both: a client waits for the rest of each.
const (
	firstMessage   = 16 << 10
	fullMessage    = 960 << 10
	largestMessage = 1 << 20 // of several rows
)

// encoded is a message as it goes over the wire. Sending it takes its bytes.
type encoded struct{ buf *[]byte }

// newEncoded makes a message of the bytes in a buffer of [buffers].
func newEncoded(buf *[]byte) *encoded { return &encoded{buf} }

// room is how many bytes the buffer of the message takes.
func (e *encoded) room() int { return cap(*e.buf) }

// take hands the bytes to gRPC, which gives the buffer back when they are sent.
func (e *encoded) take() mem.BufferSlice {
	buf := e.buf
	e.buf = nil
	return mem.BufferSlice{mem.NewBuffer(buf, buffers)}
}

// A bufferPool keeps buffers for messages of the sizes that they have in a read,
// each four times the one before, with room for one more row. Larger ones, of
// large rows, are not kept. It implements mem.BufferPool.
type bufferPool [len(bufferSizes)]sync.Pool

var bufferSizes = [...]int{firstMessage + 4<<10, 4*firstMessage + 16<<10, 16*firstMessage + 64<<10, largestMessage}

// buffers are those of all messages.
var buffers = new(bufferPool)

// Get gives an empty buffer, which grows by append if it has to.
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

// size is how many bytes Get gives for a size.
func (*bufferPool) size(size int) int {
	for _, n := range bufferSizes {
		if size <= n {
			return n
		}
	}
	return bufferSizes[len(bufferSizes)-1]
}

// Put takes a buffer back.
func (p *bufferPool) Put(b *[]byte) {
	if i := slices.Index(bufferSizes[:], cap(*b)); i >= 0 {
		p[i].Put(b)
	}
}
