package client_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"github.com/smolwc/smolwc/api/activity"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// serve is a server as smolwc serve starts one; stop ends it.
func serve() (addr string, stop func()) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		log.Fatal(err)
	}
	s, err := server.New(db, server.Options{})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, listener) }()
	return listener.Addr().String(), func() {
		cancel()
		if err := <-ended; err != nil {
			log.Fatal(err)
		}
		db.Close()
	}
}

// A program writes and reads the tables of a server as those of a database of its own.
func Example() {
	addr, stop := serve()
	defer stop()

	c, err := client.Dial(addr, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	if err := c.CreateTable(ctx, schema.Table{Name: "fleet", Families: []schema.Family{
		{Name: "meta", GC: schema.MaxVersions(1)}, {Name: "delay", Type: cells.TypeI32},
	}}); err != nil {
		log.Fatal(err)
	}

	fleet := c.Table("fleet")
	for _, plane := range []struct {
		key, model string
		delay      int32
	}{{"plane#TF-FIR", "757-256", 7}, {"plane#TF-FIV", "757-208", 180}} {
		m := write.NewMutation()
		m.Set("meta", "model", cells.String(plane.model))
		m.Set("delay", "dep", cells.I32(plane.delay))
		if err := fleet.Apply(ctx, plane.key, m); err != nil {
			log.Fatal(err)
		}
	}

	for row, err := range fleet.ReadRows(ctx, read.Prefix("plane#"), read.Where("delay", "dep", cells.OpLess, cells.I32(60)), read.Limit(10)) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Key(), row.Text("meta", "model"))
	}
	for row, err := range fleet.ReadRows(ctx, read.Filter(filter.Chain{filter.Column("model"), filter.Value(".*-208")})) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Key(), row.Text("meta", "model"))
	}
	// Output:
	// plane#TF-FIR 757-256
	// plane#TF-FIV 757-208
}

// A program changes rows of two tables, or neither of them.
func ExampleClient_Apply() {
	addr, stop := serve()
	defer stop()
	c, err := client.Dial(addr, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	for _, name := range []string{"account", "log"} {
		if err := c.CreateTable(ctx, schema.Table{Name: name, Families: []schema.Family{{Name: "eur", Type: cells.TypeI64}}}); err != nil {
			log.Fatal(err)
		}
	}

	eur := func(column string, n int64) *write.Mutation {
		m := write.NewMutation()
		m.Set("eur", column, cells.I64(n))
		return m
	}
	b := write.NewBatch()
	b.Add("account", "alice", eur("balance", 70))
	b.Add("account", "bob", eur("balance", 130))
	b.Add("log", "2024-07-04#1", eur("moved", 30))
	err = c.Apply(ctx, b)
	if query.KindOf(err) == query.KindUnknownOutcome {
		log.Fatal("read the log to see whether the money was moved: ", err)
	} else if err != nil {
		log.Fatal("nothing was changed: ", err)
	}
	for row, err := range c.Table("account").ReadRows(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		cell, _ := row.Cell("eur", "balance")
		fmt.Println(row.Key(), cell.Value)
	}
	// Output:
	// alice 70
	// bob 130
}

// A program asks a server for its hottest rows, and for the calls under way.
func ExampleClient_Heat() {
	addr, stop := serve()
	defer stop()
	c, err := client.Dial(addr, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	if err := c.CreateTable(ctx, schema.Table{Name: "fleet", Families: []schema.Family{{Name: "meta"}}}); err != nil {
		log.Fatal(err)
	}
	m := write.NewMutation()
	m.Set("meta", "model", cells.String("757-256"))
	if err := c.Table("fleet").Apply(ctx, "plane#TF-FIR", m); err != nil {
		log.Fatal(err)
	}
	for range 3 {
		if _, err := c.Table("fleet").Count(ctx, read.Key("plane#TF-FIV")); err != nil {
			log.Fatal(err)
		}
	}

	heat, err := c.Heat(ctx, activity.HeatRequest{Table: "fleet"})
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range heat.Rows {
		fmt.Println(row.Key, row.Reads, "reads,", row.Writes, "writes")
	}
	calls, err := c.Calls(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(calls.Running), "calls under way")
	// Output:
	// plane#TF-FIV 3 reads, 0 writes
	// plane#TF-FIR 0 reads, 1 writes
	// 0 calls under way
}
