package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"github.com/smolwc/smolwc/bench/soak"
)

// soakFor soaks a new database. If the soak fails, it keeps the database.
func (o *options) soakFor(ctx context.Context, stdout io.Writer) error {
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	dir, err := os.MkdirTemp(o.temp, "smolwc-soak-")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "-seed %d\n", o.seed); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	err = soak.Run(ctx, soak.Options{Dir: dir, Duration: o.soak, Interval: o.interval, Seed: o.seed, Memory: 32 << 20, Out: stdout})
	switch {
	case errors.Is(err, context.Canceled):
		return errors.Join(err, os.RemoveAll(dir))
	case err != nil:
		return fmt.Errorf("soak with -seed %d: %w; the database is left in %s", o.seed, err, dir)
	}
	return os.RemoveAll(dir)
}
