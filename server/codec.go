package server

import (
	"fmt"
	"sync"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec of all other messages
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/server/internal/account"
)

// A codec is gRPC's own, which also sends messages that are encoded already, decodes
// those that write with less work, and decodes nothing that there is no room for. It
// keeps the counts of a message from its decoding to its call, which the decoding
// does not know.
type codec struct {
	conns    *account.Conns
	messages sync.Map // of decoding by the message
}

// newCodec makes a codec that counts the requests of connections.
func newCodec(conns *account.Conns) *codec { return &codec{conns: conns} }

// Name implements encoding.CodecV2.
func (*codec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (*codec) Marshal(v any) (mem.BufferSlice, error) {
	if e, ok := v.(*encoded); ok {
		return e.take(), nil
	}
	return encoding.GetCodecV2("proto").Marshal(v)
}

// Unmarshal implements encoding.CodecV2.
func (c *codec) Unmarshal(data mem.BufferSlice, v any) error {
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
