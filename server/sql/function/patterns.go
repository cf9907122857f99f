package function

import (
	"regexp"
	"strings"
	"sync"

	"github.com/smolwc/smolwc/server/sql/parse"
	"github.com/smolwc/smolwc/server/sql/value"
)

// patterns are the functions of regular expressions, which are RE2's and take linear
// time. https://cloud.google.com/bigquery/docs/reference/standard-sql/string_functions
var patterns = []declaration{
	{"REGEXP_CONTAINS(STRING, STRING) BOOL", func(v []any) (any, error) {
		re, err := compiled(v[1].(string))
		if err != nil {
			return nil, err
		}
		return re.MatchString(v[0].(string)), nil
	}},
	{"REGEXP_EXTRACT(STRING, STRING) STRING", func(v []any) (any, error) {
		re, err := grouped(v[1].(string))
		if err != nil {
			return nil, err
		}
		at := re.FindStringSubmatchIndex(v[0].(string))
		if at == nil {
			return nil, nil
		}
		at = at[len(at)-2:] // of the group, or of the match
		if at[0] < 0 {
			return nil, nil
		}
		return v[0].(string)[at[0]:at[1]], nil
	}},
	{"REGEXP_EXTRACT_ALL(STRING, STRING) ARRAY<STRING>", func(v []any) (any, error) {
		re, err := grouped(v[1].(string))
		if err != nil {
			return nil, err
		}
		all := value.Array{}
		for _, m := range re.FindAllStringSubmatch(v[0].(string), -1) {
			all = append(all, m[len(m)-1])
		}
		return all, nil
	}},
	{"REGEXP_REPLACE(STRING, STRING, STRING) STRING", regexpReplace},
}

// cache has the compiled expressions of queries under way.
var cache struct {
	sync.Mutex
	byText map[string]*regexp.Regexp
}

const (
	maxCached  = 100
	maxPattern = 4096
)

func compiled(text string) (*regexp.Regexp, error) {
	cache.Lock()
	defer cache.Unlock()
	if re := cache.byText[text]; re != nil {
		return re, nil
	}
	if len(text) > maxPattern {
		return nil, parse.Invalid("the regular expression has %d bytes; it may have up to %d", len(text), maxPattern)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, parse.Invalid("Cannot parse regular expression: %s", err)
	}
	if cache.byText == nil || len(cache.byText) >= maxCached {
		cache.byText = map[string]*regexp.Regexp{}
	}
	cache.byText[text] = re
	return re, nil
}

func grouped(text string) (*regexp.Regexp, error) {
	re, err := compiled(text)
	if err == nil && re.NumSubexp() > 1 {
		return nil, parse.Invalid("the regular expression has %d groups; it may have one", re.NumSubexp())
	}
	return re, err
}

// regexpReplace puts \0 to \9 of the replacement as the match and its groups.
func regexpReplace(v []any) (any, error) {
	s, with := v[0].(string), v[2].(string)
	re, err := compiled(v[1].(string))
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	last := 0
	for _, at := range re.FindAllStringSubmatchIndex(s, -1) {
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
				return nil, parse.Invalid(`the replacement %.100q has a \ without the number of a group, or another \, after it`, with)
			}
		}
		if err := sized(b.Len()); err != nil {
			return nil, err
		}
	}
	b.WriteString(s[last:])
	return b.String(), sized(b.Len())
}
