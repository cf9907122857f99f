package function

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// texts are the functions of STRING and BYTES. Characters of BYTES are bytes.
var texts = []declaration{
	{"LENGTH(STRING) INT64", func(v []any) (any, error) { return int64(utf8.RuneCountInString(v[0].(string))), nil }},
	{"LENGTH(BYTES) INT64", byteLength},
	{"CHAR_LENGTH(STRING) INT64", func(v []any) (any, error) { return int64(utf8.RuneCountInString(v[0].(string))), nil }},
	{"BYTE_LENGTH(STRING) INT64", byteLength},
	{"BYTE_LENGTH(BYTES) INT64", byteLength},
	{"UPPER(STRING) STRING", func(v []any) (any, error) { return cased(v, strings.ToUpper, cases.Upper) }},
	{"LOWER(STRING) STRING", func(v []any) (any, error) { return cased(v, strings.ToLower, cases.Lower) }},
	{"TRIM(STRING[STRING]) STRING", trimmed(true, true)},
	{"LTRIM(STRING[STRING]) STRING", trimmed(true, false)},
	{"RTRIM(STRING[STRING]) STRING", trimmed(false, true)},
	{"SUBSTR(STRING, INT64[INT64]) STRING", func(v []any) (any, error) {
		return part(v, []rune(v[0].(string)), func(r []rune) any { return string(r) })
	}},
	{"SUBSTR(BYTES, INT64[INT64]) BYTES", func(v []any) (any, error) { return part(v, v[0].([]byte), func(b []byte) any { return b }) }},
	{"SUBSTRING(STRING, INT64[INT64]) STRING", func(v []any) (any, error) {
		return part(v, []rune(v[0].(string)), func(r []rune) any { return string(r) })
	}},
	{"LEFT(STRING, INT64) STRING", func(v []any) (any, error) { return side(v, true) }},
	{"RIGHT(STRING, INT64) STRING", func(v []any) (any, error) { return side(v, false) }},
	{"REPLACE(STRING, STRING, STRING) STRING", replace},
	{"REVERSE(STRING) STRING", func(v []any) (any, error) {
		r := []rune(v[0].(string))
		slices.Reverse(r)
		return string(r), nil
	}},
	{"REPEAT(STRING, INT64) STRING", repeat},
	{"LPAD(STRING, INT64[STRING]) STRING", func(v []any) (any, error) { return padded(v, true) }},
	{"RPAD(STRING, INT64[STRING]) STRING", func(v []any) (any, error) { return padded(v, false) }},
	{"STRPOS(STRING, STRING) INT64", func(v []any) (any, error) {
		s := v[0].(string)
		at := strings.Index(s, v[1].(string))
		return int64(utf8.RuneCountInString(s[:max(at, 0)]) + min(at, 0) + 1), nil
	}},
	{"CONCAT(STRING…) STRING", func(v []any) (any, error) { return joined(v) }},
	{"CONCAT(BYTES…) BYTES", func(v []any) (any, error) {
		s, err := joined(v)
		return []byte(s), err
	}},
	{"SPLIT(STRING[STRING]) ARRAY<STRING>", split},
	{"ARRAY_TO_STRING(ARRAY<STRING>, STRING[STRING]) STRING", func(v []any) (any, error) { return arrayText(v) }},
	{"TO_HEX(BYTES) STRING", coded(hex.EncodedLen, hex.EncodeToString)},
	{"FROM_HEX(STRING) BYTES", func(v []any) (any, error) {
		s := v[0].(string)
		if len(s)%2 == 1 {
			s = "0" + s
		}
		b, err := hex.DecodeString(s)
		if err != nil {
			return nil, parse.Invalid("%.100q is not hexadecimal", v[0])
		}
		return b, nil
	}},
	{"TO_BASE64(BYTES) STRING", coded(base64.StdEncoding.EncodedLen, base64.StdEncoding.EncodeToString)},
	{"FROM_BASE64(STRING) BYTES", func(v []any) (any, error) {
		b, err := base64.StdEncoding.DecodeString(v[0].(string))
		if err != nil {
			return nil, parse.Invalid("%.100q is not base64", v[0])
		}
		return b, nil
	}},
	{"SAFE_CONVERT_BYTES_TO_STRING(BYTES) STRING", func(v []any) (any, error) {
		s := string([]rune(string(v[0].([]byte)))) // U+FFFD for each byte that is not UTF-8
		return s, sized(len(s))
	}},
	{"STRING(TIMESTAMP) STRING", func(v []any) (any, error) { return value.Cast(v[0], value.TypeString) }},
	{"STRING(TIMESTAMP, STRING) STRING", func(v []any) (any, error) {
		zone, err := zoneOf(v, 1)
		if err != nil {
			return nil, err
		}
		return value.TimestampText(v[0].(cells.Timestamp), zone), nil
	}},
	{"STRING(DATE) STRING", func(v []any) (any, error) { return value.Cast(v[0], value.TypeString) }},
	{"STRING(INT64) STRING", func(v []any) (any, error) { return value.Cast(v[0], value.TypeString) }},
	{"STRING(BOOL) STRING", func(v []any) (any, error) { return value.Cast(v[0], value.TypeString) }},
	{"INSTR(STRING, STRING[INT64, INT64]) INT64", instr},
	{"UPPER(BYTES) BYTES", func(v []any) (any, error) { return asciiBytes(v, 'a', 'z'), nil }},
	{"LOWER(BYTES) BYTES", func(v []any) (any, error) { return asciiBytes(v, 'A', 'Z'), nil }},
	{"ARRAY_TO_STRING(ARRAY<BYTES>, BYTES[BYTES]) BYTES", func(v []any) (any, error) {
		s, err := arrayText(v)
		return []byte(s), err
	}},
}

