package pebble_test

import (
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/pebble"
)

func TestFollowers(t *testing.T) {
	cftest.Followers(t, func(dir string, follows bool) (cf.Follower, error) {
		return pebble.Open(dir, pebble.Options{Memory: 8 << 20, Standby: follows, Async: follows})
	})
}

func TestReplays(t *testing.T) {
	cftest.Replays(t, func(dir string, follows bool) (cf.Follower, error) {
		return pebble.Open(dir, pebble.Options{Memory: 8 << 20, Standby: follows, Async: follows})
	})
}
