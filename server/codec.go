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
	if mem.IsBelowBufferPoolingThreshold(len(*buf)) {
		small := mem.SliceBuffer(append([]byte(nil), *buf...))
		buffers.Put(buf)
		return mem.BufferSlice{small}
	}
	return mem.BufferSlice{mem.NewBuffer(buf, &buffers)}
}

// bufferSize is the room of a buffer: more than any message that is encoded
// here, but that one cell with a very long qualifier, or labels, can exceed it.
const bufferSize = 1<<20 + 64<<10

// A bufferPool keeps buffers for messages. It implements mem.BufferPool.
type bufferPool struct{ pool sync.Pool }

var buffers = bufferPool{sync.Pool{New: func() any {
	b := make([]byte, 0, bufferSize)
	return &b
}}}

// Get gives an empty buffer, whatever size is asked for: it grows by append.
func (p *bufferPool) Get(int) *[]byte {
	b := p.pool.Get().(*[]byte)
	*b = (*b)[:0]
	return b
}

// Put takes a buffer back, unless it has grown.
func (p *bufferPool) Put(b *[]byte) {
	if cap(*b) <= bufferSize {
		p.pool.Put(b)
	}
}
