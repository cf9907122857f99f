package server

import "github.com/smolwc/smolwc/query"

// The limits that Bigtable documents.
const (
	maxRowKey    = query.MaxRowKey
	maxQualifier = query.MaxQualifier
	maxValue     = query.MaxValue
	maxMutations = 100_000 // of one request
	maxGCRule    = 500     // bytes of the message
)

// maxRequest is how many bytes a request may have. Bigtable's clients send up
// to 256 MiB, and gRPC's own limit is 4 MiB.
const maxRequest = 256 << 20

// millisecond is the usual granularity of timestamps, in microseconds.
const millisecond = 1000
