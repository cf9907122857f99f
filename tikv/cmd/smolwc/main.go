// Command smolwc is smolwc with databases on TiKV: wherever a database in a directory
// is named, the URL tikv://PD:2379/NAME names one in a cluster. Built with
// CGO_ENABLED=0 it is without RocksDB, which it includes with cgo.
package main

import (
	"context"
	"os"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cli"
	"github.com/smolwc/smolwc/tikv/cftikv"
)

func main() { os.Exit(cli.Main(cli.Stores{"tikv": openTiKV})) }

func openTiKV(ctx context.Context, url string, o cli.StoreOptions) (cf.Store, error) {
	store, err := cftikv.OpenURL(ctx, url, cftikv.Options{MustExist: o.MustExist, Logger: o.Logger})
	if err != nil {
		return nil, err // not a nil *cftikv.Store in an interface
	}
	return store, nil
}
