//go:build format6

package main

import (
	"context"

	"github.com/smolwc/smolwc/query"
)

// enter makes the database on Pebble.
func enter(o *query.Options) (leave func(context.Context, string) error, err error) {
	o.Engine = query.EnginePebble
	return func(context.Context, string) error { return nil }, nil
}
