package server_test

import (
	"bytes"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/smolwc/smolwc/server"
)

// A wire is a codec that sends bytes as they are.
type wire struct{}

func (wire) Name() string { return "proto" }

func (wire) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return encoding.GetCodecV2("proto").Marshal(v)
}

func (wire) Unmarshal(data mem.BufferSlice, v any) error {
	return encoding.GetCodecV2("proto").Unmarshal(data, v)
}

// nested is n empty messages of a field, inside fields with these numbers.
func nested(n int, numbers ...protowire.Number) []byte {
	last := len(numbers) - 1
	b := bytes.Repeat(protowire.AppendBytes(protowire.AppendTag(nil, numbers[last], protowire.BytesType), nil), n)
	for i := last - 1; i >= 0; i-- {
		b = protowire.AppendBytes(protowire.AppendTag(nil, numbers[i], protowire.BytesType), b)
	}
	return b
}

// Empty messages take two bytes on the wire and more than a hundred decoded. They
// count as what they become.
func TestRequestsCountAsWhatTheyBecome(t *testing.T) {
	r, s, _ := limited(t, server.Limits{ConnectionBytes: 16 << 20, Bytes: 16 << 20})
	r.table("t", "f")
	const n = 1 << 19
	name := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), tableT)
	for _, c := range []struct {
		what, method string
		request      []byte
	}{
		{"mutations", "MutateRow", nested(n, 3)},
		{"cells", "MutateRow", nested(n, 3, 1)},
		{"entries", "MutateRows", nested(n, 2)},
		{"entries' mutations", "MutateRows", nested(n, 2, 2)},
		{"ranges", "ReadRows", nested(n, 2, 2)},
		{"keys", "ReadRows", nested(n, 2, 1)},
		{"filters", "ReadRows", nested(n, 3, 1, 1)},
		{"conditions", "ReadRows", nested(n, 64007, 1)},
		{"conditions within a condition", "ReadRows", nested(n, 64007, 1, 12)},
		{"branches", "CheckAndMutateRow", nested(n, 4)},
		{"rules", "ReadModifyWriteRow", nested(n, 3)},
	} {
		stream, err := r.conn.NewStream(r.ctx(), &grpc.StreamDesc{ServerStreams: true}, "/google.bigtable.v2.Bigtable/"+c.method, grpc.ForceCodecV2(wire{}))
		r.must(err)
		r.must(stream.SendMsg(append(name[:len(name):len(name)], c.request...)))
		r.must(stream.CloseSend())
		if err := stream.RecvMsg(&bigtablepb.MutateRowResponse{}); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%d %s: %v", n, c.what, err)
		}
	}
	r.until("nothing in hand", func() bool { return inHand(t, s) == 0 })
}

// A request with as many mutations as there may be fits into the usual limits.
func TestLargeRequestsFitIntoTheUsualLimits(t *testing.T) {
	r, s, _ := limited(t, server.Limits{})
	r.table("t", "f")
	req := &bigtablepb.MutateRowsRequest{TableName: tableT}
	for i := range 100_000 {
		req.Entries = append(req.Entries, &bigtablepb.MutateRowsRequest_Entry{RowKey: []byte{byte(i), byte(i >> 8), byte(i >> 16), 'k'}, Mutations: []*bigtablepb.Mutation{{
			Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{FamilyName: "f", ColumnQualifier: []byte("q"), Value: []byte("v")}}}}})
	}
	stream, err := bigtablepb.NewBigtableClient(r.conn).MutateRows(r.ctx(), req)
	r.must(err)
	m, err := stream.Recv()
	r.must(err)
	if len(m.GetEntries()) != len(req.Entries) || m.GetEntries()[0].GetStatus().GetCode() != 0 {
		t.Errorf("%d entries, the first %v", len(m.GetEntries()), m.GetEntries()[0])
	}
	// Bytes that are not a message fail, and leave no bytes counted.
	broken, err := r.conn.NewStream(r.ctx(), &grpc.StreamDesc{ServerStreams: true}, "/google.bigtable.v2.Bigtable/MutateRow", grpc.ForceCodecV2(wire{}))
	r.must(err)
	r.must(broken.SendMsg(append(nested(1000, 3), 0x1a, 0xff)))
	r.must(broken.CloseSend())
	if err := broken.RecvMsg(&bigtablepb.MutateRowResponse{}); status.Code(err) != codes.Internal {
		t.Errorf("half a message: %v", err)
	}
	r.until("nothing in hand", func() bool { return inHand(t, s) == 0 })
}

// A client without a valid token gets the error before it has sent its request.
func TestTokensAreCheckedBeforeTheRequest(t *testing.T) {
	r, tokens := guarded(t)
	newToken(t, tokens, "somebody", time.Time{}, grant(server.Admin, "*"))
	for _, method := range []string{"MutateRow", "ReadRows", "MutateRows"} {
		for _, secret := range []string{"", "smolwc_wrong"} {
			stream, err := r.conn.NewStream(r.with(secret), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/google.bigtable.v2.Bigtable/"+method)
			r.must(err)
			if err := stream.RecvMsg(&bigtablepb.MutateRowResponse{}); status.Code(err) != codes.Unauthenticated { // nothing was sent
				t.Errorf("%s with token %q: %v", method, secret, err)
			}
		}
	}
}
