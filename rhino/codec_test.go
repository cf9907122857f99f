package rhino_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/rhino"
)

func Example() {
	text, _ := rhino.Encode(rhino.Envelope{CorrelationID: "7", Payload: rhino.SetRow{
		Place: rhino.Place{ShardName: "ada", TableName: "notes"},
		Row:   rhino.Row{"id": rhino.U64(1), "text": rhino.String("a < b")},
	}})
	fmt.Println(string(text))
	text, _ = rhino.Encode(rhino.Envelope{CorrelationID: "7", Payload: rhino.SetRowCompleted})
	fmt.Println(string(text))
	e, err := rhino.Decode([]byte(`{"correlation_id":"8","payload":{"Login":{"token":"t"}}}`))
	fmt.Printf("%s %#v %v\n", e.CorrelationID, e.Payload, err)
	// Output:
	// {"correlation_id":"7","payload":{"SetRow":{"shard_name":"ada","table_name":"notes","row":{"id":{"U64":1},"text":{"String":"a < b"}}}}}
	// {"correlation_id":"7","payload":"SetRowCompleted"}
	// 8 rhino.Login{Token:"t"} <nil>
}

// Every type of smolwc has a form in JSON, and comes back with the same bits.
func TestValues(t *testing.T) {
	of := func(v cells.Value) rhino.Value { return rhino.Value{Value: v} }
	for want, v := range map[string]rhino.Value{
		`{"String":"ä \" <"}`:          rhino.String(`ä " <`),
		`{"String":""}`:                rhino.String(""),
		`{"U64":0}`:                    rhino.U64(0),
		`{"U64":18446744073709551615}`: rhino.U64(math.MaxUint64),
		`{"I64":5}`:                    of(cells.I64(5)),
		`{"I64":-9223372036854775808}`: of(cells.I64(math.MinInt64)),
		`{"I32":-2147483648}`:          of(cells.I32(math.MinInt32)),
		`{"Byte":255}`:                 of(cells.Byte(255)),
		`{"Bool":false}`:               of(cells.Bool(false)),
		`{"F64":0.1}`:                  of(cells.F64(0.1)),
		`{"F64":-0}`:                   of(cells.F64(math.Copysign(0, -1))),
		`{"F64":1e+300}`:               of(cells.F64(1e300)),
		`{"F64":"NaN"}`:                of(cells.F64(math.NaN())),
		`{"F32":0.1}`:                  of(cells.F32(0.1)),
		`{"F32":"-Infinity"}`:          of(cells.F32(float32(math.Inf(-1)))),
		`{"Bytes":"AP8="}`:             of(cells.Bytes([]byte{0, 255})),
		`{"Bytes":""}`:                 of(cells.Bytes(nil)),
	} {
		got, err := v.MarshalJSON()
		if err != nil || string(got) != want {
			t.Errorf("%v is %s, %v, want %s", v, got, err, want)
		}
		var back rhino.Value
		if err := back.UnmarshalJSON([]byte(want)); err != nil || !back.Equal(v) {
			t.Errorf("%s is %v, %v, want %v", want, back, err, v)
		}
	}
}

func TestValuesThatAreRefused(t *testing.T) {
	for _, text := range []string{
		`null`, `{}`, `5`, `"a"`, `{"String":"a","U64":1}`, `{"string":"a"}`, `{"String":5}`, `{"String":null}`,
		`{"U64":-1}`, `{"U64":1.5}`, `{"U64":18446744073709551616}`, `{"U64":"1"}`, `{"I64":1e3}`,
		`{"I32":2147483648}`, `{"Byte":256}`, `{"Bool":1}`, `{"F64":"1"}`, `{"F64":1e999}`, `{"F32":1e39}`,
		`{"F64":null}`, `{"F64":"nan"}`, `{"Bytes":"=="}`, `{"Bytes":[1]}`, `{"Bytes":null}`,
	} {
		var v rhino.Value
		if err := v.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s is %v", text, v)
		}
	}
}

func TestMessagesThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		``:                                      "not an object",
		`[]`:                                    "not an object",
		`{"payload":"RowNotFound"}`:             "no correlation_id",
		`{"correlation_id":5,"payload":"x"}`:    "not an object",
		`{"correlation_id":"a"}`:                "it is missing",
		`{"correlation_id":"a","payload":null}`: "it has 0 keys",
		`{"correlation_id":"a","payload":"Nope"}`:                                    `"Nope"`,
		`{"correlation_id":"a","payload":{"Nope":{}}}`:                               `no message "Nope"`,
		`{"correlation_id":"a","payload":{"Login":{"token":5}}}`:                     "Login:",
		`{"correlation_id":"a","payload":{"Login":{"tokn":"t"}}}`:                    `unknown field "tokn"`,
		`{"correlation_id":"a","payload":{"Login":{},"GetRow":{}}}`:                  "it has 2 keys",
		`{"correlation_id":"a","payload":{"SetRow":{"row":{"a":1}}}}`:                "a value must be",
		`{"correlation_id":"a","payload":"RowNotFound"} {}`:                          "after the end",
		`{"correlation_id":"a","payload":"RowNotFound","more":1}`:                    "unknown field",
		"{\"correlation_id\":\"\xff\",\"payload\":\"RowNotFound\"}":                  "not UTF-8",
		`{"correlation_id":"` + strings.Repeat("a", 257) + `","payload":"Login"}`:    "257 bytes",
		`{"correlation_id":"a","payload":` + strings.Repeat("[", 100_000) + `}`:      "not an object",
		`{"correlation_id":"a","payload":"` + strings.Repeat("N", 1000) + `"}`:       "N…",
		`{"correlation_id":"a","payload":{"CreateTable":{"name":"t","pk":"first"}}}`: "CreateTable:",
	} {
		_, err := rhino.Decode([]byte(text))
		var e *rhino.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
			continue
		}
		if known := strings.HasPrefix(text, `{"correlation_id":"a","payload":{`); known && (!e.Known || e.CorrelationID != "a") {
			t.Errorf("%.80s: the sender cannot be answered: %+v", text, e)
		}
	}
}

func TestOnlyMessagesAreEncoded(t *testing.T) {
	for _, m := range []rhino.Message{nil, 5, "RowNotFound", rhino.Row{}, &rhino.Login{}, struct{}{}} {
		if text, err := rhino.Encode(rhino.Envelope{Payload: m}); err == nil {
			t.Errorf("%#v is %s", m, text)
		}
	}
}

// Bytes from the network are a message or an error; a message is the same after another
// journey.
func FuzzDecode(f *testing.F) {
	for _, m := range []rhino.Message{
		rhino.RowNotFound, rhino.Login{Token: "t"},
		rhino.GetRows{Place: rhino.Place{ShardName: "s"}, Prefix: rhino.Row{"a": rhino.U64(1)}, Limit: 3},
		rhino.RowsFound{Rows: []rhino.Row{{"a": {Value: cells.F64(math.NaN())}, "b": {Value: cells.Bytes([]byte("x"))}}}},
		rhino.Facts{Facts: []rhino.Fact{{ID: "1", Table: &rhino.AddLocalTableSchema{PK: []string{"a"}}}}},
	} {
		text, err := rhino.Encode(rhino.Envelope{CorrelationID: "c", Payload: m})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := rhino.Decode(text)
		if err != nil {
			return
		}
		again, err := rhino.Encode(e)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		back, err := rhino.Decode(again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		third, err := rhino.Encode(back)
		if err != nil || string(third) != string(again) || reflect.TypeOf(back.Payload) != reflect.TypeOf(e.Payload) {
			t.Fatalf("%s became %s, %v", again, third, err)
		}
	})
}
