// Package remote runs statements on a server: it gives a client the form that the
// language's executor asks for.
package remote

import (
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/ql/exec"
)

// A Database is a server as statements see it. It is safe for concurrent use, as its
// client is.
type Database struct{ *client.Client }

// Table implements [exec.Database].
func (d Database) Table(name string) exec.Table { return d.Client.Table(name) }
