package server_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"

	"cloud.google.com/go/bigtable"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

func Example() {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx, stop := context.WithCancel(context.Background())
	if err := db.CreateTable(ctx, schema.Table{Name: "fleet", Families: []schema.Family{{Name: "meta"}}}); err != nil {
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
	served := make(chan error)
	go func() { served <- s.Serve(ctx, listener) }()

	os.Setenv("BIGTABLE_EMULATOR_HOST", listener.Addr().String())
	client, err := bigtable.NewClient(ctx, "local", "local")
	if err != nil {
		log.Fatal(err)
	}
	m := bigtable.NewMutation()
	m.Set("meta", "model", bigtable.Now(), []byte("757"))
	if err := client.Open("fleet").Apply(ctx, "plane#TF-FIR", m); err != nil {
		log.Fatal(err)
	}

	row, err := db.Table("fleet").ReadRow(ctx, "plane#TF-FIR")
	if err != nil {
		log.Fatal(err)
	}
	for c := range row.Cells() {
		fmt.Println(c.Column(), c.Value.Type(), c.Value)
	}
	_ = client.Close()
	stop()
	fmt.Println(<-served)
	os.Unsetenv("BIGTABLE_EMULATOR_HOST")
	// Output:
	// meta:model bytes "757"
	// <nil>
}
