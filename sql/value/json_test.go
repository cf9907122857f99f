package value_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/sql/value"
)

// drawJSON draws a text of JSON with odd spaces, names that repeat, and numbers of any size.
func drawJSON(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r "})
	text := func(what string) string {
		b, err := json.Marshal(rapid.OneOf(rapid.SampledFrom([]string{"", "a", "b", "\u2028\"\\/\x00\x7f😀"}), rapid.String()).Draw(t, what))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	kinds := 7
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
	case 1:
		return text("text")
	case 2:
		return strconv.FormatInt(rapid.Int64().Draw(t, "int"), 10)
	case 3:
		return strconv.FormatUint(rapid.Uint64().Draw(t, "uint"), 10)
	case 4:
		f := rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "float")
		return strconv.FormatFloat(f, rapid.SampledFrom([]byte("eEf")).Draw(t, "form"), -1, 64)
	}
	var b strings.Builder
	object := rapid.Bool().Draw(t, "object")
	b.WriteString(map[bool]string{true: "{", false: "["}[object])
	for i := range rapid.IntRange(0, 4).Draw(t, "parts") {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(space.Draw(t, "space"))
		if object {
			b.WriteString(text("name") + space.Draw(t, "space") + ":")
		}
		b.WriteString(space.Draw(t, "space") + drawJSON(t, depth-1) + space.Draw(t, "space"))
	}
	return b.String() + map[bool]string{true: "}", false: "]"}[object]
}

// A JSON is read from its own text as itself, and has the value of the text that it was read from.
func TestJSONComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawJSON(t, 3)
		j, err := value.ParseJSON(t.Context(), text, false)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if again, err := value.ParseJSON(t.Context(), string(j), false); err != nil || again != j {
			t.Fatalf("%q is %q, and that %q, %v", text, j, again, err)
		}
		if j.Check() != nil || !json.Valid([]byte(j)) {
			t.Fatalf("%q is %q: %v", text, j, j.Check())
		}
		if naive := naiveJSON(t, text); naive != string(j) {
			t.Fatalf("%q is %q, want %q", text, j, naive)
		}
	})
}

// naiveJSON is the form of a text by a decoder of tokens and maps.
func naiveJSON(t *rapid.T, text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var read func() any
	read = func() any {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		delim, ok := token.(json.Delim)
		if !ok {
			return token
		}
		if delim == '[' {
			list := []any{}
			for d.More() {
				list = append(list, read())
			}
			_, _ = d.Token()
			return list
		}
		object := map[string]any{}
		for d.More() {
			name := read().(string)
			if v := read(); object[name] == nil {
				if _, twice := object[name]; !twice {
					object[name] = v
				}
			}
		}
		_, _ = d.Token()
		return object
	}
	var write func(v any) string
	write = func(v any) string {
		switch v := v.(type) {
		case json.Number:
			if !strings.ContainsAny(v.String(), ".eE") && len(v) < 21 {
				if v == "-0" {
					return "0"
				}
				return v.String()
			}
			f, err := v.Float64()
			if err != nil {
				t.Fatal(err)
			}
			if f == math.Trunc(f) && math.Abs(f) < 1e15 {
				return strconv.FormatFloat(f, 'f', 1, 64)
			}
			if size := math.Abs(f); size < 1e-4 || size >= 1e15 {
				return strconv.FormatFloat(f, 'e', -1, 64)
			}
			return strconv.FormatFloat(f, 'f', -1, 64)
		case []any:
			all := make([]string, len(v))
			for i, e := range v {
				all[i] = write(e)
			}
			return "[" + strings.Join(all, ",") + "]"
		case map[string]any:
			b, err := json.Marshal(v) // which sorts
			if err != nil {
				t.Fatal(err)
			}
			names := []string{}
			names_ := json.NewDecoder(strings.NewReader(string(b)))
			_, _ = names_.Token()
			for names_.More() {
				name, _ := names_.Token()
				var skipped json.RawMessage
				_ = names_.Decode(&skipped)
				names = append(names, quotedNaively(name.(string))+":"+write(v[name.(string)]))
			}
			return "{" + strings.Join(names, ",") + "}"
		case string:
			return quotedNaively(v)
		case bool:
			return strconv.FormatBool(v)
		}
		return "null"
	}
	return write(read())
}

func quotedNaively(s string) string {
	b, _ := json.Marshal(s)
	text := string(b)
	for from, to := range map[string]string{`\u003c`: "<", `\u003e`: ">", `\u0026`: "&", `\u2028`: "\u2028", `\u2029`: "\u2029"} {
		parts := strings.Split(text, `\\`)
		for i := range parts {
			parts[i] = strings.ReplaceAll(parts[i], from, to)
		}
		text = strings.Join(parts, `\\`)
	}
	return text
}

// The end of the context ends the reading of a text, whose names are brought in order level by level.
func TestParseJSONEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	text := strings.Repeat(`{"b":"`+strings.Repeat("x", 1<<10)+`","a":`, 100) + "1" + strings.Repeat("}", 100)
	if _, err := value.ParseJSON(ctx, text, false); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Any text is a JSON, which is read as itself again, or an error.
func FuzzParseJSON(f *testing.F) {
	for _, text := range []string{
		`{"b": [1, -0.0, 1e5], "a": "\ud83d\ude00\u0000", "b": null}`, `[[[{}, ""]]] `, `"\ud83d"`, `1e400`, `123456789012345678901234567890`,
		`{"a":{"a":{"a":1,"A":2},"":3},"a":4}`, "\"\xff\"", `-`, `[1,]`, `01`, `nul`, strings.Repeat("[", 501) + strings.Repeat("]", 501),
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, round bool) {
		j, err := value.ParseJSON(t.Context(), text, round)
		if err != nil {
			if j != "" {
				t.Errorf("%q is %q and %v", text, j, err)
			}
			return
		}
		if again, err := value.ParseJSON(t.Context(), string(j), false); err != nil || again != j || !utf8.ValidString(string(j)) || j.Check() != nil {
			t.Errorf("%q is %q, and that %q, %v", text, j, again, err)
		}
	})
}

// A number that a JSON does not have is an error, and the nearest one only where that is asked for.
func TestNumbersOfJSONNeverChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?`).Draw(t, "number")
		j, err := value.ParseJSON(t.Context(), text, false)
		rounded, failed := value.ParseJSON(t.Context(), text, true)
		if failed != nil { // it is too large
			if err == nil {
				t.Fatalf("%s is %s, and rounded %v", text, j, failed)
			}
			return
		}
		_, digits, power := value.Decimal(text)
		_, kept, to := value.Decimal(string(rounded))
		same := digits == kept && power == to
		if same != (err == nil) || err == nil && j != rounded {
			t.Fatalf("%s is %s, %v, and rounded %s", text, j, err, rounded)
		}
	})
}
