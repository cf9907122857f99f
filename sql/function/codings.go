package function

import (
	"context"
	"encoding/base32"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// codings are the functions that make texts of codes, and the same text of texts that are
// written in another way.
var codings = []declaration{
	{"CODE_POINTS_TO_STRING(ARRAY<INT64>) STRING", func(v []any) (any, error) {
		var b strings.Builder
		for _, e := range v[0].(value.Array) {
			if e == nil {
				return nil, nil
			}
			n := e.(int64)
			if n < 0 || n > unicode.MaxRune || !utf8.ValidRune(rune(n)) {
				return nil, parse.Invalid("%d is not the code of a character", n)
			}
			b.WriteRune(rune(n))
		}
		return b.String(), nil
	}},
	{"CODE_POINTS_TO_BYTES(ARRAY<INT64>) BYTES", func(v []any) (any, error) {
		made := []byte{}
		for _, e := range v[0].(value.Array) {
			if e == nil {
				return nil, nil
			}
			n := e.(int64)
			if n < 0 || n > 255 {
				return nil, parse.Invalid("%d is not a byte, from 0 to 255", n)
			}
			made = append(made, byte(n))
		}
		return made, nil
	}},
	{"TO_BASE32(BYTES) STRING", coded(base32.StdEncoding.EncodedLen, base32.StdEncoding.EncodeToString)},
	{"FROM_BASE32(STRING) BYTES", func(v []any) (any, error) {
		b, err := base32.StdEncoding.DecodeString(v[0].(string))
		if err != nil {
			return nil, parse.Invalid("%.100q is not base32", v[0])
		}
		return b, nil
	}},
	{"NORMALIZE(STRING[PART]) STRING", func(v []any) (any, error) {
		form, err := formOf(v)
		if err != nil {
			return nil, err
		}
		s := form.String(v[0].(string))
		return s, sized(len(s))
	}},
	{"NORMALIZE_AND_CASEFOLD(STRING[PART]) STRING", func(v []any) (any, error) {
		form, err := formOf(v)
		if err != nil {
			return nil, err
		}
		s := form.String(cases.Fold().String(form.String(v[0].(string))))
		return s, sized(len(s))
	}},
	{"SOUNDEX(STRING) STRING", func(v []any) (any, error) { return soundex(v[0].(string)), nil }},
}

// coded writes bytes in characters.
func coded(length func(n int) int, text func([]byte) string) func([]any) (any, error) {
	return func(v []any) (any, error) {
		b := v[0].([]byte)
		if err := sized(length(len(b))); err != nil {
			return nil, err
		}
		return text(b), nil
	}
}

func formOf(v []any) (norm.Form, error) {
	if len(v) == 1 {
		return norm.NFC, nil
	}
	form, ok := map[string]norm.Form{"NFC": norm.NFC, "NFKC": norm.NFKC, "NFD": norm.NFD, "NFKD": norm.NFKD}[v[1].(string)]
	if !ok {
		return 0, parse.Invalid("%.100s is not a form of Unicode; there are NFC, NFKC, NFD and NFKD", v[1])
	}
	return form, nil
}

// soundex is the first letter and the digits of the sounds of the next consonants. Letters
// of one sound count once, also with H or W between them.
func soundex(s string) string {
	const sounds = "01230120022455012623010202" // of A to Z
	var code []byte
	last := byte(0)
	for i := 0; i < len(s) && len(code) < 4; i++ {
		c := s[i] &^ 0x20
		if c < 'A' || c > 'Z' {
			if len(code) > 0 && s[i] < utf8.RuneSelf && s[i] != '\'' {
				last = 0
			}
			continue
		}
		sound := sounds[c-'A']
		switch {
		case len(code) == 0:
			code, last = append(code, c), sound
		case c == 'H' || c == 'W':
		case sound == '0':
			last = 0
		case sound != last:
			code, last = append(code, sound), sound
		}
	}
	if len(code) == 0 {
		return ""
	}
	return string(append(code, "000"...)[:4])
}

// onBytes are functions of STRING that also take BYTES, whose characters are bytes.
var onBytes = []string{
	"TRIM(BYTES, BYTES) BYTES",
	"LTRIM(BYTES, BYTES) BYTES",
	"RTRIM(BYTES, BYTES) BYTES",
	"LEFT(BYTES, INT64) BYTES",
	"RIGHT(BYTES, INT64) BYTES",
	"LPAD(BYTES, INT64[BYTES]) BYTES",
	"RPAD(BYTES, INT64[BYTES]) BYTES",
	"REPEAT(BYTES, INT64) BYTES",
	"REPLACE(BYTES, BYTES, BYTES) BYTES",
	"REVERSE(BYTES) BYTES",
	"STRPOS(BYTES, BYTES) INT64",
	"INSTR(BYTES, BYTES[INT64, INT64]) INT64",
	"SUBSTRING(BYTES, INT64[INT64]) BYTES",
	"SPLIT(BYTES, BYTES) ARRAY<BYTES>",
	"TRANSLATE(BYTES, BYTES, BYTES) BYTES",
	"REGEXP_CONTAINS(BYTES, BYTES) BOOL",
	"REGEXP_EXTRACT(BYTES, BYTES[INT64, INT64]) BYTES",
	"REGEXP_SUBSTR(BYTES, BYTES[INT64, INT64]) BYTES",
	"REGEXP_INSTR(BYTES, BYTES[INT64, INT64, INT64]) INT64",
	"REGEXP_EXTRACT_ALL(BYTES, BYTES) ARRAY<BYTES>",
	"REGEXP_REPLACE(BYTES, BYTES, BYTES) BYTES",
}

// ofBytes are the declarations of onBytes. Bytes become the characters U+0000 to U+00FF,
// and these bytes.
func ofBytes(onStrings map[string][]*Function) []long {
	all := make([]long, len(onBytes))
	for i, signature := range onBytes {
		name, _, _ := strings.Cut(signature, "(")
		of := onStrings[name][0].call
		all[i] = long{signature, func(ctx context.Context, v []any) (any, error) {
			args := make([]any, len(v))
			for i, arg := range v {
				if args[i] = arg; arg != nil {
					if b, ok := arg.([]byte); ok {
						args[i] = widened(b)
					}
				}
			}
			made, err := of(ctx, args)
			if err != nil {
				return nil, err
			}
			return narrowed(made), nil
		}}
	}
	return all
}

func widened(b []byte) string {
	var s strings.Builder
	s.Grow(len(b))
	for _, c := range b {
		s.WriteRune(rune(c))
	}
	return s.String()
}

func narrowed(v any) any {
	switch v := v.(type) {
	case string:
		b := make([]byte, 0, len(v))
		for _, r := range v {
			b = append(b, byte(r))
		}
		return b
	case value.Array:
		for i := range v {
			v[i] = narrowed(v[i])
		}
	}
	return v
}
