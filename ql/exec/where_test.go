package exec_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query/write"
)

// keysOf are the row keys that a scan shows.
func keysOf(t testing.TB, r *exec.Runner, where string) (keys []string) {
	t.Helper()
	st, err := ql.Parse("scan t where " + where)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	res, err := r.Run(t.Context(), st)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	for row, err := range res.(*exec.RowStream).All() {
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		keys = append(keys, row.Key())
	}
	return keys
}

// A _ of like is one character of a text, never a part of it, and one byte of bytes that
// are not UTF-8, as in SQL; it is so for values, keys and parts of keys.
func TestLikeCountsCharacters(t *testing.T) {
	db := openMemory(t)
	r := &exec.Runner{DB: db}
	runAll(t, r, "create table t family f")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{"a", "b", "é", "日", "\U0001F600", "\n", "%", "_", `\`, "\xc3", "\xa9", "\xed\xa0\x80", "\xff", "\U0010FFFF"}
	some := func(of []string, most int) (s string) {
		for range rng.IntN(most) {
			s += of[rng.IntN(len(of))]
		}
		return s
	}
	texts := []string{"é", "x\xff", "日本"}
	for len(texts) < 200 {
		if s := some(pieces, 6); s != "" && !slices.Contains(texts, s) {
			texts = append(texts, s)
		}
	}
	for _, s := range texts {
		m := write.NewMutation()
		m.Set("f", "q", cells.Bytes([]byte(s)))
		if err := db.Table("t").Apply(t.Context(), s, m); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(texts)
	patterns := []string{"_", "__", "___", "%_", "_%", "%_%_%", "é_", `\__`, `%\_`, "a%\n%", "_\xc3", "%"}
	for range 150 {
		patterns = append(patterns, some(append(slices.Clone(pieces), "%", "_", "_", `\%`, `\_`, `\\`), 6))
	}
	for _, pattern := range patterns {
		var want []string
		for _, s := range texts {
			if utf8.ValidString(s) && utf8.ValidString(pattern) && naiveLike([]rune(pattern), []rune(s)) ||
				!(utf8.ValidString(s) && utf8.ValidString(pattern)) && naiveLike([]byte(pattern), []byte(s)) {
				want = append(want, s)
			}
		}
		for _, subject := range []string{"f:q", "key", "key-part(1)"} {
			if got := keysOf(t, r, subject+" like "+lex.QuoteText(pattern)); !slices.Equal(got, want) {
				t.Errorf("%s like %q: %q, want %q", subject, pattern, got, want)
			}
		}
	}
}

func naiveLike[C rune | byte](pattern, s []C) bool {
	switch {
	case len(pattern) == 0:
		return len(s) == 0
	case pattern[0] == '%':
		return naiveLike(pattern[1:], s) || len(s) > 0 && naiveLike(pattern, s[1:])
	case len(s) == 0:
		return false
	case pattern[0] == '_':
		return naiveLike(pattern[1:], s[1:])
	case pattern[0] == '\\' && len(pattern) > 1:
		pattern = pattern[1:]
	}
	return pattern[0] == s[0] && naiveLike(pattern[1:], s[1:])
}

// A part of a key is in a list if it is equal to one of its values, whatever the types of
// the others.
func TestKeyPartInIsTheOrOfItsComparisons(t *testing.T) {
	db := openMemory(t)
	r := &exec.Runner{DB: db}
	runAll(t, r, "create table t family f")
	for _, key := range []string{"5", "5#5", "zz", "zz#5", "a#zz", "05", "+5", "5.0", "5e0", "0x5", "inf", "-inf", "+Inf", "infinity", "nan", "NaN", "1_000", "0x1p4", "16", "1000", "\xff", "true", ".5", "0.5", "1e999"} {
		m := write.NewMutation()
		m.Set("f", "q", cells.I64(1))
		if err := db.Table("t").Apply(t.Context(), key, m); err != nil {
			t.Fatal(err)
		}
	}
	runAll(t, r, "put t (5, 'zz') f:q=1; put t ('5', 5) f:q=1; put t (5.0, nil) f:q=1; put t (true, x'ff') f:q=1; put t (nil, 1) f:q=1")
	values := []string{"5", "zz", "'5'", "5.0", "inf", "-inf", "nan", "16", "1000", "0.5", "true", "x'ff'", "'nan'"}
	for _, a := range values {
		for _, b := range values {
			for _, part := range []int{1, 2} {
				of := fmt.Sprintf("key-part(%d)", part)
				either := fmt.Sprintf("(%s == %s or %s == %s)", of, a, of, b)
				for _, not := range []string{"", "not "} {
					in := fmt.Sprintf("%s%s in (%s, %s)", not, of, a, b)
					if got, want := keysOf(t, r, in), keysOf(t, r, not+either); !slices.Equal(got, want) {
						t.Errorf("%s: %q, want %q", in, got, want)
					}
				}
			}
		}
	}
	if got := keysOf(t, r, "key-part(1) in (5, zz)"); !slices.Equal(got, []string{"\x15\x05\x02zz\x00", "\x21\xc0\x14\x00\x00\x00\x00\x00\x00\x00", "+5", "05", "5", "5#5", "5.0", "5e0", "zz", "zz#5"}) {
		t.Errorf("key-part(1) in (5, zz): %q", got)
	}
	for _, notANumber := range []string{"key-part(1) == inf", "key-part(1) == -inf", "key-part(1) > 1e300", "key-part(1) < -1e300", "key-part(1) == 16 and key != 16"} {
		if got := keysOf(t, r, notANumber); got != nil {
			t.Errorf("%s: %q", notANumber, got)
		}
	}
}
