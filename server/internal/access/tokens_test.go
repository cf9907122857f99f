package access

import "testing"

// Create refuses such a grant, but somebody may write it into the file.
func TestAdminOfAViewMayNotChangeIt(t *testing.T) {
	token := &Token{Grants: []Grant{{Admin, "t@v"}}}
	view := Resource{Name: "t", View: "v", Exact: true}
	if !token.allows(Write, view) || token.allows(Admin, view) || token.allows(Read, Resource{Name: "t", Exact: true}) {
		t.Error("the right to a view is as much as the right to its table")
	}
}
