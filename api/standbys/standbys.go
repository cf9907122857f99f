// Package standbys says what a server takes from the replication of its database, which is
// package standby.
package standbys

import (
	"context"

	"github.com/smolwc/smolwc/api/smolwcpb"
)

// A Service serves the calls of standbys over gRPC.
type Service interface {
	smolwcpb.StandbysServer
	// AwaitsStandby reports whether a server that stops should let standbys connect until Drain
	// returns: it leads by a lease, which goes to one of them.
	AwaitsStandby() bool
	// Drain ends all writes, and waits until a standby acknowledges the last one. Without a
	// lease it waits only for connected standbys, else until ctx ends; if none acknowledges
	// it, a lease is kept until it ends by itself, so that this server may come back first. A
	// standby does nothing.
	Drain(ctx context.Context)
	// Stop ends the calls that are under way, and refuses further ones. Writes that wait
	// for a standby end too.
	Stop()
	// Record makes Position tell of the writes with a context.
	Record(context.Context) context.Context
	// Position is a position, as text, at which the database contains all writes made with
	// a context of Record. It is "" if the database never had a standby.
	Position(context.Context) string
	// Await waits until the database contains the change at a position, and so all
	// earlier ones.
	Await(ctx context.Context, position string) error
	// SemiSync makes the writes with a context wait as the text of a mode says.
	SemiSync(ctx context.Context, mode string) (context.Context, error)
	// Fenced is closed when the database takes no more writes, since another server was
	// promoted in its place.
	Fenced() <-chan struct{}
	// Confirm makes the reads with a context wait until what they read is acknowledged, if
	// the mode is strict and this server may take writes now.
	Confirm(context.Context) context.Context
	// Leads reports whether this server may take writes now. Otherwise Leader is the address
	// of the server that takes them, "" if this one does not know it.
	Leads() bool
	Leader() string
}
