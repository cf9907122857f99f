package function

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// codes are the functions of characters and of hashes.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/hash_functions
var codes = []declaration{
	{"ASCII(STRING) INT64", func(v []any) (any, error) {
		r, _ := utf8.DecodeRuneInString(v[0].(string))
		switch {
		case v[0] == "":
			return int64(0), nil
		case r > unicode.MaxASCII:
			return nil, parse.Invalid("%q is not a character of ASCII", r)
		}
		return int64(r), nil
	}},
	{"UNICODE(STRING) INT64", func(v []any) (any, error) {
		if v[0] == "" {
			return int64(0), nil
		}
		r, _ := utf8.DecodeRuneInString(v[0].(string))
		return int64(r), nil
	}},
	{"CHR(INT64) STRING", func(v []any) (any, error) {
		n := v[0].(int64)
		if n < 0 || n > unicode.MaxRune || !utf8.ValidRune(rune(n)) {
			return nil, parse.Invalid("%d is not the code of a character", n)
		}
		if n == 0 {
			return "", nil
		}
		return string(rune(n)), nil
	}},
	{"TO_CODE_POINTS(STRING) ARRAY<INT64>", func(v []any) (any, error) {
		all := value.Array{}
		if err := fits(utf8.RuneCountInString(v[0].(string))); err != nil {
			return nil, err
		}
		for _, r := range v[0].(string) {
			all = append(all, int64(r))
		}
		return all, nil
	}},
	{"INITCAP(STRING[STRING]) STRING", func(v []any) (any, error) {
		between := func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune(`[](){}/|\<>!?@"^#$&~_,.:;*%+-`, r)
		}
		if len(v) == 2 {
			set := map[rune]bool{}
			for _, r := range v[1].(string) {
				set[r] = true
			}
			between = func(r rune) bool { return set[r] }
		}
		begins := true
		s := strings.Map(func(r rune) rune {
			of := unicode.ToLower
			if begins {
				of = unicode.ToTitle
			}
			if begins = between(r); begins {
				return r
			}
			return of(r)
		}, v[0].(string))
		return s, sized(len(s))
	}},
	{"ASCII(BYTES) INT64", func(v []any) (any, error) {
		if b := v[0].([]byte); len(b) > 0 {
			return int64(b[0]), nil
		}
		return int64(0), nil
	}},
	{"TO_CODE_POINTS(BYTES) ARRAY<INT64>", func(v []any) (any, error) {
		all := value.Array{}
		for _, b := range v[0].([]byte) {
			all = append(all, int64(b))
		}
		return all, fits(len(all))
	}},
	{"TRANSLATE(STRING, STRING, STRING) STRING", func(v []any) (any, error) {
		from, to := []rune(v[1].(string)), []rune(v[2].(string))
		by := map[rune]rune{}
		for i, r := range from {
			if _, twice := by[r]; twice {
				return nil, parse.Invalid("TRANSLATE has the character %q twice", r)
			}
			if by[r] = -1; i < len(to) {
				by[r] = to[i]
			}
		}
		s := strings.Map(func(r rune) rune {
			if other, ok := by[r]; ok {
				return other
			}
			return r
		}, v[0].(string))
		return s, sized(len(s))
	}},
	{"MD5(STRING) BYTES", hashed(func(b []byte) []byte { h := md5.Sum(b); return h[:] })},
	{"MD5(BYTES) BYTES", hashed(func(b []byte) []byte { h := md5.Sum(b); return h[:] })},
	{"SHA1(STRING) BYTES", hashed(func(b []byte) []byte { h := sha1.Sum(b); return h[:] })},
	{"SHA1(BYTES) BYTES", hashed(func(b []byte) []byte { h := sha1.Sum(b); return h[:] })},
	{"SHA256(STRING) BYTES", hashed(func(b []byte) []byte { h := sha256.Sum256(b); return h[:] })},
	{"SHA256(BYTES) BYTES", hashed(func(b []byte) []byte { h := sha256.Sum256(b); return h[:] })},
	{"SHA512(STRING) BYTES", hashed(func(b []byte) []byte { h := sha512.Sum512(b); return h[:] })},
	{"SHA512(BYTES) BYTES", hashed(func(b []byte) []byte { h := sha512.Sum512(b); return h[:] })},
	{"FARM_FINGERPRINT(STRING) INT64", farm},
	{"FARM_FINGERPRINT(BYTES) INT64", farm},
	{"BIT_COUNT(INT64) INT64", func(v []any) (any, error) { return int64(bits.OnesCount64(uint64(v[0].(int64)))), nil }},
	{"BIT_COUNT(BYTES) INT64", func(v []any) (any, error) {
		n := 0
		for _, b := range []byte(value.TextOf(v[0])) {
			n += bits.OnesCount8(b)
		}
		return int64(n), nil
	}},
}

func farm(v []any) (any, error) { return int64(Fingerprint([]byte(value.TextOf(v[0])))), nil }

func hashed(sum func([]byte) []byte) func([]any) (any, error) {
	return func(v []any) (any, error) { return sum([]byte(value.TextOf(v[0]))), nil }
}
