// Command memory imports a file of ROWS rows into a database in DIR with MEMORY MiB,
// and prints the peak memory of the process in KiB.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/transfer"
)

func main() {
	dir := os.Args[1]
	rows, err := strconv.Atoi(os.Args[2])
	check(err)
	memory, err := strconv.ParseInt(os.Args[3], 10, 64)
	check(err)
	path := filepath.Join(dir, "rows.csv")
	check(write(path, rows))
	db, err := query.Open(filepath.Join(dir, "db"), query.Options{Memory: memory << 20, Schema: &schema.Schema{
		Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}})
	check(err)
	res, err := transfer.Import(context.Background(), db, "t", transfer.Spec{
		Path: path, Key: "{id}", Columns: []transfer.Mapping{{Family: "f", Qualifier: "n", Field: "n"}}})
	check(err)
	if res.Rows != int64(rows) {
		log.Fatalf("%+v", res)
	}
	check(db.Close())
	status, err := os.ReadFile("/proc/self/status")
	check(err)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	peak, _, _ := strings.Cut(rest, "\n")
	fmt.Println("peak", strings.TrimSpace(peak))
}

// write writes rows that are not in key order.
func write(path string, rows int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "id,n")
	for i := range rows {
		fmt.Fprintf(w, "user%010d,%d\n", uint32(i)*2654435761, i)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
