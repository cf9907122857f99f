package value_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/sql/value"
)

// Cut reads what Append has written, Skip passes over it, and both refuse it without its last byte.
func TestValuesAreCutAndSkipped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawn(t, 0).Draw(t, "value")
		b, err := value.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		after := append(bytes.Clone(b), "after"...)
		got, rest, err := value.Cut(after)
		if err != nil || string(rest) != "after" || !bytes.Equal(value.AppendKey(nil, got), value.AppendKey(nil, v)) {
			t.Fatalf("%v is cut as %v before %q, %v", v, got, rest, err)
		}
		if rest, err := value.Skip(after); err != nil || string(rest) != "after" {
			t.Fatalf("%v is skipped before %q, %v", v, rest, err)
		}
		short := b[:len(b)-1]
		if _, _, err := value.Cut(short); err == nil {
			t.Fatalf("%v without its last byte is cut", v)
		}
		if _, err := value.Skip(short); err == nil {
			t.Fatalf("%v without its last byte is skipped", v)
		}
	})
}
