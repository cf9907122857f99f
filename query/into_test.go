package query_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func ExampleRow_Into() {
	type Flight struct {
		Key   string `smolwc:"key"`
		Dest  string `smolwc:"loc:dest"`
		Delay *int32 `smolwc:"delay:dep"` // nil if it is not known
	}
	db := openFleet()
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()

	late := int32(7)
	for _, f := range []Flight{{"flight#FI204", "CPH", nil}, {"flight#FI318", "OSL", &late}} {
		key, m, err := query.MutationFrom(f)
		if err != nil {
			log.Fatal(err)
		}
		if err := fleet.Apply(ctx, key, m); err != nil {
			log.Fatal(err)
		}
	}
	for f, err := range query.RowsInto[Flight](fleet.ReadRows(ctx, query.Prefix("flight#"), query.Limit(2))) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(f.Key, f.Dest, f.Delay != nil)
	}
	_, err := query.RowInto[Flight](fleet.ReadRow(ctx, "flight#FI1"))
	fmt.Println(query.KindOf(err), err)
	// Output:
	// flight#FI204 CPH false
	// flight#FI318 OSL true
	// not found read into a struct: there is no row
}

// ofEverything has a field of each kind.
type ofEverything struct {
	Key string `smolwc:"key"`
	scalars
	When    cells.Timestamp     `smolwc:"f:b,timestamp"`
	Since   time.Time           `smolwc:"f:s,timestamp"`
	Maybe   *float64            `smolwc:"f:maybe"`
	Any     cells.Value         `smolwc:"f:any"`
	One     cells.Cell          `smolwc:"f:one"`
	History []cells.Cell        `smolwc:"f:history"`
	Texts   map[string]string   `smolwc:"texts"`
	All     map[name]cells.Cell `smolwc:"all"`
	aside   int                 // without a tag
	Ignored chan int            `smolwc:"-"`
}

type name string

type scalars struct {
	B     bool    `smolwc:"f:b"`
	S     name    `smolwc:"f:s"`
	Byte  uint8   `smolwc:"f:byte"`
	I32   int32   `smolwc:"f:i32"`
	I64   int64   `smolwc:"f:i64"`
	Int   int     `smolwc:"f:int"`
	F32   float32 `smolwc:"f:f32"`
	F64   float64 `smolwc:"f:f64"`
	Bytes []byte  `smolwc:"f:bytes"`
	Empty string  `smolwc:"f:"`
}

func openEverything(t *testing.T) *query.Table {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "texts"}, {Name: "all"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db.Table("t")
}

// What From writes, Into reads back, with each type and bit.
func TestStructsReadBack(t *testing.T) {
	table := openEverything(t)
	stamps := rapid.Int64Range(1, 1<<50)
	text := rapid.String()
	value := rapid.Custom(func(t *rapid.T) cells.Value {
		return rapid.SampledFrom([]cells.Value{
			cells.String(text.Draw(t, "text")), cells.Bool(true), cells.Byte(7), cells.I32(-1), cells.I64(math.MinInt64),
			cells.F32(float32(math.Inf(1))), cells.F64(math.Float64frombits(0x7ff0000000000001)), cells.Bytes([]byte{0, 255}),
		}).Draw(t, "value")
	})
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		in := ofEverything{
			Key: fmt.Sprint("row", n),
			scalars: scalars{
				B: rapid.Bool().Draw(t, "b"), S: name(text.Draw(t, "s")), Byte: rapid.Uint8().Draw(t, "byte"),
				I32: rapid.Int32().Draw(t, "i32"), I64: rapid.Int64().Draw(t, "i64"), Int: rapid.Int().Draw(t, "int"),
				F32: math.Float32frombits(rapid.Uint32().Draw(t, "f32")), F64: math.Float64frombits(rapid.Uint64().Draw(t, "f64")),
				Bytes: []byte(text.Draw(t, "bytes")), Empty: text.Draw(t, "empty"),
			},
			When: cells.Timestamp(stamps.Draw(t, "when")), Since: time.UnixMicro(stamps.Draw(t, "since")).UTC(),
			Any: value.Draw(t, "any"), One: cells.Cell{Timestamp: cells.Timestamp(stamps.Draw(t, "at")), Value: value.Draw(t, "one")},
		}
		if rapid.Bool().Draw(t, "maybe") {
			f := rapid.Float64().Draw(t, "value")
			in.Maybe = &f
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "versions") {
			in.History = append(in.History, cells.Cell{Timestamp: cells.Timestamp(100 - i), Value: value.Draw(t, "version")})
		}
		if rapid.Bool().Draw(t, "texts") {
			in.Texts = map[string]string{text.Draw(t, "q1"): text.Draw(t, "v1"), "second": ""}
			in.All = map[name]cells.Cell{"q": {Timestamp: 5, Value: value.Draw(t, "all")}}
		}
		key, m, err := write.From(&in)
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Apply(t.Context(), key, m); err != nil {
			t.Fatal(err)
		}
		out := ofEverything{aside: 3, scalars: scalars{Empty: "of before"}, Texts: map[string]string{"of": "before"}}
		row, err := table.ReadRow(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if err := row.Into(&out); err != nil {
			t.Fatal(err)
		}
		if out.aside != 3 {
			t.Error("a field without a tag was changed")
		}
		// Cells know their columns when they are read, and values are compared by bits.
		if got, want := plain(out), plain(in); got != want {
			t.Fatalf("read\n%s\nwrote\n%s", got, want)
		}
	})
}