// cased is a text in another case, by the full mapping of Unicode: ß is SS in capitals.
func cased(v []any, ascii func(string) string, all func(language.Tag, ...cases.Option) cases.Caser) (any, error) {
	s := v[0].(string)
	if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return ascii(s), nil
	}
	s = all(language.Und).String(s)
	return s, sized(len(s))
}

// asciiBytes flips the case of the ASCII letters from first to last.
func asciiBytes(v []any, first, last byte) []byte {
	made := slices.Clone(v[0].([]byte))
	for i, b := range made {
		if b >= first && b <= last {
			made[i] = b ^ 0x20
		}
	}
	return made
}

// arrayText joins the elements of an array that are not NULL, or all of them with a text
// for NULL.
func arrayText(v []any) (string, error) {
	var parts []any
	for _, e := range v[0].(value.Array) {
		if e == nil && len(v) == 3 {
			e = v[2]
		}
		if e == nil {
			continue
		}
		if len(parts) > 0 {
			parts = append(parts, v[1])
		}
		parts = append(parts, e)
	}
	return joined(parts)
}

// instr is the position of the nth occurrence of a text, from a position on, or back from
// one that is counted from the end. Occurrences may overlap. 0: there is no such one.
func instr(v []any) (any, error) {
	s, of, position, n := []rune(v[0].(string)), []rune(v[1].(string)), int64(1), int64(1)
	if len(v) > 2 {
		position = v[2].(int64)
	}
	if len(v) > 3 {
		n = v[3].(int64)
	}
	switch length := int64(len(s)); {
	case position == 0 || n < 1:
		return nil, parse.Invalid("INSTR takes a position that is not 0 and an occurrence from 1, not %d and %d", position, n)
	case len(of) > len(s) || position > length+1 || position < -length-1:
		return int64(0), nil
	}
	at, step := int(position)-1, 1
	if position < 0 {
		at, step = len(s)+int(position), -1
		if len(of) == 0 {
			at++ // the end is a place of the empty text, too
		}
		at = min(at, len(s)-len(of))
	}
	compared := 0
	for ; at >= 0 && at+len(of) <= len(s); at += step {
		same := 0
		for same < len(of) && s[at+same] == of[same] {
			same++
		}
		if compared += same; compared > maxMatchSteps {
			return nil, parse.Invalid("INSTR takes too long on a value of this size")
		}
		if same == len(of) {
			if n--; n == 0 {
				return int64(at + 1), nil
			}
		}
	}
	return int64(0), nil
}

