//go:build tools

// Package pd pins the PD of the local stack. It is a module of its own, because PD
// replaces the version of gRPC.
package pd

import _ "github.com/tikv/pd/cmd/pd-server"