// plain is a struct as text, by which bits can be compared.
func plain(v ofEverything) string {
	cell := func(c cells.Cell) string {
		return fmt.Sprint(c.Timestamp, c.Value.Type(), c.Value.Any(), bits(c.Value))
	}
	s := fmt.Sprintf("%q %t %q %d %d %d %d %x %x %q %q %d %v", v.Key, v.B, v.S, v.Byte, v.I32, v.I64, v.Int, math.Float32bits(v.F32), math.Float64bits(v.F64), v.Bytes, v.Empty, v.When, v.Since)
	if v.Maybe != nil {
		s += fmt.Sprintf(" maybe %x", math.Float64bits(*v.Maybe))
	}
	s += " any " + bits(v.Any) + " one " + cell(v.One)
	for _, c := range v.History {
		s += " version " + cell(c)
	}
	for _, q := range sortedKeys(v.Texts) {
		s += fmt.Sprintf(" text %q=%q", q, v.Texts[q])
	}
	for _, q := range sortedKeys(v.All) {
		s += fmt.Sprintf(" all %q=%s", q, cell(v.All[q]))
	}
	return s
}

func sortedKeys[K ~string, V any](m map[K]V) (all []K) {
	for k := range m {
		all = append(all, k)
	}
	for i := range all {
		for j := i; j > 0 && all[j] < all[j-1]; j-- {
			all[j], all[j-1] = all[j-1], all[j]
		}
	}
	return all
}

func bits(v cells.Value) string {
	if f, ok := v.AsF64(); ok {
		return fmt.Sprintf("f64 %x", math.Float64bits(f))
	}
	return fmt.Sprintf("%s %q", v.Type(), v.String())
}

