// Package codec counts requests and decodes them, and sends messages that are already
// encoded.
package codec

import (
	"fmt"
	"sync"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec of all other messages
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/server/internal/account"
)

// A Codec is gRPC's own with three additions: it sends messages that are already
// encoded, decodes writes with less work, and refuses to decode a request when there is
// no room for it. It keeps the counts of a request until its call takes them, since the
// decoder does not know the call.
type Codec struct {
	conns    *account.Conns
	messages sync.Map   // of decoding by the message
	copying  sync.Mutex // held while a large request is in memory twice
}

// New makes a codec that counts the requests of connections.
func New(conns *account.Conns) *Codec { return &Codec{conns: conns} }

// Name implements encoding.CodecV2.
func (*Codec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (*Codec) Marshal(v any) (mem.BufferSlice, error) {
	if e, ok := v.(*Encoded); ok {
		return e.take(), nil
	}
	return encoding.GetCodecV2("proto").Marshal(v)
}

// Unmarshal implements encoding.CodecV2.
func (c *Codec) Unmarshal(data mem.BufferSlice, v any) error {
	if _, ok := v.(*Encoded); ok {
		return fmt.Errorf("%T is a message to send", v)
	}
	m, ok := v.(proto.Message)
	n := int64(data.Len())
	if !ok || n < smallRequest {
		return c.decode(data, v, func([]byte) bool { return true })
	}
	if n >= largeRequest {
		c.copying.Lock()
		defer c.copying.Unlock()
		c.conns.BeforeLarge(n)
	}
	if !c.admit(m, n) {
		return nil
	}
	fits := true
	err := c.decode(data, v, func(b []byte) bool {
		fits = c.inflate(m, inflated(b, m.ProtoReflect().Descriptor()))
		return fits
	})
	if err != nil && fits {
		c.conns.Unreserve(c.Take(m).Reserved) // no call will
	}
	return err
}

// largeRequest is the size from which requests are decoded one after another.
const largeRequest = 4 << 20

// decode decodes a request into v if fits accepts its bytes.
func (c *Codec) decode(data mem.BufferSlice, v any, fits func(b []byte) bool) error {
	var b []byte
	if isWrite(v) {
		b = moved(data) // which the message keeps
	} else {
		buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
		defer buf.Free()
		b = buf.ReadOnlyData()
	}
	if !fits(b) {
		return nil
	}
	return decode(b, v)
}

// manyBytes is the size from which moved takes the buffers.
const manyBytes = 64 << 10

// nothing stands for the content of a buffer that was taken.
var nothing [16 << 10]byte

// moved is the bytes of a request in one piece. gRPC keeps the buffers of a request until
// its call ends, for the length that it tells the handler of statistics. So moved puts
// buffers of the same lengths in their place, and the garbage collector frees the buffers.
func moved(data mem.BufferSlice) []byte {
	if data.Len() < manyBytes {
		return data.Materialize()
	}
	b := make([]byte, 0, data.Len())
	for i, part := range data {
		if b = append(b, part.ReadOnlyData()...); part.Len() <= len(nothing) {
			data[i] = mem.SliceBuffer(nothing[:part.Len()])
		}
	}
	return b
}

func decode(b []byte, v any) error {
	if decodeWrite(b, v) {
		return nil
	}
	return encoding.GetCodecV2("proto").Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, v)
}
