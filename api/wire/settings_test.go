package wire

import (
	"reflect"
	"testing"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/schema"
)

func TestSettingsOfATableTravel(t *testing.T) {
	families := func(names ...string) (all []schema.Family) {
		for _, name := range names {
			all = append(all, schema.Family{Name: name})
		}
		return all
	}
	for _, want := range []schema.Table{
		{}, {Retention: schema.Lazy}, {KeyFormat: schema.TupleKeys, Families: families("b")}, {Families: families("meta", "loc", "a")},
	} {
		m := &adminpb.Table{}
		SetSettings(m, &want)
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		back := &adminpb.Table{}
		if err := proto.Unmarshal(b, back); err != nil {
			t.Fatal(err)
		}
		got := schema.Table{Retention: schema.Lazy, Families: families()}
		for _, name := range []string{"a", "b", "loc", "meta"} { // as a map has them, sorted
			if _, ok := want.Family(name); ok {
				got.Families = append(got.Families, schema.Family{Name: name})
			}
		}
		if err := TakeSettings(back, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	plain := schema.Table{Retention: schema.Lazy}
	if err := TakeSettings(&adminpb.Table{}, &plain); err != nil || plain.Retention != schema.Lazy {
		t.Errorf("without settings: %+v, %v", plain, err)
	}
	for _, content := range [][]byte{nil, {0}, {9, 0}, {0, 9}, {0x80}} {
		m := &adminpb.Table{}
		m.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, settingsField, protowire.BytesType), content))
		if err := TakeSettings(m, &schema.Table{}); err == nil {
			t.Errorf("settings %v are taken", content)
		}
	}
}
