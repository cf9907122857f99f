//go:build cgo && linux && !norocksdb

package standby

import (
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
	"github.com/smolwc/smolwc/query"
)

func openRocksDB(dir string, o query.Options, standby bool) (cf.Follower, error) {
	return rocks.Open(dir, rocks.Options{Memory: o.Memory, BackgroundRate: o.BackgroundRate, Logger: o.Logger, Async: true, MustExist: true, Standby: standby})
}

func openTailRocksDB(dir string) (cf.Follower, error) {
	return rocks.Open(dir, rocks.Options{ReadOnly: true, MustExist: true})
}
