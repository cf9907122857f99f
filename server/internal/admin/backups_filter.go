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

// A backupField is a field that backups are filtered and sorted by: a text, a
// number, or a time.
type backupField struct {
	text   func(*adminpb.Backup) string
	number func(*adminpb.Backup) int64
	time   func(*adminpb.Backup) *timestamppb.Timestamp
}

func backupFieldNamed(name string) (backupField, error) {
	switch strings.ToLower(name) {
	case "name":
		return backupField{text: (*adminpb.Backup).GetName}, nil
	case "source_table":
		return backupField{text: (*adminpb.Backup).GetSourceTable}, nil
	case "state":
		return backupField{text: func(m *adminpb.Backup) string { return m.GetState().String() }}, nil
	case "size_bytes":
		return backupField{number: (*adminpb.Backup).GetSizeBytes}, nil
	case "start_time":
		return backupField{time: (*adminpb.Backup).GetStartTime}, nil
	case "end_time":
		return backupField{time: (*adminpb.Backup).GetEndTime}, nil
	case "expire_time":
		return backupField{time: (*adminpb.Backup).GetExpireTime}, nil
	}
	return backupField{}, fmt.Errorf("there is no field %q; there are name, source_table, state, start_time, end_time, expire_time and size_bytes", excerpt.Of(name))
}

func (f *backupField) compare(a, b *adminpb.Backup) int {
	switch {
	case f.text != nil:
		return strings.Compare(f.text(a), f.text(b))
	case f.number != nil:
		return cmp.Compare(f.number(a), f.number(b))
	}
	return f.time(a).AsTime().Compare(f.time(b).AsTime())
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

// compareBackups compares a field with a value.
func compareBackups(name, op, value string) (backupFilter, error) {
	f, err := backupFieldNamed(name)
	if err != nil {
		return nil, err
	}
	text := strings.Trim(value, `"'`)
	if f.text != nil {
		return f.textFilter(op, text, text != value), nil
	}
	if f.number != nil {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %s is not a number", name, excerpt.Of(value))
		}
		return func(m *adminpb.Backup) bool { return compares(op, cmp.Compare(f.number(m), n)) }, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %s is not a time like 2006-01-02T15:04:05Z", name, excerpt.Of(value))
	}
	return func(m *adminpb.Backup) bool { return compares(op, f.time(m).AsTime().Compare(t)) }, nil
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
