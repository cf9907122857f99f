//go:build !cgo || !linux || norocksdb

package standby

import (
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
)

func openRocksDB(string, query.Options, bool) (cf.Follower, error) { return nil, query.ErrNoEngine }

func openTailRocksDB(string) (cf.Follower, error) { return nil, query.ErrNoEngine }
