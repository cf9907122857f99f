package query

import (
	"testing"

	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/twin"
)

// Kinds and places are converted by their numbers.
func TestKindsAndPlacesHaveTheirNumbers(t *testing.T) {
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
	for place, of := range map[Place]twin.Place{InFirst: twin.InFrom, InSecond: twin.InTo, InBoth: twin.InBoth} {
		if place != Place(of) {
			t.Errorf("%v is %v in package twin", place, of)
		}
	}
}
