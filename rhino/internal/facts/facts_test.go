package facts

import (
	"reflect"
	"testing"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/rhino"
	"github.com/smolwc/smolwc/tuple"
)

// A fact's message makes the same fact.
func TestFactsAndMessages(t *testing.T) {
	for _, f := range []Fact{
		{Kind: Token, Key: []string{rhino.TokenHash("t")}, Value: []string{"acme"}, Version: 3, Removed: true},
		{Kind: Shard, Key: []string{"acme", "ada"}, Value: []string{"eu"}, Version: 1},
		{Kind: Table, Key: []string{"acme", "notes"}, Value: []string{"a,b", "c"}, Version: 1},
	} {
		m := f.Wire("7").Message()
		if back, _, ok, err := Of(m); !ok || err != nil || !reflect.DeepEqual(back, f) {
			t.Errorf("%+v became %+v, %v, %v", f, back, ok, err)
		}
	}
	for _, m := range []rhino.Message{rhino.AddLocalTenant{}, rhino.AddShardToLocalRouting{TenantID: "a"}, rhino.AddLocalTableSchema{TenantID: "a", TableName: "b"}} {
		if _, _, ok, err := Of(m); !ok || err == nil {
			t.Errorf("%+v is a fact", m)
		}
	}
	if _, _, ok, _ := Of(rhino.RowNotFound); ok {
		t.Error("a reply is a fact")
	}
}

// Bytes from the disk are a fact or damage.
func FuzzDecode(f *testing.F) {
	f.Add(tuple.Key("shard", tuple.Tuple{"acme", "ada"}), tuple.Key(1, false, tuple.Tuple{"eu"}))
	f.Add(tuple.Key("token", tuple.Tuple{"h"}), tuple.Key(1, true, tuple.Tuple{"-"}))
	f.Add("", "\xff")
	f.Fuzz(func(t *testing.T, key, value string) {
		fact, err := decode(key, value)
		if err != nil {
			if query.KindOf(err) != query.KindCorruption {
				t.Errorf("%v", err)
			}
			return
		}
		if m := fact.Wire("1").Message(); m == nil {
			t.Errorf("%+v is not a message", fact)
		}
	})
}
