package ql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/ql"
)

// TestEveryListHasABound: a statement of any length is refused before its length costs
// more than the reading of it.
func TestEveryListHasABound(t *testing.T) {
	many := func(n int, format, between string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
		}
		return strings.Join(list, between)
	}
	for _, test := range []struct {
		text func(n int) string
		most int
		want string
	}{
		{func(n int) string { return "create table t " + many(n, "family f#", ", ") }, 1000, "at most 1000 families"},
		{func(n int) string { return "create 't', " + many(n, "'f#'", ", ") }, 1000, "at most 1000 families"},
		{func(n int) string { return "scan t where " + many(n, "f:c# == 1", " and ") }, 10_000, "at most 10000 conditions"},
		{func(n int) string { return "scan t where f:a exists or (" + many(n-1, "key == k#", " or ") + ")" }, 10_000, "at most 10000 conditions"},
		{func(n int) string { return "scan t where f:a like '" + many(n, "_", "") + "'" }, 20_000, "more than 20000 bytes"},
		{func(n int) string {
			return "scan t where " + many(n/10, "f:a =~ /0123456789/", " or ") + many(n%10, " or f:a =~ /x/", "")
		}, 20_000, "more than 20000 bytes"},
		{func(n int) string { return "aggregate t " + many(n, "sum(f:c#)", ", ") }, 1000, "at most 1000 figures"},
		{func(n int) string { return "aggregate t count group by " + many(n, "f:c#", ", ") }, 1000, "at most 1000 columns and parts"},
		{func(n int) string { return "copy table t to u columns=" + many(n, "f:c# as f:d#", ",") }, 1000, "at most 1000 columns to copy"},
		{func(n int) string { return "import t from 'f.csv' key='{k}' columns=" + many(n, "f:c#=x", ",") }, 10_000, "at most 10000 columns to import"},
		{func(n int) string { return "export t to 'f.csv' wide=" + many(n, "f:c#", ",") }, 10_000, "at most 10000 columns in wide="},
		{func(n int) string { return "get t" + strings.Repeat(" k", n-2) }, 1_000_000, "at most 1000000 words"},
	} {
		if test.most < 1_000_000 { // a million take long
			if _, err := ql.Parse(test.text(test.most)); err != nil {
				t.Errorf("%.40s…, %d of them: %v", test.text(2), test.most, err)
			}
		}
		if _, err := ql.Parse(test.text(test.most + 1)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40s…, %d of them: %v, not %q", test.text(2), test.most+1, err, test.want)
		}
	}
}
