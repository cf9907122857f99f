// Command memory fills a table or scans it, each in its own process, for the test of their
// memory, and for measurements with more cells than a test can take:
//
//	memory fill DIR FAMILIES CELLS MEMORY ENGINE
//	memory scan DIR FAMILIES CELLS MEMORY ENGINE
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

const cellsPerRow = 5

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "memory:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 7 {
		return fmt.Errorf("usage: memory fill|scan DIR FAMILIES CELLS MEMORY ENGINE")
	}
	families, err := strconv.Atoi(os.Args[3])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(os.Args[4])
	if err != nil {
		return err
	}
	memory, err := schema.ParseSize(os.Args[5])
	if err != nil {
		return err
	}
	table := schema.Table{Name: "t"}
	for i := range families {
		table.Families = append(table.Families, schema.Family{Name: fmt.Sprintf("f%03d", i)})
	}
	o := query.Options{Durability: query.DurabilityAsync, Memory: memory, Engine: query.Engine(os.Args[6])}
	if os.Args[1] == "fill" {
		o.Schema = &schema.Schema{Tables: []schema.Table{table}}
	}
	began := time.Now()
	db, err := query.Open(os.Args[2], o)
	if err != nil {
		return err
	}
	defer db.Close()
	fmt.Printf("open %v\n", time.Since(began))
	if os.Args[1] == "fill" {
		err = fill(db.Table("t"), table.Families, n)
	} else {
		err = scan(db.Table("t"), n)
	}
	if err != nil {
		return err
	}
	return printPeak()
}

// printPeak prints the peak memory of the process, and what of it are pages of the program
// and its libraries, which the system can take back. The peak that wait reports to the
// parent would include the parent's own memory, from before the program was loaded.
func printPeak() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	figure := func(name string) string {
		_, rest, _ := strings.Cut(string(status), name+":")
		line, _, _ := strings.Cut(rest, "\n")
		return strings.TrimSpace(line)
	}
	_, err = fmt.Println("peak", figure("VmHWM"), "with the program's", figure("RssFile"))
	return err
}

// fill is a bulk load, so that the table consists of the same files each time: how many
// there are after writes depends on how far the engine is with its compactions, and each
// that is open takes memory.
func fill(t *query.Table, families []schema.Family, n int) (err error) {
	ctx := context.Background()
	load, err := t.BulkLoad(ctx, query.BulkOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, load.Close()) }()
	m := write.NewMutation()
	for row := range n / cellsPerRow {
		m.Reset()
		for i := range cellsPerRow {
			f := families[(row*cellsPerRow+i)%len(families)].Name
			m.SetAt(f, fmt.Sprintf("q%d", i), 1_700_000_000_000_000, cells.I64(int64(row)*0x9E3779B97F4A7C))
		}
		if err := load.Apply(fmt.Sprintf("row#%010d", row), m); err != nil {
			return err
		}
	}
	_, err = load.Commit(ctx)
	return err
}

func scan(t *query.Table, want int) error {
	n := 0
	for row, err := range t.ReadRows(context.Background()) {
		if err != nil {
			return err
		}
		for range row.Cells() {
			n++
		}
	}
	if n != want {
		return fmt.Errorf("%d cells, want %d", n, want)
	}
	return nil
}
