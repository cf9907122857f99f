package client_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// newClient is a client of a server with a table that is named t.
func newClient(t testing.TB) *client.Client {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "t"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s, err := server.New(db, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	c, err := client.Dial(l.Addr().String(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		cancel()
		<-done
	})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// wide is a table of a server with rows a to g, each with some columns of two families,
// and row w with many.
func wide(t *testing.T) *client.Table {
	t.Helper()
	c, ctx := newClient(t), t.Context()
	if err := c.CreateTable(ctx, schema.Table{Name: "wide", Families: []schema.Family{{Name: "b"}, {Name: "a"}}}); err != nil {
		t.Fatal(err)
	}
	table := c.Table("wide")
	for i, key := range strings.Split("abcdefgw", "") {
		m := write.NewMutation()
		for j := range 1 + i + i/7*10 {
			for version := range 1 + j%2 {
				m.SetAt([]string{"a", "b"}[j%2], fmt.Sprintf("q%02d\x00", j), cells.Timestamp(1000*(version+1)), cells.Bytes([]byte(key)))
			}
		}
		if err := table.Apply(ctx, key, m); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

func shown(rows ...*query.Row) (list []string) {
	for _, row := range rows {
		for c := range row.Cells() {
			list = append(list, fmt.Sprintf("%s %s:%q@%d", row.Key(), c.Family, c.Qualifier, c.Timestamp))
		}
		if row.Len() == 0 {
			list = append(list, row.Key())
		}
	}
	return list
}

// All pages together are the read without pages.
func TestPagesAreTheWhole(t *testing.T) {
	table := wide(t)
	for name, opts := range map[string][]read.Option{
		"all": nil, "reverse": {read.Reverse()}, "keys": {read.KeysOnly()}, "a range": {read.Range("b", "f")}, "after": {read.StartAfter("c")}, "offset": {read.Offset(2)},
		"where":  {read.Exists("a", "q04\x00")},
		"a row":  {read.Key("w"), read.Versions(1)},
		"filter": {read.Key("w"), read.Versions(1), read.Filter(filter.Column("q1.*"))},
		"column": {read.Key("w"), read.ColumnRange("b", "q03", "q09")}, "families": {read.Key("w"), read.Family("b"), read.Column("a", "q02\x00")}, "versions": {read.Key("w")},
		"no row": {read.Key("x")}, "key of a row": {read.Key("w"), read.KeysOnly()},
	} {
		var whole []*query.Row
		for row, err := range table.ReadRows(t.Context(), opts...) {
			if err != nil {
				t.Fatal(err)
			}
			whole = append(whole, row)
		}
		for size := 1; size <= 9; size += 2 {
			var got []string
			pages := 0
			for token := ""; ; pages++ {
				page, err := table.ReadPage(t.Context(), append(slices.Clip(opts), read.PageSize(size), read.After(token))...)
				if err != nil {
					t.Fatalf("%s, pages of %d: %v", name, size, err)
				}
				got = append(got, shown(page.Rows...)...)
				if token = page.Next; token == "" {
					break
				}
			}
			if want := shown(whole...); !slices.Equal(got, want) {
				t.Errorf("%s, pages of %d:\n%q\nwant\n%q", name, size, got, want)
			}
			if size == 1 && len(whole) > 1 && pages != len(whole)-1 {
				t.Errorf("%s: %d pages of one row for %d rows", name, pages+1, len(whole))
			}
		}
	}
}

func TestTokensOfPagesAreChecked(t *testing.T) {
	table := wide(t)
	first, err := table.ReadPage(t.Context(), read.PageSize(2))
	if err != nil {
		t.Fatal(err)
	}
	for want, opts := range map[string][]read.Option{
		"is no token":                {read.After("nonsense")},
		"with other options":         {read.After(first.Next), read.Reverse()},
		"cannot be given to a page":  {read.Limit(3)},
		"EveryRow cannot be given":   {read.Column("a", "x"), read.EveryRow()},
		"to a page of columns":       {read.Key("w"), read.CellsPerRow(2)},
		"is no token of a read over": {read.After("AXLlC1tuIKj-eABmbGlnaHQjVEYtRklSIzIwMjQtMDEtMjUjRkkzMTgWCCUC")},
	} {
		if _, err := table.ReadPage(t.Context(), opts...); query.KindOf(err) != query.KindInvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The server says what a read has looked at, also if a limit ends it.
func TestTheCostOfAReadComesFromTheServer(t *testing.T) {
	table := wide(t)
	for rows, opts := range map[int64][]read.Option{8: nil, 3: {read.Limit(3)}, 1: {read.Limit(3), read.Key("w")}} {
		var cost read.Cost
		var n int64
		for _, err := range table.ReadRows(t.Context(), append(opts, read.ReportCost(&cost))...) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != rows || cost.Rows != rows || cost.CellsScanned < rows || cost.RowsScanned < rows {
			t.Errorf("%d rows, cost %+v, want %d rows", n, cost, rows)
		}
	}
}
