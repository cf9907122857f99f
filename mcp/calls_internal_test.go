package mcp

import (
	"context"
	"fmt"
	"testing"

	"github.com/smolwc/smolwc/sql"
)

// A many source has many views, and adds the budgets of its queries up.
type many struct {
	source
	total sql.Budget
}

func (m *many) list(context.Context) (all []entry, err error) {
	for i := range 150 {
		all = append(all, entry{name: fmt.Sprint("v", i), kind: logicalKind})
	}
	return all, nil
}

func (m *many) query(_ context.Context, _ *sql.Query, _ string, b sql.Budget, explain bool) (*answer, error) {
	m.total.Rows += b.Rows
	m.total.Bytes += b.Bytes
	return &answer{}, nil
}

// However many views a call is about, its estimates together read little more than its budget.
func TestEstimatesOfACallShareItsBudget(t *testing.T) {
	at := &many{}
	s := &server{at: at, Options: Options{Budget: DefaultBudget, Names: []string{"v0", "v1", "v2"}}}
	if _, err := s.parse(t.Context(), "SELECT 1 FROM v0, v1, v2"); err != nil {
		t.Fatal(err)
	}
	if at.total.Rows > 10 {
		t.Errorf("before a query is judged, estimates have %v", at.total)
	}
	at.total, s.Names = sql.Budget{}, nil
	if _, err := s.listTables(t.Context(), nothing{}); err != nil {
		t.Fatal(err)
	}
	if at.total.Rows > DefaultBudget.Rows || at.total.Bytes > DefaultBudget.Bytes {
		t.Errorf("a list has estimates of %v", at.total)
	}
}
