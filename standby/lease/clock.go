package lease

import "time"

// A deadline is a moment on the clock of this machine. It is over as soon as the
// monotonic clock or the wall clock passes it: the first one may stand still while a
// machine sleeps, and the second one may be set back.
type deadline struct{ at time.Time }

// deadlineOf is the moment until which a lease is sure to last: etcd counts ttl from a
// moment after sent. A tenth is for clocks that run at different speeds.
func deadlineOf(sent time.Time, ttl time.Duration) deadline {
	return deadline{sent.Add(ttl - ttl/10)}
}

// left is the time until the deadline; 0 or less when it is passed.
func (d deadline) left(now time.Time) time.Duration {
	return min(d.at.Sub(now), d.at.Round(0).Sub(now.Round(0)))
}
