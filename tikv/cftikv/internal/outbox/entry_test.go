package outbox

import (
	"reflect"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

func entry() []byte {
	var b cf.Batch
	b.Note([]byte("first"))
	b.Row(cf.RowID{Space: "t", Row: "r"})
	b.Put("f", "q", 1, []byte("v"))
	b.PutMeta("k", []byte("v"))
	b.DeleteRow("g")
	b.Merge("f", "n", 0, cf.MergeSum, []byte{1})
	b.Note(nil)
	return Append(nil, &b, func(family string) uint32 { return uint32(family[0]) })
}

func TestEntriesAreReadAsTheyWereWritten(t *testing.T) {
	ops, err := Decode(entry(), func(Family) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	var kinds []cf.OpKind
	var families []string
	for _, op := range ops {
		kinds, families = append(kinds, op.Kind), append(families, op.Family)
	}
	if want := []cf.OpKind{cf.OpNote, cf.OpPut, cf.OpDeleteRange, cf.OpMerge, cf.OpNote}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("kinds %v, want %v", kinds, want)
	}
	if want := []string{"", "f", "g", "f", ""}; !reflect.DeepEqual(families, want) {
		t.Errorf("families %q, want %q", families, want)
	}
	ops, err = Decode(entry(), func(f Family) bool { return f == Family{"g", 'g'} })
	if err != nil || len(ops) != 3 || ops[1].Family != "g" {
		t.Errorf("without family f: %v, %v", ops, err)
	}
}

// Any bytes are an entry, or an error.
func FuzzEntry(f *testing.F) {
	f.Add(entry())
	f.Add([]byte{format, 1, 1, 'f', 0, 0, 2, 0, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		ops, err := Decode(data, func(Family) bool { return true })
		if err != nil && ops != nil {
			t.Errorf("%d operations and the error %v", len(ops), err)
		}
	})
}
