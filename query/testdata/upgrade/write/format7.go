//go:build format7

package main

import (
	"context"
	"os"
	"strings"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/standby"
)

// enter makes the database a primary's. leave makes its log say when records were written,
// and writes one that changes nothing.
func enter(o *query.Options) (leave func(context.Context, string) error, err error) {
	primary := standby.NewPrimary(standby.PrimaryOptions{})
	o.Standbys = primary.Hook()
	if strings.HasSuffix(os.Args[1], "-pebble") {
		o.Engine = query.EnginePebble
	}
	return func(ctx context.Context, _ string) error {
		store, err := primary.KeepLog(ctx)
		if err != nil {
			return err
		}
		_, err = store.Write(ctx, nil, func(b *cf.Batch) error {
			b.DeleteMeta("nothing")
			return nil
		})
		return err
	}, nil
}
