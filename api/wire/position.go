package wire

import (
	"strconv"
	"strings"
)

// PositionHeader gives the position of the newest change, with the answer to a call that
// writes rows and to a health check. With any call, it gives the position of a change that
// the call must see.
const PositionHeader = "smolwc-position"

// SemiSyncHeader is off, degrade or strict with a call: how its writes wait for a standby,
// whatever the mode of the server. Strict reads wait too.
const SemiSyncHeader = "smolwc-semi-sync"

// LeaderHeader is among the headers of each answer of a server that takes no writes: the
// address, HOST:PORT, of the server that takes them; "" if it does not know that.
const LeaderHeader = "smolwc-leader"

// LagHeader is among the headers of a health check at a standby: how long ago it last held
// everything that was on its primary, as in 250ms.
const LagHeader = "smolwc-lag"

// ParamsHeader names the subject of a call, in Bigtable's clients as name=VALUE&…, so that
// others than the server need not read its request.
const ParamsHeader = "x-goog-request-params"

// ReadsHeader is leader, any or a lag such as 5s with a call to a router: which servers may
// answer, if the call reads rows.
const ReadsHeader = "smolwc-reads"

// A Position is the place of a change among all changes of a database. The epoch, which
// grows with each promotion, tells whether the change is on another server.
type Position struct {
	Epoch int64
	At    uint64
}

// String is the text of a position, such as 1-51204; "" for none.
func (p Position) String() string {
	if p == (Position{}) {
		return ""
	}
	return strconv.FormatInt(p.Epoch, 10) + "-" + strconv.FormatUint(p.At, 10)
}

// ParsePosition reads the text of a position.
func ParsePosition(text string) (p Position, err error) {
	epoch, at, _ := strings.Cut(text, "-")
	if p.Epoch, err = strconv.ParseInt(epoch, 10, 64); err == nil {
		p.At, err = strconv.ParseUint(at, 10, 64)
	}
	if err != nil || p.Epoch < 1 || p.String() != text {
		return Position{}, Invalid("the position is %q; want one that a server has given, such as 1-51204", text)
	}
	return p, nil
}

// After reports whether a position comes after another one.
func (p Position) After(o Position) bool {
	return p.Epoch > o.Epoch || p.Epoch == o.Epoch && p.At > o.At
}