// A value that a field does not hold exactly is an error, and the struct stays as it was.
func TestNothingIsConvertedIntoAField(t *testing.T) {
	table := openEverything(t)
	for i, v := range []cells.Value{cells.String("1"), cells.Bool(true), cells.Byte(1), cells.I32(1), cells.I64(1), cells.F32(1), cells.F64(1), cells.Bytes([]byte("1"))} {
		key := fmt.Sprint("row", i)
		m := write.NewMutation()
		m.Set("f", "q", v)
		if err := table.Apply(t.Context(), key, m); err != nil {
			t.Fatal(err)
		}
		row, err := table.ReadRow(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		held := 0
		for _, dst := range []any{
			&struct {
				F string `smolwc:"f:q"`
			}{}, &struct {
				F bool `smolwc:"f:q"`
			}{}, &struct {
				F uint8 `smolwc:"f:q"`
			}{}, &struct {
				F int32 `smolwc:"f:q"`
			}{},
			&struct {
				F int64 `smolwc:"f:q"`
			}{}, &struct {
				F float32 `smolwc:"f:q"`
			}{}, &struct {
				F float64 `smolwc:"f:q"`
			}{}, &struct {
				F []byte `smolwc:"f:q"`
			}{},
		} {
			err := row.Into(dst)
			if err == nil {
				held++
				continue
			}
			if query.KindOf(err) != query.KindFailedPrecondition || !strings.Contains(err.Error(), "f:q has type "+v.Type().String()) || !strings.Contains(err.Error(), key) {
				t.Errorf("%s into %T: %v", v.Type(), dst, err)
			}
			if !reflect.ValueOf(dst).Elem().IsZero() {
				t.Errorf("%s into %T: it was changed", v.Type(), dst)
			}
		}
		if held != 1 {
			t.Errorf("%d Go types hold %s", held, v.Type())
		}
	}
}

// Fields that can hold no cell are errors that say what would be right.
func TestTagsThatMeanNothing(t *testing.T) {
	row := query.NewRow("a", []cells.Cell{{Family: "f", Qualifier: "q", Timestamp: 1, Value: cells.I64(1)}})
	type inner struct {
		F int64 `smolwc:"f:q"`
	}
	for want, dst := range map[string]any{
		"want a pointer to a struct":  struct{}{},
		"want a pointer to a struct ": new(int),
		"has a tag such as":           &struct{ F int }{},
		"is not exported": &struct {
			f int64 `smolwc:"f:q"`
		}{},
		"holds int16": &struct {
			F int16 `smolwc:"f:q"`
		}{},
		"holds uint64": &struct {
			F uint64 `smolwc:"f:q"`
		}{},
		"holds time.Time": &struct {
			F time.Time `smolwc:"f:q"`
		}{},
		`has ",timestmp"`: &struct {
			F cells.Timestamp `smolwc:"f:q,timestmp"`
		}{},
		"want cells.Timestamp or time.Time": &struct {
			F int64 `smolwc:"f:q,timestamp"`
		}{},
		"names no family": &struct {
			F int64 `smolwc:":q"`
		}{},
		"want a map by string for a whole family": &struct {
			F int64 `smolwc:"f"`
		}{},
		"have one tag": &struct {
			F, G int64 `smolwc:"f:q"`
		}{},
		"want string or []byte": &struct {
			Key int64 `smolwc:"key"`
		}{},
		"leave one out": &struct {
			F map[string]int64 `smolwc:"f"`
			G int64            `smolwc:"f:q"`
		}{},
		"nil pointer to embedded struct": &struct{ *inner }{},
	} {
		if err := row.Into(dst); err == nil || query.KindOf(err) != query.KindInvalidArgument || !strings.Contains(err.Error()+" ", want) {
			t.Errorf("%T: %v; want %q", dst, err, want)
		}
	}
	for want, src := range map[string]any{
		"want a struct":     7,
		"want a struct, or": (*inner)(nil),
		"the row's key, is empty": struct {
			Key string `smolwc:"key"`
		}{},
		"make it []cells.Cell": struct {
			F []int64 `smolwc:"f:q"`
		}{[]int64{1}},
		"nil pointer to embedded struct": struct{ *inner }{},
	} {
		if _, _, err := write.From(src); err == nil || query.KindOf(err) != query.KindInvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v; want %q", src, err, want)
		}
	}
	if err := (*query.Row)(nil).Into(&inner{}); query.KindOf(err) != query.KindNotFound {
		t.Errorf("no row: %v", err)
	}
	broken := errors.New("broken")
	rows := func(yield func(*query.Row, error) bool) {
		_ = yield(row, nil) && yield(nil, broken) && yield(row, nil)
	}
	n := 0
	for v, err := range query.RowsInto[inner](rows) {
		if n++; n == 1 && (v.F != 1 || err != nil) || n == 2 && !errors.Is(err, broken) || n > 2 {
			t.Errorf("row %d: %v, %v", n, v, err)
		}
	}
	if n != 2 {
		t.Errorf("%d rows", n)
	}
}

// What a struct holds stays when the memory of a lent row is used again.
func TestStructsOfLentRowsStay(t *testing.T) {
	table := openEverything(t)
	long := strings.Repeat("x", 4000) // so that there are several blocks
	for i := range 500 {
		key, m, err := write.From(ofEverything{Key: fmt.Sprintf("row%04d", i), scalars: scalars{S: name(fmt.Sprint("text", i)), Bytes: fmt.Append(nil, "bytes", i, long)},
			Texts: map[string]string{fmt.Sprint("q", i): fmt.Sprint("v", i)}, Any: cells.String(fmt.Sprint("any", i))})
		if err == nil {
			err = table.Apply(t.Context(), key, m)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var all []ofEverything
	for v, err := range query.RowsInto[ofEverything](table.ReadRows(t.Context(), read.Lend())) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	for i, v := range all {
		if v.Key != fmt.Sprintf("row%04d", i) || string(v.S) != fmt.Sprint("text", i) || string(v.Bytes) != fmt.Sprint("bytes", i, long) || v.Texts[fmt.Sprint("q", i)] != fmt.Sprint("v", i) || v.Any.String() != fmt.Sprint("any", i) {
			t.Fatalf("row %d is %s", i, plain(v))
		}
	}
	if len(all) != 500 {
		t.Errorf("%d rows", len(all))
	}
}
