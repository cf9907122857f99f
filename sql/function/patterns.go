package function

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// patterns are the functions of regular expressions, which are RE2's and take linear
// time. https://cloud.google.com/bigquery/docs/reference/standard-sql/string_functions
var patterns = []long{
	{"REGEXP_CONTAINS(STRING, STRING) BOOL", func(ctx context.Context, v []any) (any, error) {
		re, err := compiled(v[1].(string))
		if err != nil {
			return nil, err
		}
		return re.contains(ctx, v[0].(string))
	}},
	{"REGEXP_EXTRACT(STRING, STRING[INT64, INT64]) STRING", regexpExtract},
	{"REGEXP_SUBSTR(STRING, STRING[INT64, INT64]) STRING", regexpExtract},
	{"REGEXP_INSTR(STRING, STRING[INT64, INT64, INT64]) INT64", regexpInstr},
	{"REGEXP_EXTRACT_ALL(STRING, STRING) ARRAY<STRING>", regexpExtractAll},
	{"REGEXP_REPLACE(STRING, STRING, STRING) STRING", regexpReplace},
}

func grouped(text string) (*pattern, error) {
	re, err := compiled(text)
	if err == nil && re.NumSubexp() > 1 {
		return nil, parse.Invalid("the regular expression has %d groups; it may have one", re.NumSubexp())
	}
	return re, err
}

// regexpReplace puts \0 to \9 of the replacement as the match and its groups.
func regexpReplace(ctx context.Context, v []any) (any, error) {
	s, with := v[0].(string), v[2].(string)
	re, err := compiled(v[1].(string))
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	last := 0
	err = re.each(ctx, s, 0, false, func(at []int) (bool, error) {
		b.WriteString(s[last:at[0]])
		last = at[1]
		for i := 0; i < len(with); i++ {
			if with[i] != '\\' {
				b.WriteByte(with[i])
				continue
			}
			i++
			switch {
			case i < len(with) && with[i] == '\\':
				b.WriteByte('\\')
			case i < len(with) && with[i] >= '0' && int(with[i]-'0') <= re.NumSubexp():
				if g := 2 * int(with[i]-'0'); at[g] >= 0 {
					b.WriteString(s[at[g]:at[g+1]])
				}
			default:
				return false, parse.Invalid(`the replacement %.100q has a \ without the number of a group, or another \, after it`, with)
			}
		}
		return true, sized(b.Len())
	})
	if err != nil {
		return nil, err
	}
	b.WriteString(s[last:])
	return b.String(), sized(b.Len())
}

// occurrence is the nth match from a position of characters on, both counted from 1: its
// begin and end, or those of its only group, -1 for a group that took no part. ok is
// false where there is no such match.
func occurrence(ctx context.Context, name string, v []any) (at [2]int, ok bool, err error) {
	s, position, n := v[0].(string), int64(1), int64(1)
	re, err := grouped(v[1].(string))
	if err != nil {
		return at, false, err
	}
	if len(v) > 2 {
		position = v[2].(int64)
	}
	if len(v) > 3 {
		n = v[3].(int64)
	}
	if position < 1 || n < 1 {
		return at, false, parse.Invalid("%s takes a position and an occurrence from 1, not %d and %d", name, position, n)
	}
	from := 0
	for ; position > 1 && from < len(s); position-- {
		_, width := utf8.DecodeRuneInString(s[from:])
		from += width
	}
	if position > 1 || from > 0 && from == len(s) {
		return at, false, nil
	}
	err = re.each(ctx, s, from, true, func(found []int) (bool, error) {
		n--
		if ok = n == 0; ok {
			copy(at[:], found[len(found)-2:])
		}
		return !ok, nil
	})
	return at, ok, err
}

func regexpExtract(ctx context.Context, v []any) (any, error) {
	at, ok, err := occurrence(ctx, "REGEXP_EXTRACT", v)
	if !ok || err != nil || at[0] < 0 {
		return nil, err
	}
	return v[0].(string)[at[0]:at[1]], nil
}

// regexpInstr is the position of an occurrence, or with a last argument of 1 that after it.
func regexpInstr(ctx context.Context, v []any) (any, error) {
	end := 0
	if len(v) == 5 {
		v, end = v[:4], int(min(max(v[4].(int64), -1), 2))
	}
	if end != 0 && end != 1 {
		return nil, parse.Invalid("the last argument of REGEXP_INSTR must be 0, for the begin of the match, or 1, for its end")
	}
	at, ok, err := occurrence(ctx, "REGEXP_INSTR", v)
	if !ok || err != nil || at[0] < 0 || v[0] == "" || v[1] == "" {
		return int64(0), err
	}
	return int64(utf8.RuneCountInString(v[0].(string)[:at[end]])) + 1, nil
}

func regexpExtractAll(ctx context.Context, v []any) (any, error) {
	s := v[0].(string)
	re, err := grouped(v[1].(string))
	if err != nil {
		return nil, err
	}
	all := value.Array{}
	err = re.each(ctx, s, 0, true, func(at []int) (bool, error) {
		at = at[len(at)-2:] // of the group, or of the match
		all = append(all, s[max(at[0], 0):max(at[1], 0)])
		return true, fits(len(all))
	})
	return all, err
}
