//go:build !cgo || !linux || norocksdb

package standby

import (
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
)

var openStore = func(string, query.Options, bool) (cf.Follower, error) { return nil, query.ErrNoEngine }

func openTail(string) (cf.Follower, error) { return nil, query.ErrNoEngine }

func loadOf(string) (id string, ok bool) { return "", false }
