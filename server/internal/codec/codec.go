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
	messages sync.Map // of decoding by the message
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
	var b []byte
	if isWrite(v) {
		b = data.Materialize() // which the message keeps
	} else {
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
		c.conns.Unreserve(c.Take(m).Reserved) // no call will
	}
	return err
}

func decode(b []byte, v any) error {
	if decodeWrite(b, v) {
		return nil
	}
	return encoding.GetCodecV2("proto").Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, v)
}
