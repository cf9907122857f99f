package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"

	"github.com/smolwc/smolwc/bench/queues"
)

// measureQueues measures queues in a new database, which it removes.
func (o *options) measureQueues(ctx context.Context, stdout io.Writer) error {
	dir, err := os.MkdirTemp(o.temp, "smolwc-queues-")
	if err != nil {
		return err
	}
	err = queues.Run(ctx, queues.Options{
		Dir: dir, Items: cmp.Or(int(o.ops), 10_000), Waiting: int(o.cells), Rounds: o.rounds,
		Workers: 16, Dequeues: 2000, Memory: int64(o.memory), Out: stdout,
	})
	return errors.Join(err, os.RemoveAll(dir))
}
