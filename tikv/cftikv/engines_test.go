package cftikv_test

import (
	"context"
	"testing"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/shell/shelltest"
)

// A database on TiKV says the same as one on Pebble.
func TestEnginesSayTheSame(t *testing.T) {
	shelltest.SayTheSame(t, "../..", true, func(t *testing.T) []shelltest.Contender {
		c := newCluster(t)
		onTiKV := func(o query.Options) (*query.DB, error) { return query.OpenStore(context.Background(), c.open(nil), o) }
		return []shelltest.Contender{
			{Name: "pebble", DB: shelltest.OpenStill(t, query.OpenInMemory, query.Options{Engine: query.EnginePebble, GCInterval: -1})},
			{Name: "tikv", DB: shelltest.OpenStill(t, onTiKV, query.Options{GCInterval: -1})},
		}
	})
}
