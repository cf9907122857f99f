// Command process uses a database, and prints the settings of its process before and
// after.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func main() {
	report()
	if err := work(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "process:", err)
		os.Exit(1)
	}
}

// report prints the settings that a program can read, and the MiB of the heap in use.
func report() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	percent := debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	fmt.Println(percent, debug.SetMemoryLimit(-1), runtime.GOMAXPROCS(0), m.HeapAlloc>>20)
}

// work writes batches, gets rows one after the other, and scans them at length.
func work(dir string) error {
	const rows = 20_000
	db, err := query.Open(dir, query.Options{Durability: query.DurabilityAsync, Schema: &schema.Schema{Tables: []schema.Table{{
		Name: "t", Families: []schema.Family{{Name: "f"}},
	}}}})
	if err != nil {
		return err
	}
	t, ctx := db.Table("t"), context.Background()
	for i := 0; i < rows; i += 200 {
		b := write.NewBatch()
		for j := range 200 {
			m := write.NewMutation()
			m.Set("f", "q", cells.Bytes(make([]byte, 500)))
			b.Add("t", key(i+j), m)
		}
		if err := db.Apply(ctx, b); err != nil {
			return err
		}
	}
	for i := range rows {
		if _, err := t.ReadRow(ctx, key(i)); err != nil {
			return err
		}
	}
	for range 3 {
		for _, err := range t.ReadRows(ctx) {
			if err != nil {
				return err
			}
		}
	}
	report()
	return db.Close()
}

func key(i int) string { return fmt.Sprintf("row%06d", i) }
