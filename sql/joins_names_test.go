package sql_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

// Names in joins are the same in any case. Families that differ only in case are not taken for
// one another: a query gives them names.
func TestFamiliesThatDifferInCaseAreNotMixedUp(t *testing.T) {
	m := openSeveral(t, schema.Table{Name: "t", Families: []schema.Family{{Name: "F", Type: cells.TypeString}, {Name: "f", Type: cells.TypeString}, {Name: "g", Type: cells.TypeString}}})
	m.put("t", "k", "F:x=upper", "f:x=lower", "g:x=other")
	for text, want := range map[string]string{
		"SELECT a.F['x'], a.f['x'] FROM t AS a JOIN t AS b USING (_key)":                                    "error",
		"SELECT * FROM t AS a JOIN t AS b USING (_key)":                                                     "error",
		"SELECT a.g['x'] FROM t AS a JOIN t AS b USING (_key)":                                              "other",
		"SELECT a.u['x'], a.l['x'] FROM (SELECT _key, F AS u, f AS l FROM t) AS a JOIN t AS b USING (_key)": "upper lower",
	} {
		lines, err := m.run(t.Context(), text)
		if want == "error" {
			if err == nil || !strings.Contains(err.Error(), "table t has families whose names differ only in case") {
				t.Errorf("%s: %q, %v", text, lines, err)
			}
		} else if err != nil || !slices.Equal(lines, []string{want}) {
			t.Errorf("%s: %q, %v; want %s", text, lines, err, want)
		}
	}
}
