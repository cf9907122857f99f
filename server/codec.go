package server

import (
	"fmt"
	"sync"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec of all other messages
	"google.golang.org/grpc/mem"
)

// A codec is gRPC's own, which also sends messages that are encoded already.
type codec struct{}

// Name implements encoding.CodecV2.
func (codec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	if e, ok := v.(*encoded); ok {
		return e.take(), nil
	}
	return encoding.GetCodecV2("proto").Marshal(v)
}

// Unmarshal implements encoding.CodecV2.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	if _, ok := v.(*encoded); ok {
		return fmt.Errorf("%T is a message to send", v)
	}
	return encoding.GetCodecV2("proto").Unmarshal(data, v)
}

// encoded is a message as it goes over the wire. Sending it takes its bytes.
type encoded struct{ buf *[]byte }

// take hands the bytes to gRPC, which gives the buffer back when they are sent.
func (e *encoded) take() mem.BufferSlice {
	buf := e.buf
	e.buf = nil
	return mem.BufferSlice{mem.NewBuffer(buf, buffers)}
}

// A bufferPool keeps buffers for messages, of two sizes: that of a few rows, and
// that of the messages of a scan. Larger ones, of large rows, are not kept. It
// implements mem.BufferPool.
type bufferPool struct{ small, large sync.Pool }

const (
	smallBuffer = firstMessage + 4<<10
	largeBuffer = fullMessage + 64<<10
)

var buffers = &bufferPool{
	small: sync.Pool{New: func() any { return newBuffer(smallBuffer) }},
	large: sync.Pool{New: func() any { return newBuffer(largeBuffer) }},
}

func newBuffer(size int) *[]byte {
	b := make([]byte, 0, size)
	return &b
}

// Get gives an empty buffer, which grows by append if it has to.
func (p *bufferPool) Get(size int) *[]byte {
	from := &p.small
	if size > smallBuffer {
		from = &p.large
	}
	b := from.Get().(*[]byte)
	*b = (*b)[:0]
	return b
}

// Put takes a buffer back.
func (p *bufferPool) Put(b *[]byte) {
	switch cap(*b) {
	case smallBuffer:
		p.small.Put(b)
	case largeBuffer:
		p.large.Put(b)
	}
}
