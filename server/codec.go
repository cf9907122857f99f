package server

import (
	"fmt"
	"slices"
	"sync"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec of all other messages
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// A codec is gRPC's own, which also sends messages that are encoded already, decodes
// those that write with less work, and decodes nothing that there is no room for.
type codec struct{ *decoder }

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
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if _, ok := v.(*encoded); ok {
		return fmt.Errorf("%T is a message to send", v)
	}
	var b []byte
	switch v.(type) {
	case *bigtablepb.MutateRowRequest, *bigtablepb.MutateRowsRequest:
		b = data.Materialize() // which the message keeps
	default:
		buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
		defer buf.Free()
		b = buf.ReadOnlyData()
	}
	m, ok := v.(proto.Message)
	if !ok || len(b) < smallRequest {
		return decode(b, v)
	}
	if !c.admit(b, m) {
		return nil
	}
	err := decode(b, v)
	if err != nil {
		c.conns.Unreserve(c.take(m).reserved) // no call will
	}
	return err
}

func decode(b []byte, v any) error {
	if decodeWrite(b, v) {
		return nil
	}
	return encoding.GetCodecV2("proto").Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, v)
}

// encoded is a message as it goes over the wire. Sending it takes its bytes.
type encoded struct{ buf *[]byte }

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