func byteLength(v []any) (any, error) { return int64(len(value.TextOf(v[0]))), nil }

func trimmed(left, right bool) func([]any) (any, error) {
	return func(v []any) (any, error) {
		s, out := v[0].(string), unicode.IsSpace
		if len(v) == 2 {
			set := map[rune]bool{}
			for _, r := range v[1].(string) {
				set[r] = true
			}
			out = func(r rune) bool { return set[r] }
		}
		if left {
			s = strings.TrimLeftFunc(s, out)
		}
		if right {
			s = strings.TrimRightFunc(s, out)
		}
		return s, nil
	}
}

// part is SUBSTR. Positions count from 1; a negative one counts from the end, and 0 is 1.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/string_functions#substr
func part[E any](v []any, all []E, made func([]E) any) (any, error) {
	n := int64(len(all))
	from, length := v[1].(int64), n
	if len(v) == 3 {
		if length = v[2].(int64); length < 0 {
			return nil, parse.Invalid("the length of SUBSTR is %d; it must not be negative", length)
		}
	}
	switch {
	case from > 0:
		from = min(from-1, n)
	case from < 0:
		from = max(n+max(from, -n), 0)
	}
	return made(all[from : from+min(length, n-from)]), nil
}

func side(v []any, left bool) (any, error) {
	r, n := []rune(v[0].(string)), v[1].(int64)
	if n < 0 {
		return nil, parse.Invalid("the length is %d; it must not be negative", n)
	}
	n = min(n, int64(len(r)))
	if left {
		return string(r[:n]), nil
	}
	return string(r[int64(len(r))-n:]), nil
}

func replace(v []any) (any, error) {
	s, from, to := v[0].(string), v[1].(string), v[2].(string)
	if from == "" {
		return s, nil
	}
	if err := sized(len(s) + strings.Count(s, from)*(len(to)-len(from))); err != nil {
		return nil, err
	}
	return strings.ReplaceAll(s, from, to), nil
}

func repeat(v []any) (any, error) {
	s, n := v[0].(string), v[1].(int64)
	if n < 0 {
		return nil, parse.Invalid("REPEAT %d times; the number must not be negative", n)
	}
	if s == "" {
		return s, nil
	}
	if n > MaxText {
		return nil, sized(MaxText + 1)
	}
	if err := sized(len(s) * int(n)); err != nil {
		return nil, err
	}
	return strings.Repeat(s, int(n)), nil
}

func padded(v []any, left bool) (any, error) {
	s, n, with := []rune(v[0].(string)), v[1].(int64), []rune(" ")
	if len(v) == 3 {
		with = []rune(v[2].(string))
	}
	if n < 0 || len(with) == 0 {
		return nil, parse.Invalid("the length of a padded string must not be negative, and the padding must not be empty")
	}
	if n <= int64(len(s)) {
		return string(s[:n]), nil
	}
	if n > MaxText/4 {
		return nil, sized(MaxText + 1)
	}
	pad := make([]rune, int(n)-len(s))
	for i := range pad {
		pad[i] = with[i%len(with)]
	}
	if left {
		return string(pad) + string(s), nil
	}
	return string(s) + string(pad), nil
}

func joined(v []any) (string, error) {
	var b strings.Builder
	for _, e := range v {
		s := value.TextOf(e)
		if err := sized(b.Len() + len(s)); err != nil {
			return "", err
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

func split(v []any) (any, error) {
	s, by := v[0].(string), ","
	if len(v) == 2 {
		by = v[1].(string)
	}
	if s == "" {
		return value.Array{""}, nil
	}
	var all value.Array
	for e := range strings.SplitSeq(s, by) {
		if err := fits(len(all) + 1); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}
