//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/rocks"
)

func TestFollowers(t *testing.T) {
	cftest.Followers(t, func(dir string, follows bool) (cf.Follower, error) {
		return rocks.Open(dir, rocks.Options{Memory: 8 << 20, Standby: follows, Async: follows})
	})
}

func TestReplays(t *testing.T) {
	cftest.Replays(t, func(dir string, follows bool) (cf.Follower, error) {
		return rocks.Open(dir, rocks.Options{Memory: 8 << 20, Standby: follows, Async: follows})
	})
}
