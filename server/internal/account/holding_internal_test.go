package account

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A read that had no room beside another one may be refused after the other one ended.
// That refusal was permanent once, and clients did not try again.
func TestARefusalBesideACallThatEndedIsTemporary(t *testing.T) {
	h := &Hold{conn: &Conn{conns: &Conns{Limits: Limits{ConnectionBytes: 48 << 20, Bytes: 64 << 20}}}}
	for want, code := range map[int64]codes.Code{
		12 << 20:          codes.Unavailable,
		47<<20 + 1:        codes.FailedPrecondition,
		48<<20 + 1:        codes.FailedPrecondition,
		47<<20 - holdStep: codes.Unavailable,
	} {
		if got := status.Code(h.tooMuch(want)); got != code {
			t.Errorf("%d KiB: %v, want %v", want>>10, got, code)
		}
	}
	h.conn.inHand = 8 << 20
	if got := status.Code(h.tooMuch(47<<20 + 1)); got != codes.Unavailable {
		t.Errorf("beside 8 MiB: %v", got)
	}
	if got := status.Code(h.tooMuch(48<<20 + 1)); got != codes.FailedPrecondition {
		t.Errorf("too large beside 8 MiB: %v", got)
	}
}
