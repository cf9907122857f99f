package server_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// BenchmarkExecuteQuery measures queries over gRPC whose results are 20,000 rows. The
// client, which decodes no values, is in the same process.
func BenchmarkExecuteQuery(b *testing.B) {
	const rows = 20_000
	s := server.NewTest(b, schema.Table{Name: "fleet", Families: []schema.Family{{Name: "meta"}, {Name: "n", Type: cells.TypeI64}}})
	var keys []string
	var ms []*write.Mutation
	for i := range rows {
		m := write.NewMutation()
		m.SetAt("meta", "model", 1000, cells.Bytes([]byte("Boeing 757")))
		m.SetAt("n", "seats", 1000, cells.I64(int64(i)))
		keys, ms = append(keys, fmt.Sprintf("plane#%06d", i)), append(ms, m)
	}
	if _, err := s.DB.Table("fleet").ApplyBulk(b.Context(), keys, ms); err != nil {
		b.Fatal(err)
	}
	client := bigtablepb.NewBigtableClient(s.Conn)
	for name, text := range map[string]string{
		"stream": "SELECT _key, meta['model'], n['seats'], n['seats'] > 5 FROM fleet",
		"whole":  "SELECT _key, meta, n['seats'] AS seats FROM fleet ORDER BY seats DESC",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				//lint:ignore SA1019 clients send it
				stream, err := client.ExecuteQuery(b.Context(), &bigtablepb.ExecuteQueryRequest{InstanceName: server.DefaultInstance, Query: text,
					//lint:ignore SA1019 clients send it
					DataFormat: &bigtablepb.ExecuteQueryRequest_ProtoFormat{ProtoFormat: &bigtablepb.ProtoFormat{}},
				})
				for err == nil {
					_, err = stream.Recv()
				}
				if !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
		})
	}
}
