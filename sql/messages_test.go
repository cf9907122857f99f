package sql_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/message"
	"github.com/smolwc/smolwc/sql/value"
)

// music is the bundle of message/testdata/music.txtpb.
func music(t testing.TB) *message.Bundle {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("message", "testdata", "music.txtpb"))
	if err != nil {
		t.Fatal(err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := prototext.Unmarshal(text, set); err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := message.Parse("b", b)
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

// Queries of messages. "cell row column type" writes a message in protobuf's text format,
// "bytes row column" writes bytes in hex, and "query" prints the rows, or the error;
// "types" prints the types of the columns too.
func TestMessages(t *testing.T) {
	bundle := music(t)
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	p := &planes{t: t, db: db, bundles: func(id string) (*message.Bundle, bool, error) { return bundle, id == "b" || id == "my-b", nil }}
	datadriven.RunTest(t, filepath.Join("testdata", "messages"), func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "cell":
			typ, ok := bundle.Type(d.CmdArgs[2].Key)
			if !ok {
				t.Fatalf("there is no %s", d.CmdArgs[2].Key)
			}
			v, err := message.Cast(d.Input, value.Type{Kind: value.TypeString}, typ)
			if err != nil {
				t.Fatal(err)
			}
			m := write.NewMutation()
			m.SetAt("f", d.CmdArgs[1].Key, 1000, cells.Bytes(v.([]byte)))
			if err := db.Table("t").Apply(context.Background(), d.CmdArgs[0].Key, m); err != nil {
				t.Fatal(err)
			}
			return "ok"
		case "types", "query":
			out, err := p.run(d.Input)
			if err != nil {
				return "error: " + err.Error()
			}
			if d.Cmd == "types" {
				out = p.types(d.Input) + "\n" + out
			}
			return out
		}
		t.Fatalf("unknown command %s", d.Cmd)
		return ""
	})
}

// types are the types of a query's columns.
func (p *planes) types(text string) string {
	plan, err := p.plan(text)
	if err != nil {
		p.t.Fatal(err)
	}
	var all []string
	for _, c := range plan.Columns() {
		all = append(all, strings.TrimSpace(c.Name+" "+c.Type.String()))
	}
	return strings.Join(all, ", ")
}
