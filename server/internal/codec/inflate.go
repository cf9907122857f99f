package codec

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/smolwc/smolwc/api/wire"
)

// An empty message takes two bytes on the wire and more than a hundred once it is
// decoded. So a request is counted at its decoded size, before it is decoded.

// smallRequest is the size from which requests are counted: all smaller requests
// that can be under way together take some hundred MiB.
const smallRequest = 512

// The decoded size of a message's parts, at most.
const (
	messageBytes = 256 // a message, with its place in a list or as a choice
	elementBytes = 48  // an element of another list
)

// Conditions are in a field that Bigtable's messages do not have. They are decoded later,
// into conditions of package read, which are as large, and these are prepared.
const conditionCopies = 3

// inflated is how many bytes a message takes beside its content once it is decoded.
// When the bytes are not a valid message it counts the valid part.
func inflated(b []byte, d protoreflect.MessageDescriptor) (n int64) {
	fields := d.Fields()
	for len(b) > 0 {
		number, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return n
		}
		length := protowire.ConsumeFieldValue(number, kind, b[size:])
		if length < 0 {
			return n
		}
		content := b[size : size+length]
		if kind == protowire.BytesType {
			content, _ = protowire.ConsumeBytes(content)
		}
		if f := fields.ByNumber(number); f != nil {
			n += inflatedField(content, f)
		} else if number == wire.ConditionsField {
			n += conditionCopies * inflated(content, wire.Conditions)
		}
		b = b[size+length:]
	}
	return n
}

func inflatedField(content []byte, f protoreflect.FieldDescriptor) int64 {
	switch {
	case f.Message() != nil:
		return messageBytes + inflated(content, f.Message())
	case f.IsPacked():
		return 8 * int64(len(content))
	case f.IsList():
		return elementBytes
	}
	return 0
}

// A decoding is the counts of a message.
type decoding struct {
	Bytes    int64 // taken by the message beside its content
	Reserved int64 // while it is decoded
	Err      error // why it was not
}

// admit makes room for the content of a message of n bytes, which exists twice while it is
// decoded. It returns false when there is no room: the message is not decoded, and its call
// fails.
func (c *Codec) admit(m proto.Message, n int64) bool {
	return c.reserve(m, decoding{}, n, n)
}

// inflate makes room for the bytes that a message takes beside its content, too.
func (c *Codec) inflate(m proto.Message, bytes int64) bool {
	to := c.Take(m)
	to.Bytes = bytes
	return c.reserve(m, to, bytes, to.Reserved+bytes)
}

// reserve adds more bytes to the counts of a message, which then needs the given bytes.
func (c *Codec) reserve(m proto.Message, to decoding, more, need int64) bool {
	reserve := c.conns.Reserve
	if need >= largeRequest {
		reserve = c.conns.ReserveSoon
	}
	switch limits := &c.conns.Limits; {
	case need > min(limits.ConnectionBytes, limits.Bytes):
		to.Err = status.Errorf(codes.ResourceExhausted, "the request becomes %d MiB of messages, which is more than the server takes; divide it", need>>20)
	case !reserve(more):
		to.Err = status.Errorf(codes.Unavailable, "the server has no room for a request that becomes %d MiB of messages; try again when other calls have ended", need>>20)
	default:
		to.Reserved += more
	}
	if to.Err != nil {
		c.conns.Unreserve(to.Reserved)
		to = decoding{Err: to.Err}
	}
	c.messages.Store(m, to)
	return to.Err == nil
}

// Take returns the counts of a message that was decoded, or was refused, and forgets
// them.
func (c *Codec) Take(message any) decoding {
	if known, ok := c.messages.LoadAndDelete(message); ok {
		return known.(decoding)
	}
	return decoding{}
}
