//go:build format3 || format4

package main

import (
	"context"

	"github.com/smolwc/smolwc/query"
)

func enter(*query.Options) (leave func(context.Context, string) error, err error) {
	return func(context.Context, string) error { return nil }, nil
}
