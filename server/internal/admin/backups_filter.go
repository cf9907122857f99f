package admin

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/internal/excerpt"
)

// A backupFilter reports whether a backup is selected.
type backupFilter func(*adminpb.Backup) bool

// A backupField is a field that backups are filtered and sorted by: a text, or a number.
type backupField struct {
	text   func(*adminpb.Backup) string
	number func(*adminpb.Backup) int64
	parse  func(string) (int64, error) // a number as it is written
}

var backupFields = map[string]backupField{
	"name":         {text: (*adminpb.Backup).GetName},
	"source_table": {text: (*adminpb.Backup).GetSourceTable},
	"state":        {text: func(m *adminpb.Backup) string { return m.GetState().String() }},
	"size_bytes":   {number: (*adminpb.Backup).GetSizeBytes, parse: func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }},
	"start_time":   timeField((*adminpb.Backup).GetStartTime),
	"end_time":     timeField((*adminpb.Backup).GetEndTime),
	"expire_time":  timeField((*adminpb.Backup).GetExpireTime),
}

func timeField(get func(*adminpb.Backup) *timestamppb.Timestamp) backupField {
	return backupField{number: func(m *adminpb.Backup) int64 { return get(m).AsTime().UnixMicro() }, parse: func(text string) (int64, error) {
		t, err := time.Parse(time.RFC3339Nano, text)
		return t.UnixMicro(), err
	}}
}

func backupFieldNamed(name string) (backupField, error) {
	f, ok := backupFields[strings.ToLower(name)]
	if !ok {
		return f, fmt.Errorf("there is no field %q; there are name, source_table, state, start_time, end_time, expire_time and size_bytes", excerpt.Of(name))
	}
	return f, nil
}

func (f *backupField) compare(a, b *adminpb.Backup) int {
	if f.text != nil {
		return strings.Compare(f.text(a), f.text(b))
	}
	return cmp.Compare(f.number(a), f.number(b))
}

// backupComparison is a comparison, in parentheses or without, and the AND after it.
var backupComparison = regexp.MustCompile(`^(\()?\s*(\w+)\s*(<=|>=|!=|[<>=:])\s*("[^"]*"|'[^']*'|[^\s()"']+)\s*(\))?\s*(?i:(AND)\b)?\s*`)

// parseBackupFilter reads comparisons that must all hold. AND may be left out.
// Bigtable's OR and NOT are not served: none of its clients sends them by itself.
func parseBackupFilter(text string) (backupFilter, error) {
	var parts []backupFilter
	for rest := strings.TrimSpace(text); rest != ""; {
		m := backupComparison.FindStringSubmatch(rest)
		if m == nil || (m[1] == "") != (m[5] == "") || m[6] != "" && len(m[0]) == len(rest) {
			return nil, fmt.Errorf("%q: a filter is comparisons like name:b or (size_bytes > 100), joined by AND; OR and NOT are not supported", excerpt.Of(rest))
		}
		f, err := compareBackups(m[2], m[3], m[4])
		if err != nil {
			return nil, err
		}
		parts, rest = append(parts, f), rest[len(m[0]):]
	}
	return func(m *adminpb.Backup) bool {
		return !slices.ContainsFunc(parts, func(f backupFilter) bool { return !f(m) })
	}, nil
}

func compareBackups(name, op, value string) (backupFilter, error) {
	f, err := backupFieldNamed(name)
	if err != nil {
		return nil, err
	}
	text := strings.Trim(value, `"'`)
	if f.text != nil {
		return f.textFilter(op, text, text != value), nil
	}
	n, err := f.parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %s is not a number, or not a time like 2006-01-02T15:04:05Z", name, excerpt.Of(value))
	}
	return func(m *adminpb.Backup) bool { return compares(op, cmp.Compare(f.number(m), n)) }, nil
}

// textFilter compares texts without regard to case. A colon asks for a part of the
// text, unless the text is in quotes. A text without a slash is compared with the
// last part of a name.
func (f backupField) textFilter(op, value string, quoted bool) backupFilter {
	value = strings.ToLower(value)
	return func(m *adminpb.Backup) bool {
		text := strings.ToLower(f.text(m))
		if !strings.Contains(value, "/") {
			text = text[strings.LastIndexByte(text, '/')+1:]
		}
		if op == ":" && !quoted {
			return strings.Contains(text, value)
		}
		return compares(op, strings.Compare(text, value))
	}
}

// compares turns the outcome of a comparison into an operator's result.
func compares(op string, c int) bool {
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	case "!=":
		return c != 0
	}
	return c == 0 // = and :
}
