package query

import (
	"testing"

	"github.com/smolwc/smolwc/query/internal/fault"
)

// Both packages have the kinds in one order.
func TestKindsAreThoseOfFaults(t *testing.T) {
	for kind, of := range map[Kind]fault.Kind{
		KindInternal: fault.Internal, KindNotFound: fault.NotFound, KindAlreadyExists: fault.AlreadyExists,
		KindInvalidArgument: fault.InvalidArgument, KindFailedPrecondition: fault.FailedPrecondition,
		KindConflict: fault.Conflict, KindCorruption: fault.Corruption, KindBusy: fault.Busy,
		KindUnavailable: fault.Unavailable, KindUnknownOutcome: fault.UnknownOutcome,
		KindResourceExhausted: fault.ResourceExhausted, KindCanceled: fault.Canceled,
	} {
		if kind != Kind(of) || kind.String() != of.String() {
			t.Errorf("%v is %v in package fault", kind, of)
		}
	}
}
